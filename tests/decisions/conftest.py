"""Logs of each kind."""

import itertools
import secrets

import pytest


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def new_log(request, tmp_path):
    """A function that gives the location of a new log, of each kind in turn."""
    if request.param == "sqlite":
        names = (tmp_path / f"{number}.db" for number in itertools.count())
        return lambda: str(next(names))
    running = request.getfixturevalue("server")
    return lambda: running.url(f"s{secrets.token_hex(6)}")
