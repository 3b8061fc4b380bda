"""A log in a SQLite file: write-ahead log, one writer, many readers."""

import ctypes
import os
import sqlite3
import weakref
import zlib
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import IO, Any

from graphcb.checks import listed
from graphcb.decisions.noted_end import NotedEnd, head, read_noted_end
from graphcb.decisions.records import check_end
from graphcb.decisions.storage import (
    ColumnTypes,
    Durability,
    LogError,
    another_process,
    insertion,
)
from graphcb.decisions.stored_contents import Contents
from graphcb.files import FileError

# SQLite's names for its errors, and what to tell the user.
_REMEDIES = {
    "SQLITE_FULL": "the disk is full; make room and continue: what was acknowledged is in the log",
    "SQLITE_READONLY": "the file cannot be written; make it and its folder writable",
    "SQLITE_CANTOPEN": "the file cannot be opened; check that its folder exists and is writable",
    "SQLITE_PERM": "the file cannot be opened; check its permissions",
    "SQLITE_BUSY": "the file is locked by a program other than graphcb; close that program",
    "SQLITE_IOERR": "the disk failed; what was acknowledged before is in the log",
}
AT_ONCE = 0.2  # seconds for readers, where nobody may write until they have ended
PATIENCE = 30.0  # seconds for others that write; a transaction of many calls may take some
_DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_SCHEMA", "SQLITE_TOOBIG")
# A damaged name in a message of SQLite itself cannot be decoded.
_FAILED = (sqlite3.Error, UnicodeDecodeError)
_ALSO_DAMAGED = ("no such table", "no such column", "Could not decode", "malformed")


def _keep_private(path: Path) -> None:
    """Create a new file for its owner alone; SQLite gives the files beside it the same mode."""
    with suppress(OSError):  # it exists; or SQLite says why it cannot be created
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


