"""Where the logs of the campaign are: SQLite files in memory, or a PostgreSQL server of our own.

A fault of the campaign ends processes, not the machine, so that nothing has to reach a disk.
"""

import itertools
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from faults.server import Server

MEMORY = Path("/dev/shm")


class Place(Protocol):
    """Gives locations of new logs; `part` is in the path of every file or socket of a log."""

    part: str

    def new(self) -> str:
        """The location of a log that does not exist yet."""
        ...

    def remove(self, location: str) -> None:
        """Delete a log."""
        ...


@contextmanager
def folder() -> Iterator[Path]:
    """A folder that lasts as long as the block, in memory if that is possible."""
    where = MEMORY if os.access(MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="graphcb-faults-", dir=where) as name:
        yield Path(name)


class SQLitePlace:
    """Files in one folder."""

    part = "graphcb-faults-"

    def __init__(self, path: Path) -> None:
        self.path, self._numbers = path, itertools.count()

    def new(self) -> str:
        return str(self.path / f"{os.getpid()}-{next(self._numbers)}.db")

    def remove(self, location: str) -> None:
        for file in self.path.glob(f"{Path(location).name}*"):
            file.unlink()


class PostgreSQLPlace:
    """Schemas of one server."""

    part = "socket:"

    def __init__(self, server: Server) -> None:
        self.server, self._numbers = server, itertools.count()
        self.newest = ""

    def new(self) -> str:
        self.newest = self.server.url(f"s{os.getpid()}_{next(self._numbers)}")
        return self.newest

    def remove(self, location: str) -> None:
        schema = location.rpartition("search_path%3D")[2]
        self.server.execute(f"DROP SCHEMA {schema} CASCADE")


@contextmanager
def place(backend: str) -> Iterator[SQLitePlace | PostgreSQLPlace]:
    """A place for logs of one backend, "SQLite" or "PostgreSQL"."""
    with folder() as path:
        if backend == "SQLite":
            yield SQLitePlace(path)
            return
        import psycopg  # noqa: F401  # known to the children

        server = Server(path, "fsync=off", "max_connections=50", "shared_buffers=16MB")
        try:
            yield PostgreSQLPlace(server)
        finally:
            server.stop()
