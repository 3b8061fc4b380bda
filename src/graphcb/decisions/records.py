"""Questions that are asked of a log, and the rows that answer them.

Events, that is decisions and feedbacks, are numbered without a gap. A reader that knows the number
of the last event sees a log that stands still.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from graphcb.decisions.storage import Storage
from graphcb.decisions.tables import (
    FORMAT,
    TABLE_OF,
    CheckpointRow,
    DecisionRow,
    FeedbackRow,
    LogStart,
    select,
)

PAGE = 1000


def read_start(storage: Storage) -> LogStart:
    """How the log began; refuses anything but a log of this format."""
    if not storage.has_log():
        raise ValueError(f"{storage.location}: holds no decision log")
    formats = storage.execute("SELECT format FROM graphcb_log")
    if len(formats) != 1:
        raise ValueError(
            f"{storage.location}: damaged: graphcb_log must have one row, got {len(formats)}"
        )
    (found,) = formats[0]
    if found != FORMAT:
        raise ValueError(
            f"{storage.location}: must have format {FORMAT}, got {found}; it was written by "
            "another version of graphcb"
        )
    start: LogStart = select(storage, LogStart)[0]
    return start


def read_decisions(storage: Storage, positions: Sequence[int]) -> dict[int, DecisionRow]:
    """Those of some decisions that exist, by position."""
    return {row.position: row for row in _where_in(storage, DecisionRow, "position", positions)}


def read_feedbacks(storage: Storage, decisions: Sequence[int]) -> dict[int, FeedbackRow]:
    """The feedbacks that exist for some decisions, by the decision's position."""
    return {row.decision: row for row in _where_in(storage, FeedbackRow, "decision", decisions)}


def _where_in(
    storage: Storage, kind: type[Any], column: str, values: Sequence[int]
) -> Iterator[Any]:
    for begin in range(0, len(values), PAGE):
        page = values[begin : begin + PAGE]
        yield from select(
            storage, kind, f"WHERE {column} IN ({', '.join('?' for _ in page)})", *page
        )


def read_checkpoints(storage: Storage) -> list[CheckpointRow]:
    """The checkpoints that are intact, newest first."""
    return select(storage, CheckpointRow, "ORDER BY position DESC")


def last_position(storage: Storage) -> int:
    """The number of the last event, 0 if there is none."""
    return max(
        int(storage.execute(f"SELECT coalesce(max(position), 0) FROM {TABLE_OF[kind]}")[0][0])
        for kind in (DecisionRow, FeedbackRow)
    )


def count(storage: Storage, kind: type[Any], until: int) -> int:
    """The number of decisions or feedbacks up to an event."""
    sql = f"SELECT count(*) FROM {TABLE_OF[kind]} WHERE position <= ?"
    return int(storage.execute(sql, (until,))[0][0])


def read_events(storage: Storage, after: int, until: int) -> Iterator[DecisionRow | FeedbackRow]:
    """Decisions and feedbacks in the order in which they happened; a gap is an error."""
    where = "WHERE position > ? AND position <= ?"
    for begin in range(after, until, PAGE):
        end = min(begin + PAGE, until)
        page: list[DecisionRow | FeedbackRow] = [
            *select(storage, DecisionRow, where, begin, end),
            *select(storage, FeedbackRow, where, begin, end),
        ]
        found = {row.position: row for row in page}
        for position in range(begin + 1, end + 1):
            if position not in found:
                raise ValueError(
                    f"{storage.location}: damaged: event {position} is missing; "
                    "restore an intact copy"
                )
            yield found[position]


def read_pairs(storage: Storage, until: int) -> Iterator[tuple[DecisionRow, FeedbackRow | None]]:
    """Each decision with its feedback, if that came within the first `until` events."""
    begin = 0
    page = f"WHERE position > ? AND position <= ? ORDER BY position LIMIT {PAGE}"
    where = "WHERE decision > ? AND decision <= ? AND position <= ?"
    while decisions := select(storage, DecisionRow, page, begin, until):
        end = decisions[-1].position
        feedbacks = {
            row.decision: row for row in select(storage, FeedbackRow, where, begin, end, until)
        }
        for decision in decisions:
            yield decision, feedbacks.get(decision.position)
        begin = end
