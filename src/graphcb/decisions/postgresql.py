"""A log in a PostgreSQL database: the same tables, reached by a URL through psycopg."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import psycopg

from graphcb.decisions.storage import Durability, LogError, Types, without_password

_ONE_WRITER = "SELECT pg_try_advisory_lock(hashtextextended('graphcb ' || current_schema(), 0))"

_HAS_LOG = "SELECT to_regclass(quote_ident(current_schema()) || '.graphcb_log') IS NOT NULL"

# Seconds that a server may take to notice that the process of the writer before has ended.
PATIENCE = 1.0


class PostgreSQLStorage:
    """One connection; the writer holds an advisory lock that ends with its connection.

    The tables are those of the first schema of the search path: one log a schema. Another is
    reached by `?options=-csearch_path%3Dname` at the end of the URL. A pooler that shares one
    connection among clients breaks the lock: connect to the server itself.
    """

    types = Types(whole="BIGINT", real="DOUBLE PRECISION", bytes="BYTEA")

    def __init__(self, location: str, *, writes: bool, durability: Durability) -> None:
        self.location = without_password(location)
        try:
            self._connection = psycopg.connect(location, autocommit=True, client_encoding="utf8")
        except psycopg.Error as problem:
            raise LogError(
                f"{self.location}: the server cannot be reached; check the URL and that it runs "
                f"({problem})"
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
                f"{self.location}: another policy writes to this log, and a log has one writer; "
                "stop that one, or read with DecisionLog"
            )
        if durability == "process-kill":
            self.execute("SET synchronous_commit = off")
        elif self.execute("SHOW synchronous_commit")[0][0] == "off":
            self.execute("SET synchronous_commit = on")

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Run one statement and give its rows."""
        try:
            cursor = self._connection.execute(sql.replace("?", "%s").encode(), parameters)
            return cursor.fetchall() if cursor.description is not None else []
        except psycopg.Error as problem:
            raise _explain(problem, self.location) from problem

    def execute_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run one statement for each row of parameters, without waiting for each."""
        try:
            with self._connection.cursor() as cursor:
                cursor.executemany(sql.replace("?", "%s").encode(), rows)
        except psycopg.Error as problem:
            raise _explain(problem, self.location) from problem

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Begin, commit at the end, undo on any exception."""
        self.execute("BEGIN")
        try:
            yield
            self.execute("COMMIT")
        except BaseException:
            with suppress(psycopg.Error):
                self._connection.execute("ROLLBACK")
            raise

    def has_log(self) -> bool:
        """Whether the schema has the tables of a log."""
        return self.execute(_HAS_LOG)[0][0] is True

    def is_usable(self) -> bool:
        """Whether the connection stands; the lock went with it if not."""
        return not (self._connection.closed or self._connection.broken)

    def close(self) -> None:
        """Let the next writer in and close the connection."""
        with suppress(psycopg.Error):
            self._connection.execute("SELECT pg_advisory_unlock_all()")
        self._connection.close()


def _explain(problem: psycopg.Error, location: str) -> Exception:
    if isinstance(problem, psycopg.errors.DiskFull):
        remedy = "the disk is full; make room and go on: what was acknowledged is in the log"
    elif isinstance(
        problem, psycopg.errors.ReadOnlySqlTransaction | psycopg.errors.InsufficientPrivilege
    ):
        remedy = "the database cannot be written by this user; ask for the right to"
    elif isinstance(problem, psycopg.errors.DataCorrupted | psycopg.errors.IndexCorrupted):
        return ValueError(f"{location}: damaged: {problem}")
    elif isinstance(problem, psycopg.OperationalError):
        remedy = "the connection was lost; call again to reconnect"
    else:
        remedy = "the database refused"
    return LogError(f"{location}: {remedy} ({problem})")
