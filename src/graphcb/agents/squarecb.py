"""SquareCB: exploration by inverse gap weighting, blind to the graph."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import as_gamma, as_losses
from graphcb.exploration import Schedule, as_schedule
from graphcb.exploration.closed_forms import inverse_gap_weighting
from graphcb.graphs import FeedbackGraph
from graphcb.oracles import Oracle


class SquareCB:
    """Explores as if each action revealed itself alone; learns from all that is revealed.

    What SquareCB.G is compared with in the paper: same oracle, same feedback, other
    probabilities. `gamma` is a number or a schedule such as `SquareRoot(c, "n_actions")`.

    >>> from graphcb import graphs, oracles
    >>> agent = SquareCB(oracles.NewsvendorOGD(1, learning_rate=0.5), gamma=10.0)
    >>> agent.act(np.array([0.3]), graphs.inventory(3), np.array([0.0, 0.5, 1.0])).round(3)
    array([0.077, 0.125, 0.798])
    """

    def __init__(self, oracle: Oracle, *, gamma: float | Schedule) -> None:
        self.oracle = oracle
        self.schedule = as_schedule(gamma)
        if self.schedule.needs != "nothing":
            raise ValueError(
                "`gamma` must be a schedule that needs no DEC, such as "
                'SquareRoot(c, "n_actions"), as SquareCB computes none; '
                f"got {type(self.schedule).__name__}, which is for SquareCBG"
            )
        self.n_rounds = 0

    def act(self, context: Any, graph: FeedbackGraph, actions: Any = None) -> NDArray[np.float64]:
        """Probabilities of this round, whatever the graph reveals."""
        n_actions = graph.n_actions
        predicted_losses = as_losses(self.oracle.predict(context, actions), n_actions)
        gamma = as_gamma(self.schedule.gamma(self.n_rounds + 1, n_actions))
        self.n_rounds += 1
        return inverse_gap_weighting(predicted_losses, gamma)

    def learn(self, context: Any, actions: Any, losses: Any) -> None:
        """Hand what was revealed to the oracle."""
        self.oracle.update(context, actions, losses)
