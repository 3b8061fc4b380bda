"""SquareCB.G over plausible actions: what is known is not paid for, and gamma balances."""

import numpy as np
import pytest
from studies.plausible import Plausible

from graphcb import FeedbackGraph, graphs
from graphcb.exploration import solve_dec
from graphcb.oracles import Forecast


class Says:
    """An oracle that forecasts what it is told."""

    def __init__(self, losses, deviations):
        self.given = np.array(losses), np.array(deviations)

    def forecast(self, context, actions=None):
        n = len(self.given[0])
        return Forecast(*self.given, np.zeros(n), np.full(n, 100.0), 1.0)


def test_an_action_that_cannot_be_the_best_one_is_not_looked_at():
    agent = Plausible(Says([0.2, 0.25, 0.9], [0.1, 0.1, 0.01]))
    with_known = FeedbackGraph(np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]]))
    gamma = agent.gamma
    p = agent.act(None, graphs.bandit(3))
    assert p == pytest.approx(solve_dec([0.2, 0.25, 0.9], with_known, gamma).probabilities)
    all_unknown = solve_dec([0.2, 0.25, 0.9], graphs.bandit(3), gamma).probabilities
    assert p[2] < 0.5 * all_unknown[2]


def test_it_is_the_paper_where_all_are_plausible():
    agent = Plausible(Says([0.2, 0.3, 0.4], [0.3, 0.3, 0.3]), times=8.0)
    expected = solve_dec([0.2, 0.3, 0.4], graphs.bandit(3), agent.gamma).probabilities
    assert (agent.act(None, graphs.bandit(3)) == expected).all()


def test_both_sides_of_the_certificate_meet_at_the_balanced_gamma():
    agent = Plausible(Says([0.2, 0.3, 0.4], [0.05, 0.05, 0.05]))
    for n in range(30_000):
        if n == 20_000:
            gamma, explored, errors = agent.gamma, agent.exploration, agent.errors
        agent.act(None, graphs.bandit(3))
    # The oracle does not become surer here, so gamma settles.
    assert agent.gamma == pytest.approx(gamma, rel=0.1)
    explored, errors = agent.exploration - explored, agent.errors - errors
    assert explored == pytest.approx(gamma / 4.0 * errors, rel=0.1)
