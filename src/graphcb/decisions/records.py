"""Questions that are asked of a log, and the rows that answer them.

Events, that is decisions, feedbacks and versions, are numbered without a gap. A reader that knows
the number of the last event sees a log that stands still. Rows are read in groups of a few
megabytes.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from graphcb.decisions.part_counts import MOST, PartCounts
from graphcb.decisions.storage import Storage
from graphcb.decisions.tables import (
    FORMAT,
    TABLE_OF,
    AskerRow,
    CheckpointRow,
    DecisionRow,
    FeedbackRow,
    LogStart,
    VersionRow,
    select,
)
from graphcb.files import FileError

PAGE = 1000
BYTES_AT_ONCE = 8_000_000

Event = DecisionRow | FeedbackRow | VersionRow

# The last position in each table, and where the log starts if old events were removed.
_LAST = ", ".join(
    f"(SELECT coalesce(max(position), 0) FROM graphcb_{table})"
    for table in ("decisions", "feedbacks", "versions", "log")
)
LAST = f"SELECT {_LAST}"
# The writer's epoch, and the last position in each table.
STANDING = f"SELECT epoch, {_LAST} FROM graphcb_writer"
_SIZE = {
    DecisionRow: "n_bytes + 0",  # a number even if it is damaged
    FeedbackRow: "length(actions) + length(losses)",
    VersionRow: "length(agent)",
}
_MISSING = (
    "was acknowledged: it has lost its tail, which is what a damaged or deleted write-ahead log "
    "(the file ...-wal) leads to; restore an intact copy of both files, or delete the file ...-end "
    "to continue without the lost events"
)
_BETWEEN = "WHERE position > ? AND position <= ?"


class LogEnd(NamedTuple):
    """Who wrote last, and the number of the last event."""

    epoch: str
    position: int


class Forgotten(NamedTuple):
    """The receipt: when, a hash of the person in this log, and how much was removed."""

    forgotten_at: float
    subject: str
    n_decisions: int
    n_feedbacks: int
    unlearned: bool


def read_start(storage: Storage) -> LogStart:
    """How the log began; refuses anything but a log of this format."""
    if not storage.has_log():
        noted = storage.noted_end()
        raise FileError(
            f"{storage.location}: holds no decision log"
            + (f", but event {noted.position} of one {_MISSING}" if noted is not None else "")
        )
    formats = storage.execute("SELECT format FROM graphcb_log")
    if len(formats) != 1:
        raise FileError(
            f"{storage.location}: damaged: graphcb_log must have one row, got {len(formats)}"
        )
    (found,) = formats[0]
    if found != FORMAT:
        raise FileError(
            f"{storage.location}: must have format {FORMAT}, got {found}; it was written by "
            "another version of graphcb, which has to read it"
        )
    start: LogStart = select(storage, LogStart)[0]
    return start


def as_standing(rows: Sequence[Any], location: str) -> LogEnd:
    """The answer to the question `STANDING`."""
    if len(rows) != 1:
        raise FileError(f"{location}: damaged: graphcb_writer must have one row, got {len(rows)}")
    epoch, *positions = rows[0]
    return LogEnd(str(epoch), max(map(int, positions)))


def last_position(storage: Storage) -> int:
    """The number of the last event, 0 if there is none."""
    return max(map(int, storage.execute(LAST)[0]))


def read_end(storage: Storage) -> int:
    """The number of the last event, unless something proves that later events are lost.

    That is a checkpoint that is further on, or what was noted outside of the log.
    """
    check_end(storage)
    further = newest_checkpoint(storage)  # first, as the writer may continue
    until = last_position(storage)
    if further > until and any(row.position > until for row in read_checkpoints(storage)):
        raise FileError(
            f"{storage.location}: damaged: the log ends at event {until}, but has a checkpoint of "
            f"event {further}: it has lost its tail; restore an intact copy, or run DELETE FROM "
            "graphcb_checkpoints on it to continue without the lost events"
        )
    return until


def check_end(storage: Storage) -> None:
    """Refuse a log that ends before an event which was acknowledged."""
    noted = storage.noted_end()  # first, as the writer may continue
    if noted is None or read_start(storage).name != noted.name:
        return
    until = last_position(storage)
    if until < noted.position:
        raise FileError(
            f"{storage.location}: damaged: the log ends at event {until}, but event "
            f"{noted.position} {_MISSING}"
        )


def newest_checkpoint(storage: Storage) -> int:
    """The event after which the last checkpoint was stored, 0 if there is none to be read."""
    return max(checkpoint_positions(storage), default=0)


def last_asker(storage: Storage) -> int:
    """Who asked for the last decision, 0 if nobody knows; see `askers`."""
    runs: list[AskerRow] = select(storage, AskerRow, "ORDER BY position DESC LIMIT 1")
    return runs[0].who if runs else 0


def checkpoint_positions(storage: Storage) -> list[int]:
    """The events after which checkpoints were stored, newest first."""
    with suppress(FileError):
        sql = "SELECT position FROM graphcb_checkpoints ORDER BY position DESC"
        return [position for (position,) in storage.execute(sql)]
    return []


def read_checkpoints(storage: Storage, *positions: int) -> Iterator[CheckpointRow]:
    """Some checkpoints that are intact, or all, newest first; any others are passed over."""
    for position in positions or checkpoint_positions(storage):
        with suppress(FileError):
            yield from select(storage, CheckpointRow, "WHERE position = ?", position)


def first_decision(storage: Storage, start: LogStart) -> int | None:
    """The number of the first decision that was not removed."""
    sql = "SELECT min(position) FROM graphcb_decisions WHERE position > ?"
    found: int | None = storage.execute(sql, (start.cut,))[0][0]
    return found


def read_versions(storage: Storage) -> list[VersionRow]:
    """All versions but the first, in order."""
    return select(storage, VersionRow, "ORDER BY position")


def read_decisions(storage: Storage, positions: Sequence[int]) -> Iterator[DecisionRow]:
    """Those of some decisions that exist."""
    if len(positions) == 1:
        yield from select(storage, DecisionRow, "WHERE position = ?", positions[0])
        return
    for begin in range(0, len(positions), PAGE):
        page = positions[begin : begin + PAGE]
        sizes = _sizes(storage, DecisionRow, f"WHERE position IN ({_marks(page)})", page)
        for group in _groups(sorted(sizes), sizes):
            where = f"WHERE position IN ({_marks(group)})"
            yield from select(storage, DecisionRow, where, *group)


def read_parts(storage: Storage, decisions: Sequence[int]) -> dict[int, list[FeedbackRow]]:
    """The feedbacks that exist for some decisions, by the decision's position, in order."""
    found: dict[int, list[FeedbackRow]] = {}
    for begin in range(0, len(decisions), PAGE):
        page = decisions[begin : begin + PAGE]
        where = f"WHERE decision IN ({_marks(page)})"
        for row in _in_order(select(storage, FeedbackRow, where, *page)):
            found.setdefault(row.decision, []).append(row)
    return found


