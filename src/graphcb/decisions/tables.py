"""The tables of a log, and the rows in them as they are stored.

Each row has a checksum. Rows are only ever added, except for checkpoints and the writer's epoch;
the oldest may be removed. There is one format. A log of another one is refused.
"""

import os
import struct
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from graphcb.decisions.packing import pack_probabilities, unpack_probabilities
from graphcb.decisions.storage import Storage
from graphcb.files import FileError

FORMAT = 5  # those before belong to versions that were never released

_TABLES = (
    """CREATE TABLE graphcb_log (
        format {whole} NOT NULL, version TEXT NOT NULL, name TEXT NOT NULL, seed {whole} NOT NULL,
        created_at {real} NOT NULL, agent {bytes} NOT NULL, position {whole} NOT NULL,
        n_feedbacks {whole} NOT NULL, cut {whole} NOT NULL, checksum {whole} NOT NULL)""",
    """CREATE TABLE graphcb_graphs (
        graph {whole} PRIMARY KEY, digest {whole} NOT NULL, description TEXT NOT NULL,
        checksum {whole} NOT NULL)""",
    "CREATE INDEX graphcb_graphs_by_digest ON graphcb_graphs (digest)",
    """CREATE TABLE graphcb_contents (
        number {whole} PRIMARY KEY, content {bytes} NOT NULL, checksum {whole} NOT NULL)""",
    """CREATE TABLE graphcb_decisions (
        position {whole} PRIMARY KEY, made_at {real} NOT NULL, graph {whole} NOT NULL,
        n_bytes {whole} NOT NULL, context {bytes} NOT NULL, actions {bytes} NOT NULL,
        action {whole} NOT NULL, probabilities {bytes} NOT NULL, gamma {real},
        model_version {whole} NOT NULL, token TEXT NOT NULL, snapshot {whole},
        checksum {whole} NOT NULL)""",
    """CREATE TABLE graphcb_feedbacks (
        position {whole} PRIMARY KEY, received_at {real} NOT NULL, decision {whole} NOT NULL,
        actions {bytes} NOT NULL, losses {bytes} NOT NULL, source TEXT,
        checksum {whole} NOT NULL)""",
    "CREATE INDEX graphcb_feedbacks_by_decision ON graphcb_feedbacks (decision)",
    """CREATE TABLE graphcb_versions (
        position {whole} PRIMARY KEY, made_at {real} NOT NULL, problem TEXT NOT NULL,
        agent {bytes} NOT NULL, note TEXT NOT NULL, checksum {whole} NOT NULL)""",
    """CREATE TABLE graphcb_checkpoints (
        position {whole} PRIMARY KEY, n_feedbacks {whole} NOT NULL, agent {bytes} NOT NULL,
        n_parts {bytes} NOT NULL, checksum {whole} NOT NULL)""",
    "CREATE TABLE graphcb_writer (epoch TEXT NOT NULL)",
    """CREATE TABLE graphcb_subjects (
        subject TEXT NOT NULL, token TEXT NOT NULL, position {whole} NOT NULL)""",
    """CREATE TABLE graphcb_askers (
        position {whole} PRIMARY KEY, who {whole} NOT NULL, checksum {whole} NOT NULL)""",
    "CREATE INDEX graphcb_subjects_by_subject ON graphcb_subjects (subject)",
    "CREATE INDEX graphcb_subjects_by_position ON graphcb_subjects (position)",
    "CREATE INDEX graphcb_subjects_by_token ON graphcb_subjects (token)",
    """CREATE TABLE graphcb_receipts (
        forgotten_at {real} NOT NULL, subject TEXT NOT NULL, n_decisions {whole} NOT NULL,
        n_feedbacks {whole} NOT NULL, unlearned {whole} NOT NULL)""",
)


class LogStart(NamedTuple):
    """How a log began; `name` is the first part of its decisions' identifiers.

    `agent` is the agent after event `position`, when it had learned from `n_feedbacks`: both are 0
    unless old decisions were removed. Those up to event `cut` count as removed, even while their
    rows are still there.
    """

    format: int
    version: str
    name: str
    seed: int
    created_at: float
    agent: bytes
    position: int = 0
    n_feedbacks: int = 0
    cut: int = 0
    checksum: int = 0


