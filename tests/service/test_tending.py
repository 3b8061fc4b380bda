"""Old decisions are removed a few at a time, however long each transaction took."""

import asyncio
import itertools
import time
from types import SimpleNamespace

import pytest

pytest.importorskip("msgspec", reason="needs the extra `serve`")

from graphcb import Policy, Problem
from graphcb.decisions import pruning as pruning_room
from graphcb.decisions.pruning import Pruning
from graphcb.service import tending


def test_few_requests_meet_a_slice_until_the_removal_has_to_hurry(monkeypatch):
    """And one that was slow does not put off the next for long."""
    slept, left = [], [30.0, 0.005, 0.0, 1770.0, 0.001, 0.05]
    now = [0.0]

    async def ask(job, *, is_long):
        now[0] += left.pop(0)  # as one that waits for a compiler does
        return not left

    async def sleep(seconds):
        slept.append(seconds)

    monkeypatch.setattr(tending.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(tending.asyncio, "sleep", sleep)
    asyncio.run(tending.prune(SimpleNamespace(ask=ask), 0.0))
    assert slept == pytest.approx([1.0, 0.5, 0.1, 0.25, 0.1, 0.2])


def test_a_slice_deletes_so_many_at_most(tmp_path, monkeypatch):
    monkeypatch.setattr(pruning_room, "MOST", 100)
    with Policy(tmp_path / "log.db", problem=Problem(["a", "b"])) as policy:
        policy.decide_many([None] * 1000)
        pruning, is_done, removed = Pruning(time.time() + 1e6), False, [0]
        while not is_done:
            with policy.together() as together:
                is_done = together.prune_some(pruning, seconds=60.0)
            removed.append(pruning.done.n_decisions)
    assert removed[-1] == 1000
    assert max(b - a for a, b in itertools.pairwise(removed)) == 100
