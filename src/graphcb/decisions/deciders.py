"""A decider: one of many processes that decide for one log in PostgreSQL."""

import os
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from graphcb.agents import Agent
from graphcb.checks import as_positive
from graphcb.decisions.calls import Calls
from graphcb.decisions.decision import read_decision_id
from graphcb.decisions.inbox import (
    STALENESS,
    find_decisions,
    find_parts,
    has_inbox,
    lock_graphs,
    lock_tokens,
    put_decisions,
    put_feedbacks,
)
from graphcb.decisions.incoming import Asked, NewFeedback
from graphcb.decisions.part_counts import PartCounts
from graphcb.decisions.records import read_start
from graphcb.decisions.storage import (
    Durability,
    LogError,
    Storage,
    check_process,
    new_storage,
    without_password,
)
from graphcb.decisions.stored_graphs import StoredGraphs
from graphcb.decisions.tables import (
    DecisionRow,
    FeedbackRow,
    LogStart,
    SnapshotRow,
    select,
)
from graphcb.decisions.together import Together
from graphcb.decisions.transition import Drawn, PolicyState, uniform_of
from graphcb.decisions.versions import Versions
from graphcb.decisions.writer import Pending
from graphcb.files import FileError
from graphcb.problems import Problem
from graphcb.saving import from_bytes


class StaleSnapshot(LogError):  # noqa: N818 - what is wrong
    """The newest snapshot has missed too much: the learner is behind, or there is none."""


