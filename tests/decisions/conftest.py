"""A PostgreSQL server of our own on loopback, for as long as a test session needs it."""

import itertools
import secrets
import sys
import tempfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from faults.server import Server, why_not


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """One server a test process; skipped by name where Debian's `postgresql` is not installed."""
    if (reason := why_not()) is not None:
        pytest.skip(reason)
    pytest.importorskip("psycopg", reason="needs the extra `postgres`")
    # Not below pytest's own folder, which no other user may enter.
    with tempfile.TemporaryDirectory(prefix="graphcb-postgresql-") as folder:
        running = Server(Path(folder))
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
