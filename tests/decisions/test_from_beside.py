"""Feedback from other processes: never lost, counted once, and learned in the order of the log."""

import contextlib
import random
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

import graphcb
from graphcb import DecisionLog, Inbox, Policy, Problem, graphs
from graphcb.decisions import LogError, back_up, replay, verify
from graphcb.decisions.inbox import count_waiting
from graphcb.evaluation.summary import summarize
from graphcb.saving import to_bytes

PROBLEM = Problem(["allow", "review"], reveals={"review": ["allow", "review"]}, range=(0, 1))


def new_policy(path, **settings):
    return Policy(path, problem=PROBLEM, seed=1, **settings)


def n_waiting(path):
    with DecisionLog(path) as log:
        return count_waiting(log.storage)


def losses_of(decision, number=0):
    value = (number % 7) / 7
    return {decision.action: value} if decision.action == "allow" else {"allow": value, "review": 1}


def answerable(policy, n=10):
    """Decisions that reveal something."""
    made = [policy.decide({"amount": float(k)}) for k in range(n)]
    return [one for one in made if one.action == "review"]


def check(path):
    """The log is whole, and leads to the same bits from its start as from its checkpoint."""
    assert verify(path) == []
    with DecisionLog(path) as log:
        whole, short = replay(log), replay(log, from_checkpoint=True)
    assert to_bytes(whole.agent) == to_bytes(short.agent)


def test_a_policy_learns_with_its_next_call(tmp_path):
    path = tmp_path / "a.db"
    with new_policy(path) as policy:
        first, second = answerable(policy)[:2]
        events = policy.n_events
        with Inbox(path) as inbox:
            receipt = inbox.feedback(first.decision_id, {"allow": 0.25, "review": 1})
            assert (receipt.counted, receipt.message) == (True, "counted")
            assert (policy.n_events, n_waiting(path)) == (events, 1)
            policy.decide({"amount": 1.0})
            assert (policy.n_events, policy.model_version, n_waiting(path)) == (events + 2, 1, 0)
            inbox.feedback(second.decision_id, {"allow": 0.5})
            assert policy.feedback(second.decision_id, {"review": 1.0}).message == "counted"
            assert policy.model_version == 3
    check(path)


def test_it_is_the_same_log_as_with_feedback_from_within(tmp_path):
    agents = []
    for name, beside in (("within.db", False), ("beside.db", True)):
        path = tmp_path / name
        with new_policy(path) as policy:
            inbox = Inbox(path) if beside else policy
            for number in range(60):
                decision = policy.decide({"amount": float(number % 5)})
                if decision.action == "review":
                    inbox.feedback(decision.decision_id, {"allow": 0.1 * (number % 5)})
                    inbox.feedback(decision.decision_id, {"review": 0.9})
            policy.fill_in()
            agents.append(to_bytes(policy.agent))
            assert policy.model_version > 4
            if beside:
                inbox.close()
        check(path)
    assert agents[0] == agents[1]


def test_without_a_policy_it_waits_for_the_next(tmp_path):
    path = tmp_path / "a.db"
    with new_policy(path) as policy:
        made = answerable(policy)
    with Inbox(path) as inbox:
        inbox.feedback_many({one.decision_id: {"allow": 0.5, "review": 1} for one in made})
    assert n_waiting(path) == len(made) > 1
    with DecisionLog(path) as log:
        assert (summarize(log).n_waiting, summarize(log).n_with_feedback) == (len(made), 0)
    back_up(path, tmp_path / "copy.db")
    with Policy(path) as policy:
        assert (policy.model_version, n_waiting(path)) == (len(made), 0)
    with Policy(tmp_path / "copy.db") as policy:
        assert policy.model_version == len(made)
    check(path)


