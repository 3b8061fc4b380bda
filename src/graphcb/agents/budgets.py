"""Budgets: what may be spent over time, and what each action costs."""

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from graphcb.agents.names import speaks_of
from graphcb.checks import as_numbers, listed, refuse_action
from graphcb.contexts.values import as_given
from graphcb.graphs.structure import Floats

EACH_ROUND = "each round"
LARGEST = 1e100  # of a cost: sums and products of costs stay finite
SECONDS_IN: Mapping[str, float] = MappingProxyType(
    {"second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86_400.0, "week": 604_800.0}
)


class Budget:
    """At most `at_most` of a resource is spent, on average, per round or per hour, day, ...

    `costs` is what playing an action spends: {action: number}, where the others cost nothing and
    an action is called what the round calls it; {action: "feature"}, where the number stands in
    the context of each round, for a `Learner`; "each round", where `act` is given
    costs={name: [...]}; or an oracle, which predicts the costs (below 0 counts as 0) and learns
    by `agent.learn_costs`. `per` is "round", a whole number of rounds, "hour" and the like, or
    seconds as a number with a point: 900.0. Periods of a clock begin when it shows a multiple
    of them, days at midnight UTC.

    What is not spent stays for later, and spending may run ahead of the allowance by a band
    (`agents.pacing`). With `hard`, it may not: the costs of a period add up to `at_most` at
    the very most, and with per="round", no more is ever spent than what rounds have brought.

    >>> Budget("reviews", {"review": 1.0}, at_most=0.05)
    Budget('reviews', {'review': 1.0}, 0.05)
    >>> Budget("dollars", "each round", at_most=300, per="day", hard=True)
    Budget('dollars', 'each round', 300.0, per='day', hard=True)
    """

    name: str
    costs: Any
    at_most: float
    per: str | int | float
    hard: bool

    def __init__(
        self,
        name: str,
        costs: Any,
        at_most: float,
        *,
        per: str | int | float = "round",
        hard: bool = False,
    ) -> None:
        if type(name) is not str or not name:
            raise ValueError(f"`name` must be a text that names the budget, got {name!r}")
        if type(hard) is not bool:
            raise TypeError(f"`hard` must be True or False, got {hard!r}")
        amount = as_cost(at_most, f"`at_most` of budget {name!r}")
        if amount == 0.0:
            raise ValueError(
                f"`at_most` of budget {name!r} must be above 0, got 0; to forbid actions, cap "
                "them: Limits(caps={action: 0})"
            )
        known = {"costs": _as_costs(costs, name), "per": _as_period(per, name)}
        vars(self).update(name=name, at_most=amount, hard=hard, **known)

    @cached_property
    def seconds(self) -> float | None:
        """The length of a period by the clock; None if rounds are counted."""
        if isinstance(self.per, str):
            return SECONDS_IN.get(self.per)
        return self.per if isinstance(self.per, float) else None

    @cached_property
    def rounds(self) -> int | None:
        """The length of a period in rounds; None by the clock."""
        return 1 if self.per == "round" else self.per if isinstance(self.per, int) else None

    @property
    def per_round(self) -> float:
        """What each round may spend on average; infinite by the clock, where nobody can say."""
        return math.inf if self.rounds is None else self.at_most / self.rounds

    @cached_property
    def features(self) -> dict[Hashable, str]:
        """The features of a context that say what actions cost."""
        costs = self.costs if isinstance(self.costs, Mapping) else {}
        return {action: cost for action, cost in costs.items() if isinstance(cost, str)}

    @cached_property
    def is_fixed(self) -> bool:
        """Whether an action costs the same in every round that has it."""
        return isinstance(self.costs, Mapping) and not self.features

    @property
    def oracle(self) -> Any:
        """The oracle that predicts costs; None if they are known."""
        return None if isinstance(self.costs, str | Mapping) else self.costs

    def is_of_one_kind(self, other: "Budget") -> bool:
        """Whether both count the same: the name and the costs are the same, maybe not the terms."""
        predicted = self.oracle is not None and type(self.oracle) is type(other.oracle)
        return self.name == other.name and (predicted or self.costs == other.costs)

    def of(self, names: Sequence[Hashable], stated: Any, context: Any, actions: Any) -> Floats:
        """What each action of a round costs (n_actions,); `stated` is what `act` was given."""
        if stated is not None:
            values = as_numbers(f"costs of {self.name!r}", stated)
        elif self.costs == EACH_ROUND or self.features:
            what = EACH_ROUND
            if self.features:
                named = listed(map(repr, self.features.values()))
                what = f"as features ({named}) that only a Learner can read"
            raise ValueError(
                f"`costs` must have the costs of budget {self.name!r}, which come {what}: "
                f"act(..., costs={{{self.name!r}: [...]}})"
            )
        elif isinstance(self.costs, Mapping):
            self._check_called(names)
            return np.array([self.costs.get(name, 0.0) for name in names], dtype=np.float64)
        else:
            values = as_numbers(
                f"costs of {self.name!r}", self.costs.predict(context, actions)
            ).clip(min=0.0)
        if values.shape != (len(names),):
            raise ValueError(
                f"`costs` of budget {self.name!r} must have one number for each of the "
                f"{len(names)} actions, got shape {values.shape}"
            )
        for name, value in zip(names, values.tolist(), strict=True):
            as_cost(value, f"`costs` of budget {self.name!r} for {name!r}")
        return values

    def of_context(self, names: Sequence[Hashable], context: Any) -> Floats:
        """What each action of a round costs where features of its context say so."""
        costs = []
        for name in names:
            cost = self.costs.get(name, 0.0)
            if isinstance(cost, str):
                why = f"says what {name!r} costs in budget {self.name!r}"
                cost = as_cost(
                    as_given(context, cost, why), f"the feature {cost!r}, a cost of {name!r},"
                )
            costs.append(cost)
        return np.array(costs, dtype=np.float64)

    def _check_called(self, names: Sequence[Hashable]) -> None:
        if not speaks_of(self.costs, names):
            raise ValueError(
                f"`names` must call the actions what budget {self.name!r} calls them, as in "
                f"{listed(map(repr, self.costs))}; got {listed(map(repr, names))}, so that "
                "nothing would be paid for"
            )

    def check_names(self, known: Collection[Hashable]) -> None:
        """Refuse costs of actions that are not among `known`."""
        for action in self.costs if isinstance(self.costs, Mapping) else ():
            if action not in known:
                refuse_action(f"`costs` of budget {self.name!r}", action, known)

    def as_table(self) -> dict[str, Any]:
        """The arguments but `name`, those at their default left out, as a table of TOML has them.

        >>> Budget("reviews", {"review": 1.0}, at_most=0.05).as_table()
        {'costs': {'review': 1.0}, 'at_most': 0.05}
        """
        costs = dict(self.costs) if isinstance(self.costs, Mapping) else self.costs
        table: dict[str, Any] = {"costs": costs, "at_most": self.at_most}
        if self.per != "round":
            table["per"] = self.per
        if self.hard:
            table["hard"] = True
        return table

    def __getstate__(self) -> dict[str, Any]:
        return {"name": self.name, **self.as_table()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"`Budget` cannot change; make another one to set `{name}`")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Budget) and self.__getstate__() == other.__getstate__()

    def __hash__(self) -> int:
        return hash((self.name, self.at_most, self.per, self.hard))

    def __repr__(self) -> str:
        per = "" if self.per == "round" else f", per={self.per!r}"
        hard = ", hard=True" if self.hard else ""
        costs = dict(self.costs) if isinstance(self.costs, Mapping) else self.costs
        return f"Budget({self.name!r}, {costs!r}, {self.at_most!r}{per}{hard})"


