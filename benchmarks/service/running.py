"""`graphcb serve` in a process of its own, for the benchmarks in this folder."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

N_FEATURES, CONNECTIONS = 20, 32
KINDS = ("10", "100", "1000", "limits", "own10", "own50")  # numbers of actions, or more


def write_problem(folder: Path, kind: str = "10", rest: str = "") -> Path:
    """The problem of all these benchmarks: ten actions, twenty numbers, nothing else said.

    Or a hundred or a thousand actions; ten with two limits and a budget ("limits"); or ten that
    come with each round, with features of their own ("own10"). `rest` follows in the file.
    """
    path = folder / "problem.toml"
    names = ", ".join(f'"a{i}"' for i in range(int(kind) if kind.isdigit() else 10))
    actions = '"each round"' if kind.startswith("own") else f"[{names}]"
    features = "".join(f'f{i} = "number"\n' for i in range(N_FEATURES))
    text = f"[problem]\nactions = {actions}\n\n[features]\n{features}"
    if kind == "limits":
        text += "\n[limits]\nfloors = { a0 = 0.05 }\ncaps = { a2 = 0.5 }\n"
        text += "\n[budgets.calls]\ncosts = { a1 = 1 }\nat_most = 0.3\n"
    path.write_text(f"{text}\n{rest}")
    return path


def as_body(rng: random.Random, kind: str = "10") -> str:
    """A request for a decision."""
    values = ",".join(f'"f{i}":{rng.random():.6f}' for i in range(N_FEATURES))
    if not kind.startswith("own"):
        return f'{{"context":{{{values}}}}}'
    actions = ",".join(
        f'"i{rng.randrange(100)}{place}":{{"price":{rng.random():.4f},"topic":"t{rng.randrange(5)}"}}'
        for place in range(int(kind[3:]))
    )
    return f'{{"context":{{{values}}},"actions":{{{actions}}}}}'


def write_bodies(path: Path, kind: str = "10") -> None:
    """The bodies of the requests that wrk sends."""
    rng = random.Random(7)
    path.write_text("".join(f"{as_body(rng, kind)}\n" for _ in range(256)))


class Service:
    """A running service; it is there once the constructor returns.

    `constant` is one that answers a constant, as `constant.py` says.
    """

    def __init__(
        self,
        folder: Path,
        *options: str,
        constant: bool = False,
        kind: str = "10",
        problem: Path | None = None,
    ) -> None:
        file = str(problem or write_problem(folder, kind))
        command = ["-m", "graphcb", "serve", file, "--port", "0", *options]
        if constant:
            command = [str(Path(__file__).with_name("constant.py")), file]
        self.process = subprocess.Popen(
            [sys.executable, *command], stdout=subprocess.PIPE, text=True
        )
        greeting = self.process.stdout.readline() if self.process.stdout else ""
        self.address = greeting.partition(" at ")[2].partition(",")[0]
        if not self.address:
            raise RuntimeError("the service did not start")

    def post(self, path: str, content: Any) -> Any:
        body = json.dumps(content).encode()
        kind = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.address + path, body, kind)
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(self.address + path) as answer:
            return json.load(answer)

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident(self) -> float:
        """The memory of the process that is in use, in MiB."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+) kB", text)
        if found is None:
            raise RuntimeError("the service has ended")
        return int(found[1]) / 1024

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        self.process.send_signal(how)
        self.process.communicate(timeout=60.0)
