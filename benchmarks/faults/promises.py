"""Budgets, baselines and defaults against adversarial schedules of everything that may happen.

A stateful hypothesis machine draws decisions, losses that come late, in parts or never, defaults,
restarts, changes, rollbacks, removals of old decisions that may stop half way, and clocks that
jump, and minimises whatever breaks a promise. Each
schedule is checked with what the machine alone knows: all losses, and the stamps of all decisions.
"""

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from faults import plants
from faults.places import folder
from faults.tally import Finding, Row
from graphcb import Budget, DecisionLog, Policy, Problem
from graphcb.decisions import verify
from graphcb.decisions.pruning import Pruning

NAMES, HOUR, EPSILON, WAITING = ("today", "new", "costly"), 3600.0, 0.5, 60.0
DOUBTED = 2  # readings behind a clock that was ahead, until the account goes back
# Of NAMES; the costly action is often worth it, the baseline seldom the worst.
PAYS = (1.0, 1.0, 0.0)
LOSSES = st.sampled_from((PAYS, (1.0, 0.25, 0.0), (0.0, 1.0, 1.0), (0.25, 0.0, 1.0)))
PLANTS = {"budgets that versions forget": plants.forget_spending}


class Schedule(RuleBasedStateMachine):
    """One log, and the truth about it."""

    n_played = 0
    home: Path | None = None

    def __init__(self) -> None:
        super().__init__()
        Schedule.n_played += 1
        self.folder = TemporaryDirectory(dir=self.home)
        self.file = Path(self.folder.name) / "log.db"
        self.now, self.n_jumps, self.lost, self.allowed = 1.6e9, 0, 0.0, 0.0
        self.spent: Counter[float] = Counter()
        self.open: dict[str, dict[str, float]] = {}
        self.clock = patch("time.time", lambda: self.now)
        self.clock.start()

    @initialize(
        most=st.integers(1, 3),
        start=st.integers(0, 100),
        guarded=st.booleans(),
        jumps=st.booleans(),
    )
    def begin(self, most: int, start: int, guarded: bool, jumps: bool) -> None:
        self.most, self.guarded, self.jumps = [most], guarded, jumps
        first = problem(most, guarded)
        self.policy = Policy(self.file, problem=first, seed=start, durability="process-kill")

    @rule(
        n=st.integers(1, 8),
        losses=LOSSES,
        jump=st.sampled_from((0.0,) * 9 + (8e7, -8e7)),
        at_once=st.booleans(),
    )
    def decide(self, n: int, losses: tuple[float, ...], jump: float, at_once: bool) -> None:
        for k in range(n):
            self.decide_once(losses, jump if k == 0 and self.jumps else 0.0)
            if at_once:
                self.policy.feedback(*self.open.popitem())

    def decide_once(self, losses: tuple[float, ...], jump: float) -> None:
        self.n_jumps += jump != 0.0
        self.now += jump
        made = self.policy.decide({"x": 1.0})
        period, truth = self.now // HOUR, dict(zip(NAMES, losses, strict=True))
        self.now -= jump
        self.open[made.decision_id] = truth
        self.lost += truth[str(made.action)]
        self.allowed += (1.0 + EPSILON) * truth["today"]
        if self.guarded and self.lost > self.allowed + 1e-9:
            raise Finding("confused", f"lost {self.lost} where {self.allowed} was allowed")
        if made.action == "costly":
            self.spent[period] += 1
            most = self.most[-1] + DOUBTED * self.n_jumps
            if self.spent[period] > most:
                raise Finding("confused", f"spent {self.spent[period]} of {self.most[-1]}")

    @rule(n=st.integers(1, 12), part=st.sampled_from((NAMES, NAMES[:1], NAMES[1:])))
    @precondition(lambda self: self.open)
    def answer(self, n: int, part: tuple[str, ...]) -> None:
        for name in list(self.open)[:n]:
            truth = self.open[name]
            self.policy.feedback(name, {action: truth[action] for action in part})
            if part == NAMES:
                del self.open[name]

    @rule(seconds=st.sampled_from((1.0, 61.0, 1800.0)))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.policy.fill_in()

    @rule()
    def restart(self) -> None:
        n = self.policy.n_events
        self.policy.close()
        self.policy = Policy(self.file, durability="process-kill")
        if self.policy.n_events != n:
            raise Finding("lost", f"{n} events became {self.policy.n_events}")

    @rule(most=st.integers(1, 3), busy=st.booleans())
    def change(self, most: int, busy: bool) -> None:
        """Begin a version, in the middle of an hour in which the costly action pays."""
        for _ in range(8 * busy):
            self.decide(1, PAYS, 0.0, at_once=True)
        self.policy.change(problem(most, self.guarded))
        self.most.append(most)
        for _ in range(8 * busy):
            self.decide(1, PAYS, 0.0, at_once=True)

    @rule(data=st.data())
    def roll_back(self, data: Any) -> None:
        number = data.draw(st.integers(1, len(self.most)))
        try:
            self.policy.roll_back(number)
        except ValueError as problem:
            if not any(words in str(problem) for words in ("must be", "were removed")):
                raise
            return
        self.most.append(self.most[number - 1])

    @rule(age=st.sampled_from((-1.0, 30.0, 1800.0)), n=st.sampled_from((1, 4, 12, 1000)))
    def prune(self, age: float, n: int) -> None:
        """Remove old decisions, or stop half way, as a process that is killed does."""
        pruning = Pruning(self.now - age)
        for _ in range(n):
            with self.policy.together() as together:
                if together.prune_some(pruning, seconds=0.0):
                    break
        with DecisionLog(self.file) as log:
            kept = {row.decision_id for row in log}
        for name in self.open.keys() - kept:
            try:
                self.policy.feedback(name, self.open.pop(name))
            except LookupError:
                continue
            raise Finding("confused", f"feedback for {name} was taken, which is removed")

    def teardown(self) -> None:
        try:
            if hasattr(self, "policy"):
                self.policy.close()
                if found := verify(self.file):
                    raise Finding("silent", found[0])
        finally:
            self.clock.stop()
            self.folder.cleanup()


def problem(most: int, guarded: bool) -> Problem:
    return Problem(
        NAMES,
        reveals="full-information",
        baseline={"action": "today", "epsilon": EPSILON} if guarded else None,
        budgets=[Budget("reviews", {"costly": 1.0}, most, per="hour", hard=True)],
        defaults={"waiting": WAITING, "loss": 1.0},
    )


def play(n: int, number: int, *, minimises: bool = True) -> None:
    """Play n schedules found with this seed; raises a minimised one that breaks a promise."""
    asked = settings(
        max_examples=n,
        stateful_step_count=12,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink) if minimises else (Phase.generate,),
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(seed(number)(Schedule), settings=asked)


def run(n: int, number: int, plant: str | None = None) -> Iterator[Row]:
    if plant:
        PLANTS[plant]()
    row, start = (
        Row("schedule of draws, delays, defaults, versions, removals, clocks"),
        time.monotonic(),
    )
    with folder() as Schedule.home:
        Schedule.n_played = 0
        try:
            play(n, number, minimises=plant is None)
        except Finding as finding:
            row.n = Schedule.n_played - 1
            row.tell(finding.kind, str(finding))
        row.n = Schedule.n_played
    row.seconds = time.monotonic() - start
    yield row
