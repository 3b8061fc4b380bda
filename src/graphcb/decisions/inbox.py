"""What others have written and the one writer has not taken into the log yet.

A row stays here until it is an event of the log: both happen in one transaction. In PostgreSQL,
deciders write decisions and feedback for the trainer. In SQLite, processes beside the policy write
feedback for it. A decision here is a row of the log without its number, a feedback has the token
of its decision.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from graphcb.decisions.records import PAGE
from graphcb.decisions.storage import Storage
from graphcb.decisions.tables import (
    DecisionRow,
    FeedbackRow,
    SnapshotRow,
    checksum,
    insert,
    select,
)
from graphcb.decisions.transition import PolicyState
from graphcb.files import FileError
from graphcb.saving import to_bytes

KEPT = 3  # snapshots
_NOW = "extract(epoch FROM clock_timestamp())::double precision"
_ARRIVAL = (
    f"arrival BIGSERIAL PRIMARY KEY, arrived_at DOUBLE PRECISION NOT NULL DEFAULT {_NOW}, "
    "token TEXT NOT NULL"
)
_TABLES = (
    """CREATE TABLE graphcb_snapshots (
        position BIGINT PRIMARY KEY, n_feedbacks BIGINT NOT NULL,
        published_at DOUBLE PRECISION NOT NULL, agent BYTEA NOT NULL, checksum BIGINT NOT NULL)""",
    "CREATE TABLE graphcb_trainer (snapshot BIGINT NOT NULL, known_at DOUBLE PRECISION NOT NULL)",
    f"""CREATE TABLE graphcb_inbox ({_ARRIVAL} UNIQUE,
        asked_by BIGINT NOT NULL, made_at DOUBLE PRECISION NOT NULL, graph BIGINT NOT NULL,
        context BYTEA NOT NULL, actions BYTEA NOT NULL, action BIGINT NOT NULL,
        probabilities BYTEA NOT NULL, gamma DOUBLE PRECISION, model_version BIGINT NOT NULL,
        snapshot BIGINT NOT NULL, checksum BIGINT NOT NULL)""",
    "CREATE INDEX graphcb_decisions_by_token ON graphcb_decisions (token)",
    # A model hardly gets smaller, and compressing it takes five times as long as all else.
    *(
        f"ALTER TABLE {table} ALTER COLUMN agent SET STORAGE EXTERNAL"
        for table in ("graphcb_snapshots", "graphcb_checkpoints")
    ),
)
_ARRIVAL_IN_SQLITE = (
    "arrival INTEGER PRIMARY KEY, token TEXT NOT NULL, "
    "arrived_at REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0)"
)
_FEEDBACKS = (
    """CREATE TABLE graphcb_inbox_feedbacks (
        {arrival}, received_at {real} NOT NULL, decision {whole} NOT NULL, actions {bytes} NOT NULL,
        losses {bytes} NOT NULL, checksum {whole} NOT NULL)""",
    "CREATE INDEX graphcb_inbox_feedbacks_by_token ON graphcb_inbox_feedbacks (token)",
)
# Which snapshot is the newest, and for how many seconds it may have missed something.
STALENESS = f"SELECT snapshot, {_NOW} - known_at FROM graphcb_trainer"

_DROP_SNAPSHOTS = (
    "DELETE FROM graphcb_snapshots WHERE position NOT IN "
    "(SELECT position FROM graphcb_snapshots ORDER BY position DESC LIMIT ?)"
)
_CONFIRM = "UPDATE graphcb_trainer SET snapshot = ?, known_at = ?"
_DECISION = ("asked_by", *DecisionRow._fields[1:])  # in place of its number
_FEEDBACK = ("received_at", "decision", "actions", "losses", "token", "checksum")
_FIND_DECISIONS = f"SELECT {', '.join(_DECISION)} FROM graphcb_inbox WHERE token = ANY(?)"
# These are written so that the planner has no choice: its statistics of tables that are empty one
# moment and full the next are always wrong, and a nested loop over them takes minutes.
_FIND_PARTS = (
    "SELECT (SELECT d.token FROM graphcb_decisions d WHERE d.position = f.decision), f.position, "
    "f.received_at, f.decision, f.actions, f.losses, f.source, f.checksum FROM graphcb_feedbacks f "
    "WHERE f.decision = ANY(ARRAY(SELECT position FROM graphcb_decisions WHERE token = ANY(?))) "
    "UNION ALL SELECT token, 0, received_at, decision, actions, losses, token, checksum "
    "FROM graphcb_inbox_feedbacks WHERE token = ANY(?)"
)
_TAKE_DECISIONS = (
    "DELETE FROM graphcb_inbox WHERE ctid = ANY(ARRAY("
    "SELECT ctid FROM graphcb_inbox ORDER BY arrival LIMIT ?)) "
    f"RETURNING arrival, arrived_at, {', '.join(_DECISION)}"
)
_FIRST_FEEDBACKS = "FROM graphcb_inbox_feedbacks ORDER BY arrival LIMIT ?"
# Those whose decision is not here any more; what else waits is not looked at.
_TAKE_FEEDBACKS = (
    "DELETE FROM graphcb_inbox_feedbacks WHERE ctid = ANY(ARRAY("
    f"SELECT ctid FROM (SELECT ctid, token {_FIRST_FEEDBACKS}) AS first "
    "WHERE token NOT IN (SELECT token FROM graphcb_inbox WHERE token = ANY(ARRAY("
    f"SELECT token {_FIRST_FEEDBACKS}))))) "
    "RETURNING arrival, arrived_at, 0, received_at, decision, actions, losses, token, checksum"
)
_WAITING = (
    "SELECT arrival, arrived_at, 0, received_at, decision, actions, losses, token, checksum "
    "FROM graphcb_inbox_feedbacks"
)


class Arrived(NamedTuple):
    """A row of the inbox, when it came by the database's clock, and its number there."""

    arrived_at: float
    row: Any
    number: int


