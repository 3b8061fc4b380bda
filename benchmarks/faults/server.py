"""A PostgreSQL server of our own on loopback, which may be stopped and started again."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
from contextlib import suppress
from pathlib import Path


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


def why_not() -> str | None:
    """Why there can be no server here, None if there can."""
    if find_binaries() is None:
        return "no PostgreSQL server here: install Debian's `postgresql`"
    if os.geteuid() == 0 and not _has_user():
        return "no user `postgres` here, and PostgreSQL refuses to run as root"
    return None


def _has_user() -> bool:
    try:
        pwd.getpwnam("postgres")
    except KeyError:
        return False
    return True


class Server:
    """`postgres` on a free port of 127.0.0.1; never as root, which it refuses.

    `settings` are those of postgresql.conf, such as "fsync=off".
    """

    def __init__(self, folder: Path, *settings: str) -> None:
        binaries = find_binaries()
        if binaries is None:
            raise FileNotFoundError(why_not())
        self.binaries, self.folder = binaries, folder
        self.user = "postgres" if os.geteuid() == 0 else None
        if self.user:
            account = pwd.getpwnam(self.user)
            os.chown(folder, account.pw_uid, account.pw_gid)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._data = str(folder / "data")
        more = "".join(f" -c {setting}" for setting in settings)
        self._options = f"-h 127.0.0.1 -p {self.port} -k {folder}{more}"
        self._run("initdb", "-D", self._data, "-U", "graphcb", "--auth=trust", "--no-sync")
        self.start()

    def url(self, schema: str) -> str:
        """An empty schema of its own for each test."""
        self.execute(f"CREATE SCHEMA {schema}")
        return f"{self.base}?options=-csearch_path%3D{schema}"

    def execute(self, sql: str) -> None:
        """Run one statement as the owner of the database."""
        import psycopg

        with psycopg.connect(self.base, autocommit=True) as connection:
            connection.execute(sql.encode())

    @property
    def base(self) -> str:
        return f"postgresql://graphcb@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        log = str(self.folder / "log")
        self._run("pg_ctl", "-D", self._data, "-w", "-l", log, "-o", self._options, "start")

    def stop(self, how: str = "immediate") -> None:
        """Stop with no word to those connected ("immediate"), or with one ("fast")."""
        self._run("pg_ctl", "-D", self._data, "-m", how, "-w", "stop")

    def kill(self) -> None:
        """SIGKILL to the first process; the others notice and end."""
        pid = int(Path(self._data, "postmaster.pid").read_text().split()[0])
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def _run(self, program: str, *arguments: str) -> None:
        kept = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        subprocess.run(
            [str(self.binaries / program), *arguments],
            check=True,
            user=self.user,
            group=self.user,
            extra_groups=[] if self.user else None,
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**kept, "LC_ALL": "C", "HOME": str(self.folder)},
        )
