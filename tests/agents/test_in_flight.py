import copy

import numpy as np
import pytest

from graphcb import InformationDirected, graphs, oracles
from graphcb.agents.in_flight import FADES, KEEPS, NONE, faded, with_looks
from graphcb.oracles import Forecast
from graphcb.rounds import Played, play_round
from graphcb.saving import from_bytes, to_bytes

ONE = np.ones(3)
EVERY = np.arange(3)


def forecast(gain=0.5, count=4.0):
    return Forecast(0.4 * ONE, 0.1 * ONE, gain * ONE, count * ONE, 1.0)


def test_without_looks_a_forecast_is_what_it_was():
    before = forecast()
    for looks in (np.zeros(3), np.zeros(0)):
        for part, same in zip(with_looks(before, looks, EVERY), before, strict=True):
            np.testing.assert_array_equal(part, same)


def test_looks_in_flight_lower_what_another_would_tell_and_nothing_else():
    before = forecast()
    after = with_looks(before, np.array([0.0, 1.0, 100.0]) / KEEPS, EVERY)
    assert after.gains[0] == pytest.approx(0.5)
    assert 0.5 > after.gains[1] > after.gains[2] > 0.0
    np.testing.assert_allclose(after.counts, [4.0, 5.0, 104.0])
    assert after.losses is before.losses
    assert after.deviations is before.deviations


def test_a_look_in_flight_at_the_same_context_is_as_good_as_one_that_came():
    """Of a mean without contexts: the gain after two looks, or with both in flight."""
    adds = 0.25
    after = with_looks(forecast(np.log1p(adds), 0.0), 2.0 * ONE / KEEPS, EVERY)
    np.testing.assert_allclose(after.gains, np.log1p(adds / (1.0 + 2.0 * adds)))


def test_huge_gains_stay_finite():
    assert np.isfinite(with_looks(forecast(1e6), ONE, EVERY).gains).all()


def test_what_is_in_flight_fades_and_may_grow():
    np.testing.assert_allclose(faded(np.array([2.0]), 3), [2.0 * (1 - 1 / FADES), 0.0, 0.0])
    assert faded(NONE, 2).tolist() == [0.0, 0.0]


def test_a_round_is_expected_until_it_is_drawn_and_a_copy_leaves_the_original():
    agent, graph = InformationDirected(), graphs.cops_and_robbers(3)
    p = agent.act([1.0], graph)
    np.testing.assert_allclose(agent.waiting, graph.reveal_probabilities(p))
    before = agent.waiting.copy()
    twin = copy.copy(agent)
    twin.on_draw(Played([1.0], graph, None, p, 1))
    np.testing.assert_array_equal(twin.waiting, graph.row(1))
    np.testing.assert_array_equal(agent.waiting, before)
    twin.learn([1.0], [0, 2], [0.5, 0.5])
    assert twin.waiting.tolist() == [0.0, 0.0, 0.0]
    np.testing.assert_array_equal(agent.waiting, before)


def test_with_feedback_at_once_nothing_is_in_flight():
    agent, graph = InformationDirected(), graphs.bandit(3)
    for k in range(30):
        played = play_round(agent, [1.0], graph, None, k / 30)
        agent.learn([1.0], [played.action], [0.5])
    assert not agent.waiting.any()


def test_saved_in_the_middle_of_a_round_it_goes_on_bit_for_bit():
    agent, graph = InformationDirected(), graphs.bandit(3)
    played = play_round(agent, [1.0], graph, None, 0.5)
    p = agent.act([1.0], graph)
    loaded = from_bytes(to_bytes(agent), where="here")
    for one in (agent, loaded):
        one.on_draw(Played([1.0], graph, None, p, 2))
        one.learn([1.0], [played.action], [0.5])
    assert to_bytes(agent) == to_bytes(loaded)


def test_a_file_that_lies_is_refused():
    for looks in (np.array([-1.0]), np.array([np.nan]), np.ones((1, 1)), "many"):
        agent = InformationDirected(oracles.DefaultOracle(1))
        agent.waiting = looks
        with pytest.raises(ValueError, match="`waiting` must be numbers of looks, one per action"):
            agent.check_loaded()


def test_actions_with_features_are_not_counted():
    agent = InformationDirected(oracles.ActionFeatureOracle())
    agent.act([1.0], graphs.bandit(2), [[1.0, 0.0], [0.0, 1.0]])
    agent.learn([1.0], [[1.0, 0.0]], [0.5])
    assert agent.waiting is None
