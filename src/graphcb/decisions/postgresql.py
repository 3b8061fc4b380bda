"""A log in a PostgreSQL database: the same tables, reached by a URL through psycopg."""

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import psycopg

from graphcb.decisions.storage import ColumnTypes, Durability, LogError, scrubbed, without_password

_ONE_WRITER = "SELECT pg_try_advisory_lock(hashtextextended('graphcb ' || current_schema(), 0))"

_HAS_LOG = "SELECT to_regclass(quote_ident(current_schema()) || '.graphcb_log') IS NOT NULL"

# Seconds that a server may take to notice that the previous writer's process has ended.
PATIENCE = 1.0


class PostgreSQLStorage:
    """One connection; the writer holds an advisory lock that ends with its connection.

    The tables are in the first schema of the search path: one log per schema. To use another
    schema, end the URL with `?options=-csearch_path%3Dname`. A pooler that shares one connection
    among clients breaks the lock: connect to the server directly.
    """

    types = ColumnTypes(whole="BIGINT", real="DOUBLE PRECISION", bytes="BYTEA")
    begin = "BEGIN"

    def __init__(self, location: str, *, writes: bool, durability: Durability) -> None:
        self.location = without_password(location)
        try:
            self._connection = psycopg.connect(location, autocommit=True, client_encoding="utf8")
        except (psycopg.Error, ValueError) as problem:
            raise LogError(
                f"{self.location}: the server cannot be reached; check the URL, and that the "
                f"server is running ({scrubbed(problem, location)})"
            ) from None
        try:
            self._prepare(writes, durability)
        except BaseException:
            self._connection.close()
            raise

    def _prepare(self, writes: bool, durability: Durability) -> None:
        if not writes:
            self.execute("SET default_transaction_read_only = on")
            return
        patience = time.monotonic() + PATIENCE
        while not self.execute(_ONE_WRITER)[0][0]:
            if time.monotonic() < patience:
                time.sleep(0.02)
                continue
            raise LogError(
                f"{self.location}: another policy is writing to this log, and a log has one "
                "writer; stop that one, or read with DecisionLog"
            )
        if durability == "process-kill":
            self.execute("SET synchronous_commit = off")
        elif self.execute("SHOW synchronous_commit")[0][0] == "off":
            self.execute("SET synchronous_commit = on")

    def __repr__(self) -> str:
        return f"PostgreSQLStorage({self.location!r})"

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        try:
            cursor = self._connection.execute(sql.replace("?", "%s").encode(), parameters)
            return cursor.fetchall() if cursor.description is not None else []
        except psycopg.Error as problem:
            raise _explain(problem, self.location) from problem

    def execute_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run one statement for each row of parameters, in a pipeline."""
        try:
            with self._connection.cursor() as cursor:
                cursor.executemany(sql.replace("?", "%s").encode(), rows)
        except psycopg.Error as problem:
            raise _explain(problem, self.location) from problem

    def has_log(self) -> bool:
        return self.execute(_HAS_LOG)[0][0] is True

    def is_usable(self) -> bool:
        """Whether the connection is alive; if not, the lock is gone with it."""
        return not (self._connection.closed or self._connection.broken)

    def close(self) -> None:
        """Release the writer's lock and close the connection."""
        with suppress(psycopg.Error):
            self._connection.execute("SELECT pg_advisory_unlock_all()")
        self._connection.close()


def _explain(problem: psycopg.Error, location: str) -> Exception:
    if isinstance(problem, psycopg.errors.DiskFull):
        remedy = "the disk is full; make room and continue: what was acknowledged is in the log"
    elif isinstance(
        problem, psycopg.errors.ReadOnlySqlTransaction | psycopg.errors.InsufficientPrivilege
    ):
        remedy = "this user cannot write to the database; ask for the right to"
    elif isinstance(problem, psycopg.errors.DataCorrupted | psycopg.errors.IndexCorrupted):
        return ValueError(f"{location}: damaged: {problem}")
    elif isinstance(problem, psycopg.OperationalError):
        remedy = "the connection was lost; call again to reconnect"
    else:
        remedy = "the database refused"
    return LogError(f"{location}: {remedy} ({problem})")
