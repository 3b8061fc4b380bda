"""A PostgreSQL server of our own on loopback, for as long as a test session needs it."""

import itertools
import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest


def find_binaries() -> Path | None:
    """The newest installed server's folder: the path, or where Debian keeps it."""
    on_path = shutil.which("initdb")
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=_version)
    if on_path:
        found.append(Path(on_path).resolve())
    return found[-1].parent if found else None


def _version(path: Path) -> int:
    name = path.parts[-3]
    return int(name) if name.isdigit() else 0


def has_user() -> bool:
    try:
        pwd.getpwnam("postgres")
    except KeyError:
        return False
    return True


class Server:
    """`postgres` on a free port of 127.0.0.1; never as root, which it refuses."""

    def __init__(self, binaries: Path, folder: Path) -> None:
        self.binaries, self.folder = binaries, folder
        self.user = "postgres" if os.geteuid() == 0 else None
        if self.user:
            account = pwd.getpwnam(self.user)
            os.chown(folder, account.pw_uid, account.pw_gid)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        data = str(folder / "data")
        self._run("initdb", "-D", data, "-U", "graphcb", "--auth=trust", "--no-sync")
        options = f"-h 127.0.0.1 -p {self.port} -k {folder}"
        self._run("pg_ctl", "-D", data, "-w", "-l", str(folder / "log"), "-o", options, "start")

    def url(self, schema: str) -> str:
        """An empty schema of its own for each test."""
        import psycopg

        with psycopg.connect(self.base, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {schema}".encode())
        return f"{self.base}?options=-csearch_path%3D{schema}"

    @property
    def base(self) -> str:
        return f"postgresql://graphcb@127.0.0.1:{self.port}/postgres"

    def stop(self) -> None:
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-m", "immediate", "-w", "stop")

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [str(self.binaries / program), *arguments],
            check=True,
            user=self.user,
            group=self.user,
            extra_groups=[] if self.user else None,
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "LC_ALL": "C", "HOME": str(self.folder)},
        )


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """One server a test process; skipped by name where Debian's `postgresql` is not installed."""
    binaries = find_binaries()
    if binaries is None:
        pytest.skip("no PostgreSQL server here: install Debian's `postgresql`")
    if os.geteuid() == 0 and not has_user():
        pytest.skip("no user `postgres` here, and PostgreSQL refuses to run as root")
    pytest.importorskip("psycopg", reason="needs the extra `postgres`")
    # Not below pytest's own folder, which no other user may enter.
    with tempfile.TemporaryDirectory(prefix="graphcb-postgresql-") as folder:
        running = Server(binaries, Path(folder))
        yield running
        running.stop()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def new_log(request, tmp_path):
    """A function that gives the location of a new log, of each kind in turn."""
    if request.param == "sqlite":
        names = (tmp_path / f"{number}.db" for number in itertools.count())
        return lambda: str(next(names))
    running = request.getfixturevalue("server")
    return lambda: running.url(f"s{secrets.token_hex(6)}")
