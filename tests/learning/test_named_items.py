"""Items that come with each round and hardly differ: the better one is found by its name."""

import numpy as np

from graphcb import InformationDirected, Problem, graphs
from graphcb.oracles import ActionFeatureOracle
from graphcb.problems import Learner

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


def regret_of_learner(seed, n_numbers=0, with_value=False, n_rounds=4000):
    """Of the same coins through `Learner`, as dicts: contexts of so many numbers that say nothing,
    and perhaps a number of each coin, which says nothing either."""
    rng, draws = np.random.default_rng(seed), np.random.default_rng(1000 + seed)
    losses = rng.permutation(np.append(np.full(N_COINS - 1, 0.5), 0.4))
    values, total = rng.normal(size=N_COINS), 0.0
    coins = {f"item-{k}": {"value": v} if with_value else {} for k, v in enumerate(values)}
    learner = Learner(Problem("each round", reveals="bandit", feedback="losses"))
    for _ in range(n_rounds):
        context = {f"x{i}": x for i, x in enumerate(rng.normal(size=n_numbers))}
        played = draws.choice(N_COINS, p=learner.act(context, actions=coins))
        name, loss = f"item-{played}", float(draws.random() < losses[played])
        learner.learn(context, {name: coins[name]}, [loss])
        total += losses[played] - 0.4
    return total


def test_the_better_one_of_ten_named_coins_is_found_through_learner():
    """With the constant of their encoder as one more feature of each, three of eight runs were lost
    (mean 177 of 400); now one is, by a little (mean 114)."""
    found = np.array([regret_of_learner(seed) for seed in range(8)])
    assert found.mean() < 150.0
    assert (found > 200.0).sum() <= 2
