import copy

import numpy as np
import pytest

from graphcb import InformationDirected, graphs, oracles
from graphcb.exploration.in_flight import FADES, KEEPS, NONE, as_answered, faded
from graphcb.rounds import Played, play_round
from graphcb.saving import from_bytes, to_bytes

ONE = np.ones(3)
EVERY = np.arange(3)


def left(gain, count, waiting):
    gains, counts, *_ = as_answered(gain * ONE, count * ONE, (waiting, NONE, NONE, EVERY))
    return gains, counts


@pytest.mark.parametrize("waiting", [np.zeros(3), NONE])
def test_without_looks_a_forecast_is_what_it_was(waiting):
    gains, counts = left(0.5, 4.0, waiting)
    np.testing.assert_array_equal(gains, 0.5 * ONE)
    np.testing.assert_array_equal(counts, 4.0 * ONE)


def test_looks_in_flight_lower_what_another_would_tell():
    gains, counts = left(0.5, 4.0, np.array([0.0, 1.0, 100.0]) / KEEPS)
    assert gains[0] == pytest.approx(0.5)
    assert 0.5 > gains[1] > gains[2] > 0.0
    np.testing.assert_allclose(counts, [4.0, 5.0, 104.0])


def test_a_look_in_flight_at_the_same_context_is_as_good_as_one_that_came():
    """Of a mean without contexts: the gain after two looks, or with both in flight."""
    adds = 0.25
    gains, _ = left(np.log1p(adds), 0.0, 2.0 * ONE / KEEPS)
    np.testing.assert_allclose(gains, np.log1p(adds / (1.0 + 2.0 * adds)))


def test_huge_gains_stay_finite():
    assert np.isfinite(left(1e6, 4.0, ONE)[0]).all()


def test_looks_are_owed_for_each_that_was_taken_and_one_more():
    wanted, taken = np.array([6.0, 3.0]), np.array([2.0])
    *_, owed = as_answered(ONE, ONE, (NONE, wanted, taken, EVERY))
    assert owed.tolist() == [2.0, 3.0, 0.0]


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
