"""Promises against schedules of everything that may happen; `make bench-faults` plays thousands."""

from pathlib import Path

import pytest


@pytest.fixture
def promises(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    from faults import promises

    return promises


def test_no_schedule_breaks_a_promise(promises):
    promises.play(25, 7)


def test_a_budget_that_a_version_forgets_is_found(promises, monkeypatch):
    from graphcb.problems import succession

    monkeypatch.setattr(succession, "_accounts", lambda _: [])
    with pytest.raises(Exception, match="spent"):
        promises.play(100, 7, minimises=False)
