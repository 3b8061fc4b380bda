"""Latencies at a given rate, of requests that are sent at their times whatever was answered.

    python benchmarks/service/paced.py http://127.0.0.1:8000/v1/decisions RATE [SECONDS]

wrk sends a request once the last one is answered: while an answer is slow, the requests that
would have met the same delay are never sent. Here each request has a time, and a free connection
of 32 sends it then, or later if none is free. Its latency counts from that time on, so that it
holds whatever the generator itself was late by; how much that is, is told as well.
"""

import asyncio
import math
import random
import selectors
import sys
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from running import CONNECTIONS, as_body


class Sent(NamedTuple):
    """A request: seconds from its time until it was sent, and until its answer was there."""

    late: float
    latency: float
    body: bytes


class Connection(asyncio.Protocol):
    """One request at a time over a socket."""

    def __init__(self) -> None:
        self._received = b""
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(exc or ConnectionError("the service closed a connection"))

    def data_received(self, data: bytes) -> None:
        self._received += data
        answer = read_answer(self._received)
        if answer is not None and self._answer is not None:
            self._received = b""
            self._answer.set_result(answer)

    def ask(self, request: bytes) -> "asyncio.Future[tuple[int, bytes]]":
        self._answer = asyncio.get_running_loop().create_future()
        self.transport.write(request)  # type: ignore[attr-defined]
        return self._answer


def read_answer(received: bytes) -> tuple[int, bytes] | None:
    """The status and the body of an HTTP answer, None if a part is missing.

    >>> read_answer(b"HTTP/1.1 200 OK\\r\\ncontent-length: 2\\r\\n\\r\\n{}")
    (200, b'{}')
    """
    head, end, body = received.partition(b"\r\n\r\n")
    size = head.lower().partition(b"\r\ncontent-length:")[2].partition(b"\r\n")[0]
    if not end or len(body) < int(size or 0):
        return None
    return int(head[9:12]), body


def schedule(rate: float, seconds: float) -> list[float]:
    """The times of requests, evenly spaced from 0 on.

    >>> schedule(4.0, 1.0)
    [0.0, 0.25, 0.5, 0.75]
    """
    return [place / rate for place in range(int(rate * seconds))]


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest of the values that at least this share does not exceed.

    >>> quantile([3.0, 1.0, 2.0, 4.0], 0.5), quantile([3.0, 1.0, 2.0, 4.0], 0.99)
    (2.0, 4.0)
    """
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def as_request(path: str, body: str) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()


def send(address: str, requests: Sequence[bytes], times: Sequence[float]) -> list[Sent]:
    """Send each request at its time; all times 0 is as fast as 32 connections go."""
    # A timeout of select() is in microseconds, that of epoll() in milliseconds.
    with asyncio.Runner(
        loop_factory=lambda: asyncio.SelectorEventLoop(selectors.SelectSelector())
    ) as runner:
        return runner.run(_send(address, requests, times))


async def _send(address: str, requests: Sequence[bytes], times: Sequence[float]) -> list[Sent]:
    loop, parts = asyncio.get_running_loop(), urlsplit(address)
    host, port = parts.hostname or "127.0.0.1", parts.port or 80
    connections = [
        (await loop.create_connection(Connection, host, port))[1]
        for _ in range(min(CONNECTIONS, len(requests)))
    ]
    made: list[Sent] = [Sent(0.0, 0.0, b"")] * len(requests)
    turns = iter(range(len(requests)))  # shared, so that a free connection takes the next one
    start = loop.time()

    async def work(connection: Connection) -> None:
        for place in turns:
            due = start + times[place]
            if due > loop.time():
                await asyncio.sleep(due - loop.time())
            late = loop.time() - due
            status, body = await connection.ask(requests[place])
            if status != 200:
                raise RuntimeError(f"{status}: {body.decode()}")
            made[place] = Sent(late, loop.time() - due, body)

    try:
        async with asyncio.TaskGroup() as group:
            for connection in connections:
                group.create_task(work(connection))
    finally:
        for connection in connections:
            connection.transport.close()
    return made


def main() -> None:
    address, rate, seconds = sys.argv[1], float(sys.argv[2]), float((*sys.argv, "10")[3])
    rng, path = random.Random(0), urlsplit(address).path
    times = schedule(rate, seconds)
    made = send(address, [as_request(path, as_body(rng)) for _ in times], times)
    for name, values in (("latency", [s.latency for s in made]), ("late", [s.late for s in made])):
        p50, p99 = (1000 * quantile(values, share) for share in (0.5, 0.99))
        print(f"{name}: p50 {p50:.2f} ms, p99 {p99:.2f} ms, most {1000 * max(values):.2f} ms")


if __name__ == "__main__":
    main()
