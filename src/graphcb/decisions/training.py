"""The trainer of a log with deciders: takes in what they wrote, learns, publishes snapshots."""

import os
import time
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple

from graphcb.checks import as_positive
from graphcb.decisions.changing import check_shared
from graphcb.decisions.forgetting import Unlearned
from graphcb.decisions.inbox import (
    create_inbox,
    find_in_log,
    publish,
    server_time,
    take_decisions,
    take_feedbacks,
)
from graphcb.decisions.incoming import Found
from graphcb.decisions.policy import Policy
from graphcb.decisions.pruning import Pruned
from graphcb.decisions.records import Forgotten, check_count, read_parts
from graphcb.decisions.storage import Durability, is_url, without_password
from graphcb.decisions.tables import DecisionRow, FeedbackRow, insert
from graphcb.decisions.taking_in import AT_ONCE, learn_new
from graphcb.decisions.together import Together
from graphcb.decisions.versions import Change, Versions
from graphcb.decisions.writer import Took
from graphcb.estimates.stillness import Alarm
from graphcb.problems import Problem
from graphcb.rounds import Agent

MOST_RARELY = 1.0  # seconds between snapshots, if they take less than that


class Taken(NamedTuple):
    """What a step took into the log; `n_ignored` feedbacks had nothing new or no decision.

    `is_all` says that nothing was left.
    """

    n_decisions: int
    n_feedbacks: int
    n_ignored: int
    is_all: bool


class Trainer:
    """Learns for the `Decider` processes that decide for one log in PostgreSQL.

    `step` takes what deciders wrote into the log, learns it in that order, and publishes a
    snapshot of the agent every `publish_every` seconds, or less often if that takes long. Call it
    again and again. Other arguments and methods are as in `Policy`, but a trainer neither
    decides nor takes feedback itself. While another one is at work, opening a second one raises a
    `LogError`.

    A hard budget, or a baseline with a proven bound, is refused: many deciders that do not know of
    each other's last decisions cannot keep them.
    """

    def __init__(
        self,
        log: str,
        agent: Agent | None = None,
        *,
        problem: Problem | None = None,
        publish_every: float = 0.25,
        seed: int | None = None,
        durability: Durability = "power-loss",
        checkpoint_every: int = 10_000,
        classes: Iterable[type] = (),
        check_replay: bool = True,
    ) -> None:
        self.location = os.fspath(log)
        self.publish_every = as_positive("publish_every", publish_every)
        if not is_url(self.location):
            raise ValueError(
                f"`log` must be a URL postgresql://user@host/database, got "
                f"{without_password(self.location)!r}: a file has one "
                "process that decides and learns"
            )
        check_shared(problem)
        self._publishing = Publishing(self.publish_every)
        self._policy = Policy(
            log,
            agent,
            problem=problem,
            seed=seed,
            durability=durability,
            checkpoint_every=checkpoint_every,
            classes=classes,
            check_replay=check_replay,
        )
        try:
            check_shared(self.problem)
            self.step()
        except BaseException:
            self.close()
            raise

    def step(self) -> Taken:
        """Take in what has come, learn it, and publish what follows if it is time."""
        with self.together() as together:
            return self.take_in(together)

    def take_in(self, together: Together) -> Taken:
        """`step` in an open transaction of this trainer."""
        pending, storage = together.pending, together.storage
        if not pending.has_deciders:
            create_inbox(storage)
            pending.has_deciders = True
        now = server_time(storage)
        decisions = take_decisions(storage, AT_ONCE)
        rows = together.lessons.pass_by([one.row for one in decisions])
        if rows:
            insert(storage, rows)
            for one, row in zip(decisions, rows, strict=True):
                if one.row.position != pending.last_asker:  # who asked for it
                    pending.begin_run(row.position, one.row.position)
        feedbacks = take_feedbacks(storage, AT_ONCE)
        n_learned = _learn_all(together, [one.row for one in feedbacks], rows)
        together.store()
        left = [rows[-1].arrived_at for rows in (decisions, feedbacks) if len(rows) == AT_ONCE]
        self._publishing.publish(together, min(left, default=now))
        n_ignored = len(feedbacks) - n_learned
        return Taken(len(decisions), n_learned, n_ignored, not left)

    def together(self) -> AbstractContextManager[Together]:
        """A transaction, as `Policy.together`."""
        return self._policy.together()

    def fill_in(self, now: float | None = None) -> int:
        """As `Policy.fill_in`."""
        return self._policy.fill_in(now)

    def prune(self, before: float | None = None) -> Pruned:
        """As `Policy.prune`."""
        return self._policy.prune(before)

    def forget(self, subject: str | int, *, unlearn: bool = False) -> Forgotten:
        """As `Policy.forget`."""
        return self._policy.forget(subject, unlearn=unlearn)

    def unlearned(self, subject: str | int) -> Unlearned | None:
        """As `Policy.unlearned`."""
        return self._policy.unlearned(subject)

    def scrub(self) -> str:
        """As `Policy.scrub`."""
        return self._policy.scrub()

    def change(
        self, problem: Problem | None = None, *, agent: Agent | None = None, note: str = ""
    ) -> Change:
        """As `Policy.change`."""
        return self._policy.change(problem, agent=agent, note=note)

    def roll_back(self, version: int, *, note: str = "") -> Change:
        """As `Policy.roll_back`."""
        return self._policy.roll_back(version, note=note)

    @property
    def problem(self) -> Problem | None:
        """The problem that is decided now, if there is one."""
        return self._policy.problem

    @property
    def versions(self) -> Versions:
        """All versions of the log in order; the last one decides."""
        return self._policy.versions

    @property
    def n_events(self) -> int:
        """The number of the last event in the log."""
        return self._policy.n_events

    @property
    def model_version(self) -> int:
        """The number of feedbacks that the model has learned from."""
        return self._policy.model_version

    @property
    def agent(self) -> Agent:
        """A copy of the agent as it is now."""
        return self._policy.agent

    @property
    def alarms(self) -> list[Alarm]:
        """The actions and features that have looked different, the latest first."""
        return self._policy.alarms

    @property
    def match_rate(self) -> float | None:
        """As `Policy.match_rate`."""
        return self._policy.match_rate

    @property
    def last_checkpoint(self) -> Took | None:
        """When this process last stored a checkpoint, and how long that took."""
        return self._policy.last_checkpoint

    def close(self) -> None:
        """Store a checkpoint and release the log to the next trainer; may be called again."""
        self._policy.close()

    def __enter__(self) -> "Trainer":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Trainer({without_password(self.location)!r})"


