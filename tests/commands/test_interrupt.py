"""Ctrl-C, which a terminal sends to a command and to all the processes that it started."""

import os
import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.slow


def heed_interrupts():
    """As in a terminal: what a shell starts in the background ignores them."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_reproduce_ends_in_one_line_and_keeps_what_was_finished(tmp_path, jobs):
    command = [sys.executable, "-m", "graphcb", "reproduce", "inventory-fixed", "--jobs", jobs]
    started = subprocess.Popen(
        [*command, "--out", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=heed_interrupts,
    )
    store = tmp_path / "inventory-fixed.jsonl"
    enough = 40  # the first runs are not made by workers
    deadline = time.monotonic() + 300.0
    while not store.exists() or store.read_text(encoding="utf-8").count("\n") < enough:
        assert started.poll() is None, started.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.1)
    os.killpg(started.pid, signal.SIGINT)
    _, said = started.communicate(timeout=120)
    assert started.returncode == 130
    assert said.strip() == "graphcb: interrupted"
    assert store.read_text(encoding="utf-8").count("\n") >= enough
