"""Requests while a million old decisions are removed, beside requests before and afterwards.

    python benchmarks/service/retention.py [--quick] [--decisions 1000000] [--rate 50] [FILE]

A log of decisions that are ten days old, made at random and each with its feedback, is continued
by the default agent and served with `keep_days = 1`. The first requests, which load code, are left
out. Requests are sent at their times (paced.py) until the old decisions are gone, and for a minute
afterwards, which is what is usual. That is done on SQLite and on a PostgreSQL server of our own;
with FILE, a log of such decisions that was made before, only there. Memory is that of the process.
"""

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parents[1]))
from faults.server import Server, why_not
from paced import as_request, quantile, schedule, send
from running import N_FEATURES, Service, as_body, write_problem

from graphcb import DecisionLog, InformationDirected, Policy, Problem, Uniform
from graphcb.decisions.records import first_decision

BATCH, SECONDS = 1000, 5.0
AFTERWARDS = 12  # times so many seconds


class Found(NamedTuple):
    """Seconds until all was gone, processor time of it, MiB, and seconds of each request."""

    n_decisions: int
    took: float
    used: float
    memory: list[float]
    meanwhile: list[float]
    afterwards: list[float]


def fill(location: str, problem: Problem, n: int) -> None:
    """Decisions of ten days ago, each with its feedback."""
    rng = random.Random(0)
    contexts = [{f"f{j}": rng.random() for j in range(N_FEATURES)} for _ in range(BATCH)]
    then = time.time() - 10 * 86_400.0
    with (
        patch("graphcb.decisions.together.time.time", lambda: then),
        Policy(location, Uniform(), problem=problem, durability="process-kill") as policy,
    ):
        for _ in range(0, n, BATCH):
            made = policy.decide_many(contexts)
            policy.feedback_many({one.decision_id: {one.action: 0.5} for one in made})
        policy.change(agent=InformationDirected())


def is_pruned(location: str, until: int) -> bool:
    """Whether no row of an old decision is left."""
    with DecisionLog(location) as log:
        left = log.storage.execute(
            "SELECT count(*) FROM (SELECT 1 FROM graphcb_decisions WHERE position <= ? LIMIT 1) x",
            (until,),
        )
        return not left[0][0] and first_decision(log.storage, log.start) is not None


@contextmanager
def places(folder: Path, file: Path | None) -> Iterator[dict[str, str]]:
    """Where the logs are, by the names of what keeps them."""
    if file is not None:
        yield {file.name: str(file)}
    elif (reason := why_not()) is not None:
        print(f"SQLite only: {reason}.\n")
        yield {"SQLite": str(folder / "log.db")}
    else:
        with tempfile.TemporaryDirectory() as of_server:  # which belongs to another user
            server = Server(Path(of_server))
            try:
                yield {"SQLite": str(folder / "log.db"), "PostgreSQL": server.url("retention")}
            finally:
                server.stop()


def measure(folder: Path, location: str, rate: float, n_afterwards: int) -> Found:
    """Serve a log of old decisions until they are gone, and for a while afterwards."""
    path = write_problem(folder, rest="[defaults]\nkeep_days = 1.0\n")
    with DecisionLog(location) as log:
        n_decisions, until = log.n_decisions, log.n_events
    service, rng, memory = Service(folder, "--log", location, problem=path), random.Random(1), []

    def load() -> list[float]:
        times = schedule(rate, SECONDS)
        requests = [as_request("/v1/decisions", as_body(rng)) for _ in times]
        latencies = [one.latency for one in send(service.address, requests, times)]
        memory.append(service.resident())
        return latencies

    try:
        began, used = time.monotonic(), service.cpu_seconds()
        load()
        meanwhile = load()
        while not is_pruned(location, until):
            meanwhile += load()
        took, used = time.monotonic() - began, service.cpu_seconds() - used
        afterwards = [one for _ in range(n_afterwards) for one in load()]
    finally:
        service.stop()
    return Found(n_decisions, took, used, memory, meanwhile, afterwards)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE")
    parser.add_argument("--decisions", type=int, default=1_000_000, metavar="N")
    parser.add_argument("--rate", type=float, default=50.0)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    n_decisions, n_afterwards = (5000, 1) if given.quick else (given.decisions, AFTERWARDS)
    found: dict[str, Found] = {}
    with tempfile.TemporaryDirectory() as name, places(Path(name), given.file) as locations:
        problem = Problem.read(write_problem(Path(name), rest="[defaults]\nkeep_days = 1.0\n"))
        for kept_by, location in locations.items():
            if given.file is None:
                fill(location, problem, n_decisions)
            print(f"{kept_by} is filled", file=sys.stderr, flush=True)
            found[kept_by] = one = measure(Path(name), location, given.rate, n_afterwards)
            longest = 1000 * max(one.meanwhile)
            print(f"{one.took:.0f} s, longest {longest:.0f} ms", file=sys.stderr, flush=True)
    print(f"{given.rate:.0f} requests per second, the default agent. Asked: the longest request at")
    print("most 500 ms (aim 100), p99 below twice the usual, memory flat.\n")
    print("| log | decisions removed | in | processor time | memory, MiB | at most |")
    print("|---|---|---|---|---|---|")
    for kept_by, one in found.items():
        memory = f"{one.memory[0]:.0f} | {max(one.memory):.0f}"
        times = f"{one.took:.0f} s | {one.used:.0f} s"
        print(f"| {kept_by} | {one.n_decisions:,} | {times} | {memory} |")
    print("\n| log | requests | number | p50 | p99 | longest |\n|---|---|---|---|---|---|")
    for kept_by, one in found.items():
        for part, latencies in (("meanwhile", one.meanwhile), ("afterwards", one.afterwards)):
            p50, p99 = (1000 * quantile(latencies, share) for share in (0.5, 0.99))
            shown = " | ".join(f"{ms:.1f} ms" for ms in (p50, p99, 1000 * max(latencies)))
            print(f"| {kept_by} | {part} | {len(latencies):,} | {shown} |")


if __name__ == "__main__":
    main()
