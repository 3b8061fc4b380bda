"""Disks that are full or fail: system calls on the log that return ENOSPC, EIO, EINTR or less.

The n-th call, and some after it, fails or moves half of the bytes. The call to the policy says so
with a `LogError`, or it succeeds, and then it is in the log; `session.py` says what must hold
afterwards. Files written by `graphcb.save` are complete, or are what they were before.
"""

import errno
import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from faults import plants
from faults.places import SQLitePlace, folder
from faults.plan import agent, context
from faults.sabotage import How, arm, disarm, struck
from faults.session import Session, cases
from faults.tally import Finding, Plant, Row, Tell, in_children
from graphcb import load, save
from graphcb.decisions import LogError
from graphcb.files import FileError
from graphcb.saving import to_bytes

LONGEST = {"create": 90, "open": 60, "close": 30}  # in system calls; others below
ERRORS = (errno.ENOSPC, errno.EIO, errno.EINTR, 0)  # 0 for half of the bytes
N_SAVING = 8  # system calls
PLANTS = {
    "an error that is swallowed": Plant(plants.swallow_errors, "SQLite"),
    "a model file written in place": Plant(plants.write_in_place, "graphcb.save"),
}


def run(n: int, seed: int, plant: str | None = None) -> Iterator[Row]:
    planted = PLANTS[plant] if plant else None
    with folder() as path:
        place = SQLitePlace(path)
        row, play = Row("disk full or failing, SQLite"), Session(place, Disk(place.part), seed).play
        yield in_children(row, cases(seed), play, enough=3 * n // 4, plant=planted)
        row, write = Row("disk full or failing, graphcb.save"), partial(write_model, path)
        yield in_children(row, cases(seed), write, enough=n - 3 * n // 4, plant=planted)


def draw_error(rng: random.Random, n: int, part: str) -> str:
    """Arm some error of the disk, in words."""
    return arm_error(rng, 1 + int(rng.random() ** 2 * n), rng.choice(ERRORS), part)


def arm_error(rng: random.Random, n: int, error: int, part: str) -> str:
    """Arm this error of the disk at the n-th call, in words."""
    times = rng.choice((1, 1, 2, 50)) if error not in (errno.EINTR, 0) else 1
    arm(How.FAIL if error else How.SHORT, n, part, times=times, error=error)
    return f"{errno.errorcode.get(error, 'a short write')} from call {n} on, {times} times"


class Disk:
    """Makes calls on the log's files fail."""

    def __init__(self, part: str) -> None:
        self.part = part
        self.last: str | None = None

    def attack(self, kind: str, work: Callable[[], Any], rng: random.Random, number: int) -> Any:
        words = draw_error(rng, LONGEST.get(kind, 25), self.part)
        try:
            return work()
        except (LogError, FileError, ValueError) as problem:  # half a page looks like damage
            if not struck():
                raise Finding("stuck", f"{kind} long after an error: {problem!r}") from problem
            return None
        finally:
            self.last = words if struck() else None
            disarm()


def write_model(path: Path, seed: int, tell: Tell) -> None:
    """Save a model over an older one; the file is one of the two, and there is no other.

    Cases in a row have every error at every call.
    """
    rng, home = random.Random(seed), path / f"model-{seed}"
    home.mkdir()
    file, old, new = home / "model.npz", agent(), agent()
    new.learn(context(seed), [0, 1], [0.1, 0.9])
    save(old, file)
    number, error = divmod(seed, len(ERRORS))
    words, raised = arm_error(rng, 1 + number % N_SAVING, ERRORS[error], home.name), False
    try:
        save(new, file)
    except OSError:
        raised = True
    finally:
        n_struck = struck()
        disarm()
    if not n_struck:
        return
    try:
        found = to_bytes(load(file))
    except (FileError, ValueError) as problem:
        raise Finding("lost", f"{words}: {problem}") from problem
    if found != to_bytes(old if raised else new):
        raise Finding("silent", f"{words}: saved without an error, and the file is the old one")
    if n_struck == 1 and list(home.iterdir()) != [file]:  # after two, unlink was struck as well
        raise Finding("confused", f"{words}: left {sorted(home.iterdir())} behind")
    tell()
