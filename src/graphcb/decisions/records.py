"""The tables of a log, and the rows in them as they are stored.

Events are numbered without a gap; a decision is an event, and so is the feedback for it. Each row
has a checksum. Rows are only ever added, so a reader that knows the number of the last event sees
a log that stands still.
"""

import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from graphcb.decisions.storage import Storage

FORMAT = 1
PAGE = 1000

_TABLES = (
    """CREATE TABLE graphcb_log (
        format {whole} NOT NULL, version TEXT NOT NULL, name TEXT NOT NULL, seed {whole} NOT NULL,
        created_at {real} NOT NULL, agent {bytes} NOT NULL, checksum {whole} NOT NULL)""",
    """CREATE TABLE graphcb_graphs (
        graph {whole} PRIMARY KEY, digest {whole} NOT NULL, description TEXT NOT NULL,
        checksum {whole} NOT NULL)""",
    "CREATE INDEX graphcb_graphs_by_digest ON graphcb_graphs (digest)",
    """CREATE TABLE graphcb_decisions (
        position {whole} PRIMARY KEY, made_at {real} NOT NULL, graph {whole} NOT NULL,
        context {bytes} NOT NULL, actions {bytes} NOT NULL, action {whole} NOT NULL,
        probabilities {bytes} NOT NULL, gamma {real}, model_version {whole} NOT NULL,
        checksum {whole} NOT NULL)""",
    """CREATE TABLE graphcb_feedbacks (
        position {whole} PRIMARY KEY, received_at {real} NOT NULL, decision {whole} NOT NULL UNIQUE,
        actions {bytes} NOT NULL, losses {bytes} NOT NULL, checksum {whole} NOT NULL)""",
    """CREATE TABLE graphcb_checkpoints (
        position {whole} PRIMARY KEY, n_feedbacks {whole} NOT NULL, agent {bytes} NOT NULL,
        checksum {whole} NOT NULL)""",
)


class Start(NamedTuple):
    """How a log began: `name` is the first part of its decisions' identifiers."""

    format: int
    version: str
    name: str
    seed: int
    created_at: float
    agent: bytes
    checksum: int = 0


class DecisionRow(NamedTuple):
    """A decision as it is stored."""

    position: int
    made_at: float
    graph: int
    context: bytes
    actions: bytes
    action: int
    probabilities: bytes
    gamma: float | None
    model_version: int
    checksum: int = 0


class FeedbackRow(NamedTuple):
    """A feedback as it is stored; `decision` is the position of its decision."""

    position: int
    received_at: float
    decision: int
    actions: bytes
    losses: bytes
    checksum: int = 0


class CheckpointRow(NamedTuple):
    """The agent after so many events: a shortcut, never the truth."""

    position: int
    n_feedbacks: int
    agent: bytes
    checksum: int = 0


class GraphRow(NamedTuple):
    """A graph in JSON, written once however many decisions use it, found by its digest."""

    graph: int
    digest: int
    description: str
    checksum: int = 0


Row = Start | DecisionRow | FeedbackRow | CheckpointRow | GraphRow
_TABLE_OF: dict[type[Any], str] = {
    Start: "graphcb_log",
    DecisionRow: "graphcb_decisions",
    FeedbackRow: "graphcb_feedbacks",
    CheckpointRow: "graphcb_checkpoints",
    GraphRow: "graphcb_graphs",
}
_COLUMNS = {kind: ", ".join(kind._fields) for kind in _TABLE_OF}
_INSERT = {
    kind: f"INSERT INTO {table} ({_COLUMNS[kind]}) VALUES ({', '.join('?' for _ in kind._fields)})"
    for kind, table in _TABLE_OF.items()
}


def create_tables(storage: Storage) -> None:
    """The empty tables; inside a transaction, so that there are all of them or none."""
    for statement in _TABLES:
        storage.execute(statement.format(**storage.types._asdict()))


def add(storage: Storage, row: Row) -> None:
    """Write a row with its checksum."""
    add_all(storage, [row])


def add_all(storage: Storage, rows: Sequence[Row]) -> None:
    """Write rows of one kind with their checksums; there may be none."""
    if rows:
        insert = _INSERT[type(rows[0])]
        storage.execute_many(insert, [(*row[:-1], checksum(row)) for row in rows])


def checksum(row: Row) -> int:
    """CRC-32 of all that the row holds, lengths included."""
    total = 0
    for value in row[:-1]:
        if isinstance(value, bytes):
            total = zlib.crc32(value, zlib.crc32(b"%d" % len(value), total))
        elif isinstance(value, float):
            total = zlib.crc32(struct.pack("<d", value), total)
        else:
            total = zlib.crc32(f"|{value}".encode(), total)
    return total


def read_start(storage: Storage) -> Start:
    """How the log began; refuses what is no log, or one of another format."""
    if not storage.has_log():
        raise ValueError(f"{storage.location}: holds no decision log")
    formats = storage.execute("SELECT format FROM graphcb_log")
    if len(formats) != 1:
        raise ValueError(f"{storage.location}: damaged: it must begin once, got {len(formats)}")
    (found,) = formats[0]
    if found != FORMAT:
        raise ValueError(
            f"{storage.location}: must have format {FORMAT}, got {found}; it was written by "
            "another version of graphcb"
        )
    start: Start = _read(storage, Start, "")[0]
    return start


