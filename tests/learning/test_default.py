"""The default learner: how its regret grows, and that it does not lock in."""

import numpy as np
import pytest

from graphcb import FeedbackGraph, InformationDirected, draw, graphs
from graphcb.environments import LinearLosses
from graphcb.experiments import run
from graphcb.oracles import DefaultOracle, OnlineRidge

ROUNDS = np.array([250, 500, 1000, 2000])
CYCLE = FeedbackGraph(np.roll(np.eye(4), 1, axis=1))
LEARNERS = {
    "default": lambda graph: InformationDirected(
        DefaultOracle(graph.n_actions, loss_range=(-1.0, 2.0))
    ),
    "ridge": lambda graph: InformationDirected(OnlineRidge(graph.n_actions, 5)),
}


def regrets(learner, graph, n_seeds=10):
    """Mean cumulative regret at `ROUNDS`; the slope of a single run is 0.3 to 0.8."""
    curves = []
    for seed in range(n_seeds):
        environment = LinearLosses(graph, n_rounds=int(ROUNDS[-1]))
        losses = [row.loss for row in run(LEARNERS[learner](graph), environment, seed=seed)]
        curves.append(np.cumsum(losses)[ROUNDS - 1])
    return np.mean(curves, axis=0)


def slope(curve):
    return np.polyfit(np.log(ROUNDS), np.log(curve), 1)[0]


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize(
    "graph",
    [
        graphs.bandit(5),
        graphs.cops_and_robbers(8),
        graphs.inventory(8),
        graphs.random_self_aware(8, 0.3, np.random.default_rng(0)),
    ],
    ids=["bandit", "cops-and-robbers", "inventory", "random"],
)
def test_strongly_observable_graphs_have_regret_of_the_order_of_the_root(learner, graph):
    assert graph.observability == "strong"
    assert slope(regrets(learner, graph)) <= 0.55


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("graph", [graphs.apple_tasting(5), CYCLE], ids=["apple-tasting", "cycle"])
def test_weakly_observable_graphs_have_regret_of_the_order_of_two_thirds(learner, graph):
    assert graph.observability == "weak"
    assert slope(regrets(learner, graph)) <= 0.7


def play(agent, graph, losses, contexts, seed):
    """Mean loss over the last quarter of the rounds."""
    rng, total = np.random.default_rng(seed), []
    for x, truth in zip(contexts, losses, strict=True):
        action = draw(agent.act(x, graph), rng)
        revealed = graph.draw_revealed(action, rng)
        agent.learn(x, revealed, truth[revealed])
        total.append(truth[action])
    return np.mean(total[-len(total) // 4 :])


@pytest.mark.parametrize(
    "graph",
    [graphs.bandit(4), graphs.apple_tasting(4, revealing_action=3), CYCLE, graphs.inventory(4)],
    ids=["bandit", "apple-tasting", "cycle", "inventory"],
)
@pytest.mark.parametrize("seed", range(3))
def test_fifty_misleading_rounds_do_not_lock_it_in(graph, seed):
    rng = np.random.default_rng(seed)
    contexts = rng.normal(size=(3000, 2))
    means = np.array([0.2, 0.5, 0.6, 0.7])
    losses = (rng.random((3000, 4)) < means).astype(float)
    losses[:50, 0] = 1.0  # the best action looks worst
    losses[:50, 1] = 0.0
    assert play(InformationDirected(), graph, losses, contexts, seed) < 0.35


@pytest.mark.parametrize("loss", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("graph", [graphs.bandit(3), CYCLE], ids=["bandit", "cycle"])
def test_equal_losses_leave_a_distribution(loss, graph):
    rng = np.random.default_rng(0)
    agent = InformationDirected()
    for _ in range(300):
        x = rng.normal(size=3)
        p = agent.act(x, graph)
        assert p.min() >= 0.0
        assert p.sum() == pytest.approx(1.0, abs=1e-12)
        revealed = graph.draw_revealed(draw(p, rng), rng)
        agent.learn(x, revealed, np.full(len(revealed), loss))


def test_graphs_may_change_and_be_stochastic():
    rng = np.random.default_rng(0)
    agent, means, total = InformationDirected(), np.array([0.1, 0.5, 0.9]), []
    for _ in range(1500):
        x = rng.normal(size=2)
        matrix = rng.random((3, 3)) * (rng.random((3, 3)) < 0.5)
        np.fill_diagonal(matrix, 0.3)
        graph = FeedbackGraph(matrix)
        action = draw(agent.act(x, graph), rng)
        revealed = graph.draw_revealed(action, rng)
        agent.learn(x, revealed, (rng.random(3) < means)[revealed].astype(float))
        total.append(means[action])
    assert np.mean(total[-500:]) < 0.15