class Publishing:
    """When the next snapshot is due: after `every` seconds, or later if that takes long.

    Then it takes a tenth of the time, or more where deciders would have to wait for longer than
    `MOST_RARELY`, and never more than half of it. `version` is that of the last one; another one is
    published at once.
    """

    def __init__(self, every: float) -> None:
        self._every, self._next, self.version = every, 0.0, 0

    @property
    def is_due(self) -> bool:
        """Whether it is time."""
        return time.monotonic() >= self._next

    def publish(self, together: Together, known_at: float) -> None:
        """A snapshot of the agent as it is now, which knows all that came before this time."""
        state = together.pending.state
        if not self.is_due and self.version == state.version:
            return
        began = time.monotonic()
        publish(together.storage, state, known_at)
        self.done(state.version, time.monotonic() - began)

    def done(self, version: int, took: float) -> None:
        """One was published, which took so many seconds."""
        pause = min(10.0 * took, max(MOST_RARELY, took))
        self.version, self._next = version, time.monotonic() + max(self._every, pause)


def _learn_all(together: Together, rows: Sequence[FeedbackRow], new: Sequence[DecisionRow]) -> int:
    """Learn what is new in these feedbacks; a decision that was removed has none.

    What is known is not read: decisions that are `new` in the log, and the feedbacks of a decision
    that has none, as they are counted.
    """
    storage, counts, cut = together.storage, together.pending.counts, together.pending.start.cut
    decisions = {row.token: row for row in new}
    earlier = {str(row.source) for row in rows} - decisions.keys()
    if earlier:
        decisions |= find_in_log(storage, sorted(earlier))
    answered = [row.position for row in decisions.values() if counts.of(row.position)]
    parts = read_parts(storage, answered)
    for position in answered:
        if position > cut:
            check_count(storage, position, counts, parts.get(position, []))
    found = {
        token: Found(row, parts.get(row.position, []))
        for token, row in decisions.items()
        if row.position > cut
    }
    known = [row for row in rows if str(row.source) in found]
    return sum([learn_new(together, row, found[str(row.source)]) for row in known])
