"""What a part of the campaign has found, and the children in which it looks.

A finding is of one kind: `lost` (acknowledged and not in the log), `confused` (in the log otherwise
than in a run that was left alone, or a receipt that is not true), `stuck` (the next call or the
next policy does not work, or never ends), `silent` (damage read as if it were the truth, or an
error that nobody heard of) and `crashed` (the process died, or an error that explains nothing).
"""

import ctypes
import json
import os
import resource
import select
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

KINDS = ("lost", "confused", "stuck", "silent", "crashed")
EXAMPLES = 5  # of each kind, to standard error
NO_PLANT = 77  # the status of a child that could not apply a plant
PLANTED = 4  # times as many faults for a plant, since those that cannot reveal it are not made


class Finding(Exception):  # noqa: N818  # not an error of this program
    """Something that a log which people trust does not do."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


@dataclass
class Row:
    """One line of the table: a fault, how often it was made, and what came of it."""

    fault: str
    n: int = 0
    found: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    first: int | None = None  # the number of faults until the first finding

    def tell(self, kind: str | None = None, text: str = "") -> None:
        """Count one fault, and what it led to if that was wrong."""
        self.n += 1
        if kind is None:
            return
        self.found[kind] += 1
        self.first = self.first or self.n
        if self.found[kind] <= EXAMPLES:
            print(f"{self.fault}, number {self.n}: {kind}: {text}", file=sys.stderr, flush=True)


class Plant(NamedTuple):
    """A fault to plant in graphcb, which the faults with `by` in their name must reveal."""

    change: Callable[[], None]
    by: str


class Tell(Protocol):
    """One more fault was made; `kind` and `text` say what was wrong afterwards, if anything."""

    def __call__(self, kind: str | None = None, text: str = "") -> None: ...


def in_children(
    row: Row,
    cases: Iterable[Any],
    play: Callable[[Any, Tell], None],
    *,
    enough: int,
    plant: Plant | None = None,
    patience: float = 30.0,
    memory: int | None = None,
) -> Row:
    """Play cases in a forked child until `row` has enough faults; a child that dies is replaced.

    A child may be silent for `patience` seconds, and take `memory` bytes more than it has. With a
    `plant`, which the child applies to itself first, one finding is enough; a row that is not to
    reveal it stays empty.
    """
    if plant is not None:
        if plant.by not in row.fault:
            return row
        enough *= PLANTED
    start, waiting = time.monotonic(), iter(cases)
    is_over = False
    while not is_over:
        is_over = _one_child(row, waiting, play, enough, plant, patience, memory)
    row.seconds += time.monotonic() - start
    return row


def _one_child(
    row: Row,
    cases: Any,
    play: Callable[[Any, Tell], None],
    enough: int,
    plant: Plant | None,
    patience: float,
    memory: int | None,
) -> bool:
    """Whether there is nothing left to do once this child has ended."""
    answers, out = os.pipe()
    wanted, ask = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(answers)
        os.close(ask)
        os.setsid()  # so that its children can be ended with it
        end_with_parent()
        _child(wanted, out, play, plant, memory)
    os.close(out)
    os.close(wanted)
    lines, case = _Lines(answers), None
    try:
        while row.n < enough and not (plant is not None and row.first is not None):
            case = next(cases, None)
            if case is None:
                return True
            os.write(ask, json.dumps(case).encode() + b"\n")
            while (line := lines.next(patience)) not in ("done", None):
                row.tell(*json.loads(str(line)))
            if line is None:
                kind, text = _how_it_ended(process, lines.is_open)
                row.tell(kind, f"{text}, in case {case}")
                return False
        return True
    finally:
        os.close(ask)
        os.close(answers)
        with suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(process, 0)


def end_with_parent() -> None:
    """Be killed when the process that forked this one ends, however it ends."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def _how_it_ended(process: int, is_alive: bool) -> tuple[str, str]:
    if is_alive:
        return "stuck", "did not come back"
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    if status == NO_PLANT:
        raise RuntimeError("a plant does not fit graphcb as it is now: mend faults/plants.py")
    return "crashed", f"died with {status}"


def _child(
    wanted: int,
    out: int,
    play: Callable[[Any, Tell], None],
    plant: Plant | None,
    memory: int | None,
) -> None:
    """Play the cases that come through a pipe, and answer each fault with a line."""

    def tell(kind: str | None = None, text: str = "") -> None:
        os.write(out, json.dumps([kind, text[:600]]).encode() + b"\n")

    try:
        if memory is not None:
            limit = _size_now() + memory
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        if plant is not None:
            _apply(plant.change)
        for line in os.fdopen(wanted):
            try:
                play(json.loads(line), tell)
            except Finding as finding:
                tell(finding.kind, f"{finding}, in case {line.strip()}")
            except BaseException as problem:
                where = traceback.format_exc(limit=-3)
                tell("crashed", f"{problem!r} in case {line.strip()}: {where}")
            os.write(out, b"done\n")
    finally:
        os._exit(0)


def _apply(change: Callable[[], None]) -> None:
    try:
        change()
    except BaseException:
        traceback.print_exc()
        os._exit(NO_PLANT)


def _size_now() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123
        return int(file.read().split()[0]) * resource.getpagesize()


class _Lines:
    """Lines from a pipe, one at a time, with a limit on waiting."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._rest, self.is_open = descriptor, b"", True

    def next(self, patience: float) -> str | None:
        end = time.monotonic() + patience
        while b"\n" not in self._rest:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self._descriptor], [], [], left)[0]:
                return None
            more = os.read(self._descriptor, 65536)
            if not more:
                self.is_open = False
                return None
            self._rest += more
        line, self._rest = self._rest.split(b"\n", 1)
        return line.decode()
