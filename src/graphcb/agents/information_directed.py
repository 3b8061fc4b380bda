"""Information-directed sampling: exploration without settings."""

from collections.abc import Callable, Sequence
from typing import Any

from graphcb.agents.budgets import Budget
from graphcb.agents.prediction import Floats, OpenRound, Predicts
from graphcb.exploration import Limits
from graphcb.exploration.in_flight import NONE, answered, check_looks, counted, faded, in_flight
from graphcb.exploration.information_directed import (
    START,
    check_memory,
    information_directed,
)
from graphcb.exploration.mixed_choice import Memory
from graphcb.graphs import FeedbackGraph, as_graph, require_observable
from graphcb.oracles import DefaultOracle, Forecast, ForecastingOracle, Oracle
from graphcb.oracles.rows import read_columns
from graphcb.rounds import Played

ALL_ROUNDS = 1000  # the first rounds of other copies, in each of which this one acts too
RENEWED = 16  # of which it acts in one from then on


class InformationDirected(Predicts):
    """Forecast, explore where being wrong is plausible and costs, learn what is seen.

    The agent that needs no settings: `Problem`, `Policy`, `Learner`, `graphcb run` and
    `graphcb serve` use it unless they are told otherwise. It is not the paper's SquareCB.G: it has
    no gamma, and no bound on its regret is proven. Its oracle says how sure it is of each
    prediction. The action that looks best is mixed with one that would tell more, so that the
    squared regret per unit of information is smallest (`exploration.information_directed`).

    `oracle` has a method `forecast`, as `DefaultOracle` and `OnlineRidge` have. If it is left out,
    it is a `DefaultOracle`, for losses between 0 and 1. `limits`, `budgets` and `explore` as
    in `SquareCBG`.

    >>> from graphcb import graphs
    >>> agent = InformationDirected()
    >>> agent.act([0.3, 12.0], graphs.bandit(2))
    array([0.5, 0.5])
    >>> agent.learn([0.3, 12.0], [0], [0.9])
    >>> int(agent.act([0.3, 12.0], graphs.bandit(2)).argmax())
    1
    """

    waiting: Floats | None = None  # looks in flight, by column
    before_round: Floats | None = None  # the same without those of a round that is not drawn yet
    memory: Memory = START
    wanted: Floats = NONE  # looks that Thompson sampling would have taken, by column,
    taken: Floats = NONE  # and looks that there were

    def __init__(
        self,
        oracle: Oracle | None = None,
        *,
        limits: Limits | None = None,
        budgets: Sequence[Budget] = (),
        explore: float = 0.0,
    ) -> None:
        super().__init__(oracle, limits, budgets, explore)
        self._check_forecasts()

    @property
    def on_draw(self) -> Callable[[Played], None]:
        """The hook `on_draw`: what was drawn is in flight, and paid for where it costs."""
        return self._on_draw

    def passed(self, played: Played) -> bool:
        """Go on after a round that another copy of this agent has decided; False if it must act.

        What exploration remembers is a mean over rounds, for which one in `RENEWED` is enough after
        the first ones.
        """
        size = getattr(self.oracle, "n_actions", None)
        is_due = self.n_rounds < ALL_ROUNDS or self.n_rounds % RENEWED == 0
        if is_due or self.oracle is None or self._spending is not None:
            return False
        if size is not None:
            looks = played.graph.row(played.action)
            columns = read_columns(played.actions, looks.size)
            if columns.max(initial=0) >= size:
                return False
            before = faded(NONE if self.waiting is None else self.waiting, size)
            self.waiting, self.before_round = counted(before, columns, looks), None
        self.n_rounds += 1
        return True

    def learn(self, context: Any, actions: Any, losses: Any) -> None:
        """Pass what was revealed to the oracle; it is not in flight any more."""
        super().learn(context, actions, losses)
        self.before_round = None
        if self.waiting is not None:
            self.waiting = answered(self.waiting, read_columns(actions, self.waiting.size))

    def _on_draw(self, played: Played) -> None:
        if self.rules is not None:
            super()._on_draw(played)
        if self.before_round is not None:
            looks = played.graph.structure.row(played.action)
            columns = read_columns(played.actions, looks.size)
            self.waiting = counted(self.before_round, columns, looks)
            self.before_round = None

    def _predict(self, oracle: Any, context: Any, graph: FeedbackGraph, columns: Any) -> Forecast:
        forecast: Forecast = oracle.forecast(context, columns)
        return forecast

    def _choose(self, opened: OpenRound) -> Floats:
        looks = None
        if self.oracle is None or hasattr(self.oracle, "n_actions"):
            columns = read_columns(opened.actions, opened.graph.n_actions)
            waiting = NONE if self.waiting is None else self.waiting
            looks = waiting, self.wanted, self.taken, columns
        probabilities, self.memory, wanted = information_directed(
            opened.losses,
            *opened.sureness,
            graph=opened.graph,
            round_number=self.n_rounds + 1,
            memory=self.memory,
            looks=looks,
            box=opened.box,
        )
        if looks is not None:
            self.wanted = wanted
        return probabilities

    def _decided(self, probabilities: Floats, graph: FeedbackGraph, actions: Any) -> None:
        """What the round is expected to show is in flight from now on."""
        size = getattr(self.oracle, "n_actions", None)
        if size is not None:  # actions with features have no columns to count in
            before = NONE if self.waiting is None else self.waiting
            looks = graph.structure.reveal_probabilities(probabilities)
            columns = read_columns(actions, looks.size)
            self.before_round, self.waiting, self.taken = in_flight(
                before, self.taken, size, columns, looks
            )

    def explain(self, graph: FeedbackGraph, *, names: Any = None) -> str:
        """How any graph is explored, and who predicts; what limits cost, as in `SquareCBG`."""
        require_observable(as_graph(graph), "to learn from it")
        how = "information-directed: the smallest squared regret per unit of information"
        cost = "" if self.rules is None else f"; {self.rules.cost(graph, names)}"
        members = ""
        if isinstance(self.oracle, DefaultOracle) and self.oracle.blend is not None:
            members = f"; {self.oracle.explain()}"
        return f"{how}{cost}{self._cost_of_exploring(graph)}{members}"

    def check_loaded(self) -> None:
        """Raise an error unless the attributes fit together, as those of a file may not."""
        super().check_loaded()
        self._check_forecasts()
        check_looks("waiting", self.waiting)
        check_looks("before_round", self.before_round)
        check_looks("wanted", self.wanted)
        check_looks("taken", self.taken)
        check_memory(self.memory)

    def _check_forecasts(self) -> None:
        if self.oracle is not None and not isinstance(self.oracle, ForecastingOracle):
            raise TypeError(
                "`oracle` must say how sure it is, by a method forecast, as DefaultOracle and "
                f"OnlineRidge do, got {type(self.oracle).__name__}; SquareCBG takes any oracle"
            )
