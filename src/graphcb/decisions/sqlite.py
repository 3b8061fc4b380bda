"""A log in a SQLite file: write-ahead log, one writer, many readers."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graphcb.checks import listed
from graphcb.decisions.storage import ColumnTypes, Durability, LogError

# SQLite's names for its errors, and what to tell the user.
_REMEDIES = {
    "SQLITE_FULL": "the disk is full; make room and continue: what was acknowledged is in the log",
    "SQLITE_READONLY": "the file cannot be written; make it and its folder writable",
    "SQLITE_CANTOPEN": "the file cannot be opened; check that its folder exists and is writable",
    "SQLITE_PERM": "the file cannot be opened; check its permissions",
    "SQLITE_BUSY": "the file is locked by a program other than graphcb; close that program",
    "SQLITE_IOERR": "the disk failed; what was acknowledged before is in the log",
}
_DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_SCHEMA")


class SQLiteStorage:
    """One connection; the writer holds a lock that ends with its process.

    The lock is an exclusive transaction on an empty SQLite file beside the log. Readers never see
    it, and the operating system releases it however the process ends.
    """

    types = ColumnTypes(whole="INTEGER", real="REAL", bytes="BLOB")
    begin = "BEGIN IMMEDIATE"

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

    def __repr__(self) -> str:
        return f"SQLiteStorage({self.location!r})"

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        try:
            return self._connection.execute(sql, parameters).fetchall()
        except sqlite3.Error as problem:
            raise _explain(problem, self.location) from problem

    def execute_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        try:
            self._connection.executemany(sql, rows)
        except sqlite3.Error as problem:
            raise _explain(problem, self.location) from problem

    def has_log(self) -> bool:
        return "graphcb_log" in _tables(self._connection)

    def is_usable(self) -> bool:
        """Always: a file stays open."""
        return True

    def close(self) -> None:
        """Close the file, then release the writer's lock."""
        self._connection.close()
        if self._lock is not None:
            self._lock.close()


def _connect_to_read(path: Path, location: str) -> sqlite3.Connection:
    if not path.is_file():
        raise FileNotFoundError(f"a log must be a file that exists, got {location!r}")
    try:
        return _open_to_read(path, "mode=ro")
    except sqlite3.OperationalError:
        # In a read-only folder there is no place for the readers' shared memory. If there is no
        # write-ahead log either, no one is writing, and the file can be read as it is.
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
                f"{location}: a SQLite file that is not a log, with the tables "
                f"{listed(sorted(tables), at_most=5)}; a log needs its own file"
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
                f"{location}: another policy is writing to this log, and a log has one writer; "
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
