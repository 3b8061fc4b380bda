"""What clients that mean no good get from a running service, and what others notice of it.

    python benchmarks/service/attacks.py [--quick]

`graphcb serve` in a process of its own, with keys. Each attack is carried out once from this
machine; meanwhile another client with a key asks for decisions, one after the other.
"""

import argparse
import contextlib
import http.client
import json
import os
import random
import socket
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

from paced import quantile
from running import Service

from graphcb.service.keys import Keys

PROBLEM = """
[problem]
actions = "each round"
feedback = "rewards"
range = [0.0, 1.0]

[reveals]
each_round = true
"""


class Other(threading.Thread):
    """A client that means well, and how long its requests take."""

    def __init__(self, ask: Callable[[], int]) -> None:
        super().__init__(daemon=True)
        self._ask, self._over = ask, threading.Event()
        self.seconds: list[float] = []
        self.statuses: set[int] = set()

    def run(self) -> None:
        while not self._over.wait(0.02):
            began = time.monotonic()
            self.statuses.add(self._ask())
            self.seconds.append(time.monotonic() - began)

    def stop(self) -> str:
        self._over.set()
        self.join()
        p50, most = 1000 * quantile(self.seconds, 0.5), 1000 * max(self.seconds)
        seen = ", ".join(map(str, sorted(self.statuses)))
        return f"{seen} | {p50:.1f} ms | {most:.0f} ms"


class Victim:
    """The service, and the ways in which it is called."""

    def __init__(self, folder: Path) -> None:
        path = folder / "problem.toml"
        path.write_text(PROBLEM)
        self.folder, self.keys = folder, Keys(folder / "keys.json")
        self.key = self.keys.add("shop", ["decide"])
        options = ("--log", str(folder / "log.db"), "--keys", str(self.keys.path))
        self.service = Service(folder, *options, problem=path)
        where = urlsplit(self.service.address)
        self.host, self.port = str(where.hostname), int(where.port or 80)

    def connect(self) -> socket.socket:
        return socket.create_connection((self.host, self.port), timeout=30.0)

    def raw(self, sent: bytes) -> str:
        """The status line of the answer to these bytes."""
        with self.connect() as one:
            one.sendall(sent)
            return one.recv(65536).partition(b"\r\n")[0].decode() or "closed"

    def post(self, n_actions: int, graph: list[list[float]] | None = None, key: str = "") -> int:
        body = {"actions": [f"a{k}" for k in range(n_actions)], "reveals": graph or {"own": True}}
        line = http.client.HTTPConnection(self.host, self.port, timeout=60.0)
        headers = {
            "Content-Type": "application/json",
            "Authorization": f"Bearer {key or self.key}",
        }
        with contextlib.closing(line):
            line.request("POST", "/v1/decisions", json.dumps(body), headers)
            return line.getresponse().status


@contextlib.contextmanager
def beside(victim: Victim) -> Iterator[Other]:
    other = Other(lambda: victim.post(3))
    other.start()
    yield other
    time.sleep(0.5)  # so that it has asked at least once


def silent_connections(victim: Victim, n: int) -> str:
    held = [victim.connect() for _ in range(n)]
    time.sleep(3.0)
    for one in held:
        one.close()
    return f"{n} connections that send nothing for 3 s"


def never_reads(victim: Victim, n: int) -> str:
    before, most = victim.service.resident(), 0.0
    held = []
    for _ in range(n // 5):
        one = victim.connect()
        one.settimeout(0.05)
        with contextlib.suppress(OSError):
            for _ in range(200):
                one.sendall(50 * b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n")
        held.append(one)
        most = max(most, victim.service.resident())
    for one in held:
        one.close()
    return f"{n // 5} clients that never read: {most - before:+.0f} MiB"


def documents(victim: Victim, n: int) -> str:
    taken = {}
    for path in ("/livez", "/openapi.json"):
        line = http.client.HTTPConnection(victim.host, victim.port)
        used = victim.service.cpu_seconds()
        for _ in range(2 * n):
            line.request("GET", path)
            line.getresponse().read()
        taken[path] = (victim.service.cpu_seconds() - used) / (2 * n)
        line.close()
    ratio = taken["/openapi.json"] / max(taken["/livez"], 1e-6)
    return f"/openapi.json takes {ratio:.1f} times the processor time of /livez"


def large_graphs(victim: Victim, n: int) -> str:
    rng, statuses = random.Random(1), []
    for size in (600, 200, 200):
        graph = [[float(i == j or rng.random() < 0.1) for j in range(size)] for i in range(size)]
        statuses.append(victim.post(size, graph))
    return f"random graphs with 600, 200 and 200 actions: {', '.join(map(str, statuses))}"


def framing(victim: Victim, n: int) -> str:
    get = b"GET /v1/status HTTP/1.1\r\nConnection: close\r\n"
    post = (
        b"POST /v1/decisions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\n{}\r\n0\r\n"
        b"Authorization: Bearer " + victim.key.encode() + b"\r\n\r\n"
    )
    answers = [
        victim.raw(get + b"\r\n"),
        victim.raw(get + b"Host: localhost\r\nHost: evil\r\n\r\n"),
        victim.raw(post),
    ]
    short = ", ".join(one.removeprefix("HTTP/1.1 ") for one in answers)
    return f"no Host, two Hosts, a key in a trailer: {short}"


def wrong_keys(victim: Victim, n: int) -> str:
    statuses = [victim.post(3, key="guess") for _ in range(50)]
    return f"50 wrong keys: {statuses.count(401)} times 401, {statuses.count(429)} times 429"


def modes(victim: Victim, n: int) -> str:
    names = ("log.db", "log.db-wal", "keys.json")
    found = {name: stat.S_IMODE((victim.folder / name).stat().st_mode) for name in names}
    return "modes: " + ", ".join(f"{name} {mode:o}" for name, mode in found.items())


def deleted_keys(victim: Victim, n: int) -> str:
    victim.keys.path.unlink()
    time.sleep(2.0)
    return f"the keys' file is deleted; with its key after 2 s: {victim.post(3)}"


ATTACKS = (
    silent_connections, never_reads, large_graphs, framing, wrong_keys, modes,
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    n = 100 if parser.parse_args().quick else 1000
    os.umask(0o022)
    with tempfile.TemporaryDirectory() as name:
        victim = Victim(Path(name))
        try:
            for _ in range(50):
                victim.post(3)  # which loads machine code
            print("| attack | others get | p50 | longest |\n|---|---|---|---|")
            with beside(victim) as other:
                time.sleep(2.0)
            print(f"| none | {other.stop()} |", flush=True)
            for attack in ATTACKS:
                with beside(victim) as other:
                    said = attack(victim, n)
                print(f"| {said} | {other.stop()} |", flush=True)
            for attack in (documents, deleted_keys):
                print(f"| {attack(victim, n)} | | | |", flush=True)
        finally:
            victim.service.stop()


if __name__ == "__main__":
    main()
