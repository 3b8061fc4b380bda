"""Requests while a million old decisions are removed, beside requests before and afterwards.

    python benchmarks/service/retention.py [--decisions 1000000] [--rate 50] [LOG]

A log of decisions that are ten days old, made at random and each with its feedback, is continued
by the default agent and served with `keep_days = 1`. The first requests, which load code, are left
out. Requests are sent at their times (paced.py) until the old decisions are gone, and for a minute
afterwards, which is what is usual. LOG is a PostgreSQL database or a SQLite file; a file that is
there must be a log of such decisions. Memory is that of the process.
"""

import argparse
import random
import tempfile
import time
from pathlib import Path
from unittest.mock import patch

from paced import as_request, quantile, schedule, send
from running import N_FEATURES, Service, as_body, write_problem

from graphcb import DecisionLog, InformationDirected, Policy, Problem, Uniform
from graphcb.decisions.records import first_decision

BATCH, SECONDS = 1000, 5.0


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


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("log", nargs="?", metavar="LOG")
    parser.add_argument("--decisions", type=int, default=1_000_000, metavar="N")
    parser.add_argument("--rate", type=float, default=50.0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        location = given.log or str(folder / "log.db")
        path = write_problem(folder, rest="[defaults]\nkeep_days = 1.0\n")
        if not Path(location).exists():
            fill(location, Problem.read(path), given.decisions)
        with DecisionLog(location) as log:
            n_decisions, until = log.n_decisions, log.n_events
        service = Service(folder, "--log", location, problem=path)
        rng = random.Random(1)
        found: dict[str, list[float]] = {"at first": [], "while pruned": [], "afterwards": []}
        memory: list[float] = []

        def load(part: str) -> None:
            times = schedule(given.rate, SECONDS)
            requests = [as_request("/v1/decisions", as_body(rng)) for _ in times]
            found[part] += [one.latency for one in send(service.address, requests, times)]
            memory.append(service.resident())

        try:
            began, used = time.monotonic(), service.cpu_seconds()
            load("at first")
            while not is_pruned(location, until):
                load("while pruned")
            took, used = time.monotonic() - began, service.cpu_seconds() - used
            for _ in range(min(len(memory), 12)):
                load("afterwards")
        finally:
            service.stop()
    print(f"{n_decisions:,} decisions gone after {took:.0f} s ({used:.0f} s of processor time)")
    print(f"memory: {memory[0]:.0f} MiB at first, {max(memory):.0f} MiB at most")
    print("| requests | number | p50 | p99 | longest |\n|---|---|---|---|---|")
    del found["at first"]
    for part, latencies in found.items():
        p50, p99 = (1000 * quantile(latencies, share) for share in (0.5, 0.99))
        longest = 1000 * max(latencies)
        print(f"| {part} | {len(latencies):,} | {p50:.1f} ms | {p99:.1f} ms | {longest:.1f} ms |")


if __name__ == "__main__":
    main()
