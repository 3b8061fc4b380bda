"""A log in a PostgreSQL database: the same tables, reached by a URL through psycopg."""

import os
import socket
import threading
import time
import weakref
from collections.abc import Generator, Sequence
from contextlib import suppress
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.string import BytesBinaryDumper

from graphcb.decisions.storage import (
    ColumnTypes,
    Durability,
    LogError,
    another_process,
    insertion,
    is_well_formed,
    scrubbed,
    without_password,
)
from graphcb.decisions.stored_contents import Contents
from graphcb.files import FileError

# Unless the address says otherwise: seconds, and milliseconds without an acknowledgement.
_NETWORK = {
    "connect_timeout": "5",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
}
# Unless the server, the user or the address says otherwise.
_TIMEOUTS = (
    "SELECT set_config(name, value, false) FROM (VALUES ('statement_timeout', '10s'), "
    "('lock_timeout', '5s'), ('idle_in_transaction_session_timeout', '30s')) AS ours (name, value) "
    "WHERE current_setting(name) = '0'"
)
_STATEMENT_TIMEOUT = "SELECT setting::int FROM pg_settings WHERE name = 'statement_timeout'"
LONGER = 5.0  # seconds that an answer may take beyond the time that the server has for it
MANY = 6  # rows that are added by COPY

# Where an interrupt has left a pipeline half-way, psycopg's own cleaning up asserts otherwise.
_FAILED = (psycopg.Error, AssertionError)

_KEY = "hashtextextended('graphcb ' || current_schema(), 0)"
_ONE_WRITER = f"SELECT pg_try_advisory_lock({_KEY})"

_HAS_TABLE = "SELECT to_regclass(quote_ident(current_schema()) || '.' || ?) IS NOT NULL"

_THIS_SESSION = "SELECT pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()"
_END_SESSION = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = ? AND backend_start = ?"
)

SIGN_OF_LIFE = 0.5  # seconds from one of the writer to the next
SILENCE = 3.0  # seconds without one, after which another writer may take its place
# Seconds that a server may take to notice that the previous writer's process has ended, and without
# a sign of life, after which the end of that silence is waited for.
PATIENCE = 1.0


def holders_of(key: str) -> str:
    """The sessions that hold an advisory lock, as the end of a question."""
    return f"""FROM pg_locks JOIN pg_stat_activity USING (pid)
        WHERE locktype = 'advisory' AND granted AND objsubid = 1
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND (classid::bigint << 32 | objid::bigint) = {key}"""


def silent(key: str, seconds: float) -> str:
    """Other sessions that hold an advisory lock without a sign of life, the end of a question.

    A statement that the server works on is a sign of life, and ends by its own timeout.
    """
    return f"""{holders_of(key)} AND pid <> pg_backend_pid()
        AND (state <> 'active' OR wait_event_type = 'Client')
        AND clock_timestamp() - state_change > {seconds} * interval '1 second'"""


def end_silent(key: str) -> str:
    """End the sessions that are silent for too long.

    The server rolls back what a session had begun before its lock is free: it can write nothing
    more.
    """
    return f"SELECT pg_terminate_backend(pid) {silent(key, SILENCE)}"


_SILENT = f"SELECT 1 {silent(_KEY, PATIENCE)}"


