"""Decisions per second of one decider and of four, on one PostgreSQL server with a trainer.

    python benchmarks/service/deciders.py [--quick]

Needs `wrk` (a package of Debian): 32 connections in all on the loopback, ten actions, twenty
features. Beside them stands one process that decides and learns, on the same server. They take
turns, a row has the medians of its rounds, and its share is that of one decider. The trainer works
all the time; before each round it has taken in everything.

Then a trainer in this process takes in what waits for it, with nobody else at work: decisions,
their feedback, and both, also after it was away for longer.
"""

import argparse
import gc
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))
from crowd import Member, cpu_seconds, wait_until
from faults.server import Server, why_not
from running import write_bodies

from graphcb import Problem
from graphcb.decisions import Decider, Decision, Trainer

CONNECTIONS = 32
_NAMES = ", ".join(f'"a{k}"' for k in range(10))
_FEATURES = "".join(f'f{k} = "number"\n' for k in range(20))
PROBLEM = f"[problem]\nactions = [{_NAMES}]\n\n[features]\n{_FEATURES}"
_INBOX = "SELECT count(*) FROM graphcb_inbox"
_EVENTS = "SELECT greatest((SELECT max(position) FROM graphcb_decisions), 0)"
_STALENESS = "SELECT extract(epoch FROM clock_timestamp())::float8 - known_at FROM graphcb_trainer"


class Round(NamedTuple):
    """Decisions per second, processor time per decision, and what the trainer did meanwhile."""

    per_second: float
    cpu: float  # microseconds of the processes that decide
    server: float  # microseconds of PostgreSQL
    taken: float = 0.0  # events per second that the trainer took in during the load
    left: float = 0.0  # rows that it had not taken in at the end
    behind: float = 0.0  # seconds that the snapshot had missed then


class Database:
    """Questions about one schema."""

    def __init__(self, url: str) -> None:
        import psycopg

        self._connection = psycopg.connect(url, autocommit=True)

    def ask(self, question: str) -> float:
        row = self._connection.execute(question.encode()).fetchone()
        return float(row[0]) if row else 0.0

    def close(self) -> None:
        self._connection.close()


def post(port: int, path: str, content: Any) -> Any:
    kind = {"Content-Type": "application/json"}
    body = json.dumps(content).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", body, kind)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def teach(port: int, count: int) -> None:
    """A model that has learned something."""
    for k in range(count):
        context = {f"f{j}": (k * j) % 7 / 7 for j in range(20)}
        made = post(port, "/v1/decisions", {"context": context})
        losses = {made["action"]: k % 97 / 97}
        post(port, f"/v1/decisions/{made['decision_id']}/feedback", {"losses": losses})


def server_seconds(server: Server) -> float:
    """The processor time of all of PostgreSQL's processes."""
    first = int((server.folder / "data" / "postmaster.pid").read_text().split()[0])
    total = 0.0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            if first in (int(stat.parent.name), int(fields[1])):
                total += cpu_seconds(int(stat.parent.name))
    return total


def load(members: list[Member], seconds: int, bodies: Path, server: Server) -> Round:
    """One wrk against each at the same time, with the same number of connections in all."""
    before = sum(cpu_seconds(one.process.pid) for one in members)
    before_server = server_seconds(server)
    command = ["wrk", "-t1", f"-c{CONNECTIONS // len(members)}", f"-d{seconds}s"]
    command += ["-s", str(Path(__file__).parent / "decide.lua")]
    environment = {**os.environ, "GRAPHCB_PATH": "/v1/decisions", "GRAPHCB_BODIES": str(bodies)}
    runs = [
        subprocess.Popen(
            [*command, f"http://127.0.0.1:{one.port}"],
            stdout=subprocess.PIPE, text=True, env=environment,
        )
        for one in members
    ]  # fmt: skip
    n_requests, rate = 0, 0.0
    for run in runs:
        out = run.communicate()[0]
        counted, per_second = re.search(r"(\d+) requests", out), re.search(r"sec:\s+(\S+)", out)
        if "Non-2xx" in out or counted is None or per_second is None:
            raise RuntimeError(out)
        n_requests += int(counted[1])
        rate += float(per_second[1])
    used = sum(cpu_seconds(one.process.pid) for one in members) - before
    per_request = 1e6 / max(n_requests, 1)
    return Round(rate, per_request * used, per_request * (server_seconds(server) - before_server))


def load_deciders(
    deciders: list[Member], database: Database, seconds: int, bodies: Path, server: Server
) -> Round:
    """The same, and how the trainer kept up."""
    wait_until(lambda: not database.ask(_INBOX), 120.0)
    began, events = time.monotonic(), database.ask(_EVENTS)
    made = load(deciders, seconds, bodies, server)
    during = time.monotonic() - began
    left, behind = database.ask(_INBOX), database.ask(_STALENESS)
    taken = (database.ask(_EVENTS) - events) / during
    return made._replace(taken=taken, left=left, behind=behind)


