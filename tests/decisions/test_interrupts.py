"""Ctrl-C at any moment: whatever is interrupted, the next call works and nothing is made up.

What matters is where the database stands when the interrupt comes, so most tests interrupt after
each call of a storage that may change it, in turn. One takes moments at random, between any two
bytecodes.
"""

import random
import sys
from contextlib import contextmanager, suppress

import pytest

import graphcb
from graphcb import DecisionLog, Policy, Problem, SquareCBG, graphs
from graphcb.decisions import LogError, replay
from graphcb.decisions.storage import new_storage
from graphcb.oracles import LinearOGD
from graphcb.saving import to_bytes

GRAPH = graphs.cops_and_robbers(3)
BOUNDARY = ("open", "begin", "execute", "execute_many", "close")
READS = ("SELECT", "PRAGMA", "SHOW")


def new_agent():
    return SquareCBG(LinearOGD(3, 1, learning_rate=0.1))


class Interrupting:
    """Raises KeyboardInterrupt after the n-th call of a storage; counts them all if n is None."""

    def __init__(self, location, n=None):
        self.kind, self.n, self.met = type(new_storage(location, writes=True)), n, 0

    def __enter__(self):
        self.patch = pytest.MonkeyPatch()
        for name in BOUNDARY:
            self.patch.setattr(self.kind, name, self._wrapped(getattr(self.kind, name)))
        return self

    def __exit__(self, *exception):
        self.patch.undo()

    def _wrapped(self, plain):
        def call(storage, *arguments, **more):
            answer = plain(storage, *arguments, **more)
            self.met += not str(*arguments[:1]).startswith(READS)
            if self.met == self.n:
                self.n = None
                raise KeyboardInterrupt
            return answer

        return call


@contextmanager
def interrupting_bytecode(n):
    """Raises KeyboardInterrupt before the n-th bytecode that graphcb runs; says how many it ran."""
    met, before = [0], sys.gettrace()

    def trace(frame, event, argument):
        if "/graphcb/" not in frame.f_code.co_filename:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            met[0] += 1
            if met[0] == n:
                raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        yield met
    finally:
        sys.settrace(before)


class Attempt:
    """One life of a policy: opened, used, closed; remembers what was acknowledged."""

    def __init__(self, location):
        self.location, self.made, self.counted, self.policy = location, [], [], None

    def run(self):
        self.policy = Policy(
            self.location, new_agent(), seed=3, checkpoint_every=3, durability="process-kill"
        )
        decision = self.policy.decide([0.25], GRAPH)
        self.made.append(decision)
        first, second = (a for a in range(3) if a != decision.action)
        for seen in ({first: 0.5}, {second: 0.25}):
            if self.policy.feedback(decision.decision_id, seen).counted:
                self.counted.append((decision.decision_id, seen))
        self.made.append(self.policy.decide([0.5], GRAPH))
        self.policy.close()

    def check(self):
        """The same policy goes on, or another one does if it was never opened or has closed."""
        with self._usable() as policy:
            for decision_id, seen in self.counted:
                assert not policy.feedback(decision_id, seen).counted
            decision = policy.decide([0.75], GRAPH)
            seen = {a: 0.125 for a in range(3) if a != decision.action}
            assert policy.feedback(decision.decision_id, seen).counted
            state = to_bytes(policy.agent)
        with DecisionLog(self.location) as log:
            names = [row.decision_id for row in log]
            assert {d.decision_id for d in self.made} <= set(names)
            assert to_bytes(replay(log).agent) == state
            assert to_bytes(replay(log, from_checkpoint=True).agent) == state

    def _usable(self):
        if self.policy is not None:
            try:
                return self.policy if self.policy.n_events >= 0 else None
            except LogError as problem:
                if "this policy is closed" not in str(problem):
                    raise
        return Policy(self.location, new_agent(), seed=3)


def test_after_any_call_of_the_storage(new_log):
    with Interrupting(new_log()) as counter:
        Attempt(new_log()).run()
    assert counter.met > 20
    for n in range(1, counter.met + 1):
        attempt = Attempt(new_log())
        with suppress(KeyboardInterrupt), Interrupting(attempt.location, n):
            attempt.run()
        attempt.check()


@pytest.mark.slow
def test_between_any_two_bytecodes(new_log):
    Attempt(new_log()).run()
    with interrupting_bytecode(None) as met:
        Attempt(new_log()).run()
    moments = random.Random(24)
    for _ in range(100):
        attempt = Attempt(new_log())
        with suppress(KeyboardInterrupt), interrupting_bytecode(moments.randint(1, met[0])):
            attempt.run()
        attempt.check()


def test_a_kept_traceback_does_not_keep_the_lock(tmp_path):
    with Interrupting(str(tmp_path / "a.db")) as counter:
        Policy(tmp_path / "a.db", new_agent(), seed=3)
    kept = []
    for n in range(1, counter.met + 1):
        try:
            with Interrupting(str(tmp_path / "a.db"), n):
                Policy(tmp_path / f"{n}.db", new_agent(), seed=3)
        except KeyboardInterrupt as problem:
            kept.append(problem)
        Policy(tmp_path / f"{n}.db", new_agent(), seed=3).close()
    assert len(kept) == counter.met


