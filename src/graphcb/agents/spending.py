"""What several budgets ask of one round: its costs, their prices, and what may be played."""

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from operator import gt
from typing import Any

import numpy as np

from graphcb.agents.budgets import LARGEST, Budget, as_cost
from graphcb.agents.pacing import TINY, Account, changed
from graphcb.checks import as_numbers, as_one_of, listed
from graphcb.compilation import compiled
from graphcb.exploration import BoxAndRows, Limits
from graphcb.exploration.cheapest import cheapest
from graphcb.exploration.clashing import SLACK
from graphcb.exploration.limits import MOST_KEPT
from graphcb.graphs.structure import Flags, Floats
from graphcb.loaded import Array, Instance, Learned


@dataclass(frozen=True)
class Spending:
    """Budgets with their accounts; a value that never changes.

    `costs` (n_budgets, n_actions) are those of the round that is open, between `act` and
    `on_draw`; None between rounds. What does not change from round to round is worked out once, and
    goes on with `changed`.
    """

    budgets: tuple[Budget, ...]
    accounts: tuple[Account, ...]
    costs: Floats | None = None
    learned = Learned(budgets=Instance(tuple), accounts=Instance(tuple))

    @classmethod
    def of(cls, budgets: Any, limits: Limits | None = None) -> "Spending | None":
        """The spending that these arguments of an agent begin; None without budgets."""
        if isinstance(budgets, Budget) or not isinstance(budgets, Iterable):
            raise TypeError(f"`budgets` must be a list of graphcb.Budget, got {budgets!r}")
        known = tuple(budgets)
        for place, budget in enumerate(known):
            if not isinstance(budget, Budget):
                raise TypeError(f"`budgets[{place}]` must be a graphcb.Budget, got {budget!r}")
            if budget.name in [other.name for other in known[:place]]:
                raise ValueError(f"`budgets` must have distinct names, got {budget.name!r} twice")
            if limits is not None:
                _check_floors(budget, limits)
        return cls(known, tuple(Account() for _ in known)) if known else None

    @cached_property
    def has_clock(self) -> bool:
        """Whether any budget accrues by the clock."""
        return any(budget.seconds is not None for budget in self.budgets)

    def at(self, seconds: float) -> "Spending":
        """The same at a later time."""
        return changed(self, accounts=tuple([account.at(seconds) for account in self.accounts]))

    def opened(
        self,
        predicted: Floats,
        names: Sequence[Hashable],
        stated: Any,
        context: Any,
        actions: Any,
    ) -> "Spending":
        """The next round: its costs are known and the allowance is in the accounts."""
        if self.costs is not None:
            raise ValueError(
                "`on_draw` must be called after each draw when there are budgets, as they count "
                "what was played: agent.on_draw(Played(context, graph, actions, probabilities, "
                "action)); a Policy and the run loop do so"
            )
        costs, highest = self._costs(names, stated, context, actions)
        spreads = repeat(_spread(predicted))
        accounts = tuple(map(Account.opened, self.accounts, self.budgets, highest, spreads))
        held = self._which_hold(accounts, highest)
        return changed(self, accounts=accounts, costs=costs, held=held)

    def priced(self, predicted: Floats) -> Floats:
        """The predicted losses with the costs of the open round, at their prices."""
        priced, costs = predicted, self._open()
        for i, account in enumerate(self.accounts):
            if account.base > 0.0 and account.price > 0.0:
                priced = priced + account.price * costs[i]
        return priced

    def within(self, box: BoxAndRows | None) -> BoxAndRows | None:
        """The limits of the open round, with caps of 0 on what cannot be paid for.

        Limits come first: where they leave no choice among what can be paid for, a budget
        without a hard stop gives way. With one, the round is refused.
        """
        if True not in self.held:
            return box
        payable: Any = self._open() <= self._room()[:, None]
        affordable: Flags = payable.all(axis=0)
        can_stop: Flags = payable[[budget.hard for budget in self.budgets]].all(axis=0)
        if not affordable.any() and can_stop.any():
            affordable = self._least_over(can_stop)
        hard = (repr(budget.name) for budget in self.budgets if budget.hard)
        if box is not None and (box.lower[~can_stop] > 0.0).any():
            raise ValueError(
                f"`budgets` must pay for the floors, but what is left of {listed(hard)} does not; "
                "have no floor on what a hard stop may have to end"
            )
        for allowed in (affordable, can_stop):
            if allowed.all():
                return box
            capped = _capped(box, allowed)
            if capped.upper.sum() >= 1.0 - SLACK and _leaves_a_choice(capped):
                return capped
        raise ValueError(
            f"`budgets` must leave a choice, but with what is left of {listed(hard)} no action can "
            "be played; offer an action that costs nothing"
        )

    def paid(self, probabilities: Floats, action: int) -> "Spending":
        """The accounts after the open round, in which this index was drawn."""
        costs = self._open()
        n_actions = costs.shape[1]
        if np.shape(probabilities) != (n_actions,) or not 0 <= action < n_actions:
            raise ValueError(
                f"`played` must be of the round of the last `act`, with {n_actions} actions, "
                f"got index {action} of {np.size(probabilities)}"
            )
        expected, paid = costs.dot(probabilities).tolist(), costs[:, action].tolist()
        accounts = tuple(map(Account.paid, self.accounts, expected, paid, self.held))
        return changed(self, accounts=accounts, costs=None, held=())

    def learn_costs(self, context: Any, actions: Any, costs: Any) -> None:
        """Teach the oracles of costs; {budget: costs}, or costs if one budget has an oracle.

        Every oracle learns, or none.
        """
        learning = {budget.name: budget for budget in self.budgets if budget.oracle is not None}
        if not isinstance(costs, Mapping) and len(learning) == 1:
            costs = dict.fromkeys(learning, costs)
        if not isinstance(costs, Mapping):
            raise TypeError(
                "`costs` must be a mapping {budget: costs}, as "
                f"{len(learning)} budgets have an oracle; got {type(costs).__name__}"
            )
        for name, values in costs.items():
            budget = learning[as_one_of("costs", name, tuple(learning))]
            for place, cost in enumerate(as_numbers("costs", values).ravel().tolist()):
                as_cost(cost, f"`costs` of budget {name!r} at index {place}")
            if hasattr(budget.oracle, "check_update"):
                budget.oracle.check_update(context, actions, values)
        for name, values in costs.items():
            learning[name].oracle.update(context, actions, values)

    def describe(self) -> str:
        """Prices and balances, in words."""
        texts = []
        for budget, account in zip(self.budgets, self.accounts, strict=True):
            at_most = f"at most {budget.at_most:g} per {budget.per}"
            texts.append(
                f"budget {budget.name!r} ({at_most}): price {account.price:.3g}, "
                f"balance {account.balance:.3g}, band {account.band:.3g}"
            )
        return "; ".join(texts)

    def check_actions(self, known: Collection[Hashable]) -> None:
        """Refuse budgets that name other actions, or whose hard stop leaves nothing to play."""
        for budget in self.budgets:
            budget.check_names(known)
        hard = [b for b in self.budgets if b.hard and isinstance(b.costs, Mapping)]
        free = [name for name in known if all(b.costs.get(name, 0.0) == 0.0 for b in hard)]
        if hard and known and not free:
            names = listed(repr(budget.name) for budget in hard)
            raise ValueError(
                f"`budgets` must leave an action that costs nothing for when a hard stop is "
                f"reached, got costs of {names} for all of {listed(known)}"
            )

    def check_loaded(self) -> None:
        """Refuse accounts or costs that are not those of the budgets."""
        known = Spending.of(self.budgets)
        if known is None or list(map(type, self.accounts)) != list(map(type, known.accounts)):
            raise ValueError("`accounts` must be as many as `budgets`, and at least one")
        if self.costs is not None:
            Array("budgets", None, least=0.0, most=LARGEST)(self, "costs")

    def _open(self) -> Floats:
        if self.costs is None:
            raise ValueError("`on_draw` must follow `act`, which says what actions cost")
        return self.costs

    @cached_property
    def held(self) -> tuple[bool, ...]:
        """Whether each budget has an action in the open round that it cannot pay for."""
        return self._which_hold(self.accounts, self._open().max(axis=1).tolist())

    def _which_hold(
        self, accounts: tuple[Account, ...], highest: Iterable[float]
    ) -> tuple[bool, ...]:
        return tuple(map(gt, highest, map(Account.room, accounts, self.budgets)))

    @cached_property
    def _kept(self) -> dict[Any, tuple[Floats, tuple[float, ...]]]:
        """Costs that are the same in every round, and the highest of them, by names."""
        return {}

    @cached_property
    def _is_fixed(self) -> bool:
        return all(budget.is_fixed for budget in self.budgets)

    def _costs(
        self, names: Sequence[Hashable], stated: Any, context: Any, actions: Any
    ) -> tuple[Floats, tuple[float, ...]]:
        """What each action of a round costs in each budget, and the highest of each."""
        stated = self._check_stated(stated)
        is_fixed = self._is_fixed and not stated
        found = self._kept.get(names) if is_fixed else None
        if found is None:
            rows = [b.of(names, stated.get(b.name), context, actions) for b in self.budgets]
            costs = np.array(rows)
            found = costs, tuple(costs.max(axis=1).tolist())
            if is_fixed:
                costs.setflags(write=False)
                if len(self._kept) >= MOST_KEPT:
                    self._kept.clear()
                self._kept[names] = found
        return found

    def _room(self) -> Floats:
        """The largest cost that each budget can pay in the open round."""
        return np.array(list(map(Account.room, self.accounts, self.budgets)))

    def _least_over(self, among: Flags) -> Flags:
        """Those of `among` that are over the room by the fewest units, where none is within it.

        What costs no more than the allowance comes first: no account is further ahead after it.
        """
        costs, room = self._open(), self._room()
        allowances = np.array([account.allowance for account in self.accounts])
        lasting = among & (costs <= np.maximum(room, allowances)[:, None]).all(axis=0)
        among = lasting if lasting.any() else among
        units = np.array([a.unit if a.unit >= TINY else 1.0 for a in self.accounts])
        worst: Floats = ((costs - room[:, None]) / units[:, None]).max(axis=0)
        least: Flags = among & (worst <= worst[among].min())
        return least

    def _check_stated(self, stated: Any) -> Mapping[str, Any]:
        if stated is None:
            return {}
        if not isinstance(stated, Mapping):
            raise TypeError(
                f"`costs` must be a mapping {{budget: costs}}, got {type(stated).__name__}"
            )
        for name in stated:
            as_one_of("costs", name, tuple(budget.name for budget in self.budgets))
        return stated


