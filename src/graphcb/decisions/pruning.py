"""Old decisions are removed a few at a time, and the log starts from an agent of a later event.

First the start of the log is moved, in one transaction: from then on the old decisions count as
removed. Then their rows are deleted, each decision together with its feedback, then graphs that
nothing refers to any more, and names of events. A log that is left in between is read as any
other, and the next removal deletes what was left.
"""

import math
import time
from collections.abc import Generator, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.decisions import records
from graphcb.decisions.replaying import state_near
from graphcb.decisions.tables import VersionRow, insert
from graphcb.decisions.transition import PolicyState
from graphcb.decisions.writer import Pending
from graphcb.saving import to_bytes

DAY = 86_400.0
SLICE = 0.003  # seconds of work in a transaction, whose commit may take ten times as long
SCANNED = 2000  # rows, or numbers of events, that one statement reads
REPLAYED = 10_000  # events at most, from a stored agent to the new start of the log
FEWEST = 50  # events whose rows one statement deletes
MOST = 1000  # in one transaction: deleted rows are overwritten, and others notice a large commit
# These are written so that the planner of a server has no choice. It would look for the last
# feedback from the end of the whole table, and read all names, or all subjects, for a few.
_LAST = "SELECT coalesce(max(position + 0), 0) FROM graphcb_feedbacks WHERE"
_LAST_FEEDBACK = f"{_LAST} decision > ? AND decision <= ?"
_LAST_OF_THOSE_AFTER = f"{_LAST} position > ? AND position <= ? AND decision <= ?"
_OLD_NAMES = (
    "SELECT owner, event, made_at FROM graphcb_named_events WHERE made_at >= ? AND made_at < ? "
    f"ORDER BY made_at LIMIT {FEWEST}"
)
_HASHES_OF_DECIDERS = (  # whose decisions have no number there
    "DELETE FROM graphcb_subjects WHERE token = ANY(ARRAY("
    "SELECT token FROM graphcb_decisions WHERE position > ? AND position <= ?))"
)
_RUNS = (  # the run that goes on beyond the cut stays
    "DELETE FROM graphcb_askers WHERE position > ? AND position <= ? "
    "AND position < (SELECT max(position) FROM graphcb_askers WHERE position <= ?)"
)


class Pruned(NamedTuple):
    """What was removed; the log can be replayed from the event after `position` on."""

    n_decisions: int
    n_feedbacks: int
    position: int