class DecisionRow(NamedTuple):
    """A decision; `actions` are encoded identifiers, `action` is an index into them.

    `token` ends its name and never occurs again. `snapshot` is the event after which the agent was
    as it was for this decision: None for the event before.
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
    token: str
    snapshot: int | None = None
    checksum: int = 0


class PackedDecision(NamedTuple):
    """A decision as it is stored: in few bytes, where it had `n_bytes`; see `packing`."""

    position: int
    made_at: float
    graph: int
    n_bytes: int
    context: bytes
    actions: bytes
    action: int
    probabilities: bytes
    gamma: float | None
    model_version: int
    token: str
    snapshot: int | None = None
    checksum: int = 0


class ContentRow(NamedTuple):
    """What many decisions share, stored once; see `stored_contents`."""

    number: int
    content: bytes
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

    `n_parts` are the numbers of feedbacks by decision.
    """

    position: int
    n_feedbacks: int
    agent: bytes
    n_parts: bytes
    checksum: int = 0


class GraphRow(NamedTuple):
    """A graph in JSON, stored once for all decisions that use it and found by its digest."""

    graph: int
    digest: int
    description: str
    checksum: int = 0


class AskerRow(NamedTuple):
    """From this event on, decisions were asked for by the client with this number; see `askers`."""

    position: int
    who: int
    checksum: int = 0


class SnapshotRow(NamedTuple):
    """The agent after event number `position`, published for deciders."""

    position: int
    n_feedbacks: int
    published_at: float
    agent: bytes
    checksum: int = 0


StoredRow = (
    LogStart
    | DecisionRow
    | PackedDecision
    | FeedbackRow
    | VersionRow
    | CheckpointRow
    | GraphRow
    | ContentRow
    | AskerRow
    | SnapshotRow
)
TABLE_OF: dict[type[Any], str] = {
    LogStart: "graphcb_log",
    DecisionRow: "graphcb_decisions",
    PackedDecision: "graphcb_decisions",
    ContentRow: "graphcb_contents",
    FeedbackRow: "graphcb_feedbacks",
    VersionRow: "graphcb_versions",
    CheckpointRow: "graphcb_checkpoints",
    GraphRow: "graphcb_graphs",
    AskerRow: "graphcb_askers",
    SnapshotRow: "graphcb_snapshots",
}
_SELECT = {
    kind: f"SELECT {', '.join(kind._fields)} FROM {table}" for kind, table in TABLE_OF.items()
}
DRAWN_AT_ONCE = 256  # tokens: each call of the system costs more than they do
_tokens: list[str] = []
os.register_at_fork(after_in_child=_tokens.clear)  # both would have the same ones
_DOUBLE = struct.Struct("<d").pack
_IN_DECISION, _IN_FEEDBACK = struct.Struct("<qdqqqqqqq").pack, struct.Struct("<qdqqq").pack


def new_token() -> str:
    """Sixteen random digits that no other decision has, in this log or in a copy of it."""
    try:
        return _tokens.pop()
    except IndexError:
        digits = os.urandom(8 * DRAWN_AT_ONCE).hex()
        _tokens.extend(digits[begin : begin + 16] for begin in range(16, len(digits), 16))
        return digits[:16]


def name_of(log_name: str, row: DecisionRow) -> str:
    """The identifier of a logged decision; those of deciders have 0 in place of a number."""
    return decision_id(log_name, row.position if row.snapshot is None else 0, row.token)


def decision_id(log_name: str, position: int, token: str) -> str:
    """The identifier of a decision: the log's name, the event's number, and its token."""
    return f"{log_name}-{position}-{token}"


def create_tables(storage: Storage, epoch: str) -> None:
    """Create the empty tables; call it inside a transaction."""
    for statement in _TABLES:
        storage.execute(statement.format(**storage.types._asdict()))
    storage.execute("INSERT INTO graphcb_writer (epoch) VALUES (?)", (epoch,))


def insert(storage: Storage, rows: Sequence[StoredRow]) -> None:
    """Add rows of one kind with their checksums; decisions are packed."""
    kind: type[Any] = type(rows[0])
    if kind is DecisionRow:
        kind, rows = PackedDecision, [pack(storage, row) for row in cast("Any", rows)]
    values = [(*row[:-1], checksum(row)) for row in rows]
    storage.insert(TABLE_OF[kind], kind._fields, values)