class SQLiteStorage:
    """One connection; the writer holds a lock that ends with its process.

    The lock is an exclusive transaction on an empty SQLite file beside the log. Readers never see
    it, and the operating system releases it however the process ends. It is also released when
    this process closes any other handle of that file, and SQLite's own locks go the same way; then
    another program that closes the log deletes the write-ahead log which this one still writes
    to. A transaction therefore checks that it is still there.
    """

    is_shared = False
    types = ColumnTypes(whole="INTEGER", real="REAL", bytes="BLOB")

    def __init__(
        self, location: str, *, writes: bool, durability: Durability, shares: bool = False
    ) -> None:
        self.location, self._shares = location, shares
        self._path = Path(location).resolve()
        self._wal = f"{self._path}-wal"
        self._writes, self._durability = writes, durability
        self._lock: sqlite3.Connection | None = None
        self._connection: sqlite3.Connection | None = None
        self._wal_identity: tuple[int, int] | None = None
        self._file_identity: tuple[int, int] | None = None
        self._version: int | None = None
        self._end = Path(f"{self._path}-end")
        self._note: tuple[bytes, IO[bytes]] | None = None
        self.contents = Contents(self)
        self._process = os.getpid()
        _STORAGES.add(self)

    def open(self, previous: Any = None) -> None:
        try:
            if self._writes:
                if self._shares:
                    self._check_exists()
                else:
                    self._take_the_lock()
                self._connect_to_write()
            else:
                self._connect_to_read()
        except BaseException as problem:
            self.close()
            if isinstance(problem, _FAILED):
                raise _explain(problem, self.location) from problem
            raise

    def __repr__(self) -> str:
        return f"SQLiteStorage({self.location!r})"

    def begin(self, question: str = "", *, anyway: bool = True) -> list[Any] | None:
        self.execute("BEGIN IMMEDIATE")
        if self._identify_wal() != self._wal_identity:
            raise LogError(
                f"{self.location}: another program has deleted or replaced the write-ahead log; "
                "call again to continue with what is there now"
            )
        try:
            file = os.stat(self._path)  # noqa: PTH116
        except FileNotFoundError:
            raise LogError(f"{self.location}: the log was deleted or moved; put it back") from None
        if (file.st_dev, file.st_ino) != self._file_identity:
            raise LogError(f"{self.location}: another file has taken the place of this log")
        if file.st_nlink > 1:
            raise _linked(self.location)
        # SQLite counts the commits of other connections; without any there is nothing to ask.
        version = self.execute("PRAGMA data_version")[0][0]
        if not question or (version == self._version and not anyway):
            return None
        self._version = version
        return self.execute(question)

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        try:
            return self._usable().execute(sql, parameters).fetchall()
        except _FAILED as problem:
            raise _explain(problem, self.location) from problem

    def execute_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        try:
            self._usable().executemany(sql, rows)
        except _FAILED as problem:
            raise _explain(problem, self.location) from problem

    def insert(self, table: str, columns: tuple[str, ...], rows: Sequence[Sequence[Any]]) -> None:
        if len(rows) == 1:
            self.execute(insertion(table, columns), rows[0])
        else:
            self.execute_many(insertion(table, columns), rows)

    def has_table(self, name: str) -> bool:
        return name in self._tables()

    def has_log(self) -> bool:
        return self.has_table("graphcb_log")

    def find_damage(self) -> list[str]:
        """What `PRAGMA integrity_check` finds: pages, and whether indices and tables agree."""
        return [text for (text,) in self.execute("PRAGMA integrity_check") if text != "ok"]

    def back_up_to(self, path: Path) -> None:
        """Copy the log as it is now to a new file, by SQLite's online backup."""
        try:
            _keep_private(path)
            with closing(sqlite3.connect(path)) as target:
                self._usable().backup(target)
        except _FAILED as problem:
            raise _explain(problem, f"{self.location} to {path}") from problem

    def commit(self, name: str, position: int) -> None:
        """Commit, and note the last event in the file `...-end`, if the disk takes it."""
        self.execute("COMMIT")
        with suppress(OSError):
            if self._note is None:
                _keep_private(self._end)
                self._note = head(name, self._durability), self._end.open("wb", buffering=0)
            begin, file = self._note
            if begin:
                body = begin + position.to_bytes(8, "little")
                os.pwrite(file.fileno(), body + zlib.crc32(body).to_bytes(4, "little"), 0)

    def scrub(self) -> str:
        """Move the write-ahead log into the file and empty it; deleted rows are zeros there."""
        self.execute(f"PRAGMA busy_timeout = {1000 * AT_ONCE:.0f}")  # others wait meanwhile
        try:
            busy = self.execute("PRAGMA wal_checkpoint(TRUNCATE)")[0][0]
        finally:
            self.execute(f"PRAGMA busy_timeout = {1000 * PATIENCE:.0f}")
        if not busy:
            return ""
        return (
            f"{self._wal} still has what was removed, as another program reads the log: it goes "
            "when the policy is closed after all readers"
        )

    def noted_end(self) -> NotedEnd | None:
        return read_noted_end(self._end)

    def close(self) -> None:
        """Close the file, then release the writer's lock; a forked child leaves both alone."""
        if self._process != os.getpid():
            return
        wal, self._wal_identity = self._wal_identity, None
        is_whole = wal is not None and wal == self._identify_wal()
        if self._connection is not None:
            self._connection.close()
        # The last one to close moves the write-ahead log into the file, which then holds all.
        # What was noted stays true, and may be that of a writer that has just come.
        if is_whole and not self._shares and self._identify_wal() is None:
            self._forget_end()
        if self._note is not None:
            self._note[1].close()
        if self._lock is not None:
            self._lock.close()

    def leak(self) -> None:
        """Never close in this process, not even as garbage.

        To be called in a forked child, where a lock inside SQLite may be held for good by a
        thread that exists in the parent alone.
        """
        for connection in (self._connection, self._lock):
            if connection is not None:
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))

    def _usable(self) -> sqlite3.Connection:
        if self._process != os.getpid():
            raise another_process(self._process, self.location)
        if self._connection is None:
            raise LogError(f"{self.location}: this log is closed")
        return self._connection

    def _take_the_lock(self) -> None:
        beside = self._path.with_name(f"{self._path.name}-writer")
        _keep_private(beside)
        self._lock = sqlite3.connect(
            beside, isolation_level=None, check_same_thread=False, timeout=0.0
        )
        try:
            self._lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as problem:
            if not problem.sqlite_errorname.startswith("SQLITE_BUSY"):
                raise
            raise LogError(
                f"{self.location}: another policy is writing to this log, and a log has one "
                "writer; give feedback beside it with graphcb.Inbox, read with DecisionLog, or "
                "stop that one to decide here"
            ) from None

    def _connect_to_write(self) -> None:
        if not self._path.exists():
            self._forget_end()  # of a log that was removed
            _keep_private(self._path)
        elif self._path.stat().st_nlink > 1:
            raise _linked(self.location)
        elif self.noted_end() is not None:
            self._check_end()
        self._connection = connection = sqlite3.connect(
            self._path, isolation_level=None, check_same_thread=False, timeout=PATIENCE
        )
        tables = self._tables()
        if tables and "graphcb_log" not in tables:
            raise FileError(
                f"{self.location}: a SQLite file that is not a log, with the tables "
                f"{listed(sorted(tables), at_most=5)}; a log needs its own file"
            )
        connection.execute("PRAGMA journal_mode=WAL")
        synchronous = "FULL" if self._durability == "power-loss" else "NORMAL"
        connection.execute(f"PRAGMA synchronous={synchronous}")
        connection.execute("PRAGMA secure_delete=ON")  # what is removed is overwritten
        connection.execute("PRAGMA fullfsync=ON")  # on macOS, where fsync alone is not enough
        _check_writable(connection)
        self._tables()  # reading opens the write-ahead log
        self._wal_identity = self._identify_wal()
        file = self._path.stat()
        self._file_identity = file.st_dev, file.st_ino

    def _check_end(self) -> None:
        """Refuse a log without its tail, read by a connection that leaves its files alone.

        One that writes would delete the write-ahead log, damaged as it is, when it is closed.
        """
        reader = SQLiteStorage(self.location, writes=False, durability=self._durability)
        try:
            reader.open()
            check_end(reader)
        finally:
            reader.close()

    def _forget_end(self) -> None:
        with suppress(OSError):
            self._end.unlink(missing_ok=True)

    def _check_exists(self) -> None:
        if not self._path.is_file():
            raise FileNotFoundError(f"a log must be a file that exists, got {self.location!r}")

    def _connect_to_read(self) -> None:
        self._check_exists()
        try:
            self._open_to_read("mode=ro")
        except sqlite3.OperationalError:
            # In a read-only folder there is no place for the readers' shared memory. If there is
            # no write-ahead log either, no one is writing, and the file can be read as it is.
            if self._identify_wal() is not None:
                raise
            self._open_to_read("immutable=1")

    def _open_to_read(self, how: str) -> None:
        self.close()
        self._connection = sqlite3.connect(
            f"{self._path.as_uri()}?{how}", uri=True, isolation_level=None, check_same_thread=False
        )
        self._connection.execute("SELECT name FROM sqlite_master").fetchall()

    def _tables(self) -> set[str]:
        return {name for (name,) in self.execute("SELECT name FROM sqlite_master")}

    def _identify_wal(self) -> tuple[int, int] | None:
        """What distinguishes the write-ahead log from any other file, if it is there."""
        try:
            status = os.stat(self._wal)  # noqa: PTH116  # half the time of Path.stat
        except FileNotFoundError:
            return None
        return status.st_dev, status.st_ino


