"""The process that counts for the page."""

import asyncio
import contextlib
import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest

pytest.importorskip("msgspec", reason="needs the extra `serve`")

from graphcb import Policy
from graphcb.service import watcher as watchers
from graphcb.service.errors import Refused
from graphcb.service.live_answers import ProcessShown, ServiceShown
from graphcb.service.watcher import Process, Viewer, Watcher

from .conftest import FRAUD

SHOWN = ProcessShown(1e9, 7, 3, None, [], ServiceShown("1", "agent", False, 1.0, 0, 1.0, []))


@pytest.fixture
def location(tmp_path):
    with Policy(tmp_path / "log.db", problem=FRAUD, seed=0, durability="process-kill") as policy:
        for _ in range(4):
            policy.decide({"amount": 1.0})
        yield policy.location


class Counting:
    """A worker that counts what it is asked, and waits until it may answer."""

    made = 0

    def __init__(self, location):
        type(self).made += 1
        self.asked, self.closed = 0, False
        self.may_answer = threading.Event()
        self.may_answer.set()

    def ask(self, request):
        assert self.may_answer.wait(60.0)
        self.asked += 1
        if b'"n_events":0' in request:
            raise OSError("gone")
        return b"%d" % self.asked

    def close(self):
        self.closed = True


def test_all_who_look_at_the_same_time_share_one_answer():
    watcher = Watcher("nowhere", start=Counting, pause=0.0)
    asyncio.run(watcher.look(lambda: SHOWN))
    watcher._worker.may_answer.clear()

    async def look():
        waiting = [asyncio.create_task(watcher.look(lambda: SHOWN)) for _ in range(20)]
        await asyncio.sleep(0.05)
        watcher._worker.may_answer.set()
        return await asyncio.gather(*waiting)

    assert asyncio.run(look()) == [b"2"] * 20
    assert watcher._worker.asked == 2
    watcher.close()


def test_an_answer_is_good_for_a_while():
    watcher = Watcher("nowhere", start=Counting, pause=1000.0)

    async def look():
        return [await watcher.look(lambda: SHOWN) for _ in range(3)]

    assert asyncio.run(look()) == [b"1"] * 3
    watcher.close()


def test_after_a_failure_another_worker_begins():
    watcher = Watcher("nowhere", start=Counting, pause=1000.0)
    empty = ProcessShown(1e9, 0, 0, None, [], SHOWN.service)

    async def look():
        with pytest.raises(Refused, match="the page cannot read the log at the moment"):
            await watcher.look(lambda: empty)
        return await watcher.look(lambda: SHOWN)

    before = Counting.made
    assert asyncio.run(look()) == b"1"
    assert Counting.made == before + 2
    worker = watcher._worker
    watcher.close()
    assert worker.closed


def test_nobody_waits_for_long(monkeypatch):
    monkeypatch.setattr(watchers, "PATIENCE", 0.05)
    watcher = Watcher("nowhere", start=Counting)

    async def look():
        await watcher.look(lambda: SHOWN)
        watcher._next = 0.0
        watcher._worker.may_answer.clear()
        assert await watcher.look(lambda: SHOWN) is None
        watcher._worker.may_answer.set()
        return await watcher.look(lambda: SHOWN)  # what was begun is not begun again

    assert asyncio.run(look()) == b"2"
    watcher.close()


def test_a_worker_ends_if_nobody_looks(monkeypatch):
    watcher = Watcher("nowhere", start=Counting)
    asyncio.run(watcher.look(lambda: SHOWN))
    worker = watcher._worker
    watcher.stop_if_idle()
    assert not worker.closed
    monkeypatch.setattr(watchers, "IDLE", -1.0)
    watcher.stop_if_idle()
    assert worker.closed
    watcher.close()


def is_running(pid):
    with contextlib.suppress(OSError):
        os.kill(pid, 0)
        return True
    return False


@pytest.mark.slow
def test_another_process_answers_as_this_one_does(location):
    import msgspec

    request = msgspec.json.encode(SHOWN)
    viewer, process = Viewer(location), Process(location)
    try:
        answers = [json.loads(one.ask(request)) for one in (viewer, process)]
        for one in answers:
            assert one["log"]["n_decisions"] == 4
        assert answers[0] == answers[1]
        with pytest.raises(OSError, match="DecodeError"):
            process.ask(b"{")
        pid = process._process.pid
        os.kill(pid, signal.SIGINT)  # Ctrl-C in a terminal reaches it too
        assert json.loads(process.ask(request))["log"]["n_decisions"] == 4
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(OSError, match=r"its process has ended|Broken pipe"):
            process.ask(request)
    finally:
        viewer.close()
        process.close()
    assert not is_running(pid)


@pytest.mark.slow
def test_the_process_ends_with_the_one_that_started_it(location):
    """Also if that one was killed."""
    pid = os.fork()
    if pid == 0:
        process = Process(location)
        Path(f"{location}.pid").write_text(str(process._process.pid))
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    child = int(Path(f"{location}.pid").read_text())
    end = time.monotonic() + 60.0
    while is_running(child):
        assert time.monotonic() < end
        time.sleep(0.1)
