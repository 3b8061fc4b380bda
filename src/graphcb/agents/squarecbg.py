"""SquareCB.G: exploration that knows what each action reveals."""

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.agents.prediction import predicted_losses
from graphcb.checks import as_gamma
from graphcb.describing import describe
from graphcb.exploration import (
    Automatic,
    ClosedForm,
    Method,
    Schedule,
    as_schedule,
    dec,
    solve_dec,
)
from graphcb.exploration.choice import choose_form, explain
from graphcb.exploration.schedules import as_setting
from graphcb.graphs import FeedbackGraph, require_observable
from graphcb.oracles import Oracle, as_oracle

Floats = NDArray[np.float64]


class SquareCBG:
    """The paper's algorithm: predict, explore no more than the graph requires, learn what is seen.

    `gamma` is a number or a schedule such as `SquareRoot(c, alpha)` with the graph's
    independence number. The default is `Automatic()`, which needs no settings. The agent keeps
    a copy of the schedule; its `gamma` is that of the last round. The graph may differ from
    round to round. `method` is "auto" (the closed form of the graph if it is within a known factor
    of the optimum, else the convex program), "closed-form" or "solver"; with a schedule that
    needs the optimal value of each round, "auto" always solves. `explain(graph)` says which one
    is used and why.

    >>> from graphcb import graphs, oracles
    >>> agent = SquareCBG(oracles.NewsvendorOGD(1, learning_rate=0.5), gamma=10.0)
    >>> agent.act(np.array([0.3]), graphs.inventory(3), np.array([0.0, 0.5, 1.0]))
    array([0., 0., 1.])
    >>> agent.explain(graphs.inventory(3))
    'closed form cover_levels: each level reveals all lower ones'
    """

    gamma: float | None = None

    def __init__(
        self, oracle: Oracle, *, gamma: float | Schedule | None = None, method: Method = "auto"
    ) -> None:
        if method not in ("auto", "closed-form", "solver"):
            raise ValueError(f'`method` must be "auto", "closed-form" or "solver", got {method!r}')
        self.oracle = as_oracle(oracle)
        self.schedule = Automatic() if gamma is None else copy.deepcopy(as_schedule(gamma))
        self.method = method
        self.n_rounds = 0
        self.epoch = self.schedule.epoch
        self.fresh_oracle = copy.deepcopy(oracle) if self.schedule.needs == "optimum" else None

    def act(self, context: Any, graph: FeedbackGraph, actions: Any = None) -> Floats:
        """Probabilities of this round; the graph must be observable."""
        if self.fresh_oracle is not None and self.schedule.epoch != self.epoch:
            self.oracle = copy.deepcopy(self.fresh_oracle)
            self.epoch = self.schedule.epoch
        predicted = predicted_losses(self.oracle, context, graph, actions)
        require_observable(graph, "to learn from it")
        gamma = as_gamma(self.schedule.gamma(self.n_rounds + 1, graph.n_actions))
        probabilities, value = self._explore(predicted, graph, gamma)
        if self.schedule.needs != "nothing":
            self.schedule.observe(value)
        self.n_rounds += 1
        self.gamma = gamma
        return probabilities

    def learn(self, context: Any, actions: Any, losses: Any) -> None:
        """Pass what was revealed to the oracle."""
        self.oracle.update(context, actions, losses)

    def explain(self, graph: FeedbackGraph) -> str:
        """How this graph is explored, and why."""
        needed_by = type(self.schedule).__name__ if self.schedule.needs == "optimum" else ""
        return explain(graph, self.method, optimum_for=needed_by)

    def closed_form(self, graph: FeedbackGraph) -> ClosedForm | None:
        """The closed form that is played on this graph, or None if `solve_dec` is called."""
        return choose_form(graph, self.method, needs_optimum=self.schedule.needs == "optimum")

    def __copy__(self) -> "SquareCBG":
        twin = object.__new__(type(self))
        vars(twin).update(vars(self), schedule=copy.copy(self.schedule))
        return twin

    def __repr__(self) -> str:
        return describe(self, gamma=as_setting(self.schedule))

    def _explore(
        self, predicted: Floats, graph: FeedbackGraph, gamma: float
    ) -> tuple[Floats, float]:
        """Probabilities, and the DEC of the round if the schedule needs it."""
        form = self.closed_form(graph)
        if form is None:
            solution = solve_dec(predicted, graph, gamma)
            return solution.probabilities, solution.value
        probabilities = form.formula(predicted, gamma)
        if self.schedule.needs == "nothing":
            return probabilities, float("nan")
        return probabilities, dec(probabilities, predicted, graph, gamma)
