"""Hooks of an agent in a policy: the time, what was played, and what feedback is for."""

import sqlite3

import numpy as np
import pytest

from graphcb import DecisionLog, Greedy, Learner, Policy, Problem, graphs
from graphcb.decisions import ReplayError, replay

SHOP = Problem(["a", "b", "c"], reveals="full-information", feedback="rewards", range=(0.0, 10.0))


class Diary:
    """Keeps all that it is told, and plays by it: a wrong replay would differ in a bit."""

    def __init__(self):
        self.entries = []
        self.n_judged = 0

    def act(self, context, graph, actions=None):
        kept = sum(entry[0] == "settled" for entry in self.entries)
        p = np.array([1.0 + self.n_judged % 3, 1.0 + kept % 5, 1.0])
        last = next((entry[1] for entry in reversed(self.entries) if entry[0] == "time"), 0.0)
        p[2] += last % 1.0
        return p / p.sum()

    def learn(self, context, actions, losses):
        self._add("learned", [*actions], [*losses])

    def at_time(self, seconds):
        self._add("time", seconds)

    def on_draw(self, played):
        self._add("settled", played.context, played.action, played.probabilities.tolist())

    def on_feedback(self, played, indices, losses):
        self.n_judged += 1
        actions = None if played.actions is None else [*played.actions]
        self._add("judged", played.context, actions, played.action, [*indices], [*losses])

    def _add(self, *entry):
        self.entries = [*self.entries, [self._plain(part) for part in entry]]

    def _plain(self, part):
        if isinstance(part, list):
            return [self._plain(one) for one in part]
        return part.item() if isinstance(part, np.generic) else part


def kinds(agent):
    return [entry[0] for entry in agent.entries]


def play_some(policy, n=6):
    graph, made = graphs.full_information(3), []
    for number in range(n):
        made.append(policy.decide(float(number), graph, ["x", "y", "z"]))
    for number, decision in enumerate(made[:-1]):
        policy.feedback(decision.decision_id, {"y": 0.1 * number})
        if number % 2:
            policy.feedback(decision.decision_id, {"x": 0.5, "y": 0.1 * number, "z": 0.25})
    return made


def test_the_order_of_hooks_and_what_they_get(new_log):
    with Policy(new_log(), Diary(), seed=3, classes=[Diary]) as policy:
        one = policy.decide(7.0, graphs.full_information(3), ["x", "y", "z"])
        policy.feedback(one.decision_id, {"z": 0.5})
        policy.feedback(one.decision_id, {"x": 0.25, "z": 0.5})
        agent = policy.agent
    assert kinds(agent) == ["time", "settled", "judged", "learned", "judged", "learned"]
    entries = agent.entries
    assert entries[1][1:] == [7.0, one.action_index, list(one.probabilities)]
    assert entries[2][1:] == [7.0, ["x", "y", "z"], one.action_index, [2], [0.5]]
    assert entries[4][1:] == [7.0, ["x", "y", "z"], one.action_index, [0], [0.25]]


def test_the_time_is_that_of_the_row(new_log):
    file = new_log()
    with Policy(file, Diary(), seed=3, classes=[Diary]) as policy:
        made = play_some(policy)
        times = [entry[1] for entry in policy.agent.entries if entry[0] == "time"]
    with DecisionLog(file) as log:
        assert times == [row.made_at for row in log]
    assert len(times) == len(made)


@pytest.mark.parametrize("checkpoint_every", [5, 10_000])
def test_a_replay_tells_the_agent_the_same(new_log, checkpoint_every):
    file = new_log()
    settings = {"classes": [Diary], "checkpoint_every": checkpoint_every}
    with Policy(file, Diary(), seed=3, **settings) as policy:
        play_some(policy)
        expected = policy.agent.entries
    with DecisionLog(file) as log:
        for from_checkpoint in (False, True):
            state = replay(log, classes=[Diary], from_checkpoint=from_checkpoint)
            assert state.agent.entries == expected
    with Policy(file, classes=[Diary]) as policy:
        assert policy.agent.entries == expected


def test_a_decision_that_is_not_stored_is_not_settled(tmp_path, monkeypatch):
    from graphcb.decisions import together as module

    def fails(*_):
        raise sqlite3.OperationalError("disk I/O error")

    with Policy(tmp_path / "a.db", Diary(), seed=3, classes=[Diary]) as policy:
        play_some(policy, 2)
        expected = policy.agent.entries
        with monkeypatch.context() as patch:
            patch.setattr(module, "insert", fails)
            with pytest.raises(Exception, match="disk I/O"):
                policy.decide(0.0, graphs.full_information(3), ["x", "y", "z"])
        assert policy.agent.entries == expected


class Moody(Diary):
    """Plays otherwise than when the log was written, once it is told to."""

    moody = False

    def act(self, context, graph, actions=None):
        return np.eye(3)[0] if Moody.moody else np.eye(3)[1]


def test_what_was_played_is_settled_even_if_the_replay_differs(tmp_path, monkeypatch):
    with Policy(tmp_path / "a.db", Moody(), seed=3, classes=[Moody]) as policy:
        play_some(policy)
        expected = policy.agent.entries
    with sqlite3.connect(tmp_path / "a.db") as database:
        database.execute("DELETE FROM graphcb_checkpoints")
    database.close()
    monkeypatch.setattr(Moody, "moody", True)
    with pytest.raises(ReplayError):
        Policy(tmp_path / "a.db", classes=[Moody])
    with Policy(tmp_path / "a.db", classes=[Moody], check_replay=False) as policy:
        assert policy.agent.entries == expected


def test_a_learner_translates_for_the_agent_inside(new_log):
    file = new_log()
    with Policy(file, Diary(), problem=SHOP, seed=3, classes=[Diary]) as policy:
        one = policy.decide({"age": 3.0}, actions=["c", "a", "b"])
        policy.feedback(one.decision_id, {"b": 2.5, "c": 10.0})
        agent = policy.agent.agent
    assert kinds(agent) == ["time", "settled", "judged", "learned"]
    row = Learner(SHOP).encoder.encode({"age": 3.0})
    settled, judged = agent.entries[1:3]
    np.testing.assert_array_equal(settled[1][0], row[0])
    assert settled[2:] == [one.action_index, list(one.probabilities)]
    assert judged[2:] == [[2, 0, 1], one.action_index, [0, 2], [0.0, 0.75]]
    assert agent.entries[3][1:] == [[2, 1], [0.0, 0.75]]
    with DecisionLog(file) as log:
        again = replay(log, classes=[Diary]).agent.agent
    assert repr(again.entries) == repr(agent.entries)


def test_a_learner_has_the_hooks_of_its_agent_alone():
    plain = Learner(SHOP, Greedy())
    assert Learner(SHOP).on_draw is not None  # decisions in flight are counted
    assert plain.at_time is None
    assert plain.on_draw is None
    assert plain.on_feedback is None
