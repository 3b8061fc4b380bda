"""What a log needs of a database: statements, transactions, and one kind of error."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol
from urllib.parse import unquote

if TYPE_CHECKING:
    from graphcb.decisions.noted_end import NotedEnd
    from graphcb.decisions.stored_contents import Contents

# user, password, hosts with their ports and the database, parameters
_HOST = r"(?:[^/?@:,\[\]]*|\[[^/?@]*\])(?::\d*)?"
_ADDRESS = re.compile(
    rf"(?:([^:/?]*)(?::(?P<password>[^/]*))?@)?(?P<host>{_HOST}(?:,{_HOST})*(?:/[^?@]*)?)"
    r"(?:\?(?P<parameters>.*))?",
    re.S,
)

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
    interrupted. If `is_shared`, processes on any machine may write at the same time.
    """

    is_shared: bool
    location: str
    types: ColumnTypes
    contents: "Contents"

    def open(self, previous: Any = None) -> None:
        """Connect, and take the writer's lock if it is to be written.

        `previous` is the storage that this one replaces after an error, and which is closed.
        """
        ...

    def begin(self, question: str = "", *, anyway: bool = True) -> list[Any] | None:
        """Begin a transaction, and return the rows that answer a question asked in it.

        Unless it is to be asked anyway, None stands for an answer that no other connection can
        have changed since the last time.
        """
        ...

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Run one statement and return its rows."""
        ...

    def execute_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run one statement for each row of parameters."""
        ...

    def insert(self, table: str, columns: tuple[str, ...], rows: Sequence[Sequence[Any]]) -> None:
        """Add rows to a table."""
        ...

    def has_table(self, name: str) -> bool:
        """Whether there is a table of this name, beside those of the log or among them."""
        ...

    def has_log(self) -> bool:
        """Whether the tables of a log exist."""
        ...

    def find_damage(self) -> list[str]:
        """What the database's own check of its files finds."""
        ...

    def commit(self, name: str, position: int) -> None:
        """Commit; the log `name` ends at event `position` then, which is noted outside of it."""
        ...

    def scrub(self) -> str:
        """Overwrite what deleted rows have left on disk; what could not be done, "" if nothing."""
        ...

    def noted_end(self) -> "NotedEnd | None":
        """The event that was noted last, if that can be known."""
        ...

    def close(self) -> None:
        """Close the connection and release the writer's lock; may be called again."""
        ...


@lru_cache
def insertion(table: str, columns: tuple[str, ...]) -> str:
    """The statement that adds a row."""
    marks = ", ".join("?" for _ in columns)
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"


def interruption(problem: BaseException, before: BaseException | None) -> BaseException | None:
    """The Ctrl-C that another error has taken the place of, as psycopg's may while it cleans up.

    `before` is what was handled when the call began: an interrupt from then is none of this one.
    """
    found = problem.__cause__ or problem.__context__
    while found is not None and found is not before:
        if not isinstance(found, Exception):
            return found
        found = found.__cause__ or found.__context__
    return None


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


def new_storage(
    location: str, *, writes: bool, durability: Durability = "power-loss", shares: bool = False
) -> Storage:
    """A SQLite file or a PostgreSQL URL, for the one writer or for a reader; not open yet.

    With `shares`, for one that writes beside the one writer.
    """
    if durability not in ("power-loss", "process-kill"):
        raise ValueError(f'`durability` must be "power-loss" or "process-kill", got {durability!r}')
    if location == ":memory:":
        raise ValueError(
            "a log must be a file, got ':memory:'; a log outlives its process, and a file in "
            "tempfile.mkdtemp() is one that need not"
        )
    if is_url(location):
        try:
            from graphcb.decisions.postgresql import PostgreSQLStorage
        except ModuleNotFoundError:
            raise LogError(
                "a log in PostgreSQL needs psycopg: pip install 'graphcb[postgres]'"
            ) from None

        return PostgreSQLStorage(location, writes=writes, durability=durability, shares=shares)
    if "://" in location or is_garbled(location):
        raise ValueError(
            "a log must be a file or a URL postgresql://user@host/database, "
            f"got {without_password(location)!r}"
        )
    from graphcb.decisions.sqlite import SQLiteStorage

    return SQLiteStorage(location, writes=writes, durability=durability, shares=shares)