def has_inbox(storage: Storage) -> bool:
    """Whether a log has deciders."""
    return storage.is_shared and storage.has_table("graphcb_inbox")


def create_inbox(storage: Storage) -> None:
    """Open a log to deciders; call it inside a transaction."""
    for statement in _TABLES:
        storage.execute(statement)
    create_feedbacks(storage)
    storage.execute("INSERT INTO graphcb_trainer (snapshot, known_at) VALUES (-1, 0)")


def create_feedbacks(storage: Storage) -> None:
    """Open a log to feedback from beside; call it inside a transaction."""
    arrival = _ARRIVAL if storage.is_shared else _ARRIVAL_IN_SQLITE
    for statement in _FEEDBACKS:
        storage.execute(statement.format(arrival=arrival, **storage.types._asdict()))


def has_feedbacks(storage: Storage) -> bool:
    """Whether a log in SQLite is open to feedback from beside."""
    sql = "SELECT 1 FROM sqlite_master WHERE name = 'graphcb_inbox_feedbacks'"
    return not storage.is_shared and bool(storage.execute(sql))


def server_time(storage: Storage) -> float:
    """Seconds since 1970 by the clock that all share."""
    return float(storage.execute(f"SELECT {_NOW}")[0][0])


def publish(storage: Storage, state: PolicyState, known_at: float, kept: int = KEPT) -> None:
    """Let deciders decide with this state, which knows all that came before a time.

    So many of the newest snapshots stay.
    """
    sql = "SELECT 1 FROM graphcb_snapshots WHERE position = ?"
    if not storage.execute(sql, (state.position,)):
        agent = to_bytes(state.agent)
        insert(storage, [SnapshotRow(state.position, state.n_feedbacks, known_at, agent)])
        storage.execute(_DROP_SNAPSHOTS, (kept,))
    storage.execute(_CONFIRM, (state.position, known_at))


def newest_snapshot(storage: Storage) -> SnapshotRow | None:
    """What was published last, None if that is nothing."""
    rows: list[SnapshotRow] = select(storage, SnapshotRow, "ORDER BY position DESC LIMIT 1")
    return rows[0] if rows else None


def lock_tokens(storage: Storage, tokens: Sequence[str]) -> None:
    """Keep others from writing feedback for these decisions until the commit."""
    sql = (
        "SELECT pg_advisory_xact_lock(hashtextextended('graphcb ' || current_schema() || key, 0)) "
        "FROM (SELECT unnest(?::text[]) AS key ORDER BY 1) AS sorted"
    )
    storage.execute(sql, (list(tokens),))


def lock_graphs(storage: Storage) -> None:
    """Keep others from adding graphs until the commit."""
    lock_tokens(storage, ["graphs"])


def put_decisions(storage: Storage, rows: Sequence[DecisionRow]) -> None:
    """Add decisions; who asked for one stands in place of its number."""
    values = [(*row[:-1], checksum(row)) for row in rows]
    storage.insert("graphcb_inbox", _DECISION, values)


