"""One policy that plays the plan, with a fault in the middle of most of its calls.

After each fault the same policy must do the next call, a repeated feedback must get a true
receipt, and at the end the log must be that of a run left alone. What is true of the log, another
connection says.
"""

import logging
import random
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from typing import Any, Protocol

from faults.places import Place
from faults.plan import (
    Call,
    acknowledgement,
    check,
    check_model,
    make,
    next_call,
    open_policy,
    plan,
    rows_of,
    run_alone,
)
from faults.tally import Finding, Tell
from graphcb import DecisionLog, Policy

N_CALLS = 24  # in the plan of one log


class Saboteur(Protocol):
    """Makes one kind of fault; `last` says in words what was done, None if nothing was."""

    last: str | None

    def attack(self, kind: str, work: Callable[[], Any], rng: random.Random, number: int) -> Any:
        """Do a call with a fault in it: its answer, or None if it failed as it should.

        When this returns, the world is whole again.
        """
        ...


def cases(seed: int) -> Iterator[int]:
    """A seed for each log."""
    return count(seed * 1_000_000)


class Session:
    """Plays one log per case."""

    def __init__(self, where: Place, saboteur: Saboteur, seed: int, n_calls: int = N_CALLS) -> None:
        self.where, self.saboteur = where, saboteur
        location = where.new()
        self.reference = run_alone(location, plan(n_calls, seed))
        where.remove(location)

    def play(self, seed: int, tell: Tell) -> None:
        sys.unraisablehook = lambda _: None
        logging.disable()
        self.rng, self.location, self.tell = random.Random(seed), self.where.new(), tell
        self.number, self.told = 37 * seed, list[str]()
        policy = self._open("create")
        while (call := next_call(self.reference.calls, n_events(self.location))) is not None:
            self._one_call(policy, call)
            if self.rng.random() < 0.12:
                self._close(policy)
                policy = self._open("open")
        self._close(policy)
        check(self.location, self.reference, self.told)
        check_model(self.location, self.reference)
        self.where.remove(self.location)

    def _one_call(self, policy: Policy, call: Call) -> None:
        rows = rows_of(self.location) if "feedback" in call.kind else {}
        answers = self._attack(call.kind, partial(make, policy, call, rows))
        now = n_events(self.location)
        if answers is not None:
            if now < call.end:
                raise Finding("lost", f"{answers} of {call}, and it is not in the log")
            self.told += acknowledgement(call, answers)
        else:
            self._again(policy, call, now)
        if self.saboteur.last is not None:
            self.tell()

    def _again(self, policy: Policy, call: Call, now: int) -> None:
        """Send a feedback again, or make the next call; the log has `now` events."""
        following = call if "feedback" in call.kind else next_call(self.reference.calls, now)
        if following is None:
            return
        rows = rows_of(self.location)
        answers = self._after(call.kind, make, policy, following, rows)
        if n_events(self.location) < following.end:
            raise Finding("lost", f"{answers} of {following}, and it is not in the log")
        for answer in answers:
            if getattr(answer, "counted", True) != (now < following.end):
                raise Finding("confused", f"{answer}, of {following} after {now} events")
        if now < following.end:
            self.told += acknowledgement(following, answers)

    def _open(self, kind: str) -> Policy:
        policy: Policy | None = self._attack(kind, partial(open_policy, self.location))
        if policy is None:
            policy = self._after(kind, open_policy, self.location)
        if self.saboteur.last is not None:
            self.tell()
        return policy

    def _close(self, policy: Policy) -> None:
        def close() -> bool:
            policy.close()
            return True

        if self._attack("close", close) is None:
            self._after("close", close)
        if self.saboteur.last is not None:
            self.tell()

    def _attack(self, kind: str, work: Callable[[], Any]) -> Any:
        self.number += 1
        return self.saboteur.attack(kind, work, self.rng, self.number)

    def _after(self, kind: str, work: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return work(*arguments)
        except Finding:
            raise
        except Exception as problem:
            words = f"after {kind} with {self.saboteur.last}: {problem!r}"
            raise Finding("stuck", words) from problem


def n_events(location: str) -> int:
    """The number of events that another connection sees."""
    try:
        with DecisionLog(location) as log:
            return log.n_events
    except FileNotFoundError:
        return 0
