"""Several learners that share the logs of one PostgreSQL database, each in a schema of its own."""

import threading
from contextlib import suppress
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from graphcb.decisions.postgresql import SIGN_OF_LIFE, PostgreSQLStorage, end_silent, holders_of
from graphcb.decisions.storage import LogError

_KEY = "hashtextextended('graphcb learners', 0)"
_JOIN = f"SELECT pg_try_advisory_lock_shared({_KEY})"
_COUNT = f"SELECT count(DISTINCT pid) {holders_of(_KEY)}"


class Learners(threading.Thread):
    """Counts the learners that are alive in a database, this one included.

    Each holds a lock that all share, and asks for the count twice a second, which is its sign of
    life. The session of one that is silent is ended, as that of a silent writer is. The count only
    says how many logs a learner should open; who may write a log is decided by its own lock.
    """

    def __init__(self, location: str) -> None:
        super().__init__(name="graphcb-learners", daemon=True)
        self.n = 1
        self._location, self._stopped = location, threading.Event()
        self._storage: PostgreSQLStorage | None = None
        self.look()

    def look(self) -> None:
        """Count again; the count stays while the server cannot be asked."""
        try:
            if self._storage is None:
                storage = PostgreSQLStorage(
                    self._location, writes=True, durability="power-loss", shares=True
                )
                storage.open()
                self._storage = storage
                storage.execute(_JOIN)
            with suppress(LogError):  # not the right to do so
                self._storage.execute(end_silent(_KEY))
            self.n = int(self._storage.execute(_COUNT)[0][0])
        except LogError:
            self._leave()

    def run(self) -> None:
        """Count until `close`."""
        while not self._stopped.wait(SIGN_OF_LIFE):
            self.look()
        self._leave()

    def close(self) -> None:
        """Leave, so that the others share what is left."""
        self._stopped.set()
        if self.is_alive():
            self.join(timeout=5.0)

    def _leave(self) -> None:
        storage, self._storage = self._storage, None
        if storage is not None:
            storage.close()


def in_schema(location: str, schema: str) -> str:
    """The URL of a log in a schema of a database.

    >>> in_schema("postgresql://me@host/db?sslmode=require", "shop")
    'postgresql://me@host/db?sslmode=require&options=-csearch_path%3D%22shop%22'
    """
    given = parse_qsl(urlsplit(location).query, keep_blank_values=True)
    options = " ".join(value for name, value in given if name == "options")
    path = f'-csearch_path="{schema}"'
    kept = [(name, value) for name, value in given if name != "options"]
    kept.append(("options", f"{options} {path}" if options else path))
    return f"{location.partition('?')[0]}?{urlencode(kept, quote_via=quote)}"


def create_schema(location: str, schema: str) -> None:
    """Make the schema of a log if it does not exist."""
    storage = PostgreSQLStorage(location, writes=True, durability="power-loss", shares=True)
    storage.open()
    try:
        if not storage.execute("SELECT 1 FROM pg_namespace WHERE nspname = ?", (schema,)):
            storage.execute(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
    finally:
        storage.close()
