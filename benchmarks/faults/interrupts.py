"""Ctrl-C and time limits, wherever Python may notice them.

An exception is raised at the n-th place where the interpreter looks for signals: after a call, at
the beginning of a function or of another turn of a loop, in graphcb as in psycopg and the standard
library. Or a real signal comes after a random time. Calls to open, decide, learn, store a
checkpoint and close are all interrupted; `session.py` says what must hold afterwards.
"""

import dis
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from faults import plants
from faults.places import place
from faults.session import Session, cases
from faults.tally import Finding, Plant, Row, in_children
from graphcb.decisions import LogError

GOLDEN = 0.6180339887498949
PLANTS = {
    "a transaction left open": Plant(plants.carry_on, "interrupted"),
    "a lock that a half-opened policy keeps": Plant(plants.keep_storages, "interrupted"),
    "a receipt for what is not committed": Plant(plants.believe_memory, "interrupted"),
    "a dropped commit": Plant(plants.drop_commits, "interrupted"),
}
_LOOKS_AFTER = {
    number for name, number in dis.opmap.items() if name.startswith(("CALL", "JUMP_BACKWARD"))
} | {dis.opmap["RESUME"]}


class TimeLimitError(Exception):
    """What a signal handler of the user's own raises."""


def run(backend: str, n: int, seed: int, plant: str | None = None) -> Iterator[Row]:
    planted = PLANTS[plant] if plant else None
    with place(backend) as where:
        row, play = Row(f"interrupted, {backend}"), Session(where, Interrupter(), seed).play
        yield in_children(row, cases(seed), play, enough=n, plant=planted)


class Interrupter:
    """Knows from the first call of each kind how many places it has, and goes through them."""

    def __init__(self) -> None:
        self.places: dict[tuple[str, bool], int] = {}
        self.seconds: dict[str, float] = {}
        self.last: str | None = None

    def attack(self, kind: str, work: Callable[[], Any], rng: random.Random, number: int) -> Any:
        near, exception = number % 2 == 0, rng.choice((KeyboardInterrupt, TimeLimitError))
        self.last = None
        if (kind, near) not in self.places:
            return self._count(kind, near, work)
        interruption: Interruption | Alarm
        if rng.random() < 0.25:
            interruption = Alarm(rng.uniform(1e-5, self.seconds[kind]), exception)
        else:
            n = 1 + int(self.places[kind, near] * (number * GOLDEN % 1.0))
            interruption = Interruption(n, near, exception)
        try:
            return interruption.run(work)
        except BaseException as problem:
            if interruption.where is None:
                raise Finding("crashed", f"{kind}, not interrupted: {problem!r}") from problem
            # psycopg may make another error of what a handler raises; of Ctrl-C nobody may.
            is_other = exception is KeyboardInterrupt or not isinstance(problem, LogError)
            if type(problem) is not exception and is_other:
                words = f"{kind}, {exception.__name__} {interruption.where} became {problem!r}"
                raise Finding("confused", words) from problem
            return None
        finally:
            if interruption.where is not None:
                self.last = f"{exception.__name__} {interruption.where}"

    def _count(self, kind: str, near: bool, work: Callable[[], Any]) -> Any:
        counter, start = Interruption(sys.maxsize, near, KeyboardInterrupt), time.monotonic()
        answer = counter.run(work)
        self.seconds[kind] = (time.monotonic() - start) / 10  # without the counting
        self.places[kind, near] = counter.counted
        return answer


class Interruption:
    """Raises an exception at the n-th place, of all or only of those `near` the database."""

    def __init__(self, n: int, near: bool, exception: type[BaseException]) -> None:
        self.n, self.near, self.exception = n, near, exception
        self.counted, self.where = 0, None

    where: str | None

    def run(self, work: Callable[[], Any]) -> Any:
        sys.settrace(self._enter)
        try:
            return work()
        finally:
            sys.settrace(None)

    def _enter(self, frame: FrameType, event: str, _: Any) -> Any:
        file = frame.f_code.co_filename
        if self.near and "decisions" not in file and not file.endswith("contextlib.py"):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        code, previous = frame.f_code.co_code, -1

        def look(frame: FrameType, event: str, _: Any) -> Any:
            nonlocal previous
            if event == "opcode":
                if previous in _LOOKS_AFTER:
                    self.counted += 1
                    if self.counted == self.n:
                        self.where = f"at {frame.f_code.co_qualname}:{frame.f_lineno}"
                        raise self.exception
                previous = code[frame.f_lasti]
            return look

        return look


class Alarm:
    """Raises an exception when a signal comes, after some seconds."""

    where: str | None = None

    def __init__(self, seconds: float, exception: type[BaseException]) -> None:
        self.seconds, self.exception = seconds, exception

    def run(self, work: Callable[[], Any]) -> Any:
        signal.signal(signal.SIGALRM, self._raise)
        try:
            signal.setitimer(signal.ITIMER_REAL, self.seconds)
            return work()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)

    def _raise(self, *_: Any) -> None:
        self.where = f"after {self.seconds:.6f} s"
        raise self.exception