def count(storage: Storage, kind: type[Any], until: int, after: int = 0) -> int:
    """The number of decisions or feedbacks between two events, by the table and not by an index."""
    sql = f"SELECT count(checksum) FROM {TABLE_OF[kind]} {_BETWEEN}"
    return int(storage.execute(sql, (after, until))[0][0])


def count_parts(
    storage: Storage, until: int, after: int = 0, counts: PartCounts | None = None
) -> PartCounts:
    """How many of the feedbacks after an event each decision has, by the table and no index.

    They are added to `counts`, if there are some.
    """
    counts = PartCounts() if counts is None else counts
    sql = f"SELECT decision, checksum FROM graphcb_feedbacks {_BETWEEN}"
    for begin in range(after, until, 100 * PAGE):
        for decision, _ in storage.execute(sql, (begin, min(begin + 100 * PAGE, until))):
            if not isinstance(decision, int) or not 0 < decision <= until:
                raise FileError(f"{storage.location}: damaged: a feedback for event {decision}")
            counts.add(decision)
    return counts


def check_count(
    storage: Storage, decision: int, counts: PartCounts, found: Sequence[FeedbackRow]
) -> None:
    """Refuse what an index found if that is not all there is."""
    if min(len(found), MOST) != counts.of(decision):
        raise FileError(
            f"{storage.location}: damaged: decision {decision} has {counts.of(decision)} "
            f"feedbacks, of which an index finds {len(found)}; restore an intact copy, or run "
            "REINDEX on it"
        )


def read_events(storage: Storage, after: int, until: int, removed: int = 0) -> Iterator[Event]:
    """All events in the order in which they happened; a gap is an error.

    Of the first `removed` events, some may be gone.
    """
    kinds = (DecisionRow, FeedbackRow, VersionRow)
    for begin in range(after, until, PAGE):
        end = min(begin + PAGE, until)
        sizes: dict[int, int] = {}
        for kind in kinds:
            for position, size in _sizes(storage, kind, _BETWEEN, (begin, end)).items():
                if position in sizes:
                    raise _twice(storage, position)
                sizes[position] = size
        there = [one for one in range(begin + 1, end + 1) if one in sizes or one > removed]
        for position in there:
            if position not in sizes:
                raise _missing(storage, position)
        for group in _groups(there, sizes):
            between = group[0] - 1, group[-1]
            found: dict[int, Event] = {
                row.position: row
                for kind in kinds
                for row in select(storage, kind, _BETWEEN, *between)
            }
            for position in group:
                if position not in found:
                    raise _missing(storage, position)
                yield found[position]