def _as_costs(costs: Any, name: str) -> Any:
    if isinstance(costs, Mapping):
        if not costs:
            raise ValueError(f"`costs` of budget {name!r} must name an action, got none")
        known = {}
        for action, cost in costs.items():
            is_feature = isinstance(cost, str) and cost
            where = f"`costs` of budget {name!r} for {action!r}"
            known[action] = cost if is_feature else as_cost(cost, where)
        return MappingProxyType(known)
    if isinstance(costs, str) and costs == EACH_ROUND:
        return costs
    if callable(getattr(costs, "predict", None)) and not isinstance(costs, type):
        return costs
    raise TypeError(
        f"`costs` of budget {name!r} must be {{action: number}}, {{action: feature}}, "
        f'"{EACH_ROUND}" or an oracle with a method predict, got {costs!r}'
    )


def as_cost(value: Any, what: str) -> float:
    """A finite number that is not negative."""
    if isinstance(value, bool | str) or not isinstance(value, int | float | np.number):
        raise TypeError(f"{what} must be a number, got {value!r}")
    try:
        number = float(value)
    except OverflowError:  # of a whole number with hundreds of digits
        number = math.inf
    if not 0.0 <= number < math.inf:
        raise ValueError(f"{what} must be finite and not negative, got {number:g}")
    if number > LARGEST:
        raise ValueError(f"{what} must be at most {LARGEST:g}, got {number:g}")
    return number


def _as_period(per: Any, name: str) -> str | int | float:
    is_number = isinstance(per, int | float | np.number) and not isinstance(per, bool)
    if is_number and 0.0 < per < math.inf:
        return float(per) if isinstance(per, float | np.floating) else int(per)
    if isinstance(per, str) and (per == "round" or per in SECONDS_IN):
        return per
    raise ValueError(
        f'`per` of budget {name!r} must be "round", a whole number of rounds, '
        f"{listed(map(repr, SECONDS_IN))}, or seconds such as 900.0; got {per!r}"
    )
