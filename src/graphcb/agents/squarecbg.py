"""SquareCB.G: exploration that knows what each action reveals."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import as_gamma
from graphcb.exploration import Schedule, as_schedule, closed_form_probabilities
from graphcb.graphs import FeedbackGraph, require_observable
from graphcb.oracles import Oracle


class SquareCBG:
    """The paper's algorithm: predict, spread probability as the graph asks, learn what is seen.

    `gamma` is a number or a schedule such as `SquareRoot(c, alpha)` with the graph's
    independence number. The graph may differ from round to round. It needs a closed form
    (`exploration.closed_form_for(graph)` tells which).

    >>> from graphcb import graphs, oracles
    >>> agent = SquareCBG(oracles.NewsvendorOGD(1, learning_rate=0.5), gamma=10.0)
    >>> agent.act(np.array([0.3]), graphs.inventory(3), np.array([0.0, 0.5, 1.0]))
    array([0., 0., 1.])
    """

    def __init__(self, oracle: Oracle, *, gamma: float | Schedule) -> None:
        self.oracle = oracle
        self.schedule = as_schedule(gamma)
        self.n_rounds = 0

    def act(self, context: Any, graph: FeedbackGraph, actions: Any = None) -> NDArray[np.float64]:
        """Probabilities of this round; the graph must be observable."""
        require_observable(graph, "to learn from it")
        predicted_losses = self.oracle.predict(context, actions)
        gamma = as_gamma(self.schedule.gamma(self.n_rounds + 1, graph.n_actions))
        probabilities = closed_form_probabilities(predicted_losses, graph, gamma)
        self.n_rounds += 1
        return probabilities

    def learn(self, context: Any, actions: Any, losses: Any) -> None:
        """Hand what was revealed to the oracle."""
        self.oracle.update(context, actions, losses)
