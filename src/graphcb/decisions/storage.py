"""What a log needs of a database: statements, transactions, and one kind of error."""

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
    """A connection to the database of one log. SQL is written with `?` for parameters."""

    location: str
    types: ColumnTypes
    begin: str

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Run one statement and return its rows."""
        ...

    def execute_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run one statement for each row of parameters."""
        ...

    def has_log(self) -> bool:
        """Whether the tables of a log exist."""
        ...

    def is_usable(self) -> bool:
        """Whether it still works after an error; if not, it has to be opened again."""
        ...

    def close(self) -> None:
        """Close the connection and release the writer's lock."""
        ...


@contextmanager
def transaction(storage: Storage) -> Iterator[None]:
    """All or nothing: durable when the block has ended, rolled back if it raises."""
    storage.execute(storage.begin)
    try:
        yield
        storage.execute("COMMIT")
    except BaseException:
        with suppress(LogError, ValueError):
            storage.execute("ROLLBACK")
        raise


def open_storage(location: str, *, writes: bool, durability: Durability = "power-loss") -> Storage:
    """Open a SQLite file or a PostgreSQL URL, for the one writer or for a reader."""
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


def without_password(location: str) -> str:
    """A location as it may be shown: without the password and the parameters.

    >>> without_password("postgresql://me:secret@host/decisions?password=secret@home")
    'postgresql://me@host/decisions'
    """
    scheme, separator, rest = location.partition("://")
    if not separator:
        return location
    parts = re.fullmatch(r"(?:([^:/?]*)(?::[^/]*)?@)?([^/?@]*(?:/[^?@]*)?)(?:\?.*)?", rest)
    if parts is None:  # such as a "/" in the password: show nothing that might belong to it
        return f"{scheme}://{re.split('[:/?@]', rest)[0]}"
    return f"{scheme}://{'' if parts[1] is None else parts[1] + '@'}{parts[2]}"
