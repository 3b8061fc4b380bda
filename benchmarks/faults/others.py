"""Another process, which is forked early and works late."""

import os
import signal
import time
from collections.abc import Callable

from faults.tally import Finding


class Other:
    """A process that is forked now, does some work when told to, and returns a text."""

    def __init__(self, work: Callable[[], str]) -> None:
        self._out, into = os.pipe()
        wait, self._go = os.pipe()
        self._process = os.fork()
        if self._process == 0:
            os.close(self._go)
            os.read(wait, 1)
            try:
                text = work()
            except Finding as finding:
                text = f"{finding.kind}|{finding}"
            except BaseException as problem:
                text = f"crashed|{problem!r}"
            os.write(into, text.encode()[:60_000])
            os._exit(0)
        os.close(into)
        os.close(wait)

    def go(self, seconds: float = 10.0) -> str:
        os.close(self._go)
        is_over = wait_for(self._process, seconds)
        if not is_over:
            os.kill(self._process, signal.SIGKILL)
            os.waitpid(self._process, 0)
        with os.fdopen(self._out) as answers:
            text = answers.read()
        if not is_over:
            raise Finding("stuck", "the other process hangs")
        if "|" in text:
            raise Finding(*text.split("|", 1))
        return text


def wait_for(process: int, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if os.waitpid(process, os.WNOHANG)[0]:
            return True
        time.sleep(0.001)
    return False
