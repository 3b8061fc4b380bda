"""Losses off the oracle's class by epsilon: regret grows by less than epsilon * T * sqrt(alpha)."""

import math

import numpy as np
import pytest

from graphcb import SquareCBG, SquareRoot, graphs
from graphcb.agents import Uniform
from graphcb.environments import OffLinear
from graphcb.experiments import run
from graphcb.oracles import OnlineRidge

ROUNDS, OFF = 1000, 0.03


def regret(make_agent, graph, off):
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
    start = regret(both["paper"], graph, 0.0)
    allowed = OFF * ROUNDS * math.sqrt(alpha)
    for make_agent in both.values():
        assert regret(make_agent, graph, OFF) <= start + allowed
    # Who does not learn has more regret than that: the bound says something.
    assert regret(Uniform, graph, OFF) > start + 1.05 * allowed
