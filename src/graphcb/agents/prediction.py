"""What every agent with an oracle does: ask it, choose within the rules, and let it learn.

The rules are limits and budgets; some agents obey them without an oracle of their own.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from graphcb.agents.budgets import Budget
from graphcb.agents.rules import Ruled, Rules
from graphcb.agents.spending import Spending
from graphcb.checks import as_losses, as_numbers
from graphcb.compilation import compiled
from graphcb.describing import describe
from graphcb.exploration import BoxAndRows, Limits
from graphcb.exploration.closed_forms import follow_the_best
from graphcb.exploration.limited_choice import best_within
from graphcb.exploration.seldom_seen import as_share, cost_of_exploring, see_more
from graphcb.graphs import FeedbackGraph, as_graph
from graphcb.graphs.families.inventory import Inventory
from graphcb.loaded import check_counts, check_kind
from graphcb.oracles import DefaultOracle, NewsvendorOGD, Oracle, as_oracle
from graphcb.oracles.rows import every_index, read_columns
from graphcb.rounds import Played

Floats = NDArray[np.float64]

MIDDLE = 0.5  # of losses between 0 and 1
LEAST_TRUST = 0.01  # known losses keep their order
MOST_ACTIONS = 2**24  # that an oracle of the agent's own making has room for


class OpenRound(NamedTuple):
    """What an agent chooses from in a round.

    `losses` are the predicted ones with the prices of budgets, `box` the bounds on p, and
    `sureness` the rest of a `Forecast`, for agents that ask for one. `actions` are those of the
    round in the oracle's terms, None for all.
    """

    graph: FeedbackGraph
    losses: Floats
    box: BoxAndRows | None
    sureness: Sequence[Any]
    actions: Any


class Obeys:
    """What every agent that takes `limits` and `budgets` has: they, and the hooks they need.

    With `explore`, a share of the probability, such an agent makes sure that what is seldom seen
    is seen at times (`exploration.seldom_seen`), within the limits.
    """

    rules: Rules | None = None  # set where there are any
    explore: float = 0.0  # set where it is not 0

    @property
    def limits(self) -> Limits | None:
        """The limits that every distribution obeys."""
        return None if self.rules is None else self.rules.limits

    @property
    def budgets(self) -> tuple[Budget, ...]:
        """The budgets that are kept to over time."""
        spending = self._spending
        return () if spending is None else spending.budgets

    @property
    def on_draw(self) -> Callable[[Played], None] | None:
        """The hook `on_draw`, which only budgets need."""
        return None if self._spending is None else self._on_draw

    @property
    def at_time(self) -> Callable[[float], None] | None:
        """The hook `at_time`, which only budgets by the clock need."""
        spending = self._spending
        return None if spending is None or not spending.has_clock else self._at_time

    def learn_costs(self, context: Any, actions: Any, costs: Any) -> None:
        """Teach the oracles that predict costs what playing these actions did cost.

        `costs` are numbers, one per action, or {budget: numbers} if several budgets have an oracle.
        """
        spending = self._spending
        if spending is None or all(budget.oracle is None for budget in spending.budgets):
            raise TypeError("`learn_costs` must have a budget whose `costs` is an oracle, got none")
        spending.learn_costs(context, actions, costs)

    @property
    def _spending(self) -> Spending | None:
        return None if self.rules is None else self.rules.spending

    def _on_draw(self, played: Played) -> None:
        if self.rules is not None and self.rules.spending is not None:
            spending = self.rules.spending.paid(played.probabilities, played.action)
            self.rules = self.rules.after(spending)

    def _at_time(self, seconds: float) -> None:
        if self.rules is not None and self.rules.spending is not None:
            self.rules = self.rules.after(self.rules.spending.at(seconds))

    def _ruled(
        self, predicted: Floats, context: Any, actions: Any, names: Any, costs: Any
    ) -> Ruled:
        """What the rules, if there are any, make of a round with these predicted losses."""
        if costs is not None and self._spending is None:
            raise ValueError(f"`costs` must come with budgets, got {costs!r} without any")
        if self.rules is None:
            return Ruled(predicted, None, None)
        return self.rules.ruled(predicted, context, actions, names, costs)


class Predicts(Obeys, ABC):
    """An agent with an oracle; `_choose` makes the difference between them.

    An agent without an oracle makes a `DefaultOracle` in its first round, which grows with the
    actions that it meets.
    """

    def __init__(
        self,
        oracle: Oracle | None,
        limits: Limits | None,
        budgets: Sequence[Budget],
        explore: float,
    ) -> None:
        self.rules = Rules.of(limits, budgets)
        if as_share(explore) > 0.0:
            self.explore = as_share(explore)
        self.oracle: Oracle | None = None if oracle is None else as_oracle(oracle)
        self.makes_oracle = oracle is None
        self.n_rounds = 0

    def act(
        self,
        context: Any,
        graph: FeedbackGraph,
        actions: Any = None,
        *,
        names: Any = None,
        costs: Any = None,
        known: Any = None,
    ) -> Floats:
        """Probabilities (n_actions,) for this round.

        `names` is what limits and budgets call the actions of this round. `costs` are what they
        cost where that comes with each round: {budget: [one number per action]}. `known` are the
        losses between 0 and 1 that need no feedback, one number per action and NaN for all
        others; the graph says that every action reveals them, and `learn` hears of them too.
        """
        n_actions = as_graph(graph).n_actions
        oracle, columns = self._current_oracle(), actions
        if self.makes_oracle:
            oracle, columns = with_room(oracle, n_actions, actions)
        forecast = self._predict(oracle, context, graph, columns)
        is_open = True
        if known is not None:
            exact = _as_known(known, n_actions)
            forecast, is_open = _with_known(forecast, exact), bool(np.isnan(exact).any())
        predicted, *sureness = forecast
        losses, box, rules = self._ruled(predicted, context, actions, names, costs)
        opened = OpenRound(graph, losses, box, sureness, columns)
        probabilities = self._choose(opened) if is_open else play_best(losses, box)
        if self.explore:
            probabilities = self._seeing_more(probabilities, opened)
        self.oracle, self.rules = oracle, rules  # only now: a refused round changes nothing
        self.n_rounds += 1
        self._decided(probabilities, graph, actions)
        return probabilities

    def use_oracle(self, oracle: Oracle) -> None:
        """Take this oracle instead of making one."""
        self.oracle, self.makes_oracle = as_oracle(oracle), False

    def learn(self, context: Any, actions: Any, losses: Any) -> None:
        """Pass what was revealed to the oracle."""
        oracle = with_room(None, 1, actions)[0] if self.oracle is None else self.oracle
        if isinstance(oracle, DefaultOracle):
            oracle.update(context, actions, losses, decision=self.n_rounds)
        else:
            oracle.update(context, actions, losses)
        self.oracle = oracle

    def __copy__(self) -> Self:
        twin = object.__new__(type(self))
        vars(twin).update(vars(self))
        return twin

    def check_loaded(self) -> None:
        check_kind(self, "makes_oracle", bool)
        check_kind(self, "rules", Rules, type(None))
        as_share(self.explore)
        check_counts(self, n_rounds=0)
        if self.oracle is not None or not self.makes_oracle:
            as_oracle(self.oracle)
        if self.makes_oracle and not isinstance(self.oracle, DefaultOracle | None):
            raise ValueError(f"`oracle` must be a DefaultOracle, got {self.oracle!r}")

    def __repr__(self) -> str:
        return self._described()

    def _described(self, **settings: Any) -> str:
        return describe(self, oracle=None if self.makes_oracle else self.oracle, **settings)

    def _seeing_more(self, probabilities: Floats, opened: OpenRound) -> Floats:
        """The probabilities, with the share that goes to outcomes that are seldom seen."""
        return see_more(probabilities, opened.losses, opened.graph, self.explore, opened.box)

    def _cost_of_exploring(self, graph: FeedbackGraph) -> str:
        """What follows on how a graph is explored; nothing without `explore`."""
        if self.explore == 0.0:
            return ""
        is_limited = self.rules is not None
        return f"; {cost_of_exploring(graph, self.explore, is_limited=is_limited)}"

    @abstractmethod
    def _choose(self, opened: OpenRound) -> Floats:
        """The probabilities of a round; it changes the agent only where nothing can fail."""

    def _decided(self, probabilities: Floats, graph: FeedbackGraph, actions: Any) -> None:
        """Note what was decided, for agents that do."""

    def _predict(
        self, oracle: Any, context: Any, graph: FeedbackGraph, columns: Any
    ) -> Sequence[Any]:
        """What the oracle says of the actions: their losses, and how sure it is if asked."""
        return (predicted_losses(oracle, context, graph, columns),)

    def _current_oracle(self) -> Oracle | None:
        return self.oracle


def play_best(losses: Floats, box: BoxAndRows | None) -> Floats:
    """The probabilities with the smallest expected loss within the bounds."""
    return follow_the_best(losses, 1.0) if box is None else best_within(losses, box)


def _as_known(known: Any, n_actions: int) -> Floats:
    losses = as_numbers("known", known)
    if losses.shape != (n_actions,) or np.isinf(losses).any():
        raise ValueError(
            f"`known` must have one finite number for each of the {n_actions} actions, NaN where "
            f"it is not known, got {known}"
        )
    return losses


def _with_known(forecast: Sequence[Any], known: Floats) -> list[Any]:
    """A forecast with what is known: no deviation, and nothing to be gained by seeing it."""
    is_known = ~np.isnan(known)
    exact: tuple[Any, ...] = (_beside(forecast[0], known), 0.0, 0.0)
    pairs = zip(forecast, exact, strict=False)
    return [*(np.where(is_known, one, part) for part, one in pairs), *forecast[len(exact) :]]


def _beside(predicted: Floats, known: Floats) -> Floats:
    """Known losses as they are put beside an oracle's predictions; decision note 0037.

    Where a context is new, an oracle leans to the middle, and what is known would always look
    better, or always worse, than what has to be found out. How far it leans is seen in its own
    predictions of the known losses, which it learns too: they all move as far to the middle.
    """
    off = known - MIDDLE
    is_known = ~np.isnan(off)
    is_off = is_known & (off != 0.0)
    if is_known.all() or not is_off.any():
        return known
    trust = ((predicted - MIDDLE)[is_off] / off[is_off]).clip(LEAST_TRUST, 1.0).mean()
    return np.asarray(MIDDLE + trust * off)


def predicted_losses(oracle: Oracle, context: Any, graph: FeedbackGraph, actions: Any) -> Floats:
    """The oracle's prediction for each action of the graph: (n_actions,), all finite."""
    if isinstance(oracle, NewsvendorOGD) and isinstance(graph.structure, Inventory):
        _check_rising(actions)
    return as_losses(oracle.predict(context, actions), graph.n_actions)


