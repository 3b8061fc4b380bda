"""A PostgreSQL server that cuts, cancels, times out, falls silent, fills up, and dies.

Most faults happen after the n-th byte that passes between policy and server, in either direction:
the connection is cut, what is sent on it is dropped from then on, the session is terminated, its
statement cancelled, its process or the whole server killed. Others are before the call: a table
that somebody else has locked, a session that was idle for too long, a disk that is full (a trigger
raises that error, at the INSERT or at the COMMIT). A call fails with a `LogError`; `session.py`
says what must hold afterwards.
"""

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from faults import plants
from faults.places import PostgreSQLPlace, folder
from faults.proxy import PASSES, Proxy
from faults.server import Server
from faults.session import Session, cases
from faults.tally import Finding, Plant, Row, in_children
from graphcb.decisions import LogError, postgresql

GOLDEN = 0.6180339887498949
PLANTS = {
    "a commit that is taken for granted": Plant(plants.swallow_errors, "disk full"),
    "a connection that is not opened again": Plant(plants.keep_connection, "connection cut"),
    "a dropped commit": Plant(plants.drop_commits, "connection cut"),
}
TABLES = (
    "graphcb_decisions",
    "graphcb_feedbacks",
    "graphcb_versions",
    "graphcb_graphs",
    "graphcb_checkpoints",
)
END_OTHERS = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"""
FULL = """CREATE FUNCTION public.disk_is_full() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'no space left on device' USING ERRCODE = '53100'; END $$"""


def run(n: int, seed: int, plant: str | None = None) -> Iterator[Row]:
    with folder() as path:
        settings = "fsync=off", "max_connections=50", "restart_after_crash=on"
        server = Server(path, *settings, "log_min_messages=fatal", "autovacuum=off")
        server.execute(FULL)
        try:
            yield from all_rows(server, n, seed, plant)
        finally:
            server.stop()


def all_rows(server: Server, n: int, seed: int, plant: str | None) -> Iterator[Row]:
    shares: list[tuple[str, float, Saboteurs]] = [
        ("connection cut", 0.35, lambda: Wire(server, "cut")),
        ("session terminated", 0.2, lambda: Wire(server, "terminate")),
        ("statement cancelled", 0.2, lambda: Wire(server, "cancel")),
        ("session's process killed", 0.02, lambda: Wire(server, "kill session")),
        ("server killed and restarted", 0.02, lambda: Wire(server, "kill server")),
        ("server stopped at once", 0.02, lambda: Wire(server, "stop server")),
        ("packets dropped", 0.01, lambda: Wire(server, "drop", "%20-cstatement_timeout%3D1s")),
        ("tables locked", 0.05, lambda: Locked(server)),
        ("session idle for too long", 0.03, lambda: Idle(server)),
        ("disk full", 0.11, lambda: Full(server)),
    ]
    for name, share, build in shares:
        saboteur, row, enough = build(), Row(f"{name}, PostgreSQL"), max(2, round(share * n))
        play = Session(saboteur.place, saboteur, seed, n_calls=5 if enough < 30 else 24).play
        planted = PLANTS[plant] if plant else None
        yield in_children(row, cases(seed), play, enough=enough, plant=planted, patience=60.0)
        if isinstance(saboteur, Wire):
            saboteur.proxy.close()


class Wired(PostgreSQLPlace):
    """Schemas of a server that are reached through a proxy, or with other settings."""

    def __init__(self, server: Server, port: int, settings: str = "") -> None:
        super().__init__(server)
        self._port, self._settings = port, settings

    def new(self) -> str:
        return super().new().replace(f":{self.server.port}/", f":{self._port}/") + self._settings

    def remove(self, location: str) -> None:
        """Delete a log whose policies are closed; a session that the network lost still has locks.

        The next writer would end it. The server does so after 30 s, and never in half a message.
        """
        self.server.execute(END_OTHERS)
        super().remove(location.removesuffix(self._settings))


class Wire:
    """Harm after the n-th byte."""

    last: str | None = None

    def __init__(self, server: Server, harm: str, settings: str = "") -> None:
        self.server, self.harm = server, harm
        if harm == "drop":
            postgresql.LONGER = 0.5  # as each of these faults waits for so long
        self.bytes: dict[tuple[str, int], int] = {}  # of each kind of call, in each direction
        self.proxy = Proxy(server.port, [self._harm])
        self.place = Wired(server, self.proxy.port, settings)

    def attack(self, kind: str, work: Callable[[], Any], rng: random.Random, number: int) -> Any:
        direction = rng.randrange(2)
        if (kind, 0) not in self.bytes:
            self.last, before = None, self.proxy.counted()
            answer = work()
            for way, (first, second) in enumerate(zip(before, self.proxy.counted(), strict=True)):
                self.bytes[kind, way] = second - first
            return answer
        n = int(self.bytes[kind, direction] * (number * GOLDEN % 1.0))
        self.proxy.arm(direction, n, {"cut": 0, "drop": -1}.get(self.harm, 1))
        try:
            return work()
        except LogError:
            return None
        finally:
            harmed = self.proxy.disarm()
            self.proxy.behave(PASSES)
            self.last = f"{self.harm} at byte {n} to the {('server', 'client')[direction]}"
            self.last = self.last if harmed else None
            if harmed and self.harm not in ("cut", "drop"):
                wait_for(self.server, restart="server" in self.harm)

    def _harm(self, port: int) -> None:
        """In the process of the proxy: do it to the session that comes from this port."""
        if self.harm == "kill server":
            self.server.kill()
        elif self.harm == "stop server":
            self.server.stop()
        else:
            import psycopg

            with psycopg.connect(self.server.base, autocommit=True) as admin:
                find = "SELECT pid FROM pg_stat_activity WHERE client_port = %s"
                for (pid,) in admin.execute(find, (port,)).fetchall():
                    if self.harm == "kill session":
                        os.kill(pid, signal.SIGKILL)
                    else:
                        admin.execute(f"SELECT pg_{self.harm}_backend(%s)".encode(), (pid,))
        time.sleep(0.002)


def wait_for(server: Server, *, restart: bool) -> None:
    """Until the server takes connections again; start it if it was ended."""
    end = time.monotonic() + 30.0
    while time.monotonic() < end:
        try:
            server.execute("SELECT 1")
            return
        except Exception:
            if restart:
                with suppress(subprocess.CalledProcessError):
                    server.start()
            time.sleep(0.05)
    raise Finding("crashed", "the server itself did not come back")


class Locked:
    """Somebody else holds a table while a call runs."""

    last: str | None = None

    def __init__(self, server: Server) -> None:
        self.place = Wired(
            server, server.port, "%20-clock_timeout%3D20%20-cstatement_timeout%3D20s"
        )

    def attack(self, kind: str, work: Callable[[], Any], rng: random.Random, number: int) -> Any:
        table, self.last = rng.choice(TABLES), None
        if kind in ("create", "open"):
            return work()
        with other_session(self.place) as other, other.transaction():
            mode = rng.choice(("ACCESS EXCLUSIVE", "EXCLUSIVE"))
            other.execute(f"LOCK TABLE {table} IN {mode} MODE".encode())
            self.last = f"{table} locked"
            try:
                return work()
            except LogError:
                return None


class Full:
    """Every INSERT into a table says that the disk is full, or every COMMIT after one."""

    last: str | None = None

    def __init__(self, server: Server) -> None:
        self.place = Wired(server, server.port)

    def attack(self, kind: str, work: Callable[[], Any], rng: random.Random, number: int) -> Any:
        table, self.last = rng.choice(TABLES), None
        if kind in ("create", "open"):
            return work()
        late = rng.random() < 0.5
        begin = "CONSTRAINT TRIGGER full_disk AFTER" if late else "TRIGGER full_disk BEFORE"
        defer = "DEFERRABLE INITIALLY DEFERRED " if late else ""
        run = "FOR EACH ROW EXECUTE FUNCTION public.disk_is_full()"
        with other_session(self.place) as other:
            other.execute(f"CREATE {begin} INSERT ON {table} {defer}{run}".encode())
            try:
                return work()
            except LogError:
                self.last = f"disk full at {table}, {'COMMIT' if late else 'INSERT'}"
                return None
            finally:
                other.execute(f"DROP TRIGGER full_disk ON {table}".encode())


class Idle:
    """The server ends the session before the call."""

    last: str | None = None

    def __init__(self, server: Server) -> None:
        self.place = Wired(server, server.port, "%20-cidle_session_timeout%3D400")

    def attack(self, kind: str, work: Callable[[], Any], rng: random.Random, number: int) -> Any:
        self.last = None
        if kind not in ("create", "open") and rng.random() < 0.3:
            time.sleep(0.45)
            self.last = "idle for 0.45 s"
        try:
            return work()
        except LogError:
            return None


Saboteurs = Callable[[], Wire | Locked | Full | Idle]


@contextmanager
def other_session(place: Wired) -> Iterator[Any]:
    """A connection in the schema of the newest log."""
    import psycopg

    with psycopg.connect(place.newest, autocommit=True) as connection:
        yield connection
