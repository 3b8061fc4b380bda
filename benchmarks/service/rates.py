"""Durable decisions and feedback per second over HTTP, beside an endpoint that answers a constant.

    python benchmarks/service/rates.py [--quick] [--durability process-kill]

Needs `wrk` (a package of Debian): 32 connections on the loopback, ten actions, twenty features.
The endpoint beside them is one of the same server that parses the same body. All are measured in
turn, a row has the medians of its rounds, and its shares are of the constant above it. Where other
programs use the machine, the processor time of the server for a request says more than the rate.
"""

import argparse
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
N_ACTIONS, N_FEATURES, CONNECTIONS = 10, 20, 32


class Measured(NamedTuple):
    """What wrk saw in one round, and the server's processor time in microseconds per request."""

    per_second: float
    p50: float
    p99: float
    cpu: float


class Service:
    """`graphcb serve` in a process of its own."""

    def __init__(self, folder: Path, *options: str) -> None:
        problem = folder / "problem.toml"
        names = ", ".join(f'"a{i}"' for i in range(N_ACTIONS))
        features = "".join(f'f{i} = "number"\n' for i in range(N_FEATURES))
        problem.write_text(f"[problem]\nactions = [{names}]\n\n[features]\n{features}")
        command = [sys.executable, "-m", "graphcb", "serve", str(problem), "--port", "0"]
        self.process = subprocess.Popen(
            [*command, "--echo", "--seed", "1", *options], stdout=subprocess.PIPE, text=True
        )
        greeting = self.process.stdout.readline() if self.process.stdout else ""
        self.address = greeting.partition(" at ")[2].partition(",")[0]

    def post(self, path: str, content: Any) -> Any:
        body = json.dumps(content).encode()
        kind = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.address + path, body, kind)
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def status(self) -> Any:
        with urllib.request.urlopen(self.address + "/v1/status") as answer:
            return json.load(answer)

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=60.0)


def load(service: Service, script: str, path: str, seconds: int, decisions: Path) -> Measured:
    """One round of wrk."""
    before = service.cpu_seconds()
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--latency"]
    environment = {**os.environ, "GRAPHCB_PATH": path, "GRAPHCB_DECISIONS": str(decisions)}
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


def make_decisions(service: Service, count: int, path: Path) -> None:
    """Decisions to give feedback for, made in batches."""
    rounds = [{"context": {f"f{j}": (i * j) % 7 / 7 for j in range(20)}} for i in range(500)]
    with path.open("w") as file:
        for _ in range(0, count, len(rounds)):
            for made in service.post("/v1/decisions", {"decisions": rounds})["decisions"]:
                print(made["decision_id"], made["action"], file=file)


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
    given = parser.parse_args()
    if shutil.which("wrk") is None:
        print("`wrk` is not installed, so that nothing was measured.")
        return
    n_rounds, seconds = (1, 1) if given.quick else (5, 3)
    made: dict[str, list[Measured]] = {}
    with tempfile.TemporaryDirectory() as folder:
        decisions = Path(folder) / "decisions"
        service = Service(Path(folder), "--durability", given.durability)
        try:
            make_decisions(service, 500, decisions)
            for line in decisions.read_text().splitlines():  # a model that has learned something
                name, action = line.split()
                service.post(f"/v1/decisions/{name}/feedback", {"losses": {action: 0.5}})
            for path in ("/v1/decisions", "/v1/echo"):
                load(service, "decide.lua", path, 1, decisions)  # all kernels are there
            for _ in range(n_rounds):
                rate = load(service, "decide.lua", "/v1/decisions", 1, decisions).per_second
                make_decisions(service, int(3 * rate * seconds), decisions)
                known = service.status()["n_feedbacks"]
                for name, script, path in (
                    ("the same body, a constant", "decide.lua", "/v1/echo"),
                    ("decisions", "decide.lua", "/v1/decisions"),
                    ("the feedback's body, a constant", "feedback.lua", "/v1/echo/%s"),
                    ("feedback", "feedback.lua", "/v1/decisions/%s/feedback"),
                ):
                    one = load(service, script, path, seconds, decisions)
                    made.setdefault(name, []).append(one)
                learned = service.status()["n_feedbacks"] - known
                sent = made["feedback"][-1].per_second * seconds
                if learned < 0.8 * sent:
                    raise RuntimeError(f"{sent:.0f} feedbacks were sent, {learned} were new")
            status = service.status()
        finally:
            service.stop()
    rows = {name: median(rounds) for name, rounds in made.items()}
    print(f"Durability {given.durability}; {status['jobs_per_commit']:.0f} requests per commit.\n")
    print("| | per second | share | p50 ms | p99 ms | CPU us per request | share |")
    print("|---|---|---|---|---|---|---|")
    constant = None
    for name, row in rows.items():
        constant = row if "constant" in name or constant is None else constant
        rate, cpu = row.per_second / constant.per_second, constant.cpu / row.cpu
        print(
            f"| {name} | {row.per_second:,.0f} | {rate:.2f} | {row.p50:.1f} | {row.p99:.1f} "
            f"| {row.cpu:.0f} | {cpu:.2f} |"
        )


if __name__ == "__main__":
    main()
