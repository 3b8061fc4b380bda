"""Feedback from another process than the one that decides, for a log in SQLite."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from graphcb.decisions import records
from graphcb.decisions.beside import Beside
from graphcb.decisions.inbox import create_feedbacks, has_feedbacks, put_feedbacks
from graphcb.decisions.part_counts import PartCounts
from graphcb.decisions.places import Call
from graphcb.decisions.policy import TakesFeedback
from graphcb.decisions.storage import Durability, Storage, is_url, transaction, without_password
from graphcb.decisions.tables import DecisionRow, FeedbackRow, LogStart
from graphcb.decisions.together import Together
from graphcb.decisions.transition import PolicyState
from graphcb.decisions.versions import Versions
from graphcb.decisions.writer import Pending
from graphcb.rounds import Agent
from graphcb.saving import from_bytes


class Inbox(TakesFeedback):
    """Gives feedback to a log in SQLite from any process of the machine, whoever decides.

    `feedback` and `feedback_many` are those of `Policy`, with the same checks, errors and receipts,
    and what they return is durable. A policy in another process may hold the log, or none: the
    policy learns the feedback with its next call, the next one when it opens the log. Nothing is
    replayed to open an inbox. `durability` and `classes` are as in `Policy`. For a log in
    PostgreSQL, use `graphcb.decisions.Decider`.

    >>> import tempfile, pathlib, graphcb
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "decisions.db"
    >>> policy = graphcb.Policy(file, problem=graphcb.Problem(["a", "b"]), seed=0)
    >>> decision = policy.decide(None)
    >>> with Inbox(file) as inbox:  # usually in another process
    ...     inbox.feedback(decision.decision_id, {decision.action: 0.5}).counted
    True
    >>> decision = policy.decide(None)
    >>> policy.model_version
    1
    >>> policy.close()
    """

    def __init__(
        self,
        log: str | os.PathLike[str],
        *,
        durability: Durability = "power-loss",
        classes: Iterable[type] = (),
    ) -> None:
        self.location = os.fspath(log)
        if is_url(self.location):
            raise ValueError(
                "`log` must be a SQLite file, got "
                f"{without_password(self.location)!r}; for PostgreSQL, use "
                "graphcb.decisions.Decider, and graphcb serve --learn-only for what learns"
            )
        self._classes = tuple(classes)
        self._read: tuple[tuple[int, ...], LogStart, Versions, Agent] | None = None
        self._connection = Beside(self.location, "inbox", durability, _open_inbox)
        with self.together():
            pass

    @contextmanager
    def together(self) -> Iterator[Together]:
        """A transaction for feedback that comes at the same time, as in `Policy`."""
        with self._connection.transaction(records.LAST) as (storage, graphs, answer):
            positions = tuple(map(int, answer[0]))
            start, versions, agent = self._log(storage, positions[2:])
            state = PolicyState(agent, max(positions), version=versions.last.number)
            pending = Pending(storage, graphs, PartCounts(), state, versions, start, is_beside=True)
            together = Together(pending, _InInbox(pending))
            yield together
            together.finish()

    def close(self) -> None:
        """Close the file; may be called again."""
        self._connection.close()

    def __enter__(self) -> "Inbox":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Inbox({self.location!r})"

    def _log(
        self, storage: Storage, beginnings: tuple[int, ...]
    ) -> tuple[LogStart, Versions, Agent]:
        """How the log began, its versions, and the agent of the last one, which says what it takes.

        They are read again when a version was added or old decisions were removed.
        """
        if self._read is None or self._read[0] != beginnings:
            start = records.read_start(storage)
            rows = records.read_versions(storage)
            content = rows[-1].agent if rows else start.agent
            agent: Agent = from_bytes(content, where=storage.location, classes=self._classes)
            self._read = beginnings, start, Versions.read(storage, start), agent
        return self._read[1:]


def _open_inbox(storage: Storage) -> None:
    records.read_start(storage)  # which refuses what is no log
    if not has_feedbacks(storage):
        with transaction(storage):
            if not has_feedbacks(storage):
                create_feedbacks(storage)


class _InInbox:
    """The inbox of the policy: nothing is decided or learned here."""

    learns = False

    def __init__(self, pending: Pending) -> None:
        self._storage = pending.storage

    def check(self, call: Call) -> None:
        """Refuse all but feedback."""
        if call != "feedback":
            raise ValueError(
                f"{self._storage.location}: an inbox only takes feedback; ask the policy that "
                "decides"
            )

    def lock(self, names: Sequence[str]) -> None:
        """A transaction in SQLite is the only one."""

    def store(self, decisions: list[DecisionRow], feedbacks: list[FeedbackRow]) -> None:
        """Put rows where the policy finds them."""
        if feedbacks:
            put_feedbacks(self._storage, feedbacks)
