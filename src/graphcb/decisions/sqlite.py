"""A log in a SQLite file: write-ahead log, one writer, many readers."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from graphcb.decisions.storage import Durability, LogError, Types

# Names that SQLite gives its errors, and what to tell the user.
_REMEDIES = {
    "SQLITE_FULL": "the disk is full; make room and go on: what was acknowledged is in the log",
    "SQLITE_READONLY": "the file cannot be written; make it and its folder writable",
    "SQLITE_CANTOPEN": "the file cannot be opened; check that its folder is there and writable",
    "SQLITE_PERM": "the file cannot be opened; check its permissions",
    "SQLITE_BUSY": "the file is locked by a program that is not graphcb; close that",
    "SQLITE_IOERR": "the disk refused; what was acknowledged before is in the log",
}
_DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_SCHEMA")


class SQLiteStorage:
    """One connection; the writer holds a lock that ends with its process.

    The lock is an exclusive transaction on an empty SQLite file beside the log, so readers never
    meet it and the operating system lets go of it however the process ends.
    """

    types = Types(whole="INTEGER", real="REAL", bytes="BLOB")

    def __init__(self, location: str, *, writes: bool, durability: Durability) -> None:
        self.location = location
        self._lock: sqlite3.Connection | None = None
        path = Path(location).resolve()
        try:
            if not writes:
                self._connection = _connect_to_read(path, location)
                return
            self._lock = _lock(path, location)
            self._connection = _connect_to_write(path, location, durability)
        except BaseException as problem:
            if self._lock is not None:
                self._lock.close()
            if isinstance(problem, sqlite3.Error):
                raise _explain(problem, location) from problem
            raise

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Run one statement and give its rows."""
        try:
            return self._connection.execute(sql, parameters).fetchall()
        except sqlite3.Error as problem:
            raise _explain(problem, self.location) from problem

    def execute_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run one statement for each row of parameters."""
        try:
            self._connection.executemany(sql, rows)
        except sqlite3.Error as problem:
            raise _explain(problem, self.location) from problem

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Begin at once, commit at the end, undo on any exception."""
        self.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
            raise

    def has_log(self) -> bool:
        """Whether the file has the tables of a log."""
        return "graphcb_log" in _tables(self._connection)

    def is_usable(self) -> bool:
        """A file stays open."""
        return True

    def close(self) -> None:
        """Close the file, then let the next writer in."""
        self._connection.close()
        if self._lock is not None:
            self._lock.close()


def _connect_to_read(path: Path, location: str) -> sqlite3.Connection:
    if not path.is_file():
        raise FileNotFoundError(f"a log must be a file that is there, got {location!r}")
    try:
        return _open_to_read(path, "mode=ro")
    except sqlite3.OperationalError:
        # A folder that cannot be written has no place for the readers' shared memory; without
        # a writer's files beside it, the log is at rest and can be read as it is.
        if path.with_name(f"{path.name}-wal").exists():
            raise
        return _open_to_read(path, "immutable=1")


def _open_to_read(path: Path, how: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.as_uri()}?{how}", uri=True, isolation_level=None, check_same_thread=False
    )
    try:
        _tables(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _connect_to_write(path: Path, location: str, durability: Durability) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        tables = _tables(connection)
        if tables and "graphcb_log" not in tables:
            raise ValueError(
                f"{location}: a SQLite file of something else, with the tables "
                f"{', '.join(sorted(tables)[:5])}; a log needs a file of its own"
            )
        connection.execute("PRAGMA journal_mode=WAL")
        synchronous = "FULL" if durability == "power-loss" else "NORMAL"
        connection.execute(f"PRAGMA synchronous={synchronous}")
        connection.execute("PRAGMA fullfsync=ON")  # on macOS, where fsync alone is not enough
    except BaseException:
        connection.close()
        raise
    return connection


def _lock(path: Path, location: str) -> sqlite3.Connection:
    beside = path.with_name(f"{path.name}-writer")
    lock = sqlite3.connect(beside, isolation_level=None, check_same_thread=False, timeout=0.0)
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as problem:
        lock.close()
        if problem.sqlite_errorname.startswith("SQLITE_BUSY"):
            raise LogError(
                f"{location}: another policy writes to this log, and a log has one writer; "
                "stop that one, or read with DecisionLog"
            ) from None
        raise
    return lock


def _tables(connection: sqlite3.Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}


def _explain(problem: sqlite3.Error, location: str) -> Exception:
    name = getattr(problem, "sqlite_errorname", "")
    if name.startswith(_DAMAGED):
        return ValueError(f"{location}: not a decision log, or damaged: {problem}")
    for begin, remedy in _REMEDIES.items():
        if name.startswith(begin):
            return LogError(f"{location}: {remedy} ({problem})")
    return LogError(f"{location}: {problem}")
