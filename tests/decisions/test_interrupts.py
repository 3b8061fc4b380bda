"""Ctrl-C at every line: whatever is interrupted, the next call works and nothing is made up."""

import sys
from contextlib import suppress

import pytest

import graphcb
from graphcb import DecisionLog, Policy, Problem, SquareCBG, graphs
from graphcb.decisions import replay
from graphcb.oracles import LinearOGD
from graphcb.saving import to_bytes

GRAPH = graphs.cops_and_robbers(3)
ROOMS = ("graphcb/decisions/", "contextlib.py", "psycopg/")


def new_agent():
    return SquareCBG(LinearOGD(3, 1, learning_rate=0.1))


class InterruptAt:
    """Raise KeyboardInterrupt at the n-th traced line or return; counts them all if n is None."""

    def __init__(self, n=None, rooms=ROOMS):
        self.n, self.rooms, self.met = n, rooms, 0

    def __enter__(self):
        self.before = sys.gettrace()
        sys.settrace(self._trace)
        return self

    def __exit__(self, *exception):
        sys.settrace(self.before)

    def _trace(self, frame, event, argument):
        if not any(room in frame.f_code.co_filename for room in self.rooms):
            return None
        if event in ("line", "return"):
            self.met += 1
            if self.met == self.n:
                raise KeyboardInterrupt
        return self._trace


class Attempt:
    """One life of a policy: opened, used, closed; remembers what was acknowledged."""

    def __init__(self, location):
        self.location, self.made, self.counted, self.policy = location, [], [], None

    def run(self):
        self.policy = Policy(
            self.location, new_agent(), seed=3, checkpoint_every=3, durability="process-kill"
        )
        for number in range(2):
            decision = self.policy.decide([0.25 * number], GRAPH)
            self.made.append(decision)
            first, second = (a for a in range(3) if a != decision.action)
            for seen in ({first: 0.5}, {second: 0.25}):
                if self.policy.feedback(decision.decision_id, seen).counted:
                    self.counted.append((decision.decision_id, seen))
        self.policy.close()

    def check(self):
        """The same policy goes on, or another one does if it was never opened or has closed."""
        policy = self.policy
        if policy is None or policy._log._closed:
            policy = Policy(self.location, new_agent(), seed=3)
        with policy:
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


def interrupt_everywhere(new_log, step, rooms=ROOMS):
    Attempt(new_log()).run()
    with InterruptAt(rooms=rooms) as counter:
        Attempt(new_log()).run()
    for n in range(1, counter.met + 1, step):
        attempt = Attempt(new_log())
        with suppress(KeyboardInterrupt), InterruptAt(n, rooms):
            attempt.run()
        attempt.check()
    return counter.met


def test_at_lines_all_over_a_life(new_log, request):
    step = 41 if "sqlite" in request.node.name else 499
    assert interrupt_everywhere(new_log, step) > 500


@pytest.mark.slow
def test_at_lines_of_this_room_closer_together(new_log, request):
    step = 29 if "sqlite" in request.node.name else 97
    assert interrupt_everywhere(new_log, step, ROOMS[:2]) > 500


def test_a_kept_traceback_does_not_keep_the_lock(tmp_path):
    with InterruptAt() as counter:
        Policy(tmp_path / "a.db", new_agent(), seed=3).close()
    kept = []
    for n in range(1, counter.met - 60, 7):
        try:
            with InterruptAt(n):
                Policy(tmp_path / f"{n}.db", new_agent(), seed=3)
        except KeyboardInterrupt as problem:
            kept.append(problem)
        Policy(tmp_path / f"{n}.db", new_agent(), seed=3).close()
    assert kept


def test_no_receipt_for_what_is_not_committed(new_log):
    location = new_log()
    with Policy(location, new_agent(), seed=3) as policy:
        decision = policy.decide([0.5], GRAPH)
        seen = {a: 0.5 for a in range(3) if a != decision.action}
        execute = policy._log.storage.execute

        def interrupted(sql, parameters=()):
            if sql in ("COMMIT", "ROLLBACK"):
                raise KeyboardInterrupt
            return execute(sql, parameters)

        policy._log.storage.execute = interrupted
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
    with Policy(tmp_path / "all.db", problem=FIRST, seed=1) as policy, InterruptAt() as counter:
        policy.change(SECOND)
    found = set()
    for n in range(1, counter.met + 1, 7):
        file = tmp_path / f"{n}.db"
        with Policy(file, problem=FIRST, seed=1, durability="process-kill") as policy:
            made = policy.decide({"amount": 3.0})
            policy.feedback(made.decision_id, {made.action: 0.5})
            with suppress(KeyboardInterrupt), InterruptAt(n):
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
