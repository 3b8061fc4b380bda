import numpy as np
import pytest
from studies.thompson import Thompson, log_odds

from graphcb import graphs
from graphcb.oracles import DefaultOracle, Forecast


def test_log_odds_are_those_of_which_the_forecast_was_made():
    m, s = np.array([-2.0, 0.0, 1.5]), np.array([0.3, 4.0, 1e-4])
    p = 1.0 / (1.0 + np.exp(-m / np.sqrt(1.0 + np.pi / 8.0 * s)))
    v = p * (1.0 - p)
    deviations = np.sqrt(v * (1.0 - 1.0 / np.sqrt(1.0 + 2.0 * v * s)))
    few = np.ones(3)
    scores, widths = log_odds(Forecast(10.0 * p - 5.0, 10.0 * deviations, few, few, 10.0, -5.0))
    assert scores == pytest.approx(m)
    assert widths**2 == pytest.approx(s)


def test_what_is_sure_is_played_and_what_is_open_is_tried():
    agent, graph = Thompson(DefaultOracle(3), seed=0), graphs.bandit(3)
    for coins in (np.random.default_rng(0).random((50, 2)) < [0.1, 0.9]).tolist():
        agent.learn([1.0], [0, 1], coins)
    played = sum(agent.act([1.0], graph) for _ in range(400))
    assert played.sum() == 400
    assert played[1] == 0
    assert played[0] > 200
    assert played[2] > 10