class Decider(Calls):
    """Decides with the newest snapshot of a log's agent; another process learns.

    `log` is a URL postgresql://user@host/database, whose learner is a `Trainer` (`graphcb serve
    --learn-only`). Any number of deciders may work at the same time, on any machine. Decisions and
    feedback are durable in the database when they are returned, and the learner takes them into
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
        self.location, self.shown = log, without_password(log)
        self.most_stale = as_positive("most_stale", most_stale)
        self._durability, self._classes = durability, tuple(classes)
        self._guard, self._process = threading.RLock(), os.getpid()
        self._storage: Storage | None = None
        self._graphs: StoredGraphs | None = None
        self._start: LogStart | None = None
        self._closed = False
        self.staleness = float("inf")
        with self.together():
            pass

    @contextmanager
    def together(self) -> Iterator[Together]:
        """A transaction for decisions and feedback that come at the same time, as in `Policy`."""
        check_process(self._process, self.shown)
        with self._guard:
            storage = self._connected()
            try:
                self._look(storage, storage.begin(STALENESS) or [])
                known = self._state, self.versions, self._start
                pending = Pending(storage, self._graphs, PartCounts(), *known)  # type: ignore[arg-type]
                together = _Deciding(pending, self.staleness, self.most_stale, self._classes)
                yield together
                together.finish()
                storage.execute("COMMIT")
            except BaseException as problem:
                self._give_up(storage, problem)
                raise

    @property
    def problem(self) -> Problem | None:
        """The problem that is decided now, if there is one."""
        return self.versions.last.problem

    @property
    def n_events(self) -> int:
        """The number of events that the snapshot knows."""
        return self._state.position

    @property
    def model_version(self) -> int:
        """The number of feedbacks that the snapshot has learned from."""
        return self._state.n_feedbacks

    def close(self) -> None:
        """Close the connection; may be called again."""
        self._closed = True
        if self._process == os.getpid() and self._storage is not None:
            self._storage.close()
        self._storage = None

    def __enter__(self) -> "Decider":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Decider({self.shown!r})"

    def _connected(self) -> Storage:
        """The connection; a new one at first and after an error."""
        if self._closed:
            raise LogError(f"{self.shown}: this decider is closed; open another")
        if self._storage is not None:
            return self._storage
        storage = new_storage(self.location, writes=True, durability=self._durability, shares=True)
        try:
            storage.open()
            if not storage.has_log() or not has_inbox(storage):
                raise LogError(
                    f"{self.shown}: must be a log with a learner; start one with graphcb serve "
                    "PROBLEM --log URL --learn-only"
                )
            start = read_start(storage)
            if self._start is not None and start.name != self._start.name:
                raise FileError(f"{self.shown}: another log has taken the place of this one")
        except BaseException:
            storage.close()
            raise
        self._storage, self._start = storage, start
        self._graphs = StoredGraphs(storage, partial(lock_graphs, storage))
        return storage

    def _look(self, storage: Storage, answer: list[Any]) -> None:
        """Take the newest snapshot, if it is another than the last."""
        if len(answer) != 1:
            raise FileError(f"{self.shown}: damaged: graphcb_learner must have one row")
        snapshot, self.staleness = int(answer[0][0]), float(answer[0][1])
        if snapshot < 0:
            raise LogError(f"{self.shown}: the learner has not published a snapshot yet; try again")
        if self._storage_knows(snapshot):
            return
        rows = select(storage, SnapshotRow, "ORDER BY position DESC LIMIT 1")
        if not rows:
            raise FileError(f"{self.shown}: damaged: graphcb_snapshots is empty")
        row: SnapshotRow = rows[0]
        start = read_start(storage)
        versions = Versions.read(storage, start).until(row.position)
        where = f"{self.shown}, snapshot {row.position}"
        agent: Agent = from_bytes(row.agent, where=where, classes=self._classes)
        number = versions.last.number
        self._start, self.versions = start, versions
        self._state = PolicyState(agent, row.position, row.n_feedbacks, number)

    def _storage_knows(self, snapshot: int) -> bool:
        return getattr(self, "_state", None) is not None and self._state.position >= snapshot

    def _give_up(self, storage: Storage, problem: BaseException) -> None:
        """Roll back what was refused; after anything else, connect again the next time."""
        refused = isinstance(problem, ValueError | TypeError | LookupError | StaleSnapshot)
        if refused and not isinstance(problem, FileError):
            with suppress(LogError):
                storage.execute("ROLLBACK")
                if self._graphs is not None:
                    self._graphs.forget()
                return
        storage.close()
        if self._storage is storage:
            self._storage = None


class _Deciding(Together):
    """A transaction of a decider: the agent stays as it is, and rows go into the inbox."""

    def __init__(
        self, pending: Pending, staleness: float, most_stale: float, classes: tuple[type, ...]
    ) -> None:
        super().__init__(pending, pending.start, classes=classes)
        self._staleness, self._most_stale = staleness, most_stale

    def decide(self, context: Any, graph: Any = None, actions: Any = None) -> Any:
        """Draw an action with the snapshot, unless it is too old."""
        if self._staleness > self._most_stale:
            raise StaleSnapshot(
                f"{self.storage.location}: the newest snapshot may have missed "
                f"{self._staleness:.0f} seconds, and {self._most_stale:g} are allowed: the learner "
                "is behind, or there is none; try again"
            )
        return super().decide(context, graph, actions)

    def _uniform(self, token: str) -> float:
        return uniform_of(self._start.seed, token)

    def _decided(self, one: Drawn, row: DecisionRow) -> DecisionRow:
        return row._replace(position=0, snapshot=self._pending.state.position)

    def _read(self, names: list[str]) -> None:
        """Find decisions by their tokens, in the inbox or in the log."""
        if not names:
            return
        self._store()
        location = self.storage.location
        tokens = {name: read_decision_id(name, self.log_name, location)[1] for name in names}
        for name, token in tokens.items():
            if token is None:
                raise LookupError(
                    f"decision {name!r} is from graphcb 0.2 or earlier; deciders do not take "
                    "feedback for it"
                )
        known = [token for token in tokens.values() if token is not None]
        lock_tokens(self.storage, known)
        rows, parts = find_decisions(self.storage, known), find_parts(self.storage, known)
        for name, token in tokens.items():
            found = parts.get(str(token), [])
            self._asked[name] = Asked(token, rows.get(str(token)), found)

    def _learn(self, new: NewFeedback) -> None:
        """Leave it to the learner."""
        told = new.indices.tobytes(), new.losses.tobytes()
        row = FeedbackRow(0, time.time(), 0, *told, new.row.token)
        self._feedbacks.append(row)
        new.parts.append(row._replace(source=None))

    def _store(self) -> None:
        if self._decisions:
            put_decisions(self.storage, self._decisions)
            self._decisions.clear()
        if self._feedbacks:
            put_feedbacks(self.storage, self._feedbacks)
            self._feedbacks.clear()

    def fill_in(self, now: float) -> Any:
        """Only the learner does."""
        raise self._not_here()

    def prune(self, before: float) -> Any:
        """Only the learner does."""
        raise self._not_here()

    def change(self, problem: Any = None, agent: Any = None, note: str = "") -> Any:
        """Only the learner does."""
        raise self._not_here()

    def roll_back(self, version: int, note: str = "") -> Any:
        """Only the learner does."""
        raise self._not_here()

    def _not_here(self) -> ValueError:
        return ValueError(
            f"{self.storage.location}: a decider only decides and takes feedback; ask the learner "
            "(graphcb serve --learn-only)"
        )
