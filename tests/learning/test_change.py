"""Worlds that change in one place, or little by little: the default follows and keeps the rest."""

import numpy as np
import pytest

from graphcb import InformationDirected, draw, graphs
from graphcb.oracles import DefaultOracle

ROUNDS = 4000
SLOPES = np.array([[2.0, 0.0, 0.0], [-2.0, 0.0, 0.0], [0.0, 2.0, 0.0]])


def still(x, t):
    return SLOPES @ x


def one_action(x, t):
    """Only the third action changes: it becomes the best one where it was the worst."""
    return SLOPES @ x * np.array([1.0, 1.0, -1.0 if 2 * t >= ROUNDS else 1.0])


def one_region(x, t):
    """All actions change, but only where the last number is positive."""
    return SLOPES @ x * (-1.0 if x[2] > 0.0 and 2 * t >= ROUNDS else 1.0)


def gradual(x, t):
    """Slopes turn by a whole circle."""
    angle = 2.0 * np.pi * t / ROUNDS
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return SLOPES[:, :2] @ turn @ x[:2]


def never_forgets(n_actions):
    oracle = DefaultOracle(n_actions)
    oracle.update(np.zeros(3), [], [])
    oracle.blend.log_weights[:, 1:] = -1e200
    return oracle


def regret(world, oracle, graph, seed):
    """Mean regret of the last quarter."""
    rng, agent, found = np.random.default_rng(seed), InformationDirected(oracle), []
    for t, x in enumerate(rng.normal(size=(ROUNDS, 3))):
        means = 1.0 / (1.0 + np.exp(-world(x, t)))
        action = draw(agent.act(x, graph), rng)
        seen = np.flatnonzero(graph.matrix[action])
        agent.learn(x, seen, (rng.random(seen.size) < means[seen]).astype(float))
        found.append(means[action] - means.min())
    return np.mean(found[-ROUNDS // 4 :])


@pytest.mark.slow
@pytest.mark.parametrize(
    "graph", [graphs.bandit(3), graphs.full_information(3)], ids=["bandit", "full"]
)
@pytest.mark.parametrize(
    ("world", "most", "share"),
    [(one_action, 0.05, 0.8), (one_region, 0.12, 0.7), (gradual, 0.08, 0.5)],
)
def test_what_changed_is_learned_again(world, most, share, graph):
    found = [regret(world, DefaultOracle(3), graph, seed) for seed in range(2)]
    kept = [regret(world, never_forgets(3), graph, seed) for seed in range(2)]
    assert np.mean(found) < most
    assert np.mean(found) < share * np.mean(kept)


@pytest.mark.slow
def test_where_nothing_changes_little_is_lost():
    graph = graphs.bandit(3)
    found = [regret(still, DefaultOracle(3), graph, seed) for seed in range(2)]
    kept = [regret(still, never_forgets(3), graph, seed) for seed in range(2)]
    assert np.mean(found) < 0.03
    assert np.mean(found) < 1.3 * np.mean(kept) + 0.002