def test_receipts_and_refusals_are_those_of_a_policy(tmp_path):
    path = tmp_path / "a.db"
    with new_policy(path) as policy, Inbox(path) as inbox:
        made = answerable(policy)
        name = made[0].decision_id
        inbox.feedback(name, {"allow": 0.5})
        again = inbox.feedback(name, {"allow": 0.5})
        assert not again.counted
        assert "already has its feedback (in the inbox)" in again.message
        with pytest.raises(ValueError, match=r"has loss 0.5 \(in the inbox\), got 0.75"):
            inbox.feedback(name, {"allow": 0.75})
        with pytest.raises(ValueError, match="must lie in the problem's range"):
            inbox.feedback(name, {"review": 2.0})
        with pytest.raises(LookupError, match="must be one that `decide` returned"):
            inbox.feedback("nothing", {"allow": 0.5})
        with pytest.raises(LookupError, match="is from another log"):
            inbox.feedback("00000000-1-0123456789abcdef", {"allow": 0.5})
        with pytest.raises(LookupError, match="which ends at event 10"):
            inbox.feedback(f"{name[:8]}-99-{name[-16:]}", {"allow": 0.5})
        assert n_waiting(path) == 1
        policy.decide({"amount": 1.0})
        assert not inbox.feedback(name, {"allow": 0.5}).counted
        assert not policy.feedback(name, {"allow": 0.5}).counted
        assert policy.model_version == 1


def test_only_feedback(tmp_path):
    path = tmp_path / "a.db"
    with pytest.raises(FileNotFoundError, match="a log must be a file that exists"):
        Inbox(path)
    with pytest.raises(ValueError, match="`log` must be a SQLite file, got 'postgresql://me@host"):
        Inbox("postgresql://me:secret@host/x")
    (tmp_path / "other.db").write_bytes(b"")
    with pytest.raises(ValueError, match="holds no decision log"):
        Inbox(tmp_path / "other.db")
    new_policy(path).close()
    inbox = Inbox(path)
    assert repr(inbox) == f"Inbox({str(path)!r})"
    with inbox.together() as together, pytest.raises(ValueError, match="only takes feedback"):
        together.decide({"amount": 1.0})
    inbox.close()
    inbox.close()
    with pytest.raises(LogError, match="this inbox is closed; open another"):
        inbox.feedback("a", {})


@pytest.mark.slow
def test_the_message_names_it(tmp_path):
    path = tmp_path / "a.db"
    code = f"import graphcb; graphcb.Policy({str(path)!r})"
    with new_policy(path):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "give feedback beside it with graphcb.Inbox" in done.stderr


def test_versions_and_removed_decisions(tmp_path):
    path = tmp_path / "a.db"
    with new_policy(path) as policy, Inbox(path) as inbox:
        old = answerable(policy)
        policy.change(Problem(["allow", "review"], reveals=PROBLEM.reveals, range=(-5, 5)))
        new = answerable(policy)
        inbox.feedback(new[0].decision_id, {"allow": -3, "review": 1})
        with pytest.raises(ValueError, match="must lie in the problem's range"):
            inbox.feedback(old[0].decision_id, {"allow": -3})
        inbox.feedback(old[0].decision_id, {"allow": 0.5})
        policy.prune(time.time())
        assert policy.model_version == 2  # they were taken in before
        with pytest.raises(LookupError, match="from which old decisions were removed"):
            inbox.feedback(new[1].decision_id, {"allow": 0.5})
    check(path)


def test_a_default_after_waiting_gives_way_to_what_is_in_the_inbox(tmp_path):
    problem = Problem(["a", "b"], range=(0, 1), defaults={"waiting": 1.0, "loss": 1.0})
    path = tmp_path / "a.db"
    with Policy(path, problem=problem, seed=1) as policy, Inbox(path) as inbox:
        made = [policy.decide(None) for _ in range(4)]
        inbox.feedback(made[0].decision_id, {made[0].action: 0.25})
        assert policy.fill_in(time.time() + 10) == 3
    with DecisionLog(path) as log:
        assert [row.feedback.is_default for row in log] == [False, True, True, True]


class Picky(graphcb.Uniform):
    """Refuses a loss, once it has it."""

    def learn(self, context, actions, losses):
        if np.max(losses) > 0.9:
            raise ValueError("too much")


def test_what_an_agent_refuses_stays_and_blocks_nobody(tmp_path):
    path = tmp_path / "a.db"
    with Policy(path, Picky(), seed=0, classes=[Picky]) as policy:
        made = [policy.decide(None, graphs.full_information(2)) for _ in range(3)]
        with Inbox(path, classes=[Picky]) as inbox:
            for one, loss in zip(made, (0.5, 0.95, 0.25), strict=True):
                inbox.feedback(one.decision_id, {0: loss})
        with (
            pytest.warns(RuntimeWarning, match="stays in the inbox: too much"),
            pytest.raises(LogError, match="call again"),
        ):
            policy.decide(None, graphs.full_information(2))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            policy.decide(None, graphs.full_information(2))
        assert (policy.n_events, policy.model_version, n_waiting(path)) == (6, 2, 1)