def is_url(location: str) -> bool:
    """Whether a log is in PostgreSQL."""
    return location.startswith(("postgresql://", "postgres://"))


def open_storage(location: str, *, writes: bool, durability: Durability = "power-loss") -> Storage:
    """`new_storage`, opened."""
    storage = new_storage(location, writes=writes, durability=durability)
    storage.open()
    return storage


def another_process(process: int, location: str) -> LogError:
    """The error after a fork: parent and child would answer for each other."""
    return LogError(
        f"{location}: this was opened by and belongs to process {process}, not to this one, "
        f"{os.getpid()}; a log has one writer: open it after the fork"
    )


def is_well_formed(location: str) -> bool:
    """Whether it is clear which part of an address may be a password."""
    return _ADDRESS.fullmatch(location.partition("://")[2]) is not None


def without_password(location: str) -> str:
    """A location as it may be shown: without the password and the parameters.

    >>> without_password("postgresql://me:secret@host/decisions?password=secret@home")
    'postgresql://me@host/decisions'
    """
    scheme, separator, rest = location.partition("://")
    if is_garbled(location):
        return f"{re.split('[:/=]', location)[0]}..."
    if not separator:
        return location
    parts = _ADDRESS.fullmatch(rest)
    if parts is None:  # such as a "/" in the password: show nothing that might belong to it
        return f"{scheme}://{re.split('[:/?@]', rest)[0]}"
    return f"{scheme}://{'' if parts[1] is None else parts[1] + '@'}{parts['host']}"


def is_garbled(location: str) -> bool:
    """Whether a location looks like an address that was mistyped, and not like a file.

    Such as one with a single slash, or the words of a connection string.

    >>> is_garbled("postgresql:/me:secret@host"), is_garbled("postgres.db")
    (True, False)
    """
    if re.match(r"postgres\w*://", location, re.I):
        return False
    return bool(
        re.match(r"postgres\w*(\+\w+)?[:/]+.*@", location, re.I | re.S)
        or (
            re.search(r"(^|[\s?&;])\w*(password|passwd|pwd)\s*=", location, re.I)
            and "://" not in location
        )
    )


def scrubbed(text: object, location: str) -> str:
    """What a database says, unless it repeats a part of the address that may not be shown.

    >>> scrubbed('invalid port number: "secret"', "postgresql://me:secret")
    'its answer is not shown, as it repeats a part of the address'
    >>> scrubbed("connection refused", "postgresql://me:secret@host")
    'connection refused'
    >>> scrubbed("no such host", "postgresql://me@host/decisions")
    'no such host'
    """
    said, hidden = str(text), _hidden(location)
    pieces = {piece for part in (hidden, unquote(hidden)) for piece in _pieces(part)}
    if any(piece in said for piece in pieces):
        return "its answer is not shown, as it repeats a part of the address"
    return said


def _hidden(location: str) -> str:
    """The part of a location that may belong to a password."""
    _, separator, rest = location.partition("://")
    if not separator:
        return location if is_garbled(location) else ""
    parts = _ADDRESS.fullmatch(rest)
    if parts is None:
        return rest[len(re.split("[:/?@]", rest)[0]) :]
    secrets = [parts["password"] or ""]
    for pair in (parts["parameters"] or "").split("&"):
        key, equals, value = pair.partition("=")
        if not equals or "pass" in key.lower() or "@" in value:
            secrets.append(value if equals else key)
    return " ".join(secrets)


def _pieces(text: str) -> list[str]:
    """The pieces of a text into which a database may cut it."""
    return [piece for piece in {text.strip(), *re.split(r"[\s:/?@&=%]+", text)} if piece]
