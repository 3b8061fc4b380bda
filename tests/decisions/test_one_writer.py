"""Two policies on one log: one of them is refused, and the log stays whole."""

import shutil
import subprocess
import sys

import pytest

from graphcb import DecisionLog, Policy, SquareCBG, graphs
from graphcb.decisions import LogError, replay, verify
from graphcb.oracles import LinearOGD

GRAPH = graphs.cops_and_robbers(3)
WRITTEN = "another policy has written to this log"
REPLACED = "another program has deleted or replaced the write-ahead log"
WRITING = "another policy is writing to this log"

OTHER = """
import sys
from graphcb import Policy, graphs
policy = Policy(sys.argv[1])
for _ in range(int(sys.argv[2])):
    print(policy.decide([0.5], graphs.cops_and_robbers(3)).decision_id, flush=True)
if sys.argv[3] == "wait":
    sys.stdin.read()
policy.close()
"""


def new_agent():
    return SquareCBG(LinearOGD(3, 1, learning_rate=0.1))


def other_process(path, n_decisions, then="close"):
    process = subprocess.Popen(
        [sys.executable, "-c", OTHER, str(path), str(n_decisions), then],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    if then == "wait":
        return process, [process.stdout.readline().strip() for _ in range(n_decisions)]
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return process, out.split()


def check(path, names):
    """Everything that was acknowledged is in the log, which is whole."""
    with DecisionLog(path) as log:
        assert set(names) <= {row.decision_id for row in log}
        assert replay(log).position == log.n_events
    assert verify(path) == []


def test_the_lock_file_was_deleted(tmp_path):
    path = tmp_path / "a.db"
    with Policy(path, new_agent(), seed=1) as first:
        names = [first.decide([0.5], GRAPH).decision_id for _ in range(3)]
        (tmp_path / "a.db-writer").unlink()
        with Policy(path) as second:
            names += [second.decide([0.5], GRAPH).decision_id for _ in range(2)]
            with pytest.raises(LogError, match=f"{WRITTEN}, which is at event 5 and not at 3"):
                first.decide([0.5], GRAPH)
            with pytest.raises(LogError, match=WRITING):
                first.decide([0.5], GRAPH)
            names.append(second.decide([0.5], GRAPH).decision_id)
        names.append(first.decide([0.5], GRAPH).decision_id)  # once the other has stopped
        assert first.n_events == 7
    check(path, names)


def test_both_open_before_either_writes(tmp_path):
    path = tmp_path / "a.db"
    Policy(path, new_agent(), seed=1).close()
    first = Policy(path)
    (tmp_path / "a.db-writer").unlink()
    second = Policy(path)
    names = [first.decide([0.5], GRAPH).decision_id]
    with pytest.raises(LogError, match=WRITTEN):
        second.decide([0.5], GRAPH)
    second.close()
    names.append(first.decide([0.5], GRAPH).decision_id)
    first.close()
    check(path, names)


def test_a_feedback_and_a_checkpoint_are_refused_as_well(tmp_path):
    path = tmp_path / "a.db"
    first = Policy(path, new_agent(), seed=1)
    decision = first.decide([0.5], GRAPH)
    (tmp_path / "a.db-writer").unlink()
    second = Policy(path)
    names = [decision.decision_id, second.decide([0.5], GRAPH).decision_id]
    first.close()  # its checkpoint would be of another history
    with DecisionLog(path) as log:
        assert log.storage.execute("SELECT count(*) FROM graphcb_checkpoints") == [(0,)]
    seen = {a: 0.5 for a in range(3) if a != decision.action}
    assert second.feedback(decision.decision_id, seen).counted
    second.close()
    check(path, names)


@pytest.mark.parametrize(("then", "n_others"), [("close", 0), ("wait", 2)])
def test_the_locks_were_dropped_by_a_copy_of_the_folder(tmp_path, then, n_others):
    """Closing any handle of a file drops a process's POSIX locks on it, SQLite's own included."""
    path = tmp_path / "log" / "a.db"
    path.parent.mkdir()
    first = Policy(path, new_agent(), seed=1)
    names = [first.decide([0.5], GRAPH).decision_id for _ in range(3)]
    shutil.copytree(path.parent, tmp_path / "copy")
    process, others = other_process(path, n_others, then)
    names += others
    if n_others or then == "close":
        with pytest.raises(LogError, match=WRITTEN if then == "wait" else REPLACED):
            first.decide([0.5], GRAPH)
    if n_others and then == "wait":
        with pytest.raises(LogError, match=WRITING):
            first.decide([0.5], GRAPH)
    if then == "wait":
        process.communicate("", timeout=120)
    if not n_others and then == "wait":  # it was opened and closed without a word
        with pytest.raises(LogError, match=REPLACED):
            first.decide([0.5], GRAPH)
    names.append(first.decide([0.5], GRAPH).decision_id)
    assert first.n_events == 4 + n_others
    first.close()
    check(path, names)


@pytest.mark.slow
def test_a_lock_that_a_server_gave_away(server):
    """As behind a pooler that hands one session to two clients."""
    url = server.url("given_away")
    first = Policy(url, new_agent(), seed=1)
    names = [first.decide([0.5], GRAPH).decision_id for _ in range(3)]
    first._log.storage.execute("SELECT pg_advisory_unlock_all()")
    second = Policy(url)
    names.append(second.decide([0.5], GRAPH).decision_id)
    with pytest.raises(LogError, match=WRITTEN):
        first.decide([0.5], GRAPH)
    with pytest.raises(LogError, match=WRITING):
        first.decide([0.5], GRAPH)
    second.close()
    names.append(first.decide([0.5], GRAPH).decision_id)
    first.close()
    check(url, names)


@pytest.mark.slow
def test_a_session_that_the_server_has_not_noticed_to_be_lost_is_ended(server):
    """The connection is cut on this side alone: the old session still holds the lock."""
    import os

    policy = Policy(server.url("unnoticed"), new_agent(), seed=1)
    policy.decide([0.5], GRAPH)
    connection = policy._log.storage._connection
    kept = os.dup(connection.fileno())  # so that the server sees no end
    os.close(connection.fileno())
    with pytest.raises(LogError, match="the connection was lost"):
        policy.decide([0.5], GRAPH)
    policy.decide([0.5], GRAPH)
    assert policy.n_events == 2
    policy.close()
    os.close(kept)
