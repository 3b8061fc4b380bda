"""A decision's name is never handed out again, whatever happens to the log."""

import shutil
import sqlite3
from contextlib import closing

import pytest

import graphcb
from graphcb import DecisionLog, FileError, Policy, graphs
from graphcb.decisions import back_up

GRAPH = graphs.full_information(2)


def test_after_a_restored_backup_no_feedback_goes_to_another_decision(tmp_path):
    path, copy = tmp_path / "a.db", tmp_path / "copy.db"
    with Policy(path, graphcb.Uniform(), seed=0) as policy:
        kept = policy.decide(None, GRAPH).decision_id
        back_up(path, copy)
        lost = [policy.decide(None, GRAPH).decision_id for _ in range(2)]
    shutil.copy(copy, path)
    with Policy(path) as policy:
        text = "which ends at event 1: it has lost its tail, such as by restoring a backup"
        with pytest.raises(LookupError, match=text):
            policy.feedback(lost[1], {0: 0.5})
        again = [policy.decide(None, GRAPH).decision_id for _ in range(2)]
        assert not set(lost) & set(again)
        for name in lost:
            with pytest.raises(LookupError, match="is another one: the log was continued from a"):
                policy.feedback(name, {0: 0.5})
        assert policy.n_events == 3
        assert policy.feedback(kept, {0: 0.5}).counted
        assert policy.feedback(again[1], {0: 0.5}).counted


def test_a_policy_that_sees_its_own_tail_gone_says_so(tmp_path):
    path, copy = tmp_path / "a.db", tmp_path / "copy.db"
    policy = Policy(path, graphcb.Uniform(), seed=0)
    policy.decide(None, GRAPH)
    back_up(path, copy)
    policy.decide(None, GRAPH)
    copy.replace(path)
    (tmp_path / "a.db-wal").unlink()
    (tmp_path / "a.db-shm").unlink()
    with pytest.raises(graphcb.decisions.LogError, match="has deleted or replaced the write-ahead"):
        policy.decide(None, GRAPH)
    for _ in range(2):
        with pytest.raises(FileError, match="ends at event 1, but event 2 was acknowledged"):
            policy.decide(None, GRAPH)
    policy.close()
    with pytest.raises(FileError, match=r"or delete the file \.\.\.-end to continue without"):
        Policy(path)
    (tmp_path / "a.db-end").unlink()
    with Policy(path) as policy:
        assert policy.n_events == 1


def test_names_differ_between_copies_that_continue(tmp_path):
    path, copy = tmp_path / "a.db", tmp_path / "copy.db"
    with Policy(path, graphcb.Uniform(), seed=0) as policy:
        policy.decide(None, GRAPH)
        back_up(path, copy)
        mine = policy.decide(None, GRAPH)
    with Policy(copy) as policy:
        other = policy.decide(None, GRAPH)
        assert other.probabilities == mine.probabilities
        assert other.decision_id.split("-")[:2] == mine.decision_id.split("-")[:2]
        with pytest.raises(LookupError, match="where event 2 is another one"):
            policy.feedback(mine.decision_id, {0: 0.5})


def test_readers_give_the_same_names(new_log):
    location = new_log()
    with Policy(location, graphcb.Uniform(), seed=0) as policy:
        names = [d.decision_id for d in policy.decide_many([None] * 5, GRAPH)]
    with DecisionLog(location) as log:
        assert [row.decision_id for row in log] == names


def test_a_token_that_was_changed_is_found(tmp_path):
    with Policy(tmp_path / "a.db", graphcb.Uniform(), seed=0) as policy:
        policy.decide(None, GRAPH)
    with closing(sqlite3.connect(tmp_path / "a.db")) as database:
        database.execute("UPDATE graphcb_decisions SET token = '0123456789abcdef'")
        database.commit()
    with pytest.raises(FileError, match=r"a\.db: damaged: the checksum of graphcb_decisions"):
        list(DecisionLog(tmp_path / "a.db"))
