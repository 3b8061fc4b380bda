"""A decider: one of many processes that decide for one log in PostgreSQL."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from graphcb.checks import as_positive
from graphcb.decisions.beside import Beside
from graphcb.decisions.decision import read_decision_id
from graphcb.decisions.inbox import (
    STALENESS,
    has_inbox,
    lock_tokens,
    newest_snapshot,
    put_decisions,
    put_feedbacks,
)
from graphcb.decisions.part_counts import PartCounts
from graphcb.decisions.places import Call
from graphcb.decisions.policy import Calls
from graphcb.decisions.records import read_start
from graphcb.decisions.storage import (
    Durability,
    LogError,
    Storage,
    is_url,
    without_password,
)
from graphcb.decisions.tables import DecisionRow, FeedbackRow, LogStart
from graphcb.decisions.together import Together
from graphcb.decisions.transition import Drawn, PolicyState, uniform_of
from graphcb.decisions.versions import Versions
from graphcb.decisions.writer import Pending
from graphcb.estimates.stillness import Alarm
from graphcb.files import FileError
from graphcb.problems import Problem
from graphcb.problems.alarms import alarms_of
from graphcb.problems.guarded import match_rate_of
from graphcb.rounds import Agent
from graphcb.saving import from_bytes


class StaleSnapshot(LogError):  # noqa: N818 - what is wrong
    """The newest snapshot has missed too much: the trainer is behind, or there is none."""


class Decider(Calls):
    """Decides with the newest snapshot of a log's agent; another process learns.

    `log` is a URL postgresql://user@host/database for which a `Trainer` learns (`graphcb serve
    --learn-only`). Any number of deciders may work at the same time, on any machine. Decisions and
    feedback are durable in the database when they are returned, and the trainer takes them into
    the log in the order in which they came. Each decision names the snapshot that made it, so
    that it is replayed bit for bit.

    A snapshot is stale by the age of the oldest decision or feedback that it may not know. Beyond
    `most_stale` seconds nothing is decided any more; feedback is still taken. `classes` are those
    of your own that the agent contains.
    """

    def __init__(
        self,
        log: str,
        *,
        most_stale: float = 60.0,
        durability: Durability = "power-loss",
        classes: Iterable[type] = (),
    ) -> None:
        if not is_url(log):
            raise ValueError(
                "the log of a decider must be a URL postgresql://user@host/database, got "
                f"{without_password(log)!r}"
            )
        self.location, self._shown = log, without_password(log)
        self.most_stale = as_positive("most_stale", most_stale)
        self.staleness = float("inf")
        self._classes = tuple(classes)
        self._connection = Beside(log, "decider", durability, self._check, (StaleSnapshot,))
        self._snapshot: _Snapshot | None = None
        with self.together():
            pass

    @contextmanager
    def together(self) -> Iterator[Together]:
        """A transaction for decisions and feedback that come at the same time, as in `Policy`."""
        with self._connection.transaction(STALENESS) as (storage, graphs, answer):
            state, versions, start = self._newest(storage, answer)
            pending = Pending(
                storage, graphs, PartCounts(), state, versions, start, has_deciders=True
            )
            place = _InInbox(pending, self.staleness, self.most_stale)
            together = Together(pending, place, decides=place, classes=self._classes)
            yield together
            together.finish()

    @property
    def versions(self) -> Versions:
        """The versions of the log up to the one that decides here."""
        return self._now().versions

    @property
    def problem(self) -> Problem | None:
        """The problem that is decided now, if there is one."""
        return self.versions.last.problem

    @property
    def n_events(self) -> int:
        """The number of events that the snapshot knows."""
        return self._now().state.position

    @property
    def model_version(self) -> int:
        """The number of feedbacks that the snapshot has learned from."""
        return self._now().state.n_feedbacks

    @property
    def alarms(self) -> list[Alarm]:
        """The actions and features that have looked different to the snapshot."""
        return alarms_of(self._now().state.agent)

    @property
    def match_rate(self) -> float | None:
        """As `Policy.match_rate`, of the snapshot."""
        return match_rate_of(getattr(self._now().state.agent, "agent", None))

    def close(self) -> None:
        """Close the connection; may be called again."""
        self._connection.close()

    def __enter__(self) -> "Decider":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Decider({self._shown!r})"

    def _now(self) -> "_Snapshot":
        if self._snapshot is None:
            raise LogError(f"{self._shown}: this decider is not open")
        return self._snapshot

    def _check(self, storage: Storage) -> None:
        if not storage.has_log() or not has_inbox(storage):
            raise LogError(
                f"{self._shown}: must be a log with a trainer; start one with graphcb serve "
                "PROBLEM --log URL --learn-only"
            )
        start = read_start(storage)
        if self._snapshot is not None and start.name != self._snapshot.start.name:
            raise FileError(f"{self._shown}: another log has taken the place of this one")

    def _newest(self, storage: Storage, answer: list[Any]) -> "_Snapshot":
        """The newest snapshot, by the answer to the question which it is and how old."""
        if len(answer) != 1:
            raise FileError(f"{self._shown}: damaged: graphcb_trainer must have one row")
        position, self.staleness = int(answer[0][0]), float(answer[0][1])
        known = self._snapshot
        if known is not None and known.state.position == position:
            return known
        row = newest_snapshot(storage)
        if row is None:
            raise LogError(f"{self._shown}: the trainer has not published a snapshot; try again")
        start = read_start(storage)
        versions = Versions.read(storage, start).until(row.position)
        where = f"{self._shown}, snapshot {row.position}"
        agent: Agent = from_bytes(row.agent, where=where, classes=self._classes)
        state = PolicyState(agent, row.position, row.n_feedbacks, versions.last.number)
        self._snapshot = _Snapshot(state, versions, start)
        return self._snapshot


class _Snapshot(NamedTuple):
    """A published state, and the log as it was then."""

    state: PolicyState
    versions: Versions
    start: LogStart


class _InInbox:
    """The inbox of the trainer: the snapshot decides as it is, and nothing is learned here."""

    learns = False

    def __init__(self, pending: Pending, staleness: float, most_stale: float) -> None:
        self._pending, self._storage = pending, pending.storage
        self._staleness, self._most_stale = staleness, most_stale
        self._asked_by: dict[str, int] = {}  # by token

    def check(self, call: Call) -> None:
        """Refuse to decide with an old snapshot, and all that only the trainer does."""
        if call == "upkeep":
            raise ValueError(
                f"{self._storage.location}: a decider only decides and takes feedback; ask the "
                "trainer (graphcb serve --learn-only)"
            )
        if call == "decide" and self._staleness > self._most_stale:
            raise StaleSnapshot(
                f"{self._storage.location}: the newest snapshot may have missed "
                f"{self._staleness:.0f} seconds, and {self._most_stale:g} are allowed: the trainer "
                "is behind, or there is none; try again"
            )

    def uniform(self, token: str) -> float:
        """By the token, as the decision has no number yet."""
        return uniform_of(self._pending.start.seed, token)

    def decided(self, drawn: Drawn, row: DecisionRow) -> DecisionRow:
        """A row without a number, which names its snapshot."""
        self._asked_by[row.token] = self._pending.asker
        return row._replace(position=0, snapshot=self._pending.state.position)

    def lock(self, names: Sequence[str]) -> None:
        """Keep others from answering these decisions until the commit."""
        log_name, location = self._pending.start.name, self._storage.location
        tokens = [read_decision_id(name, log_name, location)[1] for name in names]
        lock_tokens(self._storage, tokens)

    def store(self, decisions: list[DecisionRow], feedbacks: list[FeedbackRow]) -> None:
        """Put rows where the trainer finds them."""
        if decisions:
            rows = [row._replace(position=self._asked_by[row.token]) for row in decisions]
            put_decisions(self._storage, rows)
        if feedbacks:
            put_feedbacks(self._storage, feedbacks)
