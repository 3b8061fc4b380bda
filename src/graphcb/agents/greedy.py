"""Simple agents to compare others with: they explore without looking at the graph."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphcb.agents.budgets import Budget
from graphcb.agents.prediction import OpenRound, Predicts, play_best
from graphcb.describing import describe
from graphcb.exploration import Limits
from graphcb.exploration.limited_choice import best_within, spread_within
from graphcb.graphs import FeedbackGraph, as_graph
from graphcb.graphs.structure import Floats
from graphcb.loaded import check_counts, check_numbers
from graphcb.oracles import Oracle


class Greedy(Predicts):
    """Always plays the action with the smallest prediction; learns only what that reveals.

    The oracle is a `DefaultOracle` if left out. With `limits`, it plays the distribution with the
    smallest expected prediction that obeys. With `budgets`, predictions include what actions cost,
    at prices that keep to the budgets. `explore` as in `SquareCBG`.

    >>> from graphcb import graphs, oracles
    >>> agent = Greedy(oracles.LinearOGD(3, 1))
    >>> agent.act([1.0], graphs.bandit(3))
    array([1., 0., 0.])
    """

    def __init__(
        self,
        oracle: Oracle | None = None,
        *,
        limits: Limits | None = None,
        budgets: Sequence[Budget] = (),
        explore: float = 0.0,
    ) -> None:
        super().__init__(oracle, limits, budgets, explore)

    def _choose(self, opened: OpenRound) -> Floats:
        return play_best(opened.losses, opened.box)


class EpsilonGreedy(Predicts):
    """Plays the best action, and with probability `epsilon` one at random; ignores the graph.

    With `limits`, "plays an action" becomes "plays it as often as the limits allow, and what is
    left on the next best predictions". So the probabilities are a mixture of distributions that
    obey, and obey themselves. `oracle`, `budgets` and `explore` as in `Greedy`.

    >>> from graphcb import graphs, oracles
    >>> agent = EpsilonGreedy(oracles.LinearOGD(4, 1), epsilon=0.2)
    >>> agent.act([1.0], graphs.bandit(4))
    array([0.85, 0.05, 0.05, 0.05])
    >>> agent = EpsilonGreedy(oracles.LinearOGD(4, 1), epsilon=0.2, limits=Limits(caps={3: 0.1}))
    >>> agent.act([1.0], graphs.bandit(4))
    array([0.895, 0.05 , 0.05 , 0.005])
    """

    def __init__(
        self,
        oracle: Oracle | None = None,
        *,
        epsilon: float = 0.1,
        limits: Limits | None = None,
        budgets: Sequence[Budget] = (),
        explore: float = 0.0,
    ) -> None:
        if not 0.0 <= epsilon <= 1.0:
            raise ValueError(f"`epsilon` must be a probability in [0, 1], got {epsilon}")
        super().__init__(oracle, limits, budgets, explore)
        self.epsilon = epsilon

    def _choose(self, opened: OpenRound) -> Floats:
        losses, box = opened.losses, opened.box
        if box is None:
            probabilities = np.full(losses.size, self.epsilon / losses.size)
            probabilities[np.argmin(losses)] += 1.0 - self.epsilon
            return probabilities
        best, spread = best_within(losses, box), spread_within(losses, box)
        return np.clip(best + self.epsilon * (spread - best), box.lower, box.upper)

    def check_loaded(self) -> None:
        super().check_loaded()
        check_numbers(self, "epsilon", least=0.0, most=1.0)


class Uniform:
    """Plays every action equally often and learns nothing: the baseline of any comparison.

    >>> from graphcb import graphs
    >>> Uniform().act(None, graphs.bandit(4))
    array([0.25, 0.25, 0.25, 0.25])
    """

    def __init__(self) -> None:
        self.n_rounds = 0

    def act(
        self, context: Any, graph: FeedbackGraph, actions: Any = None, *, known: Any = None
    ) -> Floats:
        n_actions = as_graph(graph).n_actions
        self.n_rounds += 1
        return np.full(n_actions, 1.0 / n_actions)

    def learn(self, context: Any, actions: Any, losses: Any) -> None:
        """Nothing to learn."""

    def check_loaded(self) -> None:
        check_counts(self, n_rounds=0)

    __repr__ = describe