def put_feedbacks(storage: Storage, rows: Sequence[FeedbackRow]) -> None:
    """Add feedbacks, each with the token of its decision as its source."""
    values = [(*row[1:-1], checksum(row)) for row in rows]
    storage.insert("graphcb_inbox_feedbacks", _FEEDBACK, values)


def find_decisions(storage: Storage, tokens: Sequence[str]) -> dict[str, DecisionRow]:
    """Decisions by token, in the log or here; those here have number 0."""
    there = storage.execute(_FIND_DECISIONS, (list(tokens),))  # first, as they go to the log
    rows = _checked(storage, map(DecisionRow._make, there))
    found = {row.token: row._replace(position=0) for row in rows}
    return found | find_in_log(storage, tokens)


def find_in_log(storage: Storage, tokens: Sequence[str]) -> dict[str, DecisionRow]:
    """Decisions by token that the trainer has taken in."""
    found = select(storage, DecisionRow, "WHERE token = ANY(?)", list(tokens))
    return {row.token: row for row in found}


def find_parts(storage: Storage, tokens: Sequence[str]) -> dict[str, list[FeedbackRow]]:
    """The feedbacks of decisions by token, those of the log first, in their order."""
    parts: dict[str, list[FeedbackRow]] = {}
    found = storage.execute(_FIND_PARTS, (list(tokens), list(tokens)))
    for token, *values in sorted(found, key=lambda row: (row[1] == 0, row[1], row[2])):
        (row,) = _checked(storage, [FeedbackRow._make(values)])
        parts.setdefault(token, []).append(row._replace(source=None) if values[0] == 0 else row)
    return parts


def take_decisions(storage: Storage, most: int) -> list[Arrived]:
    """The first decisions, by their numbers: another decider may have committed one before them.

    Who asked for one stands in place of its number; see `put_decisions`.
    """
    return _taken(storage, _TAKE_DECISIONS, (most,), DecisionRow)


def take_feedbacks(storage: Storage, most: int) -> list[Arrived]:
    """Of the first feedbacks those whose decision is in the log; the source is its token.

    Where others are among them, decisions that came before these feedbacks are still here.
    """
    return _taken(storage, _TAKE_FEEDBACKS, (most, most), FeedbackRow)


def read_waiting(storage: Storage, after: int, most: int) -> list[Arrived]:
    """The first feedbacks after a number, which stay here until they are removed."""
    sql = f"{_WAITING} WHERE arrival > ? ORDER BY arrival LIMIT ?"
    return _arrived(storage, storage.execute(sql, (after, most)), FeedbackRow)


def find_waiting(storage: Storage, tokens: Sequence[str]) -> dict[str, list[FeedbackRow]]:
    """The feedbacks of decisions by token that are here, in SQLite."""
    parts: dict[str, list[FeedbackRow]] = {}
    for begin in range(0, len(tokens), PAGE):
        some = tokens[begin : begin + PAGE]
        sql = f"{_WAITING} WHERE token IN ({', '.join('?' for _ in some)}) ORDER BY arrival"
        for one in _arrived(storage, storage.execute(sql, some), FeedbackRow):
            parts.setdefault(str(one.row.source), []).append(one.row._replace(source=None))
    return parts


def count_waiting(storage: Storage) -> int:
    """The number of feedbacks here, in SQLite."""
    if not has_feedbacks(storage):
        return 0
    return int(storage.execute("SELECT count(*) FROM graphcb_inbox_feedbacks")[0][0])


def remove(storage: Storage, numbers: Sequence[int]) -> None:
    """Take feedbacks away which are events of the log now."""
    sql = "DELETE FROM graphcb_inbox_feedbacks WHERE arrival = ?"
    storage.execute_many(sql, [(number,) for number in numbers])


def _taken(storage: Storage, sql: str, limits: tuple[int, ...], kind: type[Any]) -> list[Arrived]:
    return _arrived(storage, sorted(storage.execute(sql, limits)), kind)


def _arrived(storage: Storage, found: Sequence[Any], kind: type[Any]) -> list[Arrived]:
    rows = _checked(storage, [kind._make(values[2:]) for values in found])
    return [Arrived(values[1], row, values[0]) for values, row in zip(found, rows, strict=True)]


def _checked(storage: Storage, rows: Iterable[Any]) -> list[Any]:
    found = list(rows)
    for row in found:
        if checksum(row) != row.checksum:
            raise FileError(
                f"{storage.location}: damaged: the checksum of a row in graphcb_inbox does not "
                "match; restore an intact copy"
            )
    return found