def measure(folder: Path, server: Server, n_rounds: int, seconds: int) -> dict[str, Round]:
    """All in turn; medians."""
    problem, url, other = folder / "problem.toml", server.url("many"), server.url("alone")
    problem.write_text(PROBLEM)
    bodies = folder / "bodies"
    write_bodies(bodies)
    members = [Member("trainer", folder, [str(problem), "--learn-only", "--log", url])]
    try:
        deciding = ["--decide-only", "--log", url]
        members += [Member(f"decider {k}", folder, deciding) for k in range(4)]
        members.append(Member("alone", folder, [str(problem), "--log", other]))
        if not wait_until(lambda: all(one.is_up for one in members), 120.0):
            raise RuntimeError("\n".join(one.said for one in members))
        deciders, single = members[1:5], members[5:]
        made: dict[str, list[Round]] = {}
        database = Database(url)
        for one in (*single, *deciders):  # then all kernels are there, too
            teach(one.port, 300 if one is single[0] else 75)
        for _ in range(n_rounds):
            made.setdefault("one process that decides and learns", []).append(
                load(single, seconds, bodies, server)
            )
            for some in (deciders[:1], deciders):
                name = "one decider, a trainer" if len(some) == 1 else "four deciders, a trainer"
                made.setdefault(name, []).append(
                    load_deciders(some, database, seconds, bodies, server)
                )
        database.close()
    finally:
        for member in members:
            member.process.kill()
            member.process.wait()
    return {
        name: Round(*(statistics.median(column) for column in zip(*rounds, strict=True)))
        for name, rounds in made.items()
    }


class Drained(NamedTuple):
    """Events that waited, and microseconds for each."""

    n_events: int
    cpu: float
    wall: float
    server: float


def drain(trainer: Trainer, server: Server, n_events: int) -> Drained:
    """What a trainer needs for what waits for it; what is there is set aside as by the service."""
    gc.collect()
    gc.freeze()
    before = server_seconds(server), time.process_time(), time.perf_counter()
    while not trainer.step().is_all:
        pass
    after = server_seconds(server), time.process_time(), time.perf_counter()
    used = [1e6 * (end - begin) / n_events for begin, end in zip(before, after, strict=True)]
    return Drained(n_events, used[1], used[2], used[0])


def measure_drains(folder: Path, server: Server, n_decisions: int) -> dict[str, Drained]:
    """The second of two runs; the first loads kernels, and learns something."""
    path, rng = folder / "drained.toml", random.Random(1)
    path.write_text(PROBLEM)
    found: dict[str, Drained] = {}

    def decide(decider: Decider, times: int = 1) -> list[Decision]:
        made: list[Decision] = []
        for _ in range(0, times * n_decisions, 500):
            made += decider.decide_many(
                {f"f{j}": rng.random() for j in range(20)} for _ in range(500)
            )
        return made

    def answer(decider: Decider, made: list[Decision]) -> None:
        for begin in range(0, len(made), 500):
            some = made[begin : begin + 500]
            decider.feedback_many({one.decision_id: {one.action: rng.random()} for one in some})

    url = server.url("drained")
    with Trainer(url, problem=Problem.read(path), seed=1) as trainer, Decider(url) as decider:
        for _ in range(2):
            made = decide(decider)
            found["decisions"] = drain(trainer, server, len(made))
            answer(decider, made)
            found["feedback"] = drain(trainer, server, len(made))
            made = decide(decider)
            answer(decider, made)
            found["both"] = drain(trainer, server, 2 * len(made))
        made = decide(decider, 8)
        answer(decider, made)
        found["both, eight times as many"] = drain(trainer, server, 2 * len(made))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    reason = "`wrk` is not installed" if shutil.which("wrk") is None else why_not()
    if reason is not None:
        print(f"Nothing was measured: {reason}.")
        return
    n_rounds, seconds = (1, 1) if given.quick else (7, 4)
    with tempfile.TemporaryDirectory(prefix="graphcb-postgresql-") as folder:
        server = Server(Path(folder))
        try:
            outputs = Path(folder) / "outputs"
            outputs.mkdir()
            rows = measure(outputs, server, n_rounds, seconds)
            drained = measure_drains(outputs, server, 1000 if given.quick else 5000)
        finally:
            server.stop()
    one = rows["one decider, a trainer"]
    print(
        "The trainer's events per second are those of the load, in which it takes turns with all "
        "others. What was left at the end of the load is in rows, and in seconds that the newest "
        "snapshot had missed. Processor times are per decision, of the processes that decide, and "
        "of PostgreSQL with what the trainer asks of it.\n"
    )
    print("| | decisions/s | share | us each | PostgreSQL | trainer, events/s | left | s |")
    print("|---|---|---|---|---|---|---|---|")
    for name, row in rows.items():
        share = row.per_second / one.per_second
        line = (
            f"| {name} | {row.per_second:,.0f} | {share:.2f} | {row.cpu:.0f} | {row.server:.0f} | "
        )
        if row.taken:
            line += f"{row.taken:,.0f} | {row.left:,.0f} | {row.behind:.1f} |"
        else:
            line += "| | |"
        print(line)
    print("\nWhat waits for a trainer that has nobody beside it, in microseconds per event.")
    print("Asked: 20,000 events per second.\n")
    print("| | events | events/s | trainer, CPU | time | PostgreSQL, CPU |")
    print("|---|---|---|---|---|---|")
    for name, took in drained.items():
        print(
            f"| {name} | {took.n_events:,} | {1e6 / took.wall:,.0f} | {took.cpu:.0f} "
            f"| {took.wall:.0f} | {took.server:.0f} |"
        )


if __name__ == "__main__":
    main()