_STORAGES: "weakref.WeakSet[SQLiteStorage]" = weakref.WeakSet()


def _leak_in_child() -> None:
    for storage in list(_STORAGES):
        storage.leak()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leak_in_child)


def _check_writable(connection: sqlite3.Connection) -> None:
    """Write something, and take it back.

    Where the disk failed for a moment, SQLite has opened the file for reading alone, and says so
    at the first write, not when a transaction begins.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute("PRAGMA user_version=0")  # which is what it is
    finally:
        connection.execute("ROLLBACK")


def _linked(location: str) -> LogError:
    """By another name, the file would have another lock and another write-ahead log."""
    return LogError(
        f"{location}: the file must have one name, got one with hard links; remove the other names"
    )


def _explain(problem: Exception, location: str) -> Exception:
    name = getattr(problem, "sqlite_errorname", "")
    if name.startswith(_DAMAGED) or isinstance(problem, UnicodeDecodeError):
        return FileError(f"{location}: not a decision log, or damaged: {problem}")
    if any(text in str(problem) for text in _ALSO_DAMAGED):
        return FileError(f"{location}: damaged: {problem}")
    for begin, remedy in _REMEDIES.items():
        if name.startswith(begin):
            return LogError(f"{location}: {remedy} ({problem})")
    return LogError(f"{location}: {problem}")
