"""Alarms of the default oracle: none while the world stands still, one soon after it changed."""

import copy

import numpy as np
import pytest

from graphcb import InformationDirected, graphs, load, save
from graphcb.oracles import DefaultOracle
from graphcb.rounds import learn_revealed, play_round

GRAPHS = {
    "bandit": graphs.bandit(3),
    "full": graphs.full_information(3),
    "cops": graphs.cops_and_robbers(3),
}


def _play(seed, n_rounds, graph, changed_from=None, bend=False):
    """An agent in a world of three actions; later, their losses are those of the next one."""
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(3, 4))
    agent = InformationDirected(DefaultOracle(3))
    for t in range(n_rounds):
        x = rng.normal(size=4)
        score = weights @ (np.abs(x) if bend else x)
        if changed_from is not None and t >= changed_from:
            score = np.roll(score, 1)
        losses = (rng.random(3) < 1.0 / (1.0 + np.exp(-2.0 * score))).astype(float)
        played = play_round(agent, x, graph, None, rng.random())
        seen = np.flatnonzero(graph.row(played.action))
        learn_revealed(agent, played, seen, losses[seen])
    return agent


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("bend", [False, True])
def test_a_still_world_raises_no_alarm(name, bend):
    for seed in range(2):
        agent = _play(seed, 700, GRAPHS[name], bend=bend)
        assert agent.oracle.watched.alarms() == []


@pytest.mark.parametrize("name", GRAPHS)
def test_a_swap_is_noticed_soon(name):
    """With five of six seeds: an agent may go on with an action of which a swap shows nothing."""
    missed = 0
    for seed in range(6):
        found = _play(seed, 1000, GRAPHS[name], changed_from=600).oracle.watched.alarms()
        missed += not any(one.raised <= 800 for one in found)
        if found:
            assert min(one.raised for one in found) > 600
            assert 500 <= min(one.since for one in found) <= 750
            assert all(one.chance <= 0.01 for one in found)
    assert missed <= 1


def test_alarms_go_on_from_a_file_bit_for_bit(tmp_path):
    agent = _play(0, 700, GRAPHS["full"], changed_from=600)
    save(agent, tmp_path / "agent.npz")
    again = load(tmp_path / "agent.npz")
    for one in (agent, again):
        for x in np.eye(4):
            one.learn(x, [0, 1, 2], [1.0, 0.0, 0.0])
    assert again.oracle.watched.known.tobytes() == agent.oracle.watched.known.tobytes()
    assert again.oracle.watched.gains.tobytes() == agent.oracle.watched.gains.tobytes()
    assert again.oracle.watched.alarms() == agent.oracle.watched.alarms()


def test_a_refused_update_changes_nothing():
    oracle = _play(0, 200, GRAPHS["full"]).oracle
    before = copy.deepcopy(oracle.watched)
    for actions, losses in (([0], [2.0]), ([5], [0.5]), ([0], [np.nan])):
        with pytest.raises((ValueError, IndexError)):
            oracle.update([1.0, 0.0, 0.0, 0.0], actions, losses)
    assert oracle.watched.known.tobytes() == before.known.tobytes()
    assert oracle.watched.gains.tobytes() == before.gains.tobytes()
    assert oracle.watched.n_rounds == before.n_rounds


def test_updates_are_counted_where_nobody_says_the_decision():
    oracle = DefaultOracle(1)
    for t in range(200):
        oracle.update([1.0], [0], [float(t >= 150)])
    (alarm,) = oracle.watched.alarms()
    assert 145 <= alarm.since <= 155 < alarm.raised <= 200


def test_actions_keep_their_alarms_when_they_move():
    oracle = DefaultOracle(2)
    for t in range(200):
        oracle.update([1.0], [0, 1], [float(t >= 150), 0.0])
    oracle.grow(4)
    oracle.take([3, 0])
    assert [one.name for one in oracle.watched.alarms(["new", "old"])] == ["old"]
    assert oracle.watched.known.shape[0] == oracle.watched.gains.shape[0] == 2


def test_watched_actions_of_another_oracle_are_refused(tmp_path):
    oracle = DefaultOracle(2)
    oracle.watched.grow(3)
    save(oracle, tmp_path / "oracle.npz")
    with pytest.raises(ValueError, match="`watched` must have 2 actions, got 3"):
        load(tmp_path / "oracle.npz")
