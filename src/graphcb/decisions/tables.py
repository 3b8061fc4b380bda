"""The tables of a log, and the rows in them as they are stored.

Each row has a checksum. Rows are only ever added, except for checkpoints and the writer's epoch;
the oldest may be removed. Format 2 added names with a token, feedback in parts and the writer's
epoch. Format 3 added versions, the source of a feedback, decisions by deciders, and logs whose
first events were removed. Logs of earlier formats are read as they are, and upgraded when a policy
opens them.
"""

import struct
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from graphcb.decisions.storage import Storage
from graphcb.files import FileError

FORMAT = 3
# The format that added a column; its rows of earlier formats read NULL there.
_SINCE = {"token": 2, "n_parts": 2, "source": 3, "snapshot": 3, "position": 3, "n_feedbacks": 3}

_FEEDBACKS = (
    """CREATE TABLE graphcb_feedbacks (
        position {whole} PRIMARY KEY, received_at {real} NOT NULL, decision {whole} NOT NULL,
        actions {bytes} NOT NULL, losses {bytes} NOT NULL, checksum {whole} NOT NULL)""",
)
_FEEDBACK_INDEX = "CREATE INDEX graphcb_feedbacks_by_decision ON graphcb_feedbacks (decision)"
_WRITER = ("CREATE TABLE graphcb_writer (epoch TEXT NOT NULL)",)
_SINCE_FORMAT_3 = (
    "ALTER TABLE graphcb_feedbacks ADD COLUMN source TEXT",
    "ALTER TABLE graphcb_decisions ADD COLUMN snapshot {whole}",
    "ALTER TABLE graphcb_log ADD COLUMN position {whole}",
    "ALTER TABLE graphcb_log ADD COLUMN n_feedbacks {whole}",
    """CREATE TABLE graphcb_versions (
        position {whole} PRIMARY KEY, made_at {real} NOT NULL, problem TEXT NOT NULL,
        agent {bytes} NOT NULL, note TEXT NOT NULL, checksum {whole} NOT NULL)""",
)
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
    *_SINCE_FORMAT_3,
)
# From format 1, where a decision had one feedback and the database kept it so.
_SINCE_FORMAT_2 = (
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
    """How a log began; `name` is the first part of its decisions' identifiers.

    `agent` is the agent after event `position`, when it had learned from `n_feedbacks`: None, for
    the first agent of the log, unless old decisions were removed.
    """

    format: int
    version: str
    name: str
    seed: int
    created_at: float
    agent: bytes
    position: int | None = None
    n_feedbacks: int | None = None
    checksum: int = 0


class DecisionRow(NamedTuple):
    """A decision; `actions` are encoded identifiers, `action` is an index into them.

    `token` ends its name and never occurs again; None in a row of format 1. `snapshot` is the event
    after which the agent was as it was for this decision: None for the event before.
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
    snapshot: int | None = None
    checksum: int = 0


class FeedbackRow(NamedTuple):
    """One part of the feedback for the decision at position `decision`; `actions` are int64.

    `source` is None for feedback that was given, "waiting" for the default after waiting for it.
    """

    position: int
    received_at: float
    decision: int
    actions: bytes
    losses: bytes
    source: str | None = None
    checksum: int = 0


class VersionRow(NamedTuple):
    """A change: from this event on, the log has this problem, "" for none, and this agent."""

    position: int
    made_at: float
    problem: str
    agent: bytes
    note: str
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


class SnapshotRow(NamedTuple):
    """The agent after event number `position`, published for deciders."""

    position: int
    n_feedbacks: int
    published_at: float
    agent: bytes
    checksum: int = 0


StoredRow = (
    LogStart | DecisionRow | FeedbackRow | VersionRow | CheckpointRow | GraphRow | SnapshotRow
)
TABLE_OF: dict[type[Any], str] = {
    LogStart: "graphcb_log",
    DecisionRow: "graphcb_decisions",
    FeedbackRow: "graphcb_feedbacks",
    VersionRow: "graphcb_versions",
    CheckpointRow: "graphcb_checkpoints",
    GraphRow: "graphcb_graphs",
    SnapshotRow: "graphcb_snapshots",
}
_INSERT = {
    kind: f"INSERT INTO {table} ({', '.join(kind._fields)}) "
    f"VALUES ({', '.join('?' for _ in kind._fields)})"
    for kind, table in TABLE_OF.items()
}

_DOUBLE = struct.Struct("<d").pack


def _later(kind: type[Any], column: str) -> int:
    """The format in which a kind of rows got this column; it may be empty."""
    return _SINCE.get(column, 1) if column in kind._field_defaults else 1


_SELECT = {
    (format_, kind): "SELECT "
    + ", ".join("NULL" if _later(kind, c) > format_ else c for c in kind._fields)
    + f" FROM {table}"
    for format_ in range(1, FORMAT + 1)
    for kind, table in TABLE_OF.items()
}
_MAY_BE_EMPTY = {
    kind: frozenset(i for i, c in enumerate(kind._fields) if _later(kind, c) > 1)
    for kind in TABLE_OF
}


def create_tables(storage: Storage, epoch: str) -> None:
    """Create the empty tables; call it inside a transaction."""
    _run(storage, _TABLES)
    storage.format = FORMAT
    storage.execute("INSERT INTO graphcb_writer (epoch) VALUES (?)", (epoch,))


def upgrade_tables(storage: Storage, start: LogStart, epoch: str) -> None:
    """To this format, with all rows as they are; call it inside a transaction."""
    if start.format < 2:
        _run(storage, _SINCE_FORMAT_2)
        storage.execute("INSERT INTO graphcb_writer (epoch) VALUES (?)", (epoch,))
    _run(storage, _SINCE_FORMAT_3)
    storage.execute("DELETE FROM graphcb_log")
    insert(storage, [start._replace(format=FORMAT)])


def _run(storage: Storage, statements: Sequence[str]) -> None:
    for statement in statements:
        storage.execute(statement.format(**storage.types._asdict()))


def insert(storage: Storage, rows: Sequence[StoredRow]) -> None:
    """Add rows of one kind with their checksums."""
    values = [(*row[:-1], checksum(row)) for row in rows]
    if len(values) == 1:
        storage.execute(_INSERT[type(rows[0])], values[0])
    else:
        storage.execute_many(_INSERT[type(rows[0])], values)


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
    sql = f"{_SELECT[storage.format, kind]} {where}"
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
    while values[-1] is None and len(values) - 1 in _MAY_BE_EMPTY[type(row)]:
        values = values[:-1]  # as in the format that did not have it
    # A page of another table, with columns of the same kinds, must not pass for one of versions.
    pieces = [b"version"] if isinstance(row, VersionRow) else []
    for value in values:
        kind = type(value)
        if kind is bytes:
            pieces += b"%d" % len(value), value
        elif kind is float:
            pieces.append(_DOUBLE(value))
        else:
            pieces.append(f"|{value}".encode(errors="replace"))
    return zlib.crc32(b"".join(pieces))
