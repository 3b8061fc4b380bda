"""`graphcb serve` in a process of its own, for the benchmarks in this folder."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

N_ACTIONS, N_FEATURES, CONNECTIONS = 10, 20, 32


def write_problem(folder: Path) -> Path:
    """The problem of all these benchmarks: ten actions, twenty numbers, nothing else said."""
    path = folder / "problem.toml"
    names = ", ".join(f'"a{i}"' for i in range(N_ACTIONS))
    features = "".join(f'f{i} = "number"\n' for i in range(N_FEATURES))
    path.write_text(f"[problem]\nactions = [{names}]\n\n[features]\n{features}")
    return path


class Service:
    """A running service; it is there once the constructor returns.

    `constant` is one that answers a constant, as `constant.py` says.
    """

    def __init__(self, folder: Path, *options: str, constant: bool = False) -> None:
        problem = str(write_problem(folder))
        command = ["-m", "graphcb", "serve", problem, "--port", "0", *options]
        if constant:
            command = [str(Path(__file__).with_name("constant.py")), problem]
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
