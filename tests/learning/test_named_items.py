"""Items that come with each round and hardly differ: the better one is found by its name."""

import numpy as np

from graphcb import InformationDirected, graphs
from graphcb.oracles import ActionFeatureOracle

N_COINS, N_ROUNDS = 10, 3000


def regret(seed):
    """Of ten coins known by name, one of which is better by 0.1, in contexts that say nothing."""
    rng, draws = np.random.default_rng(seed), np.random.default_rng(1000 + seed)
    losses = rng.permutation(np.append(np.full(N_COINS - 1, 0.5), 0.4))
    rows = [(np.array([1000 + k]), np.ones(1)) for k in range(N_COINS)]
    agent, graph, total = InformationDirected(ActionFeatureOracle()), graphs.bandit(N_COINS), 0.0
    for _ in range(N_ROUNDS):
        x = rng.normal(size=3)
        played = draws.choice(N_COINS, p=agent.act(x, graph, rows))
        agent.learn(x, [rows[played]], [float(draws.random() < losses[played])])
        total += losses[played] - 0.4
    return total


def test_the_better_one_of_ten_named_coins_is_found():
    """Squares of numbers that were not centred, and priors that were not learned, lost all eight
    runs (mean 233 of 300); now one is lost (mean 110)."""
    found = np.array([regret(seed) for seed in range(8)])
    assert found.mean() < 165.0
    assert (found > 0.5 * 0.1 * N_ROUNDS).sum() <= 4
