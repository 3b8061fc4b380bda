"""Clip and renormalise: what is done to keep to a rate where there are no budgets."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.agents import InformationDirected
from graphcb.graphs import FeedbackGraph
from graphcb.oracles import Oracle

Floats = NDArray[np.float64]


class ClipAndRenormalise:
    """`InformationDirected` whose costly actions are clipped to the rate; the others are scaled up.

    All costly actions are scaled by the same factor, so that the expected cost is at most `rate`.
    What is cut goes to actions that cost nothing: in proportion to their probabilities, or, where
    they have none, to the one that looks best. Draws can still spend more than the rate.
    """

    def __init__(self, oracle: Oracle, costs: Floats, rate: float) -> None:
        self.agent, self.oracle = InformationDirected(oracle), oracle
        self.costs, self.rate = costs, rate

    def act(self, context: Any, graph: FeedbackGraph, actions: Any = None) -> Floats:
        """The agent's probabilities, clipped to the rate."""
        p = self.agent.act(context, graph, actions)
        expected = float(self.costs @ p)
        if expected <= self.rate:
            return p
        is_free = self.costs == 0.0
        kept = np.where(is_free, 0.0, p * (self.rate / expected))
        rest = np.where(is_free, p, 0.0)
        if rest.sum() == 0.0:
            predicted = self.oracle.predict(context, actions)
            rest[np.where(is_free, predicted, np.inf).argmin()] = 1.0
        clipped: Floats = kept + rest * ((1.0 - kept.sum()) / rest.sum())
        return clipped

    def learn(self, context: Any, actions: Any, losses: Any) -> None:
        """Learn as the agent does."""
        self.agent.learn(context, actions, losses)
