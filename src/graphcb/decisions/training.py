"""The learner of a log with deciders: takes in what they wrote, learns, publishes snapshots."""

import os
import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from graphcb.agents import Agent
from graphcb.checks import as_positive
from graphcb.decisions.changing import check_shared
from graphcb.decisions.decision import Acknowledgement, name_of
from graphcb.decisions.inbox import (
    create_inbox,
    find_decisions,
    server_time,
    take_decisions,
    take_feedbacks,
)
from graphcb.decisions.incoming import NewFeedback
from graphcb.decisions.parts import merge, read_part
from graphcb.decisions.policy import Policy
from graphcb.decisions.records import check_count, read_parts
from graphcb.decisions.storage import Durability, without_password
from graphcb.decisions.tables import DecisionRow, FeedbackRow, LogStart, SnapshotRow, insert
from graphcb.decisions.together import Together
from graphcb.decisions.transition import pass_by
from graphcb.decisions.writer import Pending
from graphcb.problems import Problem
from graphcb.saving import to_bytes

AT_ONCE = 1000  # decisions, and feedbacks, in one transaction
KEPT = 3  # snapshots
MOST_RARELY = 1.0  # seconds between snapshots, if they take less than that
_FORGET = (
    "DELETE FROM graphcb_snapshots WHERE position NOT IN "
    f"(SELECT position FROM graphcb_snapshots ORDER BY position DESC LIMIT {KEPT})"
)
_HAS_SNAPSHOT = "SELECT count(*) FROM graphcb_snapshots WHERE position = ?"
_CONFIRM = "UPDATE graphcb_learner SET snapshot = ?, known_at = ?"


class Taken(NamedTuple):
    """What a step took into the log; `n_ignored` feedbacks had nothing new or no decision.

    `is_all` says that nothing was left.
    """

    n_decisions: int
    n_feedbacks: int
    n_ignored: int
    is_all: bool


class Trainer(Policy):
    """The one learner of a log in PostgreSQL for which any number of `Decider` processes decide.

    It is a policy that neither decides nor takes feedback itself: `step` takes what deciders wrote
    into the log, learns it in that order, and publishes a snapshot of the agent every
    `publish_every` seconds, or less often if that takes long. Call it again and again. While
    another learner is at work, opening a second one raises a `LogError`.

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
        checkpoint_every: int = 2000,
        classes: Iterable[type] = (),
        check_replay: bool = True,
    ) -> None:
        self.publish_every = as_positive("publish_every", publish_every)
        if not os.fspath(log).startswith(("postgresql://", "postgres://")):
            raise ValueError(
                f"`log` must be a URL postgresql://user@host/database, got "
                f"{without_password(os.fspath(log))!r}: a file has one "
                "process that decides and learns"
            )
        check_shared(problem)
        self._publishing = Publishing(self.publish_every)
        super().__init__(
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
            return take_in(together)

    def _new_together(self, pending: Pending) -> Together:
        classes, check = self._settings["classes"], self._settings["check_replay"]
        given = pending, self._log.start, self._publishing
        return _Training(*given, classes=classes, check_replay=check)


def take_in(together: Together) -> Taken:
    """`Trainer.step` in an open transaction of a trainer."""
    if not isinstance(together, _Training):
        raise TypeError(f"`together` must be that of a Trainer, got {type(together).__name__}")
    return together.step()


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

    def done(self, version: int, took: float) -> None:
        """One was published, which took so many seconds."""
        pause = min(10.0 * took, max(MOST_RARELY, took))
        self.version, self._next = version, time.monotonic() + max(self._every, pause)


class _Training(Together):
    """A transaction of a trainer."""

    def __init__(
        self, pending: Pending, start: LogStart, publishing: Publishing, **settings: Any
    ) -> None:
        super().__init__(pending, start, **settings)
        self._publishing = publishing

    def step(self) -> Taken:
        """Take in what has come, and publish what follows if it is time."""
        pending = self._pending
        self._store()
        if not pending.has_deciders:
            create_inbox(self.storage)
            pending.has_deciders = True
        now = server_time(self.storage)
        decisions = take_decisions(self.storage, AT_ONCE)
        for one in decisions:
            self._pass_by(one.row)
        self._store()
        feedbacks = take_feedbacks(self.storage, AT_ONCE)
        n_learned = self._learn_all([one.row for one in feedbacks])
        self._store()
        left = [rows[-1].arrived_at for rows in (decisions, feedbacks) if len(rows) == AT_ONCE]
        self._publish(min(left, default=now))
        n_ignored = len(feedbacks) - n_learned
        return Taken(len(decisions), n_learned, n_ignored, not left)

    def _pass_by(self, row: DecisionRow) -> None:
        """Give a decision its number, and take the agent through its round."""
        pending = self._pending
        played = self._played(row)
        pending.asked = True
        version = pending.versions.of(row).number
        pending.state = pass_by(pending.state, row.made_at, played, version)
        self._decisions.append(row._replace(position=pending.state.position, checksum=0))

    def _learn_all(self, rows: Sequence[FeedbackRow]) -> int:
        """Learn what is new in these feedbacks; a decision that was removed has none."""
        tokens = [str(row.source) for row in rows]
        if not tokens:
            return 0
        decisions = find_decisions(self.storage, tokens)
        positions = [decision.position for decision in decisions.values()]
        parts = read_parts(self.storage, positions)
        for position in positions:
            counts, found = self._pending.counts, parts.setdefault(position, [])
            check_count(self.storage, position, counts, found)
        n_learned = 0
        for row, token in zip(rows, tokens, strict=True):
            decision = decisions.get(token)
            if decision is None:
                continue
            new = self._new(row, decision, parts[decision.position])
            if new is not None:
                self._learn(new)
                n_learned += 1
        return n_learned

    def _new(
        self, row: FeedbackRow, decision: DecisionRow, parts: list[FeedbackRow]
    ) -> NewFeedback | None:
        """What a feedback adds to the log; None if that is nothing."""
        location, graph = self.storage.location, self.graph(decision.graph)
        told = row._replace(decision=decision.position, source=None)
        indices, losses = read_part(told, graph, location)
        receipt = Acknowledgement(name_of(self.log_name, decision), True, "counted")
        if not parts:
            told_first = decision, parts, indices, losses, receipt
            return NewFeedback(*told_first, received_at=row.received_at)
        known = merge(parts, graph, location)
        new = [i for i, k in enumerate(indices.tolist()) if k not in known or known[k].is_default]
        if not new:
            return None
        earlier = {index: one.loss for index, one in known.items()}
        told_now = decision, parts, indices[new], losses[new], receipt, earlier
        return NewFeedback(*told_now, received_at=row.received_at)

    def _publish(self, known_at: float) -> None:
        """A snapshot of the agent as it is now, which knows all that came before this time."""
        pending, storage = self._pending, self.storage
        if not self._publishing.is_due and self._publishing.version == pending.state.version:
            return
        began, state = time.monotonic(), pending.state
        if not storage.execute(_HAS_SNAPSHOT, (state.position,))[0][0]:
            agent = to_bytes(state.agent)
            given = state.position, state.n_feedbacks, known_at, agent
            insert(storage, [SnapshotRow(*given)])
            storage.execute(_FORGET)
        storage.execute(_CONFIRM, (state.position, known_at))
        self._publishing.done(state.version, time.monotonic() - began)
