"""Agents that explore without a plan: what SquareCB.G has to beat."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import as_losses
from graphcb.exploration.closed_forms import follow_the_best
from graphcb.graphs import FeedbackGraph
from graphcb.oracles import Oracle

Floats = NDArray[np.float64]


class Greedy:
    """Always plays the action that looks best; learns only what that reveals.

    >>> from graphcb import graphs, oracles
    >>> agent = Greedy(oracles.LinearOGD(3, 1))
    >>> agent.act([1.0], graphs.bandit(3))
    array([1., 0., 0.])
    """

    def __init__(self, oracle: Oracle) -> None:
        self.oracle = oracle
        self.n_rounds = 0

    def act(self, context: Any, graph: FeedbackGraph, actions: Any = None) -> Floats:
        """All probability on the best prediction."""
        predicted_losses = as_losses(self.oracle.predict(context, actions), graph.n_actions)
        self.n_rounds += 1
        return follow_the_best(predicted_losses, 1.0)

    def learn(self, context: Any, actions: Any, losses: Any) -> None:
        """Hand what was revealed to the oracle."""
        self.oracle.update(context, actions, losses)


class EpsilonGreedy:
    """Plays the best action, but any action with chance `epsilon`, whatever the graph reveals.

    >>> from graphcb import graphs, oracles
    >>> agent = EpsilonGreedy(oracles.LinearOGD(4, 1), epsilon=0.2)
    >>> agent.act([1.0], graphs.bandit(4))
    array([0.85, 0.05, 0.05, 0.05])
    """

    def __init__(self, oracle: Oracle, *, epsilon: float = 0.1) -> None:
        if not 0.0 <= epsilon <= 1.0:
            raise ValueError(f"`epsilon` must be a probability in [0, 1], got {epsilon}")
        self.oracle = oracle
        self.epsilon = epsilon
        self.n_rounds = 0

    def act(self, context: Any, graph: FeedbackGraph, actions: Any = None) -> Floats:
        """`epsilon` spread evenly, the rest on the best prediction."""
        predicted_losses = as_losses(self.oracle.predict(context, actions), graph.n_actions)
        self.n_rounds += 1
        probabilities = np.full(graph.n_actions, self.epsilon / graph.n_actions)
        probabilities[np.argmin(predicted_losses)] += 1.0 - self.epsilon
        return probabilities

    def learn(self, context: Any, actions: Any, losses: Any) -> None:
        """Hand what was revealed to the oracle."""
        self.oracle.update(context, actions, losses)


class Uniform:
    """Plays every action equally often and learns nothing: the floor of any comparison.

    >>> from graphcb import graphs
    >>> Uniform().act(None, graphs.bandit(4))
    array([0.25, 0.25, 0.25, 0.25])
    """

    def __init__(self) -> None:
        self.n_rounds = 0

    def act(self, context: Any, graph: FeedbackGraph, actions: Any = None) -> Floats:
        """The uniform distribution."""
        self.n_rounds += 1
        return np.full(graph.n_actions, 1.0 / graph.n_actions)

    def learn(self, context: Any, actions: Any, losses: Any) -> None:
        """Nothing to learn."""
