"""How long the service takes to start with many events in its log.

    python benchmarks/service/start.py [--quick] [--logs FOLDER]

Seconds from the start of the process until /healthz answers, and until a decision is answered.
Half of the events are decisions, half are their feedback. A log is made once and started three
ways: as a process leaves it that is killed when its last checkpoint is as old as can be; after an
orderly stop, which stores one; and with none, so that all events are replayed. Somebody asks for
the page right after the start, and how long the next decision takes is the last column. Where
other programs use the machine, the processor time until /healthz answers says more than the
seconds. With --logs, the logs of SQLite are kept in a folder, and not made again.
"""

import argparse
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from running import N_FEATURES, Service, write_problem

from graphcb import Policy, Problem
from graphcb.commands.opening import CHECKPOINT_EVERY
from graphcb.decisions.storage import open_storage

sys.path.insert(0, str(Path(__file__).parents[1]))
from faults.server import Server, why_not

BATCH = 500  # decisions, then as many feedbacks
BEHIND = CHECKPOINT_EVERY - BATCH  # events after the last checkpoint
SIZES = {100_000: "2 s", 1_000_000: "10 s"}  # and what is asked of a start from a checkpoint


class Start(NamedTuple):
    """Seconds from the start of the process, and those of a decision while the page is asked."""

    healthy: float
    cpu: float
    decided: float
    while_watched: float


def make(location: str, problem: Path, n_events: int) -> None:
    """Write a log and end without a word, as if killed."""
    rng, names = np.random.default_rng(0), [f"f{i}" for i in range(N_FEATURES)]
    policy = Policy(
        location,
        problem=Problem.read(problem),
        seed=1,
        durability="process-kill",
        checkpoint_every=CHECKPOINT_EVERY,
    )
    while policy.n_events < n_events + BEHIND:
        rows = rng.random((BATCH, N_FEATURES)).round(6).tolist()
        made = policy.decide_many([dict(zip(names, row, strict=True)) for row in rows])
        if policy.n_events < n_events + BEHIND:
            losses = rng.random(BATCH).round(4).tolist()
            policy.feedback_many(
                {
                    one.decision_id: {one.action: loss}
                    for one, loss in zip(made, losses, strict=True)
                }
            )
    os._exit(0)


def start(folder: Path, location: str, how_to_stop: signal.Signals) -> Start:
    """Start on a log, decide once if that leaves the log as it is measured, and stop."""
    begin = time.perf_counter()
    service = Service(folder, "--log", location)
    try:
        service.get("/healthz")
        healthy, cpu = time.perf_counter() - begin, service.cpu_seconds()
        if how_to_stop is signal.SIGKILL:
            return Start(healthy, cpu, float("nan"), float("nan"))
        body = {"context": {f"f{i}": 0.5 for i in range(N_FEATURES)}}
        service.post("/v1/decisions", body)
        decided = time.perf_counter() - begin
        page = threading.Thread(target=service.get, args=("/v1/live",))
        page.start()
        begin = time.perf_counter()
        service.post("/v1/decisions", body)
        while_watched = time.perf_counter() - begin
        page.join()
        return Start(healthy, cpu, decided, while_watched)
    finally:
        service.stop(how_to_stop)


def measure(folder: Path, location: str, repeats: int) -> Iterator[tuple[str, Start]]:
    """All three ways of one log; a start that is killed leaves the log as it was."""
    killed = [start(folder, location, signal.SIGKILL) for _ in range(repeats)]
    yield f"checkpoint {BEHIND:,} events old", median(killed)
    start(folder, location, signal.SIGTERM)
    yield (
        "checkpoint of an orderly stop",
        median([start(folder, location, signal.SIGTERM) for _ in range(repeats)]),
    )
    storage = open_storage(location, writes=True)
    storage.execute("DELETE FROM graphcb_checkpoints")
    storage.close()
    yield "no checkpoint", start(folder, location, signal.SIGTERM)


def median(starts: list[Start]) -> Start:
    return Start(*(statistics.median(column) for column in zip(*starts, strict=True)))


@contextmanager
def databases(folder: Path) -> Iterator[Server | None]:
    """A PostgreSQL server, if there can be one."""
    if why_not() is not None:
        yield None
        return
    server = Server(folder)
    try:
        yield server
    finally:
        server.stop()


def new_log(folder: Path, kept: Path | None, n_events: int) -> str:
    """A log in SQLite, copied if it was made before."""
    own = folder / f"{n_events}.db"
    before = None if kept is None else kept / own.name
    if before is None or not before.exists():
        made(str(own if before is None else before), folder, n_events)
    if before is not None:
        for file in before.parent.glob(f"{before.name}*"):
            shutil.copy(file, folder)
    return str(own)


def made(location: str, folder: Path, n_events: int) -> str:
    print(f"making a log with {n_events:,} events", file=sys.stderr, flush=True)
    problem = str(write_problem(folder))
    command = [sys.executable, __file__, "--make", location, problem, str(n_events)]
    subprocess.run(command, check=True)
    return location


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--logs", type=Path, metavar="FOLDER", help="where logs are kept")
    parser.add_argument("--make", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.make:
        make(given.make[0], Path(given.make[1]), int(given.make[2]))
    sizes, repeats = ({2000: "-"}, 1) if given.quick else (SIZES, 3)
    print("Seconds. A start from a checkpoint is asked to take what its row says.\n")
    print("| events | log | from | asked | /healthz | CPU | first decision | beside the page |")
    print("|---:|---|---|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory(prefix="graphcb-start-") as name:
        folder = Path(name)
        (folder / "postgresql").mkdir()
        folder.chmod(0o755)  # for the server's user
        with databases(folder / "postgresql") as server:
            for n_events, asked in sizes.items():
                logs = {"SQLite": new_log(folder, given.logs, n_events)}
                if server is not None and n_events == min(sizes):
                    logs["PostgreSQL"] = made(server.url(f"s{n_events}"), folder, n_events)
                for kind, location in logs.items():
                    for way, one in measure(folder, location, repeats):
                        cells = " | ".join("" if s != s else f"{s:.2f}" for s in one)
                        due = asked if way.startswith("checkpoint") else "stated"
                        print(f"| {n_events:,} | {kind} | {way} | {due} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