def select(storage: Storage, kind: type[Any], where: str = "", *parameters: Any) -> list[Any]:
    """Rows of one kind; a checksum that does not match is an error."""
    if kind is DecisionRow:
        packed = select(storage, PackedDecision, where, *parameters)
        return [unpack(storage, row) for row in packed]
    rows = select_unchecked(storage, kind, where, *parameters)
    for row in rows:
        if checksum(row) != row.checksum:
            raise FileError(f"{storage.location}: damaged: {mismatch(row)}")
    return rows


def pack(storage: Storage, row: DecisionRow) -> PackedDecision:
    """A decision as it is stored."""
    return PackedDecision(
        row.position,
        row.made_at,
        row.graph,
        len(row.context) + len(row.actions) + len(row.probabilities),
        storage.contents.pack_text(row.context, "context"),
        storage.contents.pack_actions(row.actions),
        row.action,
        pack_probabilities(row.probabilities, row.action),
        row.gamma,
        row.model_version,
        row.token,
        row.snapshot,
    )


def unpack(storage: Storage, row: PackedDecision) -> DecisionRow:
    """A decision as it was before it was stored."""
    try:
        return DecisionRow(
            row.position,
            row.made_at,
            row.graph,
            storage.contents.unpack(row.context),
            storage.contents.unpack(row.actions),
            row.action,
            unpack_probabilities(row.probabilities, row.action),
            row.gamma,
            row.model_version,
            row.token,
            row.snapshot,
        )
    except (ValueError, IndexError) as problem:
        if isinstance(problem, FileError):
            raise
        where = f"{storage.location}: damaged: event {row.position}"
        raise FileError(f"{where}: {problem}") from None


def select_unchecked(
    storage: Storage, kind: type[Any], where: str = "", *parameters: Any
) -> list[Any]:
    """Rows of one kind as they are stored, damaged or not."""
    sql = f"{_SELECT[kind]} {where}"
    return [kind(*values) for values in storage.execute(sql, parameters)]


def mismatch(row: StoredRow) -> str:
    """What to say of a row whose checksum does not match."""
    return (
        f"the checksum of {TABLE_OF[type(row)]}, {row._fields[0]} {row[0]}, does not match; "
        "restore an intact copy"
    )


def checksum(row: StoredRow) -> int:
    """CRC-32 of everything in the row, lengths included."""
    kind = type(row)
    try:
        if kind is PackedDecision:
            return _of_decision(*row[:-1])
        if kind is DecisionRow:
            return _of_decision(row[0], row[1], row[2], 0, *row[3:-1])
        if kind is FeedbackRow:
            return _of_feedback(*row[:-1])
    except (struct.error, TypeError):  # damaged: something is not what its column says
        return _of_any(row)
    return _of_any(row)


def _of_decision(
    position: Any, made_at: Any, graph: Any, n_bytes: Any, context: Any, actions: Any, action: Any,
    probabilities: Any, gamma: Any, model_version: Any, token: Any, snapshot: Any,
) -> int:  # fmt: skip
    sizes = len(context), len(actions), len(probabilities)
    head = _IN_DECISION(position, made_at, graph, n_bytes, *sizes, action, model_version)
    rest = f"{gamma}|{token}|{snapshot}".encode(errors="replace")
    return zlib.crc32(b"".join((head, context, actions, probabilities, rest)))


def _of_feedback(
    position: Any, received_at: Any, decision: Any, actions: Any, losses: Any, source: Any
) -> int:
    head = _IN_FEEDBACK(position, received_at, decision, len(actions), len(losses))
    rest = f"{source}".encode(errors="replace")
    return zlib.crc32(b"".join((head, actions, losses, rest)))


def _of_any(row: StoredRow) -> int:
    # A page of another table, with columns of the same kinds, must not pass for one of versions.
    pieces = [b"version"] if isinstance(row, VersionRow) else []
    values: Sequence[Any] = row[:-1]
    for value in values:
        kind = type(value)
        if kind is int:
            pieces.append(b"|%d" % value)
        elif kind is bytes:
            pieces.append(b"%d" % len(value))
            pieces.append(value)
        elif kind is float:
            pieces.append(_DOUBLE(value))
        else:
            pieces.append(f"|{value}".encode(errors="replace"))
    return zlib.crc32(b"".join(pieces))