class PostgreSQLStorage:
    """One connection; the writer holds an advisory lock that ends with its connection.

    The writer also gives signs of life. After `SILENCE` seconds without one, because its machine
    vanished, the network drops its packets or the process is frozen, another writer ends its
    session on the server and takes the lock. With `shares`, it writes beside others without that
    lock, as a decider does.

    No statement waits for ever: the server ends it, and if no answer comes the connection is given
    up. The URL may have other timeouts (`connect_timeout`, `options=-cstatement_timeout%3D60s`).

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
        self._connection: _Bounded | None = None
        self.contents = Contents(self)
        self._process = os.getpid()
        self.session: Sequence[Any] = ()

    def open(self, previous: Any = None) -> None:
        try:
            self._connect()
            if self._writes:
                self.session = self.execute(_THIS_SESSION)[0]  # known before it has the lock
                if not self._shares:
                    self._take_the_lock(() if previous is None else previous.session)
                self._set_durability()
                if not self._shares and self._connection is not None:
                    _SignsOfLife(self._connection).start()
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
            # Two statements at once take one round trip, but cannot be prepared or answer in
            # binary, which takes half the time where there are bytes.
            is_one = ";" not in sql
            prepare = None if is_one else False
            cursor = self._usable().execute(
                sql.replace("?", "%s").encode(), parameters or None, prepare=prepare, binary=is_one
            )
            while cursor.nextset():
                pass
            return cursor.fetchall() if cursor.description is not None else []
        except _FAILED as problem:
            raise _explain(problem, self.location) from problem

    def execute_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run one statement for each row of parameters, in a pipeline."""
        try:
            with self._usable().cursor() as cursor:
                cursor.executemany(sql.replace("?", "%s").encode(), rows)
        except _FAILED as problem:
            raise _explain(problem, self.location) from problem

    def insert(self, table: str, columns: tuple[str, ...], rows: Sequence[Sequence[Any]]) -> None:
        """Add rows: many by COPY, a few by one statement; both cost less than a pipeline."""
        if len(rows) < MANY:
            head, marks = insertion(table, columns).split(" VALUES ")
            sql = f"{head} VALUES {', '.join([marks] * len(rows))}"
            self.execute(sql, [value for row in rows for value in row])
            return
        try:
            with (
                self._usable().cursor() as cursor,
                cursor.copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN".encode()) as copy,
            ):
                for row in rows:
                    copy.write_row(row)
        except _FAILED as problem:
            raise _explain(problem, self.location) from problem

    def has_table(self, name: str) -> bool:
        return self.execute(_HAS_TABLE, (name,))[0][0] is True

    def has_log(self) -> bool:
        return self.has_table("graphcb_log")

    def find_damage(self) -> list[str]:
        """Nothing: the server looks after its files; see pg_amcheck."""
        return []

    def commit(self, name: str, position: int) -> None:
        """Commit; the server looks after its write-ahead log."""
        self.execute("COMMIT")

    def scrub(self) -> str:
        """Nothing: only the server can."""
        return (
            "PostgreSQL keeps what was removed in its files until VACUUM FULL has rewritten the "
            "tables, and in its write-ahead log, archives and replicas as long as these are kept"
        )

    def noted_end(self) -> None:
        """Nothing is noted."""

    def close(self) -> None:
        """Release the lock and close the connection; a forked child leaves both alone."""
        if self._process != os.getpid() or self._connection is None:
            return
        if self._connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE:
            with suppress(*_FAILED):  # sooner than the server notices the end
                self._connection.execute("SELECT pg_advisory_unlock_all()")
        # Not under the thread that gives signs of life: libpq would use what it has just freed.
        # Only `with` takes a lock that no interrupt leaves taken: whoever has it is woken beside.
        waking = threading.Timer(PATIENCE, self._connection.hang_up)
        waking.daemon = True
        waking.start()
        try:
            with self._connection.lock:
                waking.cancel()
                waking.join()
                self._connection.close()
        finally:
            waking.cancel()

    def _usable(self) -> "_Bounded":
        if self._process != os.getpid():
            raise another_process(self._process, self.location)
        if self._connection is None:
            raise LogError(f"{self.location}: this log is closed")
        return self._connection

    def _connect(self) -> None:
        """Errors of a malformed address may quote any part of it, so they are not shown."""
        given: dict[str, Any] = {}
        try:
            given = conninfo_to_dict(self._address)
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
            network: dict[str, Any] = {n: _NETWORK[n] for n in _NETWORK if n not in given}
            self._connection = _Bounded.connect(
                self._address, autocommit=True, client_encoding="utf8", **network
            )
        except (psycopg.Error, ValueError) as problem:
            raise LogError(
                f"{self.location}: the server cannot be reached; check the URL, and that the "
                f"server is running ({scrubbed(problem, self._address)})"
            ) from None
        # Half of what goes over the wire, and nothing to read for the server; not in COPY as text.
        self._connection.adapters.register_dumper(bytes, BytesBinaryDumper)
        self.execute(_TIMEOUTS)
        self._connection.patience = self.execute(_STATEMENT_TIMEOUT)[0][0] / 1000 + LONGER

    def _take_the_lock(self, previous: Sequence[Any]) -> None:
        """Wait a moment for the last writer, and while it gives no sign of life.

        The session that this policy itself lost is ended, and one that is silent for long.
        """
        began = time.monotonic()
        while not self.execute(_ONE_WRITER)[0][0]:
            waited = time.monotonic() - began
            if waited > PATIENCE + SILENCE or (waited > PATIENCE and not self.execute(_SILENT)):
                raise LogError(
                    f"{self.location}: another policy is writing to this log, and a log has one "
                    "writer; stop that one, or read with DecisionLog"
                )
            with suppress(LogError):  # not the right to do so
                self.execute(end_silent(_KEY))
                if previous:
                    self.execute(_END_SESSION, previous)
            time.sleep(0.02)

    def _set_durability(self) -> None:
        if self._durability == "process-kill":
            self.execute("SET synchronous_commit = off")
        elif self.execute("SHOW synchronous_commit")[0][0] == "off":
            self.execute("SET synchronous_commit = on")


