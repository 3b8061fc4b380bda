"""The tables of a log, and the rows in them as they are stored.

Each row has a checksum. Rows are only ever added, except for checkpoints.
"""

import struct
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from graphcb.decisions.storage import Storage

FORMAT = 1

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


class LogStart(NamedTuple):
    """How a log began; `name` is the first part of its decisions' identifiers."""

    format: int
    version: str
    name: str
    seed: int
    created_at: float
    agent: bytes
    checksum: int = 0


class DecisionRow(NamedTuple):
    """A decision; `actions` are encoded identifiers, `action` is an index into them."""

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
    """The feedback for the decision at position `decision`; `actions` are indices, int64."""

    position: int
    received_at: float
    decision: int
    actions: bytes
    losses: bytes
    checksum: int = 0


class CheckpointRow(NamedTuple):
    """The agent after event number `position`: a shortcut, never the truth."""

    position: int
    n_feedbacks: int
    agent: bytes
    checksum: int = 0


class GraphRow(NamedTuple):
    """A graph in JSON, stored once for all decisions that use it and found by its digest."""

    graph: int
    digest: int
    description: str
    checksum: int = 0


StoredRow = LogStart | DecisionRow | FeedbackRow | CheckpointRow | GraphRow
TABLE_OF: dict[type[Any], str] = {
    LogStart: "graphcb_log",
    DecisionRow: "graphcb_decisions",
    FeedbackRow: "graphcb_feedbacks",
    CheckpointRow: "graphcb_checkpoints",
    GraphRow: "graphcb_graphs",
}
_INSERT = {
    kind: f"INSERT INTO {table} ({', '.join(kind._fields)}) "
    f"VALUES ({', '.join('?' for _ in kind._fields)})"
    for kind, table in TABLE_OF.items()
}


def create_tables(storage: Storage) -> None:
    """Create the empty tables; call it inside a transaction."""
    for statement in _TABLES:
        storage.execute(statement.format(**storage.types._asdict()))


def insert(storage: Storage, rows: Sequence[StoredRow]) -> None:
    """Add rows of one kind with their checksums."""
    storage.execute_many(_INSERT[type(rows[0])], [(*row[:-1], checksum(row)) for row in rows])


def select(storage: Storage, kind: type[Any], where: str = "", *parameters: Any) -> list[Any]:
    """Rows of one kind; a checksum that does not match is an error, except for a checkpoint."""
    sql = f"SELECT {', '.join(kind._fields)} FROM {TABLE_OF[kind]} {where}"
    rows = [kind(*values) for values in storage.execute(sql, parameters)]
    intact = [row for row in rows if checksum(row) == row.checksum]
    if len(intact) < len(rows) and kind is not CheckpointRow:
        damaged = next(row for row in rows if checksum(row) != row.checksum)
        raise ValueError(
            f"{storage.location}: damaged: the checksum of {TABLE_OF[kind]}, "
            f"{kind._fields[0]} {damaged[0]}, does not match; restore an intact copy"
        )
    return intact


def checksum(row: StoredRow) -> int:
    """CRC-32 of everything in the row, lengths included."""
    total = 0
    for value in row[:-1]:
        if isinstance(value, bytes):
            total = zlib.crc32(value, zlib.crc32(b"%d" % len(value), total))
        elif isinstance(value, float):
            total = zlib.crc32(struct.pack("<d", value), total)
        else:
            total = zlib.crc32(f"|{value}".encode(), total)
    return total