@compiled
def _spread(numbers: Floats) -> float:
    """How far the largest number is from the smallest."""
    return float(numbers.max() - numbers.min())


def _leaves_a_choice(capped: BoxAndRows) -> bool:
    """Whether linear limits can be met within caps that add up to 1."""
    return capped.most.size == 0 or cheapest(np.zeros(capped.upper.size), *capped)[1]


def _capped(box: BoxAndRows | None, allowed: Flags) -> BoxAndRows:
    """The box with caps of 0, or at the floor, on what is not allowed."""
    size = allowed.size
    if box is None:
        box = BoxAndRows(np.zeros(size), np.ones(size), np.zeros((0, size)), np.zeros(0))
    return box._replace(upper=np.where(allowed, box.upper, box.lower))


def _check_floors(budget: Budget, limits: Limits) -> None:
    """Refuse floors that spend more than the budget allows, or that a hard stop would break."""
    if not isinstance(budget.costs, Mapping):
        return
    costs = {a: cost for a, cost in budget.costs.items() if not isinstance(cost, str)}
    floors = {action: _floor(limits, action) for action in costs}
    paid = [action for action, floor in floors.items() if floor > 0.0 and costs[action] > 0.0]
    if budget.hard and paid:
        raise ValueError(
            "`budgets` with a hard stop must not meet floors on what they pay for, but "
            f"{paid[0]!r} costs {costs[paid[0]]:g} in {budget.name!r} and has the floor "
            f"{floors[paid[0]]:g}: it may be drawn in any round"
        )
    spent = sum(floors[action] * costs[action] for action in costs)
    if spent > budget.per_round * (1.0 + SLACK):
        raise ValueError(
            f"`budgets` must pay for the floors, but those of {listed(map(repr, paid))} spend "
            f"{spent:g} per round, and {budget.name!r} allows {budget.per_round:g}"
        )


def _floor(limits: Limits, action: Hashable) -> float:
    floors = limits.floors
    if isinstance(floors, Mapping):
        return float(floors.get(action, 0.0))
    if isinstance(floors, tuple):
        is_index = isinstance(action, int) and 0 <= action < len(floors)
        return float(floors[action]) if is_index else 0.0  # type: ignore[call-overload]
    return float(floors)
