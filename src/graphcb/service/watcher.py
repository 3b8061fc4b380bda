"""The numbers of the page, by a process of their own: once for all who look."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import msgspec

from graphcb.decisions import DecisionLog
from graphcb.service.errors import LOGGER, RETRY, Refused
from graphcb.service.live import live_of
from graphcb.service.live_answers import ProcessShown
from graphcb.service.watching import Watch

PAUSE = 0.5  # seconds for which an answer is good
PATIENCE = 3.0  # seconds for which a page waits for an answer
IDLE = 60.0  # seconds without a look after which the process ends
_NICE = 5  # it makes way for the service where there are too few cores


class Viewer:
    """Answers in this process."""

    def __init__(self, location: str) -> None:
        with DecisionLog(location) as log:
            self.watch = Watch(location, log.versions)

    def ask(self, request: bytes) -> bytes:
        """Read what is new, and turn a ProcessShown into a LiveAnswer, both as JSON."""
        process = msgspec.json.decode(request, type=ProcessShown)
        self.watch.look()
        return msgspec.json.encode(live_of(self.watch, process))

    def close(self) -> None:
        """Close the log."""
        self.watch.close()


class Process:
    """Answers in another process, which ends when this one does: its input is at an end then."""

    def __init__(self, location: str) -> None:
        command = [sys.executable, "-c", "from graphcb.service.watcher import main; main()"]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "GRAPHCB_QUIET": "1"},
        )
        self._send(msgspec.json.encode(location))  # which may contain a password

    def ask(self, request: bytes) -> bytes:
        """Send a request and wait for its answer."""
        self._send(request)
        answer = self._process.stdout.readline() if self._process.stdout is not None else b""
        if not answer.startswith(b"+"):
            raise OSError(answer[1:].decode().strip() or "its process has ended")
        return answer[1:-1]

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        with self._process:  # closes its pipes, and waits
            pass

    def _send(self, line: bytes) -> None:
        if self._process.stdin is not None:
            self._process.stdin.write(line + b"\n")
            self._process.stdin.flush()


class Watcher:
    """The last answer, for all pages: it is made again if somebody looks after `pause` seconds.

    Counting a log takes about as long as writing it, so that a page in the process of the service
    would take a third of its rate. `start` begins a worker, at the first look and after a failure;
    it ends if nobody has looked for a while.
    """

    def __init__(
        self,
        location: str,
        *,
        start: Callable[[str], Viewer | Process] = Process,
        pause: float = PAUSE,
    ) -> None:
        self._location, self.start, self.pause = location, start, pause
        self._worker: Viewer | Process | None = None
        self._making: asyncio.Future[bytes] | None = None
        self._next = self._looked = 0.0
        self._is_closed = False

    async def look(self, describe: Callable[[], ProcessShown]) -> bytes | None:
        """The LiveAnswer as JSON, None if it takes long; `describe` tells of this process."""
        self._looked = time.monotonic()
        if self._making is None or (self._making.done() and self._looked >= self._next):
            request = msgspec.json.encode(describe())
            self._making = asyncio.ensure_future(asyncio.to_thread(self._make, request))
            # A failure was logged, and whoever still waits gets it.
            self._making.add_done_callback(lambda made: made.cancelled() or made.exception())
        try:
            async with asyncio.timeout(PATIENCE):
                return await asyncio.shield(self._making)
        except TimeoutError:
            return None

    def close(self) -> None:
        """End the worker, and answer nothing more."""
        self._is_closed = True
        self._stop()

    def _make(self, request: bytes) -> bytes:
        if self._is_closed:
            raise Refused(503, "the service is about to stop", RETRY)
        try:
            if self._worker is None:
                self._worker = self.start(self._location)
            answer = self._worker.ask(request)
        except (OSError, ValueError) as problem:
            self._stop()
            self._next = 0.0
            if self._is_closed:  # which ended the worker
                raise Refused(503, "the service is about to stop", RETRY) from None
            LOGGER.error("the page cannot read the log: %s", problem)
            raise Refused(503, "the page cannot read the log at the moment", RETRY) from None
        self._next = time.monotonic() + self.pause
        return answer

    def _stop(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()

    def stop_if_idle(self) -> None:
        """End the worker if nobody has looked for a while."""
        is_making = self._making is not None and not self._making.done()
        if not is_making and time.monotonic() - self._looked > IDLE:
            self._stop()


def main() -> None:
    """Answer lines until the input ends: first the log's location, then requests."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the service
    with contextlib.suppress(AttributeError, OSError):
        os.nice(_NICE)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing else is written between answers
    lines = sys.stdin.buffer
    location, viewer = msgspec.json.decode(lines.readline() or b'""', type=str), None
    for line in lines:
        try:
            viewer = Viewer(location) if viewer is None else viewer
            answer = b"+" + viewer.ask(line)
        except Exception as problem:
            answer = b"-" + f"{type(problem).__name__}: {problem}".replace("\n", " ").encode()
        answers.write(answer + b"\n")
        answers.flush()
