"""Logs of earlier versions: they replay, and continue by identifier.

The dumps were written by graphcb 0.1.0, which took feedback by index, and 0.3.0; each ends with
decisions that still wait for feedback.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from graphcb import DecisionLog, Policy, Problem, SquareCBG, SquareRoot
from graphcb.cli import main
from graphcb.decisions import replay, verify
from graphcb.oracles import LinearOGD, NewsvendorOGD
from graphcb.saving import to_bytes

DUMPS = Path(__file__).parent / "data"
AGENTS = {
    "log-0.1.0.sql": lambda: SquareCBG(
        LinearOGD(4, 2, learning_rate=0.1), gamma=SquareRoot(2.0, 1.0)
    ),
    "stock-log-0.1.0.sql": lambda: SquareCBG(NewsvendorOGD(1, learning_rate=0.1), gamma=10.0),
}


@pytest.fixture(params=AGENTS)
def old(request, tmp_path):
    """The path of a log, and the agent with which it was created."""
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript((DUMPS / request.param).read_text())
    return path, AGENTS[request.param]()


def test_it_replays_bit_for_bit(old, capsys):
    path, _ = old
    with DecisionLog(path) as log:
        assert log.start.version == "0.1.0"
        replayed = replay(log)
        stored = replay(log, from_checkpoint=True)  # written by 0.1.0
        assert replayed.position == stored.position == log.n_events
    assert replayed.agent.oracle.weights.tobytes() == stored.agent.oracle.weights.tobytes()
    assert replayed.agent.oracle.weights.any()
    assert main(["replay", str(path)]) == 0
    assert "the checkpoint contains the same model" in capsys.readouterr().out


def test_a_checkpoint_without_an_attribute_that_is_newer_still_agrees(old, monkeypatch, capsys):
    def learn(self, context, actions, losses):
        self.newer = 1.0
        self.oracle.update(context, actions, losses)

    monkeypatch.setattr(SquareCBG, "learn", learn)
    assert main(["replay", str(old[0])]) == 0
    assert "the checkpoint contains the same model" in capsys.readouterr().out


def test_it_is_read_by_identifier(old):
    path, _ = old
    with DecisionLog(path) as log:
        rows = list(log)
    for row in rows:
        names = list(range(row.graph.n_actions)) if row.actions is None else list(row.actions)
        assert row.action == names[row.action_index]
        if row.feedback is not None:
            indices = row.feedback.action_indices
            np.testing.assert_array_equal(indices, np.flatnonzero(row.graph.row(row.action_index)))
            assert list(row.feedback.actions) == [names[index] for index in indices]


def test_it_continues_with_its_agent_and_takes_late_feedback_by_identifier(old):
    path, agent = old
    with Policy(path, agent, seed=7) as policy, DecisionLog(path) as log:
        twin = policy.agent
        for row in list(log):
            if row.feedback is not None:
                continue
            indices = np.flatnonzero(row.graph.row(row.action_index))
            names = indices if row.actions is None else row.actions[indices]
            losses = 0.25 + 0.01 * indices
            assert policy.feedback(
                row.decision_id, dict(zip(names.tolist(), losses.tolist(), strict=True))
            ).counted
            twin.learn(row.context, names, losses)
        np.testing.assert_array_equal(policy.agent.oracle.weights, twin.oracle.weights)
        assert log.n_feedbacks == log.n_decisions
        np.testing.assert_array_equal(replay(log).agent.oracle.weights, twin.oracle.weights)


def test_reading_leaves_it_as_it_is_and_a_policy_brings_it_up_to_date(old):
    path, _ = old
    before = path.read_bytes()
    with DecisionLog(path) as log:
        assert log.start.format == 1
        rows = list(log)
        assert path.read_bytes() == before
        with Policy(path) as policy:
            made = policy.decide(
                [0.5] * np.size(rows[-1].context), rows[-1].graph, rows[-1].actions
            )
            assert log.start.format == 1  # this reader has not looked again yet
            again = list(log)
            assert log.start.format == 3
    name = log.start.name
    assert [row.decision_id for row in again[:-1]] == [f"{name}-{row.position}" for row in rows]
    assert again[-1].decision_id == made.decision_id
    assert made.decision_id.count("-") == 2
    for row, same in zip(rows, again, strict=False):
        assert same.probabilities.tobytes() == row.probabilities.tobytes()
        assert (same.feedback is None) == (row.feedback is None)
    assert verify(path) == []


def test_old_names_are_taken_for_old_decisions_alone(old):
    path, _ = old
    with DecisionLog(path) as log:
        waiting = [row for row in log if row.feedback is None]
        name = log.start.name
        last = list(log)[-1]
    with Policy(path) as policy:
        with pytest.raises(LookupError, match="is another one"):
            policy.feedback(f"{name}-{waiting[0].position}-{'0' * 16}", {})
        assert policy.feedback(f"{name}-{waiting[0].position}", {}).counted
        made = policy.decide([0.5] * np.size(last.context), last.graph, last.actions)
        with pytest.raises(LookupError, match="where the names have 16 more digits; give the"):
            policy.feedback(made.decision_id.rpartition("-")[0], {})
        assert policy.feedback(made.decision_id, {}).counted


def test_an_upgrade_that_is_interrupted_has_not_happened(old, monkeypatch):
    path, _ = old
    from graphcb.decisions import tables

    plain = tables.insert
    monkeypatch.setattr(tables, "insert", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        Policy(path)
    monkeypatch.setattr(tables, "insert", plain)
    with DecisionLog(path) as log:
        assert log.start.format == 1
        assert replay(log).position == log.n_events
    with Policy(path):
        pass
    assert verify(path) == []


def test_a_second_feedback_after_the_upgrade_does_not_count_twice(old):
    """The checkpoint of 0.1.0 does not say which decisions have feedback."""
    path, _ = old
    with DecisionLog(path) as log:
        row = next(row for row in log if row.feedback is not None)
    seen = dict(zip(list(row.feedback.actions), row.feedback.losses.tolist(), strict=True))
    with Policy(path) as policy:
        events = policy.n_events
        assert not policy.feedback(row.decision_id, seen).counted
        assert policy.n_events == events


@pytest.fixture
def of_format_2(tmp_path):
    """A log of graphcb 0.3.0 with a problem, feedback in parts, and decisions that wait."""
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript((DUMPS / "log-0.3.0.sql").read_text())
    return path


def test_a_log_of_format_2_is_read_as_it_is_and_replays(of_format_2):
    before = of_format_2.read_bytes()
    with DecisionLog(of_format_2) as log:
        assert (log.start.version, log.start.format) == ("0.3.0", 2)
        assert [version.problem for version in log.versions] == [log.problem]
        rows = list(log)
        assert {row.version for row in rows} == {1}
        assert max(len(row.feedback.parts) for row in rows if row.feedback) == 2
        state, stored = replay(log), replay(log, from_checkpoint=True)
        assert to_bytes(state.agent) == to_bytes(stored.agent)
        assert state.position == log.n_events == log.n_decisions + log.n_feedbacks
    assert verify(of_format_2) == []
    assert of_format_2.read_bytes() == before


def test_a_log_of_format_2_continues_and_can_be_changed(of_format_2):
    with DecisionLog(of_format_2) as log:
        waiting = [row for row in log if row.feedback is None]
        model = to_bytes(replay(log).agent)
    with Policy(of_format_2) as policy:
        assert to_bytes(policy.agent) == model
        first = policy.problem
        policy.change(Problem(["approve", "call"], feedback="rewards", range=(0.0, 5.0),
                              features=first.features))  # fmt: skip
        for row in waiting:
            assert policy.feedback(row.decision_id, {row.action: 2.5}).counted
        policy.decide({"amount": 3.0, "age": 30})
        policy.roll_back(1)
        assert policy.problem == first
    with DecisionLog(of_format_2) as log:
        assert log.start.format == 3
        assert len(log.versions) == 3
    assert verify(of_format_2) == []


def test_an_upgrade_of_format_2_that_is_interrupted_has_not_happened(of_format_2, monkeypatch):
    from graphcb.decisions import tables

    plain = tables.insert
    monkeypatch.setattr(tables, "insert", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        Policy(of_format_2)
    monkeypatch.setattr(tables, "insert", plain)
    with DecisionLog(of_format_2) as log:
        assert log.start.format == 2
    with Policy(of_format_2):
        pass
    assert verify(of_format_2) == []
