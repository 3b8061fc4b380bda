"""Losses off the oracle's class by epsilon: the first remark on Assumption 1 in Section 2.

The theory adds epsilon * T * sqrt(alpha) to the regret. Here the part off the class is a wave of
that height that no linear oracle can follow, and epsilon * T is enough.
"""

import math

import numpy as np
import pytest

from graphcb import InformationDirected, SquareCBG, SquareRoot, Uniform, draw, graphs
from graphcb.environments import OffLinear
from graphcb.experiments import run
from graphcb.oracles import OnlineRidge

T, N_FEATURES = 1000, 5
GRAPHS = {"bandit": graphs.bandit(4), "cops-and-robbers": graphs.cops_and_robbers(8)}
AGENTS = {
    "the paper's gamma": lambda graph: SquareCBG(
        OnlineRidge(graph.n_actions, N_FEATURES),
        gamma=SquareRoot(4.0, graph.independence_number()),
    ),
    "no gamma": lambda graph: InformationDirected(OnlineRidge(graph.n_actions, N_FEATURES)),
}


def on_sphere(rng, size):
    points = rng.standard_normal((size, N_FEATURES - 1))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def regret(agent, graph, epsilon, seed=0):
    """Expected regret against the best action, for losses that are linear up to epsilon."""
    rng, draws = np.random.default_rng(seed), np.random.default_rng(seed + 1)
    slopes, waves = on_sphere(rng, graph.n_actions), 20.0 * on_sphere(rng, graph.n_actions)
    total = 0.0
    for _ in range(T):
        direction = on_sphere(rng, 1)[0]
        off = epsilon * np.sign(np.cos(waves @ direction))
        means = 0.5 + 0.5 * slopes @ direction + off
        losses = means + 0.2 * rng.standard_normal(graph.n_actions)
        context = np.append(1.0, direction)
        p = agent.act(context, graph)
        seen = graph.draw_revealed(draw(p, draws), draws)
        agent.learn(context, seen, losses[seen])
        total += p @ means - means.min()
    return total


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
@pytest.mark.parametrize("make", AGENTS.values(), ids=AGENTS)
def test_misspecification_costs_at_most_epsilon_per_round(make, graph):
    well_specified = math.sqrt(graph.independence_number() * T)
    exact = regret(make(graph), graph, 0.0)
    assert exact <= well_specified
    for epsilon in (0.1, 0.4):
        off = regret(make(graph), graph, epsilon)
        assert off <= well_specified + epsilon * T
        assert off >= exact + 0.1 * epsilon * T  # it does cost something
    assert regret(Uniform(), graph, 0.1) > 1.5 * (well_specified + 0.1 * T)


ROUNDS, OFF = 1000, 0.03


def regret_off_linear(make_agent, graph, off):
    """Mean regret after all rounds, over two seeds."""
    environment = OffLinear(graph, off, ROUNDS)
    totals = [sum(row.loss for row in run(make_agent(), environment, seed=s)) for s in (0, 1)]
    return float(np.mean(totals))


def agents(graph, alpha):
    """The paper's gamma, and the default."""

    def paper():
        return SquareCBG(OnlineRidge(graph.n_actions, 5), gamma=SquareRoot(4.0, alpha))

    return {"paper": paper, "default": SquareCBG}


@pytest.mark.parametrize(
    ("graph", "alpha"), [(graphs.cops_and_robbers(9), 1.0), (graphs.bandit(9), 9.0)], ids=repr
)
def test_regret_grows_by_less_than_theory_allows(graph, alpha):
    both = agents(graph, alpha)
    start = regret_off_linear(both["paper"], graph, 0.0)
    allowed = OFF * ROUNDS * math.sqrt(alpha)
    for make_agent in both.values():
        assert regret_off_linear(make_agent, graph, OFF) <= start + allowed
    # Who does not learn has more regret than that: the bound says something.
    assert regret_off_linear(Uniform, graph, OFF) > start + 1.05 * allowed
