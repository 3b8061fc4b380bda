"""SquareCB.G: exploration that knows what each action reveals."""

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import as_gamma, as_losses
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
from graphcb.graphs import FeedbackGraph, as_graph, require_observable
from graphcb.oracles import Oracle

Floats = NDArray[np.float64]


class SquareCBG:
    """The paper's algorithm: predict, spread probability as the graph asks, learn what is seen.

    `gamma` is a number or a schedule such as `SquareRoot(c, alpha)` with the graph's
    independence number; left out, it is `Automatic()`, which asks for nothing. The agent keeps
    a copy of the schedule. The graph may differ from round to round. `method` is "auto" (the
    closed form of the graph if it is within a known factor of the optimum, else the convex
    program), "closed-form" or "solver"; a schedule that needs the optimal value of each round
    makes "auto" solve. `explain(graph)` tells what it does and why.

    >>> from graphcb import graphs, oracles
    >>> agent = SquareCBG(oracles.NewsvendorOGD(1, learning_rate=0.5), gamma=10.0)
    >>> agent.act(np.array([0.3]), graphs.inventory(3), np.array([0.0, 0.5, 1.0]))
    array([0., 0., 1.])
    >>> agent.explain(graphs.inventory(3))
    'closed form cover_levels: each level reveals all lower ones'
    """

    def __init__(
        self, oracle: Oracle, *, gamma: float | Schedule | None = None, method: Method = "auto"
    ) -> None:
        if method not in ("auto", "closed-form", "solver"):
            raise ValueError(f'`method` must be "auto", "closed-form" or "solver", got {method!r}')
        self.oracle = oracle
        self.schedule = Automatic() if gamma is None else copy.deepcopy(as_schedule(gamma))
        self.method = method
        self.n_rounds = 0
        self.epoch = self.schedule.epoch
        self.fresh_oracle = copy.deepcopy(oracle) if self.schedule.needs == "optimum" else None

    def act(self, context: Any, graph: FeedbackGraph, actions: Any = None) -> Floats:
        """Probabilities of this round; the graph must be observable."""
        require_observable(as_graph(graph), "to learn from it")
        if self.schedule.epoch != self.epoch and self.fresh_oracle is not None:
            self.oracle = copy.deepcopy(self.fresh_oracle)
            self.epoch = self.schedule.epoch
        predicted_losses = as_losses(self.oracle.predict(context, actions), graph.n_actions)
        gamma = as_gamma(self.schedule.gamma(self.n_rounds + 1, graph.n_actions))
        probabilities, value = self._explore(predicted_losses, graph, gamma)
        if self.schedule.needs != "nothing":
            self.schedule.observe(value)
        self.n_rounds += 1
        return probabilities

    def learn(self, context: Any, actions: Any, losses: Any) -> None:
        """Hand what was revealed to the oracle."""
        self.oracle.update(context, actions, losses)

    def explain(self, graph: FeedbackGraph) -> str:
        """How this graph is explored, and why."""
        who = type(self.schedule).__name__ if self.schedule.needs == "optimum" else ""
        return explain(graph, self.method, optimum_for=who)

    def closed_form(self, graph: FeedbackGraph) -> ClosedForm | None:
        """The closed form that is played on this graph, or None if `solve_dec` is called."""
        return choose_form(graph, self.method, needs_optimum=self.schedule.needs == "optimum")

    def _explore(
        self, predicted_losses: Floats, graph: FeedbackGraph, gamma: float
    ) -> tuple[Floats, float]:
        """Probabilities, and the DEC of the round where the schedule wants it."""
        form = self.closed_form(graph)
        if form is None:
            solution = solve_dec(predicted_losses, graph, gamma)
            return solution.probabilities, solution.value
        probabilities = form.formula(predicted_losses, gamma)
        if self.schedule.needs == "nothing":
            return probabilities, float("nan")
        return probabilities, dec(probabilities, predicted_losses, graph, gamma)
