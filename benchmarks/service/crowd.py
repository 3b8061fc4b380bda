"""Deciders and trainers in processes of their own, and clients that record every answer."""

import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PROBLEM = """[problem]
actions = ["a", "b", "c", "d"]

[reveals]
own = true
all = ["d"]

[features]
x = "number"
y = "number"
kind = "category"
"""
NAMES = "abcd"
_TRIES = 2000
_LATE = 8.0  # seconds after which late feedback comes, at most


class Member:
    """A process of `graphcb serve`, which may be killed and started again on its port."""

    def __init__(self, name: str, folder: Path, options: Sequence[str]) -> None:
        self.name, self.port, self._options = name, free_port(), tuple(options)
        self._output = folder / f"{name}.txt"
        self.n_ended = 0  # by itself
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "graphcb", "serve", *self._options]
        self._begin = self._output.stat().st_size if self._output.exists() else 0
        with self._output.open("ab") as out:
            self.process = subprocess.Popen(
                [*command, "--port", str(self.port)], stdout=out, stderr=subprocess.STDOUT
            )

    @property
    def is_up(self) -> bool:
        """Whether it has said what it does: it decides, learns or waits to learn."""
        return self._output.stat().st_size > self._begin

    @property
    def said(self) -> str:
        return self._output.read_text()

    def kill(self) -> None:
        """SIGKILL; one that has ended by itself is counted."""
        self.n_ended += self.process.poll() is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60.0)


def free_port() -> int:
    """A port that no outgoing connection is given while the process is away."""
    while True:
        with socket.socket() as one, suppress(OSError):
            port = random.SystemRandom().randrange(20_000, 32_000)
            one.bind(("127.0.0.1", port))
            return port


@dataclass
class Part:
    """Losses for a decision that are sent in one request, and what became of it."""

    losses: dict[str, float]
    due: float
    twice: bool
    n_counted: int = 0
    n_failed: int = 0
    done: bool = False


@dataclass
class Made:
    """A decision as it was acknowledged, and its feedback."""

    answer: dict[str, Any]
    parts: list[Part] = field(default_factory=list)


class Client(threading.Thread):
    """Asks for decisions and sends feedback until it is stopped; then sends the feedback left.

    What fails, or has no answer, is sent again, to any decider. `wrong` are answers that a client
    of a service without fault does not get.
    """

    def __init__(self, ports: Sequence[int], seed: int, pause: float) -> None:
        super().__init__(name=f"client {seed}", daemon=True)
        self._ports, self._rng, self._pause = tuple(ports), random.Random(seed), pause
        self._connections: dict[int, http.client.HTTPConnection] = {}
        self.made: dict[str, Made] = {}
        self.n_unanswered = self.n_failed = 0  # decisions, and requests of any kind
        self.wrong: list[str] = []
        self._waiting: list[tuple[str, Part]] = []
        self._over = threading.Event()

    def stop(self) -> None:
        self._over.set()

    def run(self) -> None:
        try:
            while not self._over.is_set():
                self._decide()
                self._send_due(time.monotonic())
                self._over.wait(self._pause * 2.0 * self._rng.random())
            self._send_due(float("inf"))
        except Exception as problem:
            self.wrong.append(repr(problem))
        finally:
            for connection in self._connections.values():
                connection.close()

    def _decide(self) -> None:
        rng = self._rng
        context = {"x": rng.random(), "y": rng.random(), "kind": rng.choice(["u", "v", "w"])}
        before = self.n_failed
        answer = self._ask("/v1/decisions", {"context": context})
        self.n_unanswered += self.n_failed - before
        if answer is None:
            return
        name = answer["decision_id"]
        if name in self.made:
            self.wrong.append(f"{name} was given to two decisions")
        made = self.made[name] = Made(answer)
        if rng.random() < 0.05:
            return  # never any feedback
        shown = NAMES if answer["action"] == "d" else answer["action"]
        losses = {one: round(rng.random(), 3) for one in shown}
        cut = rng.randrange(1, len(losses)) if len(losses) > 1 and rng.random() < 0.7 else 0
        for some in (list(losses)[:cut], list(losses)[cut:]):
            if some:
                late = rng.random() * _LATE if rng.random() < 0.2 else 0.0
                told = {one: losses[one] for one in some}
                part = Part(told, time.monotonic() + late, rng.random() < 0.2)
                made.parts.append(part)
                self._waiting.append((name, part))

    def _send_due(self, now: float) -> None:
        left = []
        for name, part in self._waiting:
            if part.due > now:
                left.append((name, part))
                continue
            path, body = f"/v1/decisions/{name}/feedback", {"losses": part.losses}
            before = self.n_failed
            receipts = self._ask_two(path, body) if part.twice else [None]
            if None in receipts:
                receipts.append(self._ask(path, body))
            part.n_counted = sum(bool(one and one["counted"]) for one in receipts)
            part.n_failed, part.done = self.n_failed - before, receipts[-1] is not None
        self._waiting = left

    def _ask(self, path: str, content: Any) -> Any:
        """The answer of some decider, asked again and again."""
        for _ in range(_TRIES):
            port = self._rng.choice(self._ports)
            try:
                self._send(port, path, content)
                return self._receive(port, path)
            except (OSError, http.client.HTTPException):
                self._failed(port)
                time.sleep(0.02)
            except _Wrong as problem:
                self.wrong.append(str(problem))
                return None
        self.wrong.append(f"{path}: no answer to {_TRIES} requests")
        return None

    def _ask_two(self, path: str, content: Any) -> list[Any]:
        """The answers of two deciders to the same request at the same time; None if one failed."""
        ports = self._rng.sample(self._ports, 2)
        answers: list[Any] = []
        asked = []
        for port in ports:
            try:
                self._send(port, path, content)
                asked.append(port)
            except (OSError, http.client.HTTPException):
                self._failed(port)
                answers.append(None)
        for port in asked:
            try:
                answers.append(self._receive(port, path))
            except (OSError, http.client.HTTPException):
                self._failed(port)
                answers.append(None)
            except _Wrong as problem:
                self.wrong.append(str(problem))
                answers.append(None)
        return answers

    def _send(self, port: int, path: str, content: Any) -> None:
        if port not in self._connections:
            self._connections[port] = http.client.HTTPConnection("127.0.0.1", port, timeout=3.0)
        kind = {"Content-Type": "application/json"}
        self._connections[port].request("POST", path, json.dumps(content), kind)

    def _receive(self, port: int, path: str) -> Any:
        answer = self._connections[port].getresponse()
        body = answer.read()
        if answer.status == 503:
            raise http.client.HTTPException("try again")
        if answer.status != 200:
            raise _Wrong(f"{path}: {answer.status} {body.decode()}")
        return json.loads(body)

    def _failed(self, port: int) -> None:
        self.n_failed += 1
        if (connection := self._connections.pop(port, None)) is not None:
            connection.close()


class _Wrong(Exception):  # noqa: N818 - what the answer is
    """An answer that must not be."""


def wait_until(condition: Callable[[], bool], seconds: float, pause: float = 0.02) -> bool:
    """Whether it came true in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(pause)
    return True


def cpu_seconds(pid: int) -> float:
    """The processor time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