class Pruning:
    """The removal of all decisions made before a time, with their feedback, in slices.

    Call `go_on` in one transaction after the other until it says that all is done. It is of no use
    after an error, or after a transaction that failed: begin with another one, which finds what is
    left. `done` is what was removed so far.

    The log then starts from the agent after the last event that was removed, if that is at most
    `REPLAYED` events from a stored one, and otherwise from the next one that is stored. Events that
    are kept may stand before it. They are read as before, but no longer replayed.
    """

    def __init__(self, before: float) -> None:
        self._before = before
        self._steps: Iterator[None] | None = None
        self.done = Pruned(0, 0, 0)

    def go_on(
        self,
        pending: Pending,
        classes: tuple[type, ...],
        *,
        check: bool,
        seconds: float = SLICE,
    ) -> bool:
        """Work for about so many seconds, in an open transaction; whether nothing is left to do."""
        end = time.monotonic() + seconds
        self._pending = pending
        self._seconds = seconds
        self._n_left = math.inf if math.isinf(seconds) else MOST
        if self._steps is None:
            self._steps = self._all(classes, check)
        for _ in self._steps:
            if time.monotonic() >= end or self._n_left <= 0:
                return False
        return True

    def _all(self, classes: tuple[type, ...], check: bool) -> Iterator[None]:
        self.done = Pruned(0, 0, self._pending.start.position)
        yield from self._find_cut()
        if self._cut > self._pending.start.cut:
            yield from self._move_start(classes, check)
        yield from self._delete()
        if self.done.n_decisions:
            yield from self._delete_graphs()
        yield from self._delete_names()

    def _find_cut(self) -> Iterator[None]:
        """The last decision to remove: where the fewest times of decisions say otherwise.

        A clock may have been wrong now and then. One stamp that is ahead must not keep all that
        came after it, and one that is behind must not remove all that came before it.
        """
        sql = (
            "SELECT position, made_at FROM graphcb_decisions WHERE position > ? "
            f"ORDER BY position LIMIT {SCANNED}"
        )
        seen = self._cut = self._pending.start.cut
        score = best = 0
        while rows := self._pending.storage.execute(sql, (seen,)):
            for position, made_at in rows:
                score += 1 if made_at < self._before else -1
                if made_at < self._before and score >= best:
                    best, self._cut = score, int(position)
            if len(rows) < SCANNED:
                return  # others come while this one sleeps
            seen = int(rows[-1][0])
            yield

    def _move_start(self, classes: tuple[type, ...], check: bool) -> Iterator[None]:
        """From here on, the old decisions count as removed and get no feedback any more."""
        start, looked = self._pending.start, self._pending.state.position
        last = max(self._cut, start.position)  # event that is removed
        for begin in range(start.cut, self._cut, SCANNED):
            between = begin, min(begin + SCANNED, self._cut)
            last = max(last, self._number(_LAST_FEEDBACK, between))
            yield
        state, at_most, size = None, REPLAYED, SCANNED
        while True:
            while looked < self._pending.state.position:
                until = min(looked + size, self._pending.state.position)
                last = max(last, self._number(_LAST_OF_THOSE_AFTER, (looked, until, self._cut)))
                looked, size = until, 2 * size  # at some point more than comes between two slices
                if looked < self._pending.state.position:
                    yield
            if state is not None and state.position >= last:
                break
            near = state_near(self._pending, last, at_most, classes=classes, check=check)
            state = (yield from near) or self._pending.state
            at_most = 0  # if feedback came for what is to be removed, no replay keeps up
        move_start(self._pending, state, self._cut)
        self.done = self.done._replace(position=state.position)
        yield

    def _number(self, sql: str, values: tuple[int, ...]) -> int:
        return int(self._pending.storage.execute(sql, values)[0][0])

    def _delete(self) -> Iterator[None]:
        """The rows of removed decisions and of their feedback, as many as time allows."""
        first = self._pending.storage.execute("SELECT min(position) FROM graphcb_decisions")[0][0]
        cut = self._pending.start.cut
        begin, size = (cut if first is None else int(first) - 1), FEWEST
        of = {"decisions": "position", "feedbacks": "decision", "subjects": "position"}
        while begin < cut:
            began, until = time.monotonic(), int(min(begin + min(size, self._n_left), cut))
            between = begin, until
            found = []
            if self._pending.has_deciders:
                self._pending.storage.execute(_HASHES_OF_DECIDERS, between)
            self._pending.storage.execute(_RUNS, (*between, cut))
            for table, column in of.items():
                rows = f"FROM graphcb_{table} WHERE {column} > ? AND {column} <= ?"
                found += self._pending.storage.execute(f"SELECT count(*) {rows}", between)[0]
                self._pending.storage.execute(f"DELETE {rows}", between)
            n_decisions, n_feedbacks, position = self.done
            self.done = Pruned(n_decisions + found[0], n_feedbacks + found[1], position)
            self._n_left -= until - begin
            begin = until
            took = time.monotonic() - began
            if took < 0.2 * self._seconds:
                size *= 2
            elif took > 0.5 * self._seconds:
                size = max(size // 2, FEWEST)
            yield

    def _delete_graphs(self) -> Iterator[None]:
        """The graphs that no decision refers to; deciders may have some in mind, so they stay."""
        if self._pending.has_deciders:
            return
        numbers = yield from self._all_graphs()
        used = np.zeros(numbers.size, dtype=bool)
        seen = self._pending.start.cut
        sql = "SELECT DISTINCT graph FROM graphcb_decisions WHERE position > ? AND position <= ?"
        unused = numbers
        while unused.size > 0:
            while seen < self._pending.state.position:
                until = min(seen + SCANNED, self._pending.state.position)
                found = [n for (n,) in self._pending.storage.execute(sql, (seen, until))]
                used[np.isin(numbers, found)] = True
                seen = until
                if seen < self._pending.state.position:
                    yield
            unused = numbers[~used][:FEWEST]
            for number in unused.tolist():
                self._pending.storage.execute(
                    "DELETE FROM graphcb_graphs WHERE graph = ?", (number,)
                )
            used[np.isin(numbers, unused)] = True
            self._pending.graphs.forget()
            yield

    def _delete_names(self) -> Iterator[None]:
        """The names that clients of Personalizer gave to events of that time."""
        storage = self._pending.storage
        if not storage.has_table("graphcb_named_events"):
            return
        name, last = "DELETE FROM graphcb_named_events WHERE owner = ? AND event = ?", -math.inf
        while found := storage.execute(_OLD_NAMES, (last, self._before)):
            storage.execute_many(name, [one[:2] for one in found])
            last = found[-1][2]
            yield

    def _all_graphs(self) -> Generator[None, None, NDArray[np.int64]]:
        sql = f"SELECT graph FROM graphcb_graphs WHERE graph > ? ORDER BY graph LIMIT {SCANNED}"
        found: list[NDArray[np.int64]] = [np.zeros(0, dtype=np.int64)]
        last = -(2**63)
        while rows := self._pending.storage.execute(sql, (last,)):
            found.append(np.array([number for (number,) in rows], dtype=np.int64))
            if len(rows) < SCANNED:
                break
            last = int(rows[-1][0])
            yield
        return np.concatenate(found)


def move_start(pending: Pending, state: PolicyState, cut: int) -> None:
    """Let a log start from this state; decisions up to `cut` count as removed from now on."""
    storage, start, first = pending.storage, pending.start, pending.versions.numbered(1)
    if start.position == 0 and state.position > 0:
        problem = "" if first.problem is None else first.problem.to_toml()
        record = b"" if first.recorded is None else to_bytes(first.recorded)
        insert(storage, [VersionRow(0, first.made_at, problem, record, first.note)])
    storage.execute("DELETE FROM graphcb_checkpoints WHERE position < ?", (state.position,))
    storage.execute("DELETE FROM graphcb_log")
    agent, n_feedbacks = to_bytes(state.agent), state.n_feedbacks
    new = start._replace(agent=agent, position=state.position, n_feedbacks=n_feedbacks, cut=cut)
    insert(storage, [new])
    pending.start = records.read_start(storage)
