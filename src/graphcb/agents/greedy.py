"""Simple agents to compare SquareCB.G with: they explore without looking at the graph."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.agents.prediction import predicted_losses
from graphcb.describing import describe
from graphcb.exploration.closed_forms import follow_the_best
from graphcb.graphs import FeedbackGraph, as_graph
from graphcb.loaded import check_counts, check_numbers
from graphcb.oracles import Oracle, as_oracle

Floats = NDArray[np.float64]


class Greedy:
    """Always plays the action with the smallest prediction; learns only what that reveals.

    >>> from graphcb import graphs, oracles
    >>> agent = Greedy(oracles.LinearOGD(3, 1))
    >>> agent.act([1.0], graphs.bandit(3))
    array([1., 0., 0.])
    """

    def __init__(self, oracle: Oracle) -> None:
        self.oracle = as_oracle(oracle)
        self.n_rounds = 0

    def act(self, context: Any, graph: FeedbackGraph, actions: Any = None) -> Floats:
        """All probability on the best prediction."""
        predicted = predicted_losses(self.oracle, context, graph, actions)
        self.n_rounds += 1
        return follow_the_best(predicted, 1.0)

    def learn(self, context: Any, actions: Any, losses: Any) -> None:
        self.oracle.update(context, actions, losses)

    def check_loaded(self) -> None:
        """Raise an error unless the attributes fit together, as those of a file may not."""
        as_oracle(self.oracle)
        check_counts(self, n_rounds=0)

    __repr__ = describe


class EpsilonGreedy:
    """Plays the best action, and with probability `epsilon` one at random; ignores the graph.

    >>> from graphcb import graphs, oracles
    >>> agent = EpsilonGreedy(oracles.LinearOGD(4, 1), epsilon=0.2)
    >>> agent.act([1.0], graphs.bandit(4))
    array([0.85, 0.05, 0.05, 0.05])
    """

    def __init__(self, oracle: Oracle, *, epsilon: float = 0.1) -> None:
        if not 0.0 <= epsilon <= 1.0:
            raise ValueError(f"`epsilon` must be a probability in [0, 1], got {epsilon}")
        self.oracle = as_oracle(oracle)
        self.epsilon = epsilon
        self.n_rounds = 0

    def act(self, context: Any, graph: FeedbackGraph, actions: Any = None) -> Floats:
        """`epsilon` spread evenly, the rest on the best prediction."""
        predicted = predicted_losses(self.oracle, context, graph, actions)
        self.n_rounds += 1
        probabilities = np.full(graph.n_actions, self.epsilon / graph.n_actions)
        probabilities[np.argmin(predicted)] += 1.0 - self.epsilon
        return probabilities

    def learn(self, context: Any, actions: Any, losses: Any) -> None:
        self.oracle.update(context, actions, losses)

    def check_loaded(self) -> None:
        """Raise an error unless the attributes fit together, as those of a file may not."""
        as_oracle(self.oracle)
        check_numbers(self, "epsilon", least=0.0, most=1.0)
        check_counts(self, n_rounds=0)

    __repr__ = describe


class Uniform:
    """Plays every action equally often and learns nothing: the baseline of any comparison.

    >>> from graphcb import graphs
    >>> Uniform().act(None, graphs.bandit(4))
    array([0.25, 0.25, 0.25, 0.25])
    """

    def __init__(self) -> None:
        self.n_rounds = 0

    def act(self, context: Any, graph: FeedbackGraph, actions: Any = None) -> Floats:
        n_actions = as_graph(graph).n_actions
        self.n_rounds += 1
        return np.full(n_actions, 1.0 / n_actions)

    def learn(self, context: Any, actions: Any, losses: Any) -> None:
        """Nothing to learn."""

    def check_loaded(self) -> None:
        """Raise an error unless the attributes fit together, as those of a file may not."""
        check_counts(self, n_rounds=0)

    __repr__ = describe
