"""What a log needs of a database: statements, transactions, and one kind of error."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Literal, NamedTuple, Protocol

Durability = Literal["power-loss", "process-kill"]


class LogError(OSError):
    """The database refused: it is full, read-only, out of reach, or has another writer."""


class ColumnTypes(NamedTuple):
    """A database's names for whole numbers, real numbers and bytes."""

    whole: str
    real: str
    bytes: str


class Storage(Protocol):
    """A connection to the database of one log. SQL is written with `?` for parameters.

    It is made first and opened later, so that its maker can close it whenever the opening is
    interrupted. `format` is that of the tables, once it is known.
    """

    location: str
    types: ColumnTypes
    format: int

    def open(self, previous: Any = None) -> None:
        """Connect, and take the writer's lock if it is to be written.

        `previous` is the storage that this one replaces after an error, and which is closed.
        """
        ...

    def begin(self, question: str = "") -> list[Any]:
        """Begin a transaction, and return the rows that answer a question asked in it."""
        ...

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Run one statement and return its rows."""
        ...

    def execute_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run one statement for each row of parameters."""
        ...

    def has_log(self) -> bool:
        """Whether the tables of a log exist."""
        ...

    def find_damage(self) -> list[str]:
        """What the database's own check of its files finds."""
        ...

    def close(self) -> None:
        """Close the connection and release the writer's lock; may be called again."""
        ...


@contextmanager
def transaction(storage: Storage) -> Iterator[None]:
    """All or nothing: durable when the block has ended, rolled back if it raises."""
    storage.begin()
    try:
        yield
        storage.execute("COMMIT")
    except BaseException:
        with suppress(LogError, ValueError):
            storage.execute("ROLLBACK")
        raise


def new_storage(location: str, *, writes: bool, durability: Durability = "power-loss") -> Storage:
    """A SQLite file or a PostgreSQL URL, for the one writer or for a reader; not open yet."""
    if durability not in ("power-loss", "process-kill"):
        raise ValueError(f'`durability` must be "power-loss" or "process-kill", got {durability!r}')
    if location.startswith(("postgresql://", "postgres://")):
        from graphcb.decisions.postgresql import PostgreSQLStorage

        return PostgreSQLStorage(location, writes=writes, durability=durability)
    if "://" in location:
        raise ValueError(
            "a log must be a file or a URL postgresql://user@host/database, "
            f"got {without_password(location)!r}"
        )
    from graphcb.decisions.sqlite import SQLiteStorage

    return SQLiteStorage(location, writes=writes, durability=durability)


def open_storage(location: str, *, writes: bool, durability: Durability = "power-loss") -> Storage:
    """`new_storage`, opened."""
    storage = new_storage(location, writes=writes, durability=durability)
    storage.open()
    return storage


def check_process(process: int, location: str) -> None:
    """Refuse what was opened before a fork: parent and child would answer for each other."""
    if process != os.getpid():
        raise LogError(
            f"{location}: this was opened by and belongs to process {process}, not to this one, "
            f"{os.getpid()}; a log has one writer: open it after the fork"
        )


_ADDRESS = re.compile(r"(?:([^:/?]*)(?::[^/]*)?@)?([^/?@]*(?:/[^?@]*)?)(?:\?.*)?", re.DOTALL)


def is_well_formed(location: str) -> bool:
    """Whether it is clear which part of an address may be a password."""
    return _ADDRESS.fullmatch(location.partition("://")[2]) is not None


def without_password(location: str) -> str:
    """A location as it may be shown: without the password and the parameters.

    >>> without_password("postgresql://me:secret@host/decisions?password=secret@home")
    'postgresql://me@host/decisions'
    """
    scheme, separator, rest = location.partition("://")
    if not separator:
        return location
    parts = _ADDRESS.fullmatch(rest)
    if parts is None:  # such as a "/" in the password: show nothing that might belong to it
        return f"{scheme}://{re.split('[:/?@]', rest)[0]}"
    return f"{scheme}://{'' if parts[1] is None else parts[1] + '@'}{parts[2]}"
