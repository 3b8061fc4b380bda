"""A log in a PostgreSQL database: the same tables, reached by a URL through psycopg."""

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from graphcb.decisions.storage import (
    ColumnTypes,
    Durability,
    LogError,
    another_process,
    is_well_formed,
    scrubbed,
    without_password,
)
from graphcb.files import FileError

_ONE_WRITER = "SELECT pg_try_advisory_lock(hashtextextended('graphcb ' || current_schema(), 0))"

_HAS_LOG = "SELECT to_regclass(quote_ident(current_schema()) || '.graphcb_log') IS NOT NULL"

_THIS_SESSION = "SELECT pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()"
_END_SESSION = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = ? AND backend_start = ?"
)

# Seconds that a server may take to notice that the previous writer's process has ended.
PATIENCE = 1.0


class PostgreSQLStorage:
    """One connection; the writer holds an advisory lock that ends with its connection.

    With `shares`, it writes beside others without that lock, as a decider does.

    The tables are in the first schema of the search path: one log per schema. To use another
    schema, end the URL with `?options=-csearch_path%3Dname`. A pooler that shares one connection
    among clients breaks the lock: connect to the server directly.
    """

    is_shared = True
    types = ColumnTypes(whole="BIGINT", real="DOUBLE PRECISION", bytes="BYTEA")

    def __init__(
        self, location: str, *, writes: bool, durability: Durability, shares: bool = False
    ) -> None:
        self.location = without_password(location)
        self._address, self._writes, self._durability = location, writes, durability
        self._shares = shares
        self._connection: psycopg.Connection[Any] | None = None
        self._process = os.getpid()
        self.session: Sequence[Any] = ()

    def open(self, previous: Any = None) -> None:
        try:
            self._connect()
            if self._writes:
                if not self._shares:
                    self._take_the_lock(() if previous is None else previous.session)
                self._set_durability()
                self.session = self.execute(_THIS_SESSION)[0]
            else:
                self.execute("SET default_transaction_read_only = on")
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        return f"PostgreSQLStorage({self.location!r})"

    def begin(self, question: str = "", *, anyway: bool = True) -> list[Any] | None:
        return self.execute(f"BEGIN; {question}" if question else "BEGIN")

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        try:
            # Two statements at once cannot be prepared, and take one round trip.
            cursor = self._usable().execute(
                sql.replace("?", "%s").encode(), parameters or None, prepare=_prepare(sql)
            )
            while cursor.nextset():
                pass
            return cursor.fetchall() if cursor.description is not None else []
        except psycopg.Error as problem:
            raise _explain(problem, self.location) from problem

    def execute_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run one statement for each row of parameters, in a pipeline."""
        try:
            with self._usable().cursor() as cursor:
                cursor.executemany(sql.replace("?", "%s").encode(), rows)
        except psycopg.Error as problem:
            raise _explain(problem, self.location) from problem

    def has_log(self) -> bool:
        return self.execute(_HAS_LOG)[0][0] is True

    def find_damage(self) -> list[str]:
        """Nothing: the server looks after its files; see pg_amcheck."""
        return []

    def commit(self, name: str, position: int) -> None:
        """Commit; the server looks after its write-ahead log."""
        self.execute("COMMIT")

    def noted_end(self) -> None:
        """Nothing is noted."""

    def close(self) -> None:
        """Release the lock and close the connection; a forked child leaves both alone."""
        if self._process != os.getpid() or self._connection is None:
            return
        if self._connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE:
            with suppress(psycopg.Error):  # sooner than the server notices the end
                self._connection.execute("SELECT pg_advisory_unlock_all()")
        self._connection.close()

    def _usable(self) -> "psycopg.Connection[Any]":
        if self._process != os.getpid():
            raise another_process(self._process, self.location)
        if self._connection is None:
            raise LogError(f"{self.location}: this log is closed")
        return self._connection

    def _connect(self) -> None:
        """Errors of a malformed address may quote any part of it, so they are not shown."""
        try:
            conninfo_to_dict(self._address)
            readable = is_well_formed(self._address)
        except (psycopg.Error, ValueError):
            readable = False
        if not readable:
            raise LogError(
                f"{self.location}: the address cannot be read; it must be "
                "postgresql://user:password@host:port/database, with % codes for special "
                "characters in the password, such as %2F for a slash"
            )
        try:
            self._connection = psycopg.connect(
                self._address, autocommit=True, client_encoding="utf8"
            )
        except (psycopg.Error, ValueError) as problem:
            raise LogError(
                f"{self.location}: the server cannot be reached; check the URL, and that the "
                f"server is running ({scrubbed(problem, self._address)})"
            ) from None

    def _take_the_lock(self, previous: Sequence[Any]) -> None:
        """Wait a moment for the last writer; end the session that this policy itself lost."""
        patience = time.monotonic() + PATIENCE
        while not self.execute(_ONE_WRITER)[0][0]:
            if time.monotonic() > patience:
                raise LogError(
                    f"{self.location}: another policy is writing to this log, and a log has one "
                    "writer; stop that one, or read with DecisionLog"
                )
            if previous:
                with suppress(LogError):
                    self.execute(_END_SESSION, previous)
            time.sleep(0.02)

    def _set_durability(self) -> None:
        if self._durability == "process-kill":
            self.execute("SET synchronous_commit = off")
        elif self.execute("SHOW synchronous_commit")[0][0] == "off":
            self.execute("SET synchronous_commit = on")


def _prepare(sql: str) -> bool | None:
    return False if ";" in sql else None


def _explain(problem: psycopg.Error, location: str) -> Exception:
    if isinstance(problem, psycopg.errors.DiskFull):
        remedy = "the disk is full; make room and continue: what was acknowledged is in the log"
    elif isinstance(
        problem, psycopg.errors.ReadOnlySqlTransaction | psycopg.errors.InsufficientPrivilege
    ):
        remedy = "this user cannot write to the database; ask for the right to"
    elif isinstance(problem, psycopg.errors.DataCorrupted | psycopg.errors.IndexCorrupted):
        return FileError(f"{location}: damaged: {problem}")
    elif isinstance(problem, psycopg.OperationalError):
        remedy = "the connection was lost; call again to reconnect"
    else:
        remedy = "the database refused"
    return LogError(f"{location}: {remedy} ({problem})")