def read_pairs(
    storage: Storage, until: int, removed: int = 0, after: int = 0
) -> Iterator[tuple[DecisionRow, list[FeedbackRow]]]:
    """Each decision `after` an event with the feedbacks that came within the first `until` events.

    An index finds them: there must be as many as in the table. At the end, every event after that
    one must have been met exactly once; of the first `removed` events, some may be gone.
    """
    begin, met, counts = after, _Met(storage, after, until), count_parts(storage, until, after)
    for position in (*_version_positions(storage, until), *_late(storage, after, until)):
        if position > after:
            met.add(position)
    page = f"WHERE position > ? AND position <= ? ORDER BY position LIMIT {PAGE}"
    of_group = "WHERE decision > ? AND decision <= ? AND position <= ?"
    while sizes := _sizes(storage, DecisionRow, page, (begin, until)):
        if min(sizes) <= begin:  # in a damaged tree; the next page would begin again
            raise _twice(storage, min(sizes))
        for group in _groups(sorted(sizes), sizes):
            begin, end = group[0] - 1, group[-1]
            parts: dict[int, list[FeedbackRow]] = {}
            for part in _in_order(select(storage, FeedbackRow, of_group, begin, end, until)):
                met.add(part.position)
                parts.setdefault(part.decision, []).append(part)
            for decision in select(
                storage, DecisionRow, _BETWEEN + " ORDER BY position", begin, end
            ):
                met.add(decision.position)
                found = parts.get(decision.position, [])
                check_count(storage, decision.position, counts, found)
                yield decision, found
        begin = max(sizes)
    met.check_all(removed)


def read_receipts(storage: Storage) -> list[Forgotten]:
    """Who was forgotten, by hashes, in that order."""
    sql = (
        "SELECT forgotten_at, subject, n_decisions, n_feedbacks, unlearned FROM graphcb_receipts "
        "ORDER BY forgotten_at"
    )
    return [Forgotten(*row)._replace(unlearned=bool(row[-1])) for row in storage.execute(sql)]


def late_feedback(storage: Storage, after: int, until: int, decided: int) -> list[int]:
    """Decisions up to the event `decided` that have feedback between two events, in order."""
    sql = (
        "SELECT DISTINCT decision FROM graphcb_feedbacks WHERE position > ? AND position <= ? AND "
        "decision <= ?"
    )
    return sorted(decision for (decision,) in storage.execute(sql, (after, until, decided)))


def _version_positions(storage: Storage, until: int) -> list[int]:
    sql = "SELECT position, checksum FROM graphcb_versions WHERE position > 0 AND position <= ?"
    return [position for position, _ in storage.execute(sql, (until,))]


def _in_order(rows: list[FeedbackRow]) -> list[FeedbackRow]:
    """By position. A database asked for this order would leave the index on decisions aside."""
    return sorted(rows, key=lambda row: row.position)


def _late(storage: Storage, after: int, until: int) -> list[int]:
    """Feedbacks after an event for decisions that are not."""
    if after == 0:
        return []
    sql = f"SELECT position FROM graphcb_feedbacks {_BETWEEN} AND decision <= ?"
    return [position for (position,) in storage.execute(sql, (after, until, after))]


class _Met:
    """Which events after one were met; none may be twice."""

    def __init__(self, storage: Storage, after: int, until: int) -> None:
        self._storage, self._after, self._met = storage, after, bytearray(until - after + 1)

    def add(self, position: int) -> None:
        place = position - self._after
        if not 0 < place < len(self._met) or self._met[place]:
            raise _twice(self._storage, position)
        self._met[place] = 1

    def check_all(self, removed: int) -> None:
        """Refuse a gap; some of the first `removed` events may be gone."""
        missing = self._met.find(0, max(removed - self._after, 0) + 1)
        if missing > 0:
            raise _missing(self._storage, self._after + missing)


def _sizes(storage: Storage, kind: type[Any], where: str, values: Sequence[int]) -> dict[int, int]:
    sql = f"SELECT position, {_SIZE[kind]} FROM {TABLE_OF[kind]} {where}"
    return {position: size or 0 for position, size in storage.execute(sql, values)}


def _groups(positions: Sequence[int], sizes: dict[int, int]) -> Iterator[list[int]]:
    """Neighbours that are few enough bytes to be read together, or one that is not."""
    group: list[int] = []
    total = 0
    for position in positions:
        if group and total + sizes[position] > BYTES_AT_ONCE:
            yield group
            group, total = [], 0
        group.append(position)
        total += sizes[position]
    if group:
        yield group


def _marks(values: Sequence[int]) -> str:
    return ", ".join("?" for _ in values)


def _missing(storage: Storage, position: int) -> FileError:
    if position <= read_start(storage).position:
        return FileError(
            f"{storage.location}: event {position} was removed while the log was read; read it "
            "again"
        )
    return FileError(
        f"{storage.location}: damaged: event {position} is missing; restore an intact copy"
    )


def _twice(storage: Storage, position: int) -> FileError:
    return FileError(
        f"{storage.location}: damaged: event {position} is there twice; restore an intact copy"
    )
