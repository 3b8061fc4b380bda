"""What a log asks of a database, and the one error it gives when it is refused."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, NamedTuple, Protocol

Durability = Literal["power-loss", "process-kill"]


class LogError(OSError):
    """The database refused: full, read-only, written by another process, out of reach."""


class Types(NamedTuple):
    """What a database calls whole numbers, real numbers and bytes."""

    whole: str
    real: str
    bytes: str


class Storage(Protocol):
    """A connection to the database of one log. SQL is written with `?` for parameters."""

    location: str
    types: Types

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Run one statement and give its rows."""
        ...

    def execute_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run one statement for each row of parameters."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """All or nothing: durable when the block has ended, undone when it raises."""
        ...

    def has_log(self) -> bool:
        """Whether the tables of a log are there."""
        ...

    def is_usable(self) -> bool:
        """Whether it can be asked again after an error; if not it has to be opened anew."""
        ...

    def close(self) -> None:
        """Let go of the connection, and of the writer's lock."""
        ...


def open_storage(location: str, *, writes: bool, durability: Durability = "power-loss") -> Storage:
    """A PostgreSQL URL or the path of a SQLite file, for one writer or any number of readers."""
    if durability not in ("power-loss", "process-kill"):
        raise ValueError(f'`durability` must be "power-loss" or "process-kill", got {durability!r}')
    if location.startswith(("postgresql://", "postgres://")):
        from graphcb.decisions.postgresql import PostgreSQLStorage

        return PostgreSQLStorage(location, writes=writes, durability=durability)
    if "://" in location:
        raise ValueError(
            f"a log must be a file or a URL postgresql://user@host/database, got {location!r}"
        )
    from graphcb.decisions.sqlite import SQLiteStorage

    return SQLiteStorage(location, writes=writes, durability=durability)


def without_password(location: str) -> str:
    """A location as it may be shown.

    >>> without_password("postgresql://me:secret@host/decisions?options=-csearch_path%3Da")
    'postgresql://me@host/decisions'
    """
    scheme, separator, rest = location.partition("://")
    if not separator:
        return location
    user, at, host = rest.rpartition("@")
    return f"{scheme}://{user.partition(':')[0]}{at}{host.partition('?')[0]}"
