"""How regret grows where theory says that it must: the right gamma on both sides, wrong ones not.

Slopes are those of the mean regret over seeds on a double logarithmic axis. Each test of an order
has a band, and gammas of another order that fall outside of it on the same streams.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from graphcb import FeedbackGraph, Greedy, SquareCBG, SquareRoot, TwoThirds, graphs
from graphcb.environments import CostlyLooks, LinearLosses
from graphcb.environments.drawn import DrawnLosses
from graphcb.experiments import run
from graphcb.oracles import OnlineRidge

ROUNDS = 1000 * 2 ** np.arange(5)
EARLIER = 250 * 2 ** np.arange(6)
LARGE = 0.3
FIRST_BLOCK = 4  # of 2^4 rounds, and what comes before


@dataclass(frozen=True)
class Leads(DrawnLosses):
    """One action leads through the n rounds from a power of two to the next, then another.

    By 0.3 in half of the rounds, which has to be found each time: too little exploration costs a
    share of n. By 2 / sqrt(n) in the other half, which no policy can find for less than sqrt(n).
    Too much exploration costs the first lead wherever it is not played. The two halves of every
    block are features of their own. Losses are 0 or 1, and less 1 with `pessimistic`, where the
    predictions of what was never seen, 0, are then the largest.
    """

    graph: FeedbackGraph
    n_rounds: int
    pessimistic: bool

    @property
    def n_features(self):
        return 2 * max(1, self.n_rounds.bit_length() - FIRST_BLOCK)

    def draw(self, rng):
        n, n_actions = self.n_rounds, self.graph.n_actions
        weights = np.full((self.n_features, n_actions), 0.5)
        for block in range(self.n_features // 2):
            weights[2 * block, rng.integers(n_actions)] -= LARGE
            small = min(LARGE, 2.0 * 2.0 ** (-(block + FIRST_BLOCK) / 2))
            weights[2 * block + 1, rng.integers(n_actions)] -= small
        blocks = [max(0, t.bit_length() - 1 - FIRST_BLOCK) for t in range(1, n + 1)]
        contexts = np.zeros((n, self.n_features))
        contexts[np.arange(n), 2 * np.array(blocks) + (rng.random(n) < 0.5)] = 1.0
        means = contexts @ weights
        losses = (rng.random((n, n_actions)) < means).astype(float)
        return contexts, means - self.pessimistic, losses - self.pessimistic


@dataclass(frozen=True)
class Power:
    """gamma = c t^exponent."""

    c: float
    exponent: float
    needs: ClassVar = "nothing"
    epoch: ClassVar[int] = 0

    def gamma(self, round_number, n_actions):
        return self.c * round_number**self.exponent

    def observe(self, value):
        pass


def regret(make_agent, environment, seeds):
    """Mean cumulative regret after each round."""
    width = environment.graph.n_actions, environment.n_features
    curves = []
    for seed in seeds:
        rows = run(make_agent(OnlineRidge(*width)), environment, seed=seed)
        curves.append(np.cumsum([row.loss for row in rows]))
    return np.mean(curves, axis=0)


def slope(curve, rounds):
    return np.polyfit(np.log(rounds), np.log(curve[rounds - 1]), 1)[0]


STRONG = {
    "bandit": (graphs.bandit(5), 5),
    "cops": (graphs.cops_and_robbers(8), 1),
    "inventory": (graphs.inventory(8), 1),
    "random": (graphs.random_self_aware(8, 0.3, np.random.default_rng(0)), 3),
}


def strong_slope(name, make_agent, n_seeds=4):
    graph, _ = STRONG[name]
    assert graph.observability == "strong"
    environment = Leads(graph, int(ROUNDS[-1]), pessimistic=graph.is_self_aware)
    return slope(regret(make_agent, environment, range(n_seeds)), ROUNDS)


@pytest.mark.slow
@pytest.mark.parametrize("name", STRONG)
def test_corollary_3_3_regret_is_of_the_order_of_the_root(name):
    """With the round in place of the horizon."""
    gamma = SquareRoot(1.0, STRONG[name][1])
    assert 0.45 <= strong_slope(name, lambda oracle: SquareCBG(oracle, gamma=gamma)) <= 0.62


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bandit", "cops", "inventory"])
@pytest.mark.parametrize("exponent", [0.25, 1.0, None], ids=["t^1/4", "t", "greedy"])
def test_corollary_3_3_other_orders_of_gamma_are_noticed(name, exponent):
    if exponent is None:
        found = strong_slope(name, Greedy)
    else:
        gamma = Power(np.sqrt(STRONG[name][1]), exponent)
        found = strong_slope(name, lambda oracle: SquareCBG(oracle, gamma=gamma))
    assert found > 0.65


WEAK = {
    "apple tasting": graphs.apple_tasting(4),
    "cycle": FeedbackGraph(np.roll(np.eye(4), 1, axis=1)),
}


def weak_slope(name, gamma):
    assert WEAK[name].observability == "weak"
    environment = CostlyLooks(WEAK[name], costly=(0,), n_rounds=int(EARLIER[-1]))
    curve = regret(lambda oracle: SquareCBG(oracle, gamma=gamma), environment, range(6))
    return slope(curve, EARLIER)


@pytest.mark.slow
@pytest.mark.parametrize("name", WEAK)
def test_corollary_3_5_regret_is_of_the_order_two_thirds(name):
    """With the round in place of the horizon."""
    assert 0.58 <= weak_slope(name, TwoThirds(1.0)) <= 0.69


@pytest.mark.slow
@pytest.mark.parametrize("name", WEAK)
@pytest.mark.parametrize("exponent", [0.5, 1.0, 1.5])
def test_corollary_3_5_other_orders_of_gamma_are_noticed(name, exponent):
    assert weak_slope(name, Power(1.0, exponent)) > 0.7


def last_regret(graph, alpha):
    environment = LinearLosses(graph, n_rounds=2000)
    make_agent = lambda oracle: SquareCBG(oracle, gamma=SquareRoot(2.0, alpha))  # noqa: E731
    return regret(make_agent, environment, range(3))[-1]


def test_regret_grows_with_the_actions_under_bandit_and_not_under_cops_and_robbers():
    """Corollary 3.3: what counts is alpha, K under bandit and 1 under cops-and-robbers."""
    few, many = (last_regret(graphs.bandit(k), k) for k in (4, 16))
    assert many > 1.5 * few
    few, many = (last_regret(graphs.cops_and_robbers(k), 1) for k in (4, 16))
    assert many < 1.2 * few
