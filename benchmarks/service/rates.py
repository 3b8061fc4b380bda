"""Durable decisions and feedback per second over HTTP, beside a service that answers a constant.

    python benchmarks/service/rates.py [--quick] [--durability process-kill] [--kinds 10,own10]

Needs `wrk` (a package of Debian): 32 connections on the loopback, ten actions, twenty features.
With `--kinds`, decisions alone of other problems (running.py), each beside its own constant.
The constant is answered by the same server in another process, which parses the same body
(constant.py). All are measured in turn; a row has the medians of its rounds, and its shares are of
the constant above it. Where other programs use the machine, the processor time of the server per
request says more than the rate. Then each gets half of its highest rate, at times that do not wait
for answers (paced.py).
"""

import argparse
import json
import os
import random
import re
import shutil
import sqlite3
import statistics
import subprocess
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from paced import as_request, quantile, schedule, send
from running import CONNECTIONS, KINDS, Service, as_body, write_bodies

HERE = Path(__file__).parent
ROWS = (  # name, script, whether the answer is a constant
    ("the same body, a constant", "decide.lua", True),
    ("decisions", "decide.lua", False),
    ("the feedback's body, a constant", "feedback.lua", True),
    ("feedback", "feedback.lua", False),
)
PATHS = {"decide.lua": "/v1/decisions", "feedback.lua": "/v1/decisions/%s/feedback"}


class Measured(NamedTuple):
    """What wrk saw in one round, and the server's processor time in microseconds per request."""

    per_second: float
    p50: float
    p99: float
    cpu: float


def load(service: Service, script: str, seconds: int, decisions: Path) -> Measured:
    """One round of wrk."""
    path, bodies = PATHS[script], decisions.with_name("bodies")
    before = service.cpu_seconds()
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--latency"]
    environment = {**os.environ, "GRAPHCB_PATH": path}
    environment |= {"GRAPHCB_DECISIONS": str(decisions), "GRAPHCB_BODIES": str(bodies)}
    out = subprocess.run(
        [*command, "-s", str(HERE / script), service.address],
        capture_output=True, text=True, check=True, env=environment,
    ).stdout  # fmt: skip
    if "Non-2xx" in out:
        raise RuntimeError(out)
    n_requests = int(_found(r"(\d+) requests in", out))
    p50, p99 = (_milliseconds(_found(rf"\b{share}%\s+([\d.]+[a-z]+)", out)) for share in (50, 99))
    used = service.cpu_seconds() - before
    rate = float(_found(r"Requests/sec:\s+(\S+)", out))
    return Measured(rate, p50, p99, 1e6 * used / n_requests)


def make_decisions(service: Service, count: int, path: Path, kind: str = "10") -> None:
    """Decisions to give feedback for, made in batches."""
    rng = random.Random(1)
    rounds = [json.loads(as_body(rng, kind)) for _ in range(min(count, 500))]
    with path.open("w") as file:
        for _ in range(0, count, len(rounds)):
            for made in service.post("/v1/decisions", {"decisions": rounds})["decisions"]:
                print(made["decision_id"], made["action"], file=file)


def at_half(
    services: dict[bool, Service], rates: dict[str, float], seconds: float, decisions: Path
) -> dict[str, tuple[float, ...]]:
    """The rate, p50 and p99 of latencies, and those of how late requests were sent, in seconds."""
    rng, found = random.Random(0), {}
    times = {name: schedule(rate, seconds) for name, rate in rates.items()}
    make_decisions(services[False], len(times["feedback"]), decisions)
    named = [line.split() for line in decisions.read_text().splitlines()]
    bodies = {
        "decisions": [("", as_body(rng)) for _ in times["decisions"]],
        "feedback": [(one, f'{{"losses":{{"{action}":0.5}}}}') for one, action in named],
    }
    for name, script, constant in ROWS:
        kind = "decisions" if script == "decide.lua" else "feedback"
        path = PATHS[script].replace("%s", "{}")
        requests = [as_request(path.format(one), body) for one, body in bodies[kind]]
        sent = send(services[constant].address, requests[: len(times[kind])], times[kind])
        latencies, late = [one.latency for one in sent], [one.late for one in sent]
        ends = [quantile(values, share) for values in (latencies, late) for share in (0.5, 0.99)]
        found[name] = (rates[kind], *ends)
    return found


