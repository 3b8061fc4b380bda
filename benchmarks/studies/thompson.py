"""Thompson sampling, to compare exploration with: the oracle is the default's."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.graphs import FeedbackGraph
from graphcb.oracles import Forecast, ForecastingOracle

Floats = NDArray[np.float64]


class Thompson:
    """Plays the action that is best in a draw from the oracle's posterior; ignores the graph.

    An expected loss is a share of the range whose log odds are normal with mean m and variance s:
    the oracle's forecast p is sigmoid(m / sqrt(1 + pi s / 8)), and its variance is
    v (1 - 1 / sqrt(1 + 2 v s)) with v = p (1 - p). Actions are independent.

    >>> from graphcb import graphs, oracles
    >>> agent = Thompson(oracles.DefaultOracle(2), seed=0)
    >>> agent.act([1.0], graphs.bandit(2)).tolist() in ([1.0, 0.0], [0.0, 1.0])
    True
    """

    def __init__(self, oracle: ForecastingOracle, seed: int) -> None:
        self.oracle = oracle
        self.rng = np.random.default_rng((1, seed))  # not that of the world

    def act(self, context: Any, graph: FeedbackGraph, actions: Any = None) -> Floats:
        """All probability on the action that was drawn."""
        probabilities = np.zeros(graph.n_actions)
        scores, deviations = log_odds(self.oracle.forecast(context, actions))
        drawn = scores + deviations * self.rng.standard_normal(scores.size)
        probabilities[drawn.argmin()] = 1.0
        return probabilities

    def learn(self, context: Any, actions: Any, losses: Any) -> None:
        """Pass what was revealed to the oracle."""
        self.oracle.update(context, actions, losses)


def log_odds(forecast: Forecast) -> tuple[Floats, Floats]:
    """Mean and deviation of the log odds of each expected loss."""
    p = np.clip((forecast.losses - forecast.low) / forecast.span, 1e-6, 1.0 - 1e-6)
    v = p * (1.0 - p)
    known = 1.0 - np.minimum((forecast.deviations / forecast.span) ** 2 / v, 0.99)
    s = (1.0 / known**2 - 1.0) / (2.0 * v)
    return np.log(p / (1.0 - p)) * np.sqrt(1.0 + math.pi / 8.0 * s), np.sqrt(s)
