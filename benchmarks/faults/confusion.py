"""Writers and logs that are not the ones they are taken for.

A backup is restored, the lock file is deleted, the folder is copied, a process forks in the middle
of another thread's call, a writer is stopped and continues after another has come. Nothing that
was acknowledged may be lost without a word, no name may mean two decisions, the wrong writer is
refused, and the log stays whole.
"""

import os
import random
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from faults import plants
from faults.others import Other, wait_for
from faults.places import place
from faults.plan import GRAPHS, agent, context, losses, rows_of
from faults.sabotage import How, arm
from faults.session import cases, n_events
from faults.tally import Finding, Plant, Row, Tell, in_children
from graphcb import DecisionLog, Policy
from graphcb.decisions import LogError, replay
from graphcb.decisions.verifying import back_up

N_STEPS = 8  # of a writer that is stopped
PLANTS = {
    "a name used twice": Plant(plants.reuse_names, "backup restored"),
    "a second writer that is not noticed": Plant(plants.ignore_other_writers, "lock file deleted"),
    "a fork that is not noticed": Plant(plants.ignore_forks, "fork"),
}


def run(backend: str, n: int, seed: int, plant: str | None = None) -> Iterator[Row]:
    scenes: dict[str, Callable[..., None]] = {
        "fork in another thread's call": fork_in_a_call,
        "writer stopped and continued": stopped_writer,
    }
    if backend == "SQLite":
        scenes["backup restored"] = restored_backup
        scenes["lock file deleted, or folder copied"] = lost_lock
    planted, enough = PLANTS[plant] if plant else None, max(2, n // len(scenes))
    with place(backend) as where:
        for name, scene in scenes.items():
            row, play = Row(f"{name}, {backend}"), partial(play_scene, scene, where)
            yield in_children(row, cases(seed), play, enough=enough, plant=planted)


def play_scene(scene: Callable[..., None], where: Any, seed: int, tell: Tell) -> None:
    location = where.new()
    scene(location, random.Random(seed))
    where.remove(location)
    tell()


def play(
    policy: Policy, location: str, n: int, rng: random.Random, share: float = 0.5
) -> list[str]:
    """Some decisions, and feedback in a share of all calls; a line for each that was told."""
    told = []
    for _ in range(n):
        waiting = [row for row in rows_of(location).values() if row.feedback is None]
        if waiting and rng.random() < share:
            row = rng.choice(waiting)
            if policy.feedback(row.decision_id, losses(row)).counted:
                told.append(f"feedback:{row.decision_id}")
        else:
            made = policy.decide(context(rng.randrange(1000)), GRAPHS[1])
            told.append(f"decide:{made.decision_id}")
    return told


def check(location: str, told: list[str]) -> None:
    """The log is whole, and holds all that was told, once."""
    rows = rows_of(location).values()
    found = [f"decide:{row.decision_id}" for row in rows]
    found += [f"feedback:{row.decision_id}" for row in rows if row.feedback is not None]
    if missing := set(told) - set(found):
        raise Finding("lost", f"acknowledged and not in the log: {sorted(missing)}")
    if len(set(told)) < len(told) or len(set(found)) < len(found):
        raise Finding("confused", "a name was used twice")
    try:
        with DecisionLog(location) as log:
            replay(log)
        with Policy(location) as policy:
            play(policy, location, 1, random.Random(0))
    except ValueError as problem:
        raise Finding("confused", f"the log is damaged: {problem!r}") from problem


def restored_backup(location: str, rng: random.Random) -> None:
    """Yesterday's log comes back; what was decided today must not be taken for something else."""
    backup = f"{location}-backup"
    with Policy(location, agent(), seed=1) as policy:
        kept = play(policy, location, rng.randrange(1, 6), rng, 0.0)
        back_up(location, backup)
        lost = play(policy, location, rng.randrange(1, 6), rng, 0.0)
    shutil.copyfile(backup, location)
    for end in ("-wal", "-shm"):
        Path(f"{location}{end}").unlink(missing_ok=True)
    with Policy(location) as policy:
        early = rng.random() < 0.5
        new = [] if early else play(policy, location, rng.randrange(1, 9), rng, 0.3)
        if again := {line for line in lost if line.startswith("decide")} & set(new):
            raise Finding("confused", f"{sorted(again)} were used before the backup came back")
        for line in lost:
            name = line.partition(":")[2]
            if f"decide:{name}" not in kept:
                with suppress(LookupError):
                    receipt = policy.feedback(name, {0: 0.5})
                    raise Finding("confused", f"feedback for a decision that is lost: {receipt}")
    check(location, kept + new)


def lost_lock(location: str, rng: random.Random) -> None:
    """The lock of a writer is gone, and another comes; then both write, in turn.

    Mostly one decides and the other brings feedback: only then does no key of a table collide.
    """
    share = rng.randrange(2)
    second = 1 - share if rng.random() < 0.75 else share
    other = Other(partial(second_writer, location, rng.randrange(1, 4), second))
    first = Policy(location, agent(), seed=1)
    told = play(first, location, 4, rng, 0.0)
    files = Path(location).parent.glob(f"{Path(location).name}*")
    if rng.random() < 0.75:
        for file in files:
            if not file.name.endswith((".db", "-wal", "-shm")):
                file.unlink()
    else:
        for file in files:
            with file.open("rb"):  # as a copy does; closing a file ends the locks on it
                pass
    told += other.go().split()
    for _ in range(2):
        with suppress(LogError):
            told += play(first, location, 1, rng, share)
    with suppress(LogError):
        first.close()
    check(location, told)


def second_writer(location: str, n: int, share: float = 0.5) -> str:
    """What a second writer was told."""
    told: list[str] = []
    with suppress(LogError):
        policy = Policy(location)
        told += play(policy, location, n, random.Random(n), share)
        policy.close()
    return " ".join(told)


def fork_in_a_call(location: str, rng: random.Random) -> None:
    """The child of a fork is refused at once, and the parent does not notice it."""
    policy, told, problems = Policy(location, agent(), seed=1), list[str](), list[str]()
    is_over = threading.Event()

    def decide_on_and_on() -> None:
        try:
            while not is_over.is_set():
                told.extend(play(policy, location, 1, rng))
        except Exception as problem:
            problems.append(repr(problem))

    thread = threading.Thread(target=decide_on_and_on)
    thread.start()
    try:
        time.sleep(rng.uniform(0.0, 0.02))
        Other(partial(use_in_child, policy)).go(5.0)
    finally:
        is_over.set()
        thread.join(10.0)
    if thread.is_alive() or problems:
        raise Finding("stuck", f"the parent's thread: {problems or 'hangs'}")
    told += play(policy, location, 2, rng)
    policy.close()
    check(location, told)


def use_in_child(policy: Policy) -> str:
    """Every call is refused; closing and collecting the policy does no harm."""
    calls = (
        lambda: policy.decide(context(1), GRAPHS[1]),
        lambda: policy.feedback("00000000-1", {}),
        lambda: policy.n_events,
    )
    for call in calls:
        with suppress(LogError):
            call()
            return "confused|a child of a fork uses the policy of its parent"
    policy.close()
    return ""


def stopped_writer(location: str, rng: random.Random) -> None:
    """A writer stops in the middle of a system call; another is refused meanwhile, at once.

    With PostgreSQL it takes the place of the first, which is silent, or whose session was ended:
    then it is the first that is refused.
    """
    Policy(location, agent(), seed=1).close()
    out, into = os.pipe()
    process = os.fork()
    if process == 0:
        write_until_refused(location, rng, into)
    os.close(into)
    is_server, second = "://" in location, []
    if os.WIFSTOPPED(os.waitpid(process, os.WUNTRACED)[1]):
        if is_server and rng.random() < 0.5:
            end_sessions(location)
        before = n_events(location)
        second = Other(partial(second_writer, location, 2)).go().split()
        if not is_server and (second or n_events(location) != before):
            raise Finding("confused", "a second writer wrote while the first was stopped")
        os.kill(process, signal.SIGCONT)
        if not wait_for(process, 10.0):
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            raise Finding("stuck", "the writer that was stopped does not continue")
    with os.fdopen(out) as answers:
        first = answers.read().split()
    if len(first) != N_STEPS and not second:
        raise Finding("stuck", f"the writer that was stopped ended early, with {len(first)}")
    check(location, first + second)


def write_until_refused(location: str, rng: random.Random, into: int) -> None:
    """Write, stop at some system call, write on; ends the process."""
    told: list[str] = []
    try:
        policy = Policy(location)
        arm(How.STOP, rng.randrange(1, 40), "socket:" if "://" in location else "graphcb-faults-")
        with suppress(LogError):
            for _ in range(N_STEPS):
                told += play(policy, location, 1, rng)
            policy.close()
    finally:
        os.write(into, " ".join(told).encode())
        os._exit(0)


def end_sessions(location: str) -> None:
    """As an administrator would, before another machine takes over."""
    import psycopg

    others = "FROM pg_stat_activity WHERE usename = 'graphcb' AND pid <> pg_backend_pid()"
    with psycopg.connect(location, autocommit=True) as connection:
        connection.execute(f"SELECT pg_terminate_backend(pid, 5000) {others}".encode())
