"""RequestLimits on what a client may send, and how fast."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from graphcb.service.errors import Refused

Receive = Callable[[], Awaitable[Any]]
CLOSE = ((b"connection", b"close"),)


@dataclass(frozen=True)
class RequestLimits:
    """The most that a request may hold, and how long it may take to arrive.

    `in_all` is the number of actions in all rounds of a batch together. `per_second` is the
    number of requests that each key may send per second, with bursts of as many; None for any
    number.
    """

    body: int = 1_000_000
    batch: int = 1000
    features: int = 1000
    actions: int = 1000
    in_all: int = 20_000
    per_second: float | None = None
    body_seconds: float = 10.0


class ClientGone(Exception):  # noqa: N818 - nobody is left to be told
    """The client has closed its connection."""


class Rates:
    """A bucket of tokens for each client: full at first, refilled as time goes by."""

    def __init__(self, per_second: float | None, now: Callable[[], float] = time.monotonic) -> None:
        self._per_second, self._now = per_second, now
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, client: str) -> None:
        """Take a token, or refuse the request."""
        rate = self._per_second
        if rate is None:
            return
        now, most = self._now(), max(1.0, rate)
        tokens, before = self._buckets.get(client, (most, now))
        tokens = min(most, tokens + rate * (now - before))
        if tokens < 1.0:
            self._buckets[client] = tokens, now
            seconds = b"%d" % max(1, round((1.0 - tokens) / rate))
            raise Refused(
                429,
                f"{client} must send at most {rate:g} requests per second; wait and try again",
                ((b"retry-after", seconds),),
            )
        self._buckets[client] = tokens - 1.0, now


async def read_body(receive: Receive, limits: RequestLimits) -> bytes:
    """The whole body; one that is too large or too slow is refused."""
    try:
        async with asyncio.timeout(limits.body_seconds):
            message = await _next(receive)
            if not message.get("more_body"):
                body = message["body"]
            else:
                parts = bytearray(message["body"])
                while message.get("more_body") and len(parts) <= limits.body:
                    message = await _next(receive)
                    parts += message["body"]
                body = bytes(parts)
    except TimeoutError:
        seconds = f"{limits.body_seconds:g}"
        raise Refused(408, f"the body must arrive within {seconds} seconds", CLOSE) from None
    if len(body) > limits.body:
        raise Refused(413, f"the body must be at most {limits.body:,} bytes", CLOSE)
    return bytes(body)


async def _next(receive: Receive) -> Any:
    message = await receive()
    if message["type"] != "http.request":
        raise ClientGone
    return message
