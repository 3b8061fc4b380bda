"""Simple agents to compare SquareCB.G with: they explore without looking at the graph."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.agents.budgets import Budget
from graphcb.agents.obeying import Obeys
from graphcb.agents.prediction import predicted_losses
from graphcb.agents.rules import Rules
from graphcb.describing import describe
from graphcb.exploration import Limits
from graphcb.exploration.closed_forms import follow_the_best
from graphcb.exploration.limited_choice import best_within, spread_within
from graphcb.graphs import FeedbackGraph, as_graph
from graphcb.loaded import check_counts, check_kind, check_numbers
from graphcb.oracles import Oracle, as_oracle

Floats = NDArray[np.float64]


class Greedy(Obeys):
    """Always plays the action with the smallest prediction; learns only what that reveals.

    With `limits`, it plays the distribution with the smallest expected prediction that obeys.
    With `budgets`, predictions include what actions cost, at prices that keep to the budgets.

    >>> from graphcb import graphs, oracles
    >>> agent = Greedy(oracles.LinearOGD(3, 1))
    >>> agent.act([1.0], graphs.bandit(3))
    array([1., 0., 0.])
    """

    def __init__(
        self, oracle: Oracle, *, limits: Limits | None = None, budgets: Sequence[Budget] = ()
    ) -> None:
        rules = Rules.of(limits, budgets)
        self.oracle = as_oracle(oracle)
        self.n_rounds = 0
        if rules is not None:
            self.rules = rules

    def act(
        self,
        context: Any,
        graph: FeedbackGraph,
        actions: Any = None,
        *,
        names: Any = None,
        costs: Any = None,
    ) -> Floats:
        """All probability on the best prediction, as far as the limits allow."""
        predicted = predicted_losses(self.oracle, context, graph, actions)
        predicted, box, rules = self._ruled(predicted, context, actions, names, costs)
        p = follow_the_best(predicted, 1.0) if box is None else best_within(predicted, box)
        if rules is not None:
            self.rules = rules
        self.n_rounds += 1
        return p

    def learn(self, context: Any, actions: Any, losses: Any) -> None:
        self.oracle.update(context, actions, losses)

    def check_loaded(self) -> None:
        """Raise an error unless the attributes fit together, as those of a file may not."""
        as_oracle(self.oracle)
        check_kind(self, "rules", Rules, type(None))
        check_counts(self, n_rounds=0)

    __repr__ = describe


class EpsilonGreedy(Obeys):
    """Plays the best action, and with probability `epsilon` one at random; ignores the graph.

    With `limits`, "plays an action" becomes "plays it as often as the limits allow, and what is
    left on the next best predictions". So the probabilities are a mixture of distributions that
    obey, and obey themselves; without limits they are the same as ever. `budgets` as in `Greedy`.

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
        oracle: Oracle,
        *,
        epsilon: float = 0.1,
        limits: Limits | None = None,
        budgets: Sequence[Budget] = (),
    ) -> None:
        if not 0.0 <= epsilon <= 1.0:
            raise ValueError(f"`epsilon` must be a probability in [0, 1], got {epsilon}")
        rules = Rules.of(limits, budgets)
        self.oracle = as_oracle(oracle)
        self.epsilon = epsilon
        self.n_rounds = 0
        if rules is not None:
            self.rules = rules

    def act(
        self,
        context: Any,
        graph: FeedbackGraph,
        actions: Any = None,
        *,
        names: Any = None,
        costs: Any = None,
    ) -> Floats:
        """`epsilon` spread evenly, the rest on the best prediction, as far as limits allow."""
        predicted = predicted_losses(self.oracle, context, graph, actions)
        predicted, box, rules = self._ruled(predicted, context, actions, names, costs)
        if box is None:
            probabilities = np.full(graph.n_actions, self.epsilon / graph.n_actions)
            probabilities[np.argmin(predicted)] += 1.0 - self.epsilon
        else:
            best, spread = best_within(predicted, box), spread_within(predicted, box)
            probabilities = np.clip(best + self.epsilon * (spread - best), box.lower, box.upper)
        if rules is not None:
            self.rules = rules
        self.n_rounds += 1
        return probabilities

    def learn(self, context: Any, actions: Any, losses: Any) -> None:
        self.oracle.update(context, actions, losses)

    def check_loaded(self) -> None:
        """Raise an error unless the attributes fit together, as those of a file may not."""
        as_oracle(self.oracle)
        check_kind(self, "rules", Rules, type(None))
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