def test_more_than_fits_into_one_reading(tmp_path, monkeypatch):
    from graphcb.decisions import policy as policies
    from graphcb.decisions import taking_in

    monkeypatch.setattr(taking_in, "AT_ONCE", 3)
    monkeypatch.setattr(policies, "AT_ONCE", 3)
    path = tmp_path / "a.db"
    with new_policy(path) as policy, Inbox(path) as inbox:
        made = answerable(policy, 40)
        assert len(made) > 7
        for one in made:
            inbox.feedback(one.decision_id, {"allow": 0.5})
        policy.decide({"amount": 1.0})
        assert (policy.model_version, n_waiting(path)) == (len(made), 0)
        for one in made:
            inbox.feedback(one.decision_id, {"review": 1})
    with Policy(path) as policy:
        assert (policy.model_version, n_waiting(path)) == (2 * len(made), 0)
    check(path)


def test_a_damaged_row_is_not_learned(tmp_path):
    path = tmp_path / "a.db"
    with new_policy(path) as policy:
        made = answerable(policy)
    with Inbox(path) as inbox:
        inbox.feedback(made[0].decision_id, {"allow": 0.5})
        with inbox._connection.transaction() as (storage, *_):
            storage.execute("UPDATE graphcb_inbox_feedbacks SET received_at = 7")
    with pytest.raises(ValueError, match="checksum of a row in graphcb_inbox does not match"):
        Policy(path)
    assert any("graphcb_inbox" in text for text in verify(path))


DECIDER = """
import sys, graphcb
policy = graphcb.Policy(sys.argv[1], checkpoint_every=7)
number = 0
while True:
    number += 1
    decision = policy.decide({"amount": float(number % 5)})
    if decision.action == "review":
        print(decision.decision_id, flush=True)
"""
ANSWERER = """
import sys, graphcb
inbox = graphcb.Inbox(sys.argv[1])
for line in sys.stdin:
    name = line.strip()
    for part in ({"allow": 1.0}, {"review": 0.0}):
        receipt = inbox.feedback(name, part)
        print(name, *part, receipt.counted, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_both_are_killed_again_and_again(tmp_path, seed):
    """What was acknowledged is there, once; whoever was killed is followed by the next."""
    rng, path = random.Random(seed), tmp_path / "a.db"
    new_policy(path).close()
    told, acknowledged = [], set()
    for dies in ("decider", "answerer", "both"):
        decider = _start(DECIDER, path, stdin=subprocess.DEVNULL)
        answerer = _start(ANSWERER, path, stdin=subprocess.PIPE)
        for _ in range(rng.randrange(4, 40)):
            told.append(decider.stdout.readline().strip())
            if rng.random() < 0.8:
                answerer.stdin.write(told[-1] + "\n")
                answerer.stdin.flush()
                for _ in range(rng.randrange(3)):
                    _note(answerer.stdout.readline(), acknowledged)
        time.sleep(rng.uniform(0, 0.02))
        if dies != "decider":
            answerer.kill()
        if dies != "answerer":
            decider.kill()
        with contextlib.suppress(BrokenPipeError):
            answerer.stdin.close()
        for line in answerer.stdout.read().splitlines():
            _note(line, acknowledged)
        decider.kill()
        told += decider.stdout.read().splitlines()[:-1]  # the last may be cut off
        for process in (decider, answerer):
            process.wait()
            process.stdout.close()
    Policy(path).close()
    assert len(acknowledged) > 10
    with DecisionLog(path) as log:
        rows = {row.decision_id: row for row in log}
    assert set(told) <= set(rows)
    found = set()
    for name, row in rows.items():
        for part in row.feedback.parts if row.feedback is not None else ():
            for action in part.actions:
                assert (name, action) not in found
                found.add((name, action))
    assert acknowledged <= found
    assert n_waiting(path) == 0
    check(path)


def _note(line, acknowledged):
    words = line.split()
    if len(words) == 3:
        acknowledged.add((words[0], words[1]))


def _start(code, path, stdin):
    words = [sys.executable, "-c", code, str(path)]
    return subprocess.Popen(words, stdin=stdin, stdout=subprocess.PIPE, text=True)
