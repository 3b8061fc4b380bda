"""The tables of a log, and the rows in them as they are stored.

Each row has a checksum. Rows are only ever added, except for checkpoints and the writer's epoch.
Format 2 added names with a token, feedback in parts and the writer's epoch; a log of format 1 is
read as it is, and upgraded when a policy opens it.
"""

import struct
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from graphcb.decisions.storage import Storage
from graphcb.files import FileError

FORMAT = 2
_SINCE_FORMAT_2 = frozenset({"token", "n_parts"})

_FEEDBACKS = (
    """CREATE TABLE graphcb_feedbacks (
        position {whole} PRIMARY KEY, received_at {real} NOT NULL, decision {whole} NOT NULL,
        actions {bytes} NOT NULL, losses {bytes} NOT NULL, checksum {whole} NOT NULL)""",
)
_FEEDBACK_INDEX = "CREATE INDEX graphcb_feedbacks_by_decision ON graphcb_feedbacks (decision)"
_WRITER = ("CREATE TABLE graphcb_writer (epoch TEXT NOT NULL)",)
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
        token TEXT, checksum {whole} NOT NULL)""",
    *_FEEDBACKS,
    _FEEDBACK_INDEX,
    """CREATE TABLE graphcb_checkpoints (
        position {whole} PRIMARY KEY, n_feedbacks {whole} NOT NULL, agent {bytes} NOT NULL,
        n_parts {bytes}, checksum {whole} NOT NULL)""",
    *_WRITER,
)
# From format 1, where a decision had one feedback and the database kept it so.
_UPGRADE = (
    "ALTER TABLE graphcb_decisions ADD COLUMN token TEXT",
    "ALTER TABLE graphcb_checkpoints ADD COLUMN n_parts {bytes}",
    "ALTER TABLE graphcb_feedbacks RENAME TO graphcb_feedbacks_1",
    *_FEEDBACKS,
    "INSERT INTO graphcb_feedbacks (position, received_at, decision, actions, losses, checksum) "
    "SELECT position, received_at, decision, actions, losses, checksum FROM graphcb_feedbacks_1",
    "DROP TABLE graphcb_feedbacks_1",
    _FEEDBACK_INDEX,
    *_WRITER,
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
    """A decision; `actions` are encoded identifiers, `action` is an index into them.

    `token` ends its name and never occurs again; None in a row of format 1.
    """

    position: int
    made_at: float
    graph: int
    context: bytes
    actions: bytes
    action: int
    probabilities: bytes
    gamma: float | None
    model_version: int
    token: str | None = None
    checksum: int = 0


class FeedbackRow(NamedTuple):
    """One part of the feedback for the decision at position `decision`; `actions` are int64."""

    position: int
    received_at: float
    decision: int
    actions: bytes
    losses: bytes
    checksum: int = 0


class CheckpointRow(NamedTuple):
    """The agent after event number `position`: a shortcut, never the truth.

    `n_parts` are the numbers of feedbacks by decision; None in a row of format 1.
    """

    position: int
    n_feedbacks: int
    agent: bytes
    n_parts: bytes | None = None
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


def create_tables(storage: Storage, epoch: str) -> None:
    """Create the empty tables; call it inside a transaction."""
    _run(storage, _TABLES)
    storage.execute("INSERT INTO graphcb_writer (epoch) VALUES (?)", (epoch,))


def upgrade_tables(storage: Storage, start: LogStart, epoch: str) -> None:
    """From format 1 to this one, with all rows as they are; call it inside a transaction."""
    _run(storage, _UPGRADE)
    storage.execute("INSERT INTO graphcb_writer (epoch) VALUES (?)", (epoch,))
    storage.execute("DELETE FROM graphcb_log")
    insert(storage, [start._replace(format=FORMAT)])


def _run(storage: Storage, statements: Sequence[str]) -> None:
    for statement in statements:
        storage.execute(statement.format(**storage.types._asdict()))


def insert(storage: Storage, rows: Sequence[StoredRow]) -> None:
    """Add rows of one kind with their checksums."""
    storage.execute_many(_INSERT[type(rows[0])], [(*row[:-1], checksum(row)) for row in rows])


def select(storage: Storage, kind: type[Any], where: str = "", *parameters: Any) -> list[Any]:
    """Rows of one kind; a checksum that does not match is an error."""
    rows = select_unchecked(storage, kind, where, *parameters)
    for row in rows:
        if checksum(row) != row.checksum:
            raise FileError(f"{storage.location}: damaged: {mismatch(row)}")
    return rows


def select_unchecked(
    storage: Storage, kind: type[Any], where: str = "", *parameters: Any
) -> list[Any]:
    """Rows of one kind as they are stored, damaged or not."""
    columns = [
        "NULL" if storage.format == 1 and name in _SINCE_FORMAT_2 else name for name in kind._fields
    ]
    sql = f"SELECT {', '.join(columns)} FROM {TABLE_OF[kind]} {where}"
    return [kind(*values) for values in storage.execute(sql, parameters)]


def mismatch(row: StoredRow) -> str:
    """What to say of a row whose checksum does not match."""
    return (
        f"the checksum of {TABLE_OF[type(row)]}, {row._fields[0]} {row[0]}, does not match; "
        "restore an intact copy"
    )


def checksum(row: StoredRow) -> int:
    """CRC-32 of everything in the row, lengths included."""
    values: Sequence[Any] = row[:-1]
    if values[-1] is None and row._fields[-2] in _SINCE_FORMAT_2:
        values = values[:-1]  # as in format 1
    total = 0
    for value in values:
        if isinstance(value, bytes):
            total = zlib.crc32(value, zlib.crc32(b"%d" % len(value), total))
        elif isinstance(value, float):
            total = zlib.crc32(struct.pack("<d", value), total)
        else:
            total = zlib.crc32(f"|{value}".encode(errors="replace"), total)
    return total