def bare_commits(folder: Path, n_commits: int) -> tuple[float, float]:
    """p50 and p99 of a commit of one row by SQLite alone, in seconds: nobody answers sooner."""
    taken = []
    with closing(sqlite3.connect(folder / "bare.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("CREATE TABLE rows (content BLOB)")
        for _ in range(n_commits):
            began = time.perf_counter()
            connection.execute("INSERT INTO rows VALUES (?)", (os.urandom(200),))
            taken.append(time.perf_counter() - began)
    return quantile(taken, 0.5), quantile(taken, 0.99)


def compare(kind: str, n_rounds: int, seconds: int, durability: str) -> tuple[Measured, Measured]:
    """Decisions on a kind of problem, beside a constant; medians."""
    made: dict[bool, list[Measured]] = {False: [], True: []}
    with tempfile.TemporaryDirectory() as folder:
        decisions = Path(folder) / "decisions"
        write_bodies(decisions.with_name("bodies"), kind)
        options = ("--seed", "1", "--durability", durability)
        services = {False: Service(Path(folder), *options, kind=kind)}
        services[True] = Service(Path(folder), constant=True, kind=kind)
        try:
            for begin in range(0, 500, 20):  # a model that has learned something
                make_decisions(services[False], 20, decisions, kind)
                for line in decisions.read_text().splitlines()[:20]:
                    name, action = line.split()
                    path = f"/v1/decisions/{name}/feedback"
                    services[False].post(path, {"losses": {action: begin % 97 / 97}})
            for turn in range(n_rounds + 1):
                for constant, one in services.items():
                    measured = load(one, "decide.lua", seconds, decisions)
                    if turn:  # the first one loads all kernels
                        made[constant].append(measured)
        finally:
            for one in services.values():
                one.stop()
    return median(made[False]), median(made[True])


def print_kinds(kinds: list[str], n_rounds: int, seconds: int, durability: str) -> None:
    print("Decisions alone: so many actions, ten with two limits and a budget (limits), ten that")
    print("come with each round (own10). Asked: shares of 0.36, 0.28, 0.15, 0.28 and 0.22.\n")
    print("| | per second | constant | share | CPU us | constant | share |")
    print("|---|---|---|---|---|---|---|")
    for kind in kinds:
        row, beside = compare(kind, n_rounds, seconds, durability)
        print(
            f"| {kind} | {row.per_second:,.0f} | {beside.per_second:,.0f} "
            f"| {row.per_second / beside.per_second:.2f} | {row.cpu:.0f} | {beside.cpu:.0f} "
            f"| {beside.cpu / row.cpu:.2f} |",
            flush=True,
        )


def _found(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    if found is None:
        raise RuntimeError(text)
    return found[1]


def _milliseconds(text: str) -> float:
    for unit, size in (("us", 0.001), ("ms", 1.0), ("s", 1000.0)):
        if text.endswith(unit):
            return float(text.removesuffix(unit)) * size
    raise ValueError(text)


def median(rounds: list[Measured]) -> Measured:
    return Measured(*(statistics.median(column) for column in zip(*rounds, strict=True)))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--durability", default="power-loss")
    parser.add_argument("--kinds", help=f"some of {', '.join(KINDS)}, with commas")
    given = parser.parse_args()
    if shutil.which("wrk") is None:
        print("`wrk` is not installed, so that nothing was measured.")
        return
    n_rounds, seconds = (1, 1) if given.quick else (5, 3)
    load_before, n_cores = os.getloadavg()[0], os.cpu_count()
    print(f"Before it began, other programs had a load of {load_before:.1f} on {n_cores} cores.\n")
    if given.kinds:
        print_kinds(given.kinds.split(","), n_rounds, seconds, given.durability)
        return
    made: dict[str, list[Measured]] = {}
    with tempfile.TemporaryDirectory() as folder:
        decisions = Path(folder) / "decisions"
        write_bodies(decisions.with_name("bodies"))
        service = Service(Path(folder), "--seed", "1", "--durability", given.durability)
        services = {False: service, True: Service(Path(folder), constant=True)}
        try:
            make_decisions(service, 500, decisions)
            for line in decisions.read_text().splitlines():  # a model that has learned something
                name, action = line.split()
                service.post(f"/v1/decisions/{name}/feedback", {"losses": {action: 0.5}})
            for one in services.values():
                load(one, "decide.lua", 1, decisions)  # loads all kernels
            for _ in range(n_rounds):
                rate = load(service, "decide.lua", 1, decisions).per_second
                make_decisions(service, int(3 * rate * seconds), decisions)
                known = service.get("/v1/status")["n_feedbacks"]
                for title, script, constant in ROWS:
                    measured = load(services[constant], script, seconds, decisions)
                    made.setdefault(title, []).append(measured)
                learned = service.get("/v1/status")["n_feedbacks"] - known
                sent = made["feedback"][-1].per_second * seconds
                if learned < 0.8 * sent:
                    raise RuntimeError(f"{sent:.0f} feedbacks were sent, {learned} were new")
            status = service.get("/v1/status")
            rows = {name: median(rounds) for name, rounds in made.items()}
            halves = {name: rows[name].per_second / 2 for name in ("decisions", "feedback")}
            paced = at_half(services, halves, 1.0 if given.quick else 10.0, decisions)
            bare = bare_commits(Path(folder), 200 if given.quick else 5000)
        finally:
            for one in services.values():
                one.stop()
    print(f"Durability {given.durability}; {status['jobs_per_commit']:.0f} requests per commit.\n")
    print("| | per second | share | p50 ms | p99 ms | CPU us per request | share |")
    print("|---|---|---|---|---|---|---|")
    beside = next(iter(rows.values()))
    for name, row in rows.items():
        beside = row if "constant" in name else beside
        rate, cpu = row.per_second / beside.per_second, beside.cpu / row.cpu
        print(
            f"| {name} | {row.per_second:,.0f} | {rate:.2f} | {row.p50:.1f} | {row.p99:.1f} "
            f"| {row.cpu:.0f} | {cpu:.2f} |"
        )
    print("\nAsked: shares of 0.30 for decisions and 0.25 for feedback; aims 0.45 and 0.40.\n")
    print("At half of the highest rate, from the time at which a request was due; `late` is the")
    print("part before it was sent. Asked: a p99 of decisions of at most 4 times the constant's.\n")
    print("| | per second | p50 ms | p99 ms | late p50 ms | late p99 ms |")
    print("|---|---|---|---|---|---|")
    for name, (rate, *cells) in paced.items():
        print(f"| {name} | {rate:,.0f} | {' | '.join(f'{1000 * cell:.2f}' for cell in cells)} |")
    p50, p99 = (1000.0 * seconds for seconds in bare)
    print(f"| one row, committed to power-loss by SQLite alone | | {p50:.2f} | {p99:.2f} | | |")


if __name__ == "__main__":
    main()