def _check_rising(actions: Any) -> None:
    """Refuse stock levels in an order that the inventory graph does not mean."""
    levels = as_numbers("actions", actions)
    wrong = _first_fall(levels) if levels.ndim == 1 else -1
    if wrong >= 0:
        raise ValueError(
            "`actions` must be rising stock levels, as in the inventory graph each level reveals "
            f"those before it; got {levels[wrong]:g} after {levels[wrong - 1]:g} at index {wrong}; "
            "sort them, or use graphs.posted_price for falling levels"
        )


def with_room(oracle: Oracle | None, n_actions: int, actions: Any) -> tuple[Oracle, Any]:
    """An oracle of the agent's own making, with room for these actions, and their columns.

    An oracle that has to grow is copied: the round may yet be refused, and a copy of the
    agent may share it.
    """
    columns, largest = every_index(n_actions), n_actions
    if actions is not None and actions is not columns:
        columns = read_columns(actions, n_actions)
        largest = int(columns.max(initial=0)) + 1
        if largest > MOST_ACTIONS:
            raise ValueError(
                f"`actions` must be below {MOST_ACTIONS:,}, as there is room for each number "
                f"up to the largest, got {largest - 1}; number them from 0 on"
            )
    oracle = DefaultOracle(largest) if oracle is None else oracle
    if isinstance(oracle, DefaultOracle) and oracle.n_actions < largest:
        oracle = copy.deepcopy(oracle)
        oracle.grow(largest)
    return oracle, columns


@compiled
def _first_fall(levels: Floats) -> int:
    """Index of the first level below the one before it, or -1."""
    for i in range(1, levels.size):
        if levels[i] < levels[i - 1]:
            return i
    return -1
