import pytest

import graphcb
from graphcb import DecisionLog, Policy, graphs
from graphcb.decisions import reading_ahead, records, replay
from graphcb.decisions.reading_ahead import read_with_decisions

BANDIT = graphs.bandit(2)
N = 120


@pytest.fixture
def log(new_log):
    """Decisions, then feedback for all of them but the first, in the opposite order."""
    location = new_log()
    with Policy(location, graphcb.Uniform(), seed=0, durability="process-kill") as policy:
        made = policy.decide_many([[float(n)] for n in range(N)], BANDIT)
        for one in reversed(made[1:]):
            policy.feedback(one.decision_id, {one.action: 0.5})
    with DecisionLog(location) as log:
        yield log


def check(log):
    events = list(records.read_events(log.storage, 0, 2 * N - 1))
    found = list(read_with_decisions(log.storage, 0, 2 * N - 1))
    assert [row for row, _ in found] == events
    assert [decision for _, decision in found[:N]] == [None] * N
    assert [decision for _, decision in found[N:]] == events[N - 1 : 0 : -1]


def test_each_feedback_comes_with_its_decision(log):
    check(log)


def test_whatever_is_read_at_a_time(log, monkeypatch):
    monkeypatch.setattr(reading_ahead, "AT_A_TIME", 7)
    check(log)


def test_large_contexts_are_read_one_by_one(log, monkeypatch):
    monkeypatch.setattr(reading_ahead, "BYTES_AT_ONCE", 100)
    check(log)


def test_a_replay_does_not_ask_for_each_decision(log, monkeypatch):
    asked = []
    execute = log.storage.execute

    def count(sql, parameters=()):
        asked.append(sql)
        return execute(sql, parameters)

    monkeypatch.setattr(log.storage, "execute", count)
    monkeypatch.setattr(reading_ahead, "AT_A_TIME", 60)
    assert replay(log).position == 2 * N - 1
    assert len(asked) < 40


def test_a_decision_that_is_gone_is_none(log):
    rows = read_with_decisions(log.storage, 2 * N - 2, 2 * N - 1)
    assert next(rows)[1].position == 2
    with Policy(log.location, check_replay=False) as policy:
        policy._log.storage.execute("DELETE FROM graphcb_decisions WHERE position = 2")
    assert next(read_with_decisions(log.storage, 2 * N - 2, 2 * N - 1))[1] is None
