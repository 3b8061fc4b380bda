"""Which requests are let in: keys, scopes, rates and sizes, and no page of another site."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

from graphcb.checks import listed
from graphcb.service.errors import CLOSE, Refused
from graphcb.service.keys import Keys
from graphcb.service.routing import Route

Receive = Callable[[], Awaitable[Any]]
_AUTHENTICATE = ((b"www-authenticate", b"Bearer"),)
WRONG_KEYS = 10.0  # per second and address
WORK_BYTES = 4000  # of a body, which cost about as much to read as a round of many actions
MOST_CLIENTS = 10_000  # whose tokens are remembered while they are being refilled
_LOCAL = ("localhost", "127.0.0.1", "[::1]")
_READ = frozenset(
    (b"authorization", b"ocp-apim-subscription-key", b"content-type", b"host", b"origin")
)


@dataclass(frozen=True)
class RequestLimits:
    """How much a request may contain, and how long its body and its answer may take.

    A change of the problem, and the first requests, for which machine code may have to be
    compiled, have more time. `in_all` limits the actions of all rounds in a batch together, and
    `graph` the actions of a round that brings its own graph, for which time grows with their
    square: several such rounds may have as many squares together. Each key may ask for
    `per_second` requests or rounds per second, in bursts of as many; None sets no limit.
    """

    body: int = 1_000_000
    batch: int = 1000
    features: int = 1000
    actions: int = 1000
    in_all: int = 20_000
    graph: int = 200
    per_second: float | None = None
    body_seconds: float = 10.0
    answer_seconds: float = 10.0


class Admission:
    """Admits or refuses a request by its headers.

    Without keys the service is for programs on this machine. A browser on this machine also runs
    pages of other sites, which may send requests here: these have a foreign Origin, a Host that
    is not this machine, or a body that is not declared as JSON, and are refused. `is_local` says
    that this holds, by default if there are no keys.
    """

    def __init__(
        self, keys: Keys | None, per_second: float | None, *, is_local: bool | None = None
    ) -> None:
        self._keys, self._rates = keys, Rates(per_second)
        self._is_local = keys is None if is_local is None else is_local
        self._wrong = Rates(WRONG_KEYS)

    def check(self, headers: Iterable[tuple[bytes, bytes]], route: Route, address: str = "") -> str:
        """The client of a request; one from an address that may not use this route is refused."""
        read = [pair for pair in headers if pair[0] in _READ]
        found = dict(read)
        if len(found) < len(read) or b"host" not in found:
            raise Refused(
                400,
                "the request must have one Host header, and at most one each of Authorization, "
                "Content-Type, Ocp-Apim-Subscription-Key and Origin",
            )
        if route.takes is not None:
            kind = found.get(b"content-type", b"").partition(b";")[0].strip().lower()
            wanted = "application/octet-stream" if route.takes is bytes else "application/json"
            if kind != wanted.encode():
                raise Refused(415, f"the content type must be {wanted}")
        origin = found.get(b"origin")
        if origin is not None and origin.partition(b"://")[2] != found.get(b"host"):
            raise Refused(403, "pages of another origin must not call this service")
        client = "this machine"
        if self._is_local:
            host = found[b"host"].decode("latin-1")
            if host not in _LOCAL and host.rpartition(":")[0] not in _LOCAL:
                raise Refused(
                    403,
                    f"the host must be one of {listed(_LOCAL)}, as this service has no keys; "
                    "start it with --keys to allow other names",
                )
        if self._keys is not None and route.scope:
            client = self._client_of(self._keys, found, route.scope, address)
        if route.scope:
            self._rates.take(client)
        return client

    def check_scope(self, client: str, scope: str) -> None:
        """Refuse a client whose key lacks a scope that only the body of its request needs."""
        if self._keys is not None and not self._keys.allow(client, scope):
            raise Refused(403, f"the key must have the scope {scope!r} for this request")

    def charge(self, client: str, more: float) -> None:
        """Count a request as that many more: the next ones wait until they are paid for."""
        self._rates.charge(client, more)

    def _client_of(self, keys: Keys, headers: dict[bytes, bytes], scope: str, address: str) -> str:
        """The name of the client whose key was sent."""
        secret = headers.get(b"ocp-apim-subscription-key", b"")
        scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
        if scheme.lower() == b"bearer":
            secret = token.strip()
        if not secret:
            text = "a key must be given in the header Authorization: Bearer KEY"
            raise Refused(401, text, _AUTHENTICATE)
        key = keys.find(secret.decode("latin-1"))
        if key is None:
            self._wrong.take(address, "unknown keys")
            raise Refused(401, "the key is unknown", _AUTHENTICATE)
        if not key.allows(scope):
            raise Refused(403, f"the key must have the scope {scope!r}, got {listed(key.scopes)}")
        return key.name


class Rates:
    """A bucket of tokens for each client: full at first, refilled as time goes by."""

    def __init__(self, per_second: float | None, now: Callable[[], float] = time.monotonic) -> None:
        self._per_second, self._now = per_second, now
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, client: str, what: str = "requests") -> None:
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
                f"{client} must send at most {rate:g} {what} per second; wait and try again",
                ((b"retry-after", seconds),),
            )
        if len(self._buckets) > MOST_CLIENTS:  # addresses, of which there may be many
            full = now - most / rate
            self._buckets = {n: b for n, b in self._buckets.items() if b[1] > full or b[0] < 0.0}
        self._buckets[client] = tokens - 1.0, now

    def charge(self, client: str, more: float) -> None:
        """Take more tokens than there may be."""
        if client in self._buckets:
            tokens, before = self._buckets[client]
            self._buckets[client] = tokens - more, before


class ClientGone(Exception):  # noqa: N818 - no answer is sent
    """The client has closed its connection."""


async def read_body(receive: Receive, limits: RequestLimits) -> bytes:
    """The whole body; one that is too large or too slow is refused."""
    try:
        async with asyncio.timeout(limits.body_seconds):
            message = await _next(receive)
            body: bytes = message["body"]
            if message.get("more_body"):
                parts = bytearray(body)
                while message.get("more_body") and len(parts) <= limits.body:
                    message = await _next(receive)
                    parts += message["body"]
                body = bytes(parts)
    except TimeoutError:
        seconds = f"{limits.body_seconds:g}"
        raise Refused(408, f"the body must arrive within {seconds} seconds", CLOSE) from None
    if len(body) > limits.body:
        raise Refused(413, f"the body must be at most {limits.body:,} bytes", CLOSE)
    return body


async def _next(receive: Receive) -> Any:
    message = await receive()
    if message["type"] != "http.request":
        raise ClientGone
    return message