def test_no_receipt_for_what_is_not_committed(new_log, monkeypatch):
    location = new_log()
    with Policy(location, new_agent(), seed=3) as policy:
        decision = policy.decide([0.5], GRAPH)
        seen = {a: 0.5 for a in range(3) if a != decision.action}
        kind = type(new_storage(location, writes=True))
        execute = kind.execute

        def interrupted(storage, sql, parameters=()):
            if sql in ("COMMIT", "ROLLBACK"):
                raise KeyboardInterrupt
            return execute(storage, sql, parameters)

        with monkeypatch.context() as patch:
            patch.setattr(kind, "execute", interrupted)
            with pytest.raises(KeyboardInterrupt):
                policy.feedback(decision.decision_id, seen)
        assert policy.feedback(decision.decision_id, seen).counted
        with DecisionLog(location) as log:
            assert log.n_feedbacks == 1


def test_a_call_within_a_call_does_not_write_into_its_transaction(new_log):
    """As a signal handler does that uses the policy it interrupted."""

    class Nested(graphcb.Uniform):
        policy = None

        def learn(self, context, actions, losses):
            policy, Nested.policy = Nested.policy, None
            if policy is not None:
                policy.decide([1.0], GRAPH)

    location = new_log()
    with Policy(location, Nested(), seed=3, classes=[Nested]) as policy:
        decision = policy.decide([0.5], GRAPH)
        Nested.policy = policy
        with pytest.raises(graphcb.decisions.LogError):
            policy.feedback(decision.decision_id, {})
        assert policy.n_events == 2
        assert policy.feedback(decision.decision_id, {}).counted
    with DecisionLog(location) as log:
        assert replay(log, classes=[Nested]).position == 3


FIRST = Problem(["approve", "review"], features={"amount": "number"})
SECOND = Problem(["review", "call", "approve"], features={"amount": "number"})


def test_a_change_that_is_interrupted_anywhere_has_happened_or_not(tmp_path):
    where = str(tmp_path / "all.db")
    with Policy(where, problem=FIRST, seed=1) as policy, Interrupting(where) as counter:
        policy.change(SECOND)
    found = set()
    for n in range(1, counter.met + 1):
        file = tmp_path / f"{n}.db"
        with Policy(file, problem=FIRST, seed=1, durability="process-kill") as policy:
            made = policy.decide({"amount": 3.0})
            policy.feedback(made.decision_id, {made.action: 0.5})
            with suppress(KeyboardInterrupt), Interrupting(where, n):
                policy.change(SECOND)
            found.add(len(policy.versions))
            assert policy.decide({"amount": 5.0}).actions == policy.problem.actions
            if len(policy.versions) == 1:
                policy.change(SECOND)
            made = policy.decide({"amount": 3.0})
            assert policy.feedback(made.decision_id, {made.action: 0.25}).counted
            agent = to_bytes(policy.agent)
        with DecisionLog(file) as log:
            assert len(log.versions) == 2
            assert to_bytes(replay(log).agent) == agent
            assert to_bytes(replay(log, from_checkpoint=True).agent) == agent
    assert found == {1, 2}


@pytest.fixture
def broken(tmp_path, monkeypatch):
    """A policy whose next `decide_many` fails; give it an interrupt to fail while cleaning up."""
    policy = Policy(tmp_path / "a.db", new_agent(), seed=3)

    def fail(error, interrupt=None):
        def execute_many(*_):
            try:
                if interrupt is not None:
                    raise interrupt
            finally:
                raise error

        monkeypatch.setattr(type(policy._log.storage), "execute_many", execute_many)
        return policy

    yield fail
    policy.close()


@pytest.mark.parametrize("error", [LogError("cannot leave the pipeline"), SystemError("numba")])
def test_an_interrupt_that_became_another_error_is_an_interrupt(broken, error):
    policy = broken(error, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        policy.decide_many([[0.5], [0.6]], GRAPH)
    assert policy.decide([0.5], GRAPH).decision_id


def test_an_error_after_an_interrupt_was_caught_is_itself(broken):
    policy = broken(LogError("the disk is full"))
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt:
        with pytest.raises(LogError, match="the disk is full"):
            policy.decide_many([[0.5], [0.6]], GRAPH)


def test_the_last_moment_of_opening_leaves_no_lock(tmp_path, monkeypatch):
    class Interrupted:
        def add(self, policy):
            raise KeyboardInterrupt

    file = tmp_path / "log.db"
    with monkeypatch.context() as patched:
        patched.setattr("graphcb.decisions.policy._OPENED", Interrupted())
        with pytest.raises(KeyboardInterrupt) as kept:  # whose traceback keeps the policy
            Policy(file, new_agent(), seed=0)
    with Policy(file) as policy:
        policy.decide([1.0], GRAPH)
    assert kept.value