def read_decision(storage: Storage, position: int) -> DecisionRow | None:
    """One decision, or None."""
    return read_decisions(storage, [position]).get(position)


def read_decisions(storage: Storage, positions: Sequence[int]) -> dict[int, DecisionRow]:
    """Those of some decisions that are there, by position."""
    rows = _read_where_in(storage, DecisionRow, "position", positions)
    return {row.position: row for row in rows}


def read_feedbacks(storage: Storage, decisions: Sequence[int]) -> dict[int, FeedbackRow]:
    """The feedbacks for those of some decisions that have theirs, by decision."""
    rows = _read_where_in(storage, FeedbackRow, "decision", decisions)
    return {row.decision: row for row in rows}


def _read_where_in(
    storage: Storage, kind: type[Any], column: str, values: Sequence[int]
) -> Iterator[Any]:
    for begin in range(0, len(values), PAGE):
        page = values[begin : begin + PAGE]
        where = f"WHERE {column} IN ({', '.join('?' for _ in page)})"
        yield from _read(storage, kind, where, *page)


def read_graph(storage: Storage, graph: int) -> str:
    """The description of a graph by its number."""
    found = _read(storage, GraphRow, "WHERE graph = ?", graph)
    if not found:
        raise ValueError(f"{storage.location}: damaged: graph {graph} is missing")
    return str(found[0].description)


def find_graph(storage: Storage, description: str) -> int | None:
    """The number of a graph that is there already."""
    for row in _read(storage, GraphRow, "WHERE digest = ?", zlib.crc32(description.encode())):
        if row.description == description:
            number: int = row.graph
            return number
    return None


def add_graph(storage: Storage, description: str) -> int:
    """Write a graph and give its number."""
    (number,) = storage.execute("SELECT coalesce(max(graph), 0) + 1 FROM graphcb_graphs")[0]
    add(storage, GraphRow(number, zlib.crc32(description.encode()), description))
    return int(number)


def read_checkpoints(storage: Storage) -> list[CheckpointRow]:
    """The shortcuts, newest first, without those that are damaged."""
    rows = storage.execute(
        f"SELECT {_COLUMNS[CheckpointRow]} FROM graphcb_checkpoints ORDER BY position DESC"
    )
    checkpoints = [CheckpointRow(*row) for row in rows]
    return [row for row in checkpoints if checksum(row) == row.checksum]


def last_position(storage: Storage) -> int:
    """The number of the last event, 0 while there is none."""
    tables = ("graphcb_decisions", "graphcb_feedbacks")
    newest = "SELECT coalesce(max(position), 0) FROM "
    return max(int(storage.execute(newest + table)[0][0]) for table in tables)


def count(storage: Storage, kind: type[Row], until: int) -> int:
    """How many decisions or feedbacks there are up to an event."""
    counted: int = storage.execute(
        f"SELECT count(*) FROM {_TABLE_OF[kind]} WHERE position <= ?", (until,)
    )[0][0]
    return counted


def read_events(storage: Storage, after: int, until: int) -> Iterator[DecisionRow | FeedbackRow]:
    """Decisions and feedbacks in the order in which they happened; a gap is damage."""
    where = "WHERE position > ? AND position <= ?"
    for begin in range(after, until, PAGE):
        end = min(begin + PAGE, until)
        page: list[DecisionRow | FeedbackRow] = [
            *_read(storage, DecisionRow, where, begin, end),
            *_read(storage, FeedbackRow, where, begin, end),
        ]
        page.sort(key=lambda row: row.position)
        for expected, row in enumerate(page, start=begin + 1):
            if row.position != expected:
                raise _missing(storage, expected)
            yield row
        if len(page) < end - begin:
            raise _missing(storage, begin + len(page) + 1)


def read_pairs(storage: Storage, until: int) -> Iterator[tuple[DecisionRow, FeedbackRow | None]]:
    """Each decision in turn with its feedback, if that came within the first `until` events."""
    begin = 0
    while True:
        decisions = _read(
            storage,
            DecisionRow,
            f"WHERE position > ? AND position <= ? ORDER BY position LIMIT {PAGE}",
            begin,
            until,
        )
        if not decisions:
            return
        end = decisions[-1].position
        where = "WHERE decision > ? AND decision <= ? AND position <= ?"
        feedbacks = {
            row.decision: row for row in _read(storage, FeedbackRow, where, begin, end, until)
        }
        for decision in decisions:
            yield decision, feedbacks.get(decision.position)
        begin = end


def _read(storage: Storage, kind: type[Any], where: str, *parameters: Any) -> list[Any]:
    found = storage.execute(f"SELECT {_COLUMNS[kind]} FROM {_TABLE_OF[kind]} {where}", parameters)
    rows = [kind(*values) for values in found]
    for row in rows:
        if checksum(row) != row.checksum:
            raise ValueError(
                f"{storage.location}: damaged: the checksum of {_TABLE_OF[kind]}, "
                f"{kind._fields[0]} {row[0]}, does not fit; take a copy that is whole"
            )
    return rows


def _missing(storage: Storage, position: int) -> ValueError:
    return ValueError(
        f"{storage.location}: damaged: event {position} is missing; take a copy that is whole"
    )
