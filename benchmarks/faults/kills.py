"""A process that decides and learns, killed again and again, mostly inside a system call.

A worker plays the plan where the log ends. It dies by SIGKILL before, after or in the middle of
its n-th call to the operating system that has to do with the log (half of the bytes are written
or sent), or at a random moment. After each kill, the log is a beginning of the log of a run that
was left alone, and holds all that was acknowledged; the next worker continues it.
"""

import mmap
import os
import random
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from faults import plants
from faults.places import Place, SQLitePlace, place
from faults.plan import (
    Reference,
    acknowledgement,
    agent,
    check,
    check_model,
    context,
    make,
    next_call,
    open_policy,
    plan,
    rows_of,
    run_alone,
)
from faults.sabotage import How, arm
from faults.session import cases
from faults.tally import Finding, Plant, Row, Tell, in_children
from graphcb import DecisionLog, load, save
from graphcb.saving import to_bytes

N_CALLS = 30  # in the plan of one log, at most
LONGEST_LIFE = 400  # in system calls
PLANTS = {
    "a dropped commit": Plant(plants.drop_commits, "process killed"),
    "a commit after the receipt": Plant(plants.commit_late, "process killed"),
    "feedback that is counted twice": Plant(plants.count_twice, "process killed"),
    "a draw that cannot be repeated": Plant(plants.draw_at_random, "process killed"),
}


def run(backend: str, n: int, seed: int, plant: str | None = None) -> Iterator[Row]:
    planted = PLANTS[plant] if plant else None
    with place(backend) as where:
        location = where.new()
        reference = run_alone(location, plan(min(N_CALLS, max(8, n // 3)), seed))
        where.remove(location)
        row, play = Row(f"process killed, {backend}"), partial(kill_until_done, where, reference)
        yield in_children(row, cases(seed), play, enough=n, plant=planted)
        if isinstance(where, SQLitePlace):
            row, play = Row("process killed, graphcb.save"), partial(kill_while_saving, where.path)
            yield in_children(row, cases(seed), play, enough=max(2, n // 10), plant=planted)


def kill_until_done(where: Place, reference: Reference, seed: int, tell: Tell) -> None:
    """Play one log to its end, with a kill wherever the chance falls."""
    rng, location, told = random.Random(seed), where.new(), Acknowledged()
    while True:
        how = rng.choice((How.KILL_BEFORE, How.KILL_WITHIN, How.KILL_AFTER))
        n = int(LONGEST_LIFE ** rng.random())
        seconds = rng.uniform(0.0, 0.05) if rng.random() < 0.15 else None
        strike = None if seconds is not None else partial(arm, how, n, where.part)
        status = one_life(location, reference, told, strike, seconds)
        if status == 0:
            break
        if status != -signal.SIGKILL:
            raise Finding(*told.last_words().split("|", 1))
        if has_started(location):
            check(location, reference, told.lines())
        elif told.lines():
            raise Finding("lost", "there is no log, and somebody was told of a decision")
        tell()
    if check(location, reference, told.lines()) != reference.calls[-1].end:
        raise Finding("lost", "the worker was through with the plan, and the log is not")
    check_model(location, reference)
    where.remove(location)


def one_life(
    location: str,
    reference: Reference,
    told: "Acknowledged",
    strike: Callable[[], None] | None,
    seconds: float | None,
) -> int:
    """How a worker ended; it is struck by itself, or killed after some seconds."""
    process = os.fork()
    if process == 0:
        status = 1
        try:
            if strike is not None:
                strike()
            work(location, reference, told)
            status = 0
        except Finding as finding:
            told.say_last(f"{finding.kind}|{finding}")
        except BaseException:
            told.say_last(f"stuck|a worker ended by itself: {traceback.format_exc(limit=-4)}")
        finally:
            os._exit(status)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(process, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def work(location: str, reference: Reference, told: "Acknowledged") -> None:
    """Play the plan from where the log ends; send the last feedbacks again, as callers do."""
    policy = open_policy(location)
    rows, again = rows_of(location), True
    while (call := next_call(reference.calls, policy.n_events)) is not None:
        if "feedback" in call.kind:
            rows = rows_of(location)
        told.add(acknowledgement(call, make(policy, call, rows)))
        if "feedback" in call.kind and again:
            for receipt in make(policy, call, rows):
                if getattr(receipt, "counted", False):
                    raise Finding("confused", f"feedback was counted twice: {receipt}")
            again = False
    policy.close()


def kill_while_saving(home: Path, seed: int, tell: Tell) -> None:
    """A model file is the old or the new one, and the next save leaves no other file there."""
    rng, folder = random.Random(seed), home / f"model-{seed}"
    folder.mkdir()
    file, old, new = folder / "model.npz", agent(), agent()
    new.learn(context(seed), [0, 1], [0.1, 0.9])
    save(old, file)
    process = os.fork()
    if process == 0:
        how = rng.choice((How.KILL_BEFORE, How.KILL_WITHIN, How.KILL_AFTER))
        arm(how, rng.randrange(1, 12), folder.name)
        save(new, file)
        os._exit(0)
    os.waitpid(process, 0)
    if to_bytes(load(file)) not in (to_bytes(old), to_bytes(new)):
        raise Finding("confused", "the file is neither the old model nor the new one")
    save(new, file)
    if list(folder.iterdir()) != [file]:
        raise Finding("confused", f"left {sorted(folder.iterdir())} behind")
    tell()


class Acknowledged:
    """What callers were told, in memory that outlives the process that tells it."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, 1 << 18)
        self._last = mmap.mmap(-1, 1 << 12)

    def add(self, lines: list[str]) -> None:
        content = "".join(f"{line}\n" for line in lines).encode()
        used = int.from_bytes(self._memory[:8], "little")
        self._memory[8 + used : 8 + used + len(content)] = content
        self._memory[:8] = (used + len(content)).to_bytes(8, "little")

    def lines(self) -> list[str]:
        used = int.from_bytes(self._memory[:8], "little")
        return self._memory[8 : 8 + used].decode().splitlines()

    def say_last(self, text: str) -> None:
        content = text.encode()[-4000:]
        self._last[: len(content)] = content

    def last_words(self) -> str:
        return self._last[:].rstrip(b"\0").decode(errors="replace")


def has_started(location: str) -> bool:
    """Whether a worker lived long enough to begin the log."""
    try:
        with DecisionLog(location):
            return True
    except FileNotFoundError:
        return False
    except ValueError as problem:
        if "holds no decision log" in str(problem):
            return False
        raise
