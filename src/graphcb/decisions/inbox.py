"""What deciders have written and the trainer has not taken into the log yet, in PostgreSQL.

A row stays here until it is an event of the log: both happen in one transaction. A decision here is
a row of the log without its number, a feedback has the token of its decision.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from graphcb.decisions.storage import Storage
from graphcb.decisions.tables import DecisionRow, FeedbackRow, checksum
from graphcb.files import FileError

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
        made_at DOUBLE PRECISION NOT NULL, graph BIGINT NOT NULL, context BYTEA NOT NULL,
        actions BYTEA NOT NULL, action BIGINT NOT NULL, probabilities BYTEA NOT NULL,
        gamma DOUBLE PRECISION, model_version BIGINT NOT NULL, snapshot BIGINT NOT NULL,
        checksum BIGINT NOT NULL)""",
    f"""CREATE TABLE graphcb_inbox_feedbacks ({_ARRIVAL},
        received_at DOUBLE PRECISION NOT NULL, actions BYTEA NOT NULL, losses BYTEA NOT NULL,
        checksum BIGINT NOT NULL)""",
    "CREATE INDEX graphcb_inbox_feedbacks_by_token ON graphcb_inbox_feedbacks (token)",
    "CREATE INDEX graphcb_decisions_by_token ON graphcb_decisions (token)",
)
_HAS_INBOX = "SELECT to_regclass(quote_ident(current_schema()) || '.graphcb_inbox') IS NOT NULL"
# Which snapshot is the newest, and for how many seconds it may have missed something.
STALENESS = f"SELECT snapshot, {_NOW} - known_at FROM graphcb_trainer"

_DECISION = DecisionRow._fields[1:]  # without its number
_INSERT_DECISION = (
    f"INSERT INTO graphcb_inbox ({', '.join(_DECISION)}) "
    f"VALUES ({', '.join('?' for _ in _DECISION)})"
)
_INSERT_FEEDBACK = (
    "INSERT INTO graphcb_inbox_feedbacks (received_at, actions, losses, token, checksum) "
    "VALUES (?, ?, ?, ?, ?)"
)
_FIND_DECISIONS = (
    f"SELECT position, {', '.join(_DECISION)} FROM graphcb_decisions WHERE token = ANY(?) "
    f"UNION ALL SELECT 0, {', '.join(_DECISION)} FROM graphcb_inbox WHERE token = ANY(?)"
)
# These are written so that the planner has no choice: its statistics of tables that are empty one
# moment and full the next are always wrong, and a nested loop over them takes minutes.
_FIND_PARTS = (
    "SELECT (SELECT d.token FROM graphcb_decisions d WHERE d.position = f.decision), f.position, "
    "f.received_at, f.decision, f.actions, f.losses, f.source, f.checksum FROM graphcb_feedbacks f "
    "WHERE f.decision = ANY(ARRAY(SELECT position FROM graphcb_decisions WHERE token = ANY(?))) "
    "UNION ALL SELECT token, 0, received_at, 0, actions, losses, token, checksum "
    "FROM graphcb_inbox_feedbacks WHERE token = ANY(?)"
)
_TAKE_DECISIONS = (
    "DELETE FROM graphcb_inbox WHERE arrival <= (SELECT max(arrival) FROM "
    "(SELECT arrival FROM graphcb_inbox ORDER BY arrival LIMIT ?) AS first) "
    f"RETURNING arrival, arrived_at, 0, {', '.join(_DECISION)}"
)
_IS_DUE = "token NOT IN (SELECT token FROM graphcb_inbox)"  # its decision is not here any more
_TAKE_FEEDBACKS = (
    "DELETE FROM graphcb_inbox_feedbacks WHERE arrival <= (SELECT max(arrival) FROM "
    f"(SELECT arrival FROM graphcb_inbox_feedbacks WHERE {_IS_DUE} ORDER BY arrival LIMIT ?) "
    f"AS first) AND {_IS_DUE} "
    "RETURNING arrival, arrived_at, 0, received_at, 0, actions, losses, token, checksum"
)


class Arrived(NamedTuple):
    """A row of the inbox, and when it came by the server's clock."""

    arrived_at: float
    row: Any


def has_inbox(storage: Storage) -> bool:
    """Whether a log has deciders."""
    return storage.is_shared and storage.execute(_HAS_INBOX)[0][0] is True


def create_inbox(storage: Storage) -> None:
    """Open a log to deciders; call it inside a transaction."""
    for statement in _TABLES:
        storage.execute(statement)
    storage.execute("INSERT INTO graphcb_trainer (snapshot, known_at) VALUES (-1, 0)")


def server_time(storage: Storage) -> float:
    """Seconds since 1970 by the clock that all share."""
    return float(storage.execute(f"SELECT {_NOW}")[0][0])


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
    """Add decisions without a number."""
    storage.execute_many(_INSERT_DECISION, [(*row[1:-1], checksum(row)) for row in rows])


def put_feedbacks(storage: Storage, rows: Sequence[FeedbackRow]) -> None:
    """Add feedbacks, each with the token of its decision as its source."""
    values = [(row.received_at, row.actions, row.losses, row.source, checksum(row)) for row in rows]
    storage.execute_many(_INSERT_FEEDBACK, values)


def find_decisions(storage: Storage, tokens: Sequence[str]) -> dict[str, DecisionRow]:
    """Decisions by token, in the log or here; those here have number 0."""
    found = storage.execute(_FIND_DECISIONS, (list(tokens), list(tokens)))
    return {row.token: row for row in _checked(storage, map(DecisionRow._make, found))}


def find_parts(storage: Storage, tokens: Sequence[str]) -> dict[str, list[FeedbackRow]]:
    """The feedbacks of decisions by token, those of the log first, in their order."""
    parts: dict[str, list[FeedbackRow]] = {}
    found = storage.execute(_FIND_PARTS, (list(tokens), list(tokens)))
    for token, *values in sorted(found, key=lambda row: (row[1] == 0, row[1], row[2])):
        (row,) = _checked(storage, [FeedbackRow._make(values)])
        parts.setdefault(token, []).append(row._replace(source=None) if values[0] == 0 else row)
    return parts


def take_decisions(storage: Storage, most: int) -> list[Arrived]:
    """The first decisions, which are no longer here after the commit."""
    return _taken(storage, _TAKE_DECISIONS, most, DecisionRow)


def take_feedbacks(storage: Storage, most: int) -> list[Arrived]:
    """The first feedbacks whose decisions are in the log; the source is the decision's token."""
    return _taken(storage, _TAKE_FEEDBACKS, most, FeedbackRow)


def _taken(storage: Storage, sql: str, most: int, kind: type[Any]) -> list[Arrived]:
    found = sorted(storage.execute(sql, (most,)))
    rows = _checked(storage, [kind(*values[2:]) for values in found])
    return [Arrived(values[1], row) for values, row in zip(found, rows, strict=True)]


def _checked(storage: Storage, rows: Iterable[Any]) -> list[Any]:
    found = list(rows)
    for row in found:
        if checksum(row) != row.checksum:
            raise FileError(
                f"{storage.location}: damaged: the checksum of a row in graphcb_inbox does not "
                "match; restore an intact copy"
            )
    return found
