"""How regret grows, on a problem that the oracle can represent: short, seeded, with margins."""

import numpy as np
import pytest

from graphcb import FeedbackGraph, SquareCBG, SquareRoot, TwoThirds, graphs
from graphcb.environments import LinearLosses
from graphcb.experiments import run
from graphcb.oracles import OnlineRidge

ROUNDS = np.array([250, 500, 1000, 2000])


def regrets(graph, gamma, n_seeds=3):
    """Mean cumulative regret at `ROUNDS`."""
    curves = []
    for seed in range(n_seeds):
        environment = LinearLosses(graph, n_rounds=int(ROUNDS[-1]))
        agent = SquareCBG(OnlineRidge(graph.n_actions, environment.n_features), gamma=gamma)
        losses = [row.loss for row in run(agent, environment, seed=seed)]
        curves.append(np.cumsum(losses)[ROUNDS - 1])
    return np.mean(curves, axis=0)


def slope(curve):
    return np.polyfit(np.log(ROUNDS), np.log(curve), 1)[0]


@pytest.mark.parametrize(
    ("graph", "alpha"),
    [
        (graphs.bandit(5), 5),
        (graphs.cops_and_robbers(8), 1),
        (graphs.inventory(8), 1),
        (graphs.random_self_aware(8, 0.3, np.random.default_rng(0)), 3),
    ],
)
def test_strongly_observable_graphs_have_regret_of_the_order_of_the_root(graph, alpha):
    """Corollary 3.3, with the round in place of the horizon."""
    assert graph.observability == "strong"
    assert slope(regrets(graph, SquareRoot(2.0, alpha))) <= 0.6


@pytest.mark.parametrize(
    "graph", [graphs.apple_tasting(4), FeedbackGraph(np.roll(np.eye(4), 1, axis=1))]
)
def test_weakly_observable_graphs_learn_too(graph):
    """Corollary 3.5, with the round in place of the horizon."""
    assert graph.observability == "weak"
    assert slope(regrets(graph, TwoThirds(4.0))) <= 0.75


def test_regret_grows_with_the_actions_under_bandit_and_not_under_cops_and_robbers():
    """Corollary 3.3: what counts is alpha, K under bandit and 1 under cops-and-robbers."""
    few, many = (regrets(graphs.bandit(k), SquareRoot(2.0, k))[-1] for k in (4, 16))
    assert many > 1.5 * few
    few, many = (regrets(graphs.cops_and_robbers(k), SquareRoot(2.0, 1))[-1] for k in (4, 16))
    assert many < 1.2 * few