class _Bounded(psycopg.Connection[Any]):
    """A connection that is given up if an answer takes more than `patience` seconds."""

    patience = 15.0

    def hang_up(self) -> None:
        """End what another thread waits for, which then finds the connection lost."""
        with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(self.fileno())) as line:
            line.shutdown(socket.SHUT_RDWR)

    def wait(self, gen: Any, *given: Any, **settings: Any) -> Any:
        return super().wait(self._in_time(gen), *given, **settings)

    def _in_time(self, gen: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        end = time.monotonic() + self.patience
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready and time.monotonic() > end:
                    self.pgconn.finish()
                    raise psycopg.OperationalError(
                        f"no answer from the server within {self.patience:g} seconds"
                    )
                wanted = gen.send(ready)
        except StopIteration as done:
            return done.value


class _SignsOfLife(threading.Thread):
    """Asks the server something now and then, for as long as a connection is used."""

    def __init__(self, connection: _Bounded) -> None:
        super().__init__(name="graphcb-signs-of-life", daemon=True)
        self._connection = weakref.ref(connection)

    def run(self) -> None:
        while True:
            time.sleep(SIGN_OF_LIFE)
            connection = self._connection()
            if connection is None or connection.closed:
                return
            with suppress(*_FAILED):  # whoever uses the connection finds out
                connection.execute("SELECT 1")
            del connection


def _explain(problem: Exception, location: str) -> Exception:
    if isinstance(problem, psycopg.errors.DiskFull):
        remedy = "the disk is full; make room and continue: what was acknowledged is in the log"
    elif isinstance(
        problem, psycopg.errors.ReadOnlySqlTransaction | psycopg.errors.InsufficientPrivilege
    ):
        remedy = "this user cannot write to the database; ask for the right to"
    elif isinstance(problem, psycopg.errors.DataCorrupted | psycopg.errors.IndexCorrupted):
        return FileError(f"{location}: damaged: {problem}")
    elif isinstance(problem, psycopg.errors.QueryCanceled | psycopg.errors.LockNotAvailable):
        remedy = (
            "the server took too long, or the tables are locked; call again, or end the address "
            "with options=-cstatement_timeout%3D60s%20-clock_timeout%3D60s for longer"
        )
    elif isinstance(problem, psycopg.OperationalError | AssertionError):
        remedy = "the connection was lost; call again to reconnect"
    else:
        remedy = "the database refused"
    return LogError(f"{location}: {remedy} ({problem})")
