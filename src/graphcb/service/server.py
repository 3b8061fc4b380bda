"""uvicorn on a socket: limits on headers, and an orderly stop.

All that the service uses of uvicorn is here, some of it private: `HttpToolsProtocol` is
subclassed and `Server.capture_signals` replaced. The extra `serve` therefore bounds uvicorn's
version from above, and `tests/service/test_server.py` names what a new version has moved.
"""

import asyncio
import contextlib
import gc
import ipaddress
import itertools
import os
import signal
import socket
import ssl
import threading
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from graphcb.service.application import send_answer
from graphcb.service.errors import CLOSE, LOGGER, RETRY, Refused
from graphcb.service.refused_connections import REFUSED

CONNECTIONS = 1000  # at the same time; more are answered with 503
FILES = 65_536  # that may be open, where the system allows as many
FULL = 0.8  # the share of these from which on room is made
KEEP_ALIVE = 30  # seconds that a connection may idle between two requests
LAST_ANSWERS = 12  # seconds for requests in progress when the service stops
LAST_RESORT = 25.0  # seconds until it ends in any case; Kubernetes kills after 30
HEAD_SECONDS = 10.0  # from the connection, or the first byte, to the end of the headers
WRITE_SECONDS = 10.0  # for a client to read an answer that does not fit into buffers
PIPELINED = 64  # requests of a connection that may wait for the answer to an earlier one, 3 KB each
NEW_OBJECTS = 10_000  # since the last garbage collection, from which on there is another
HEAD_BYTES = 65_536  # of headers that have not ended; what comes at once with their end is more


_NUMBERS = itertools.count()  # of connections, in their order


def check_address(host: str, *, has_keys: bool) -> None:
    """Refuse to listen beyond this machine without keys."""
    if has_keys or host == "localhost":
        return
    with contextlib.suppress(ValueError):
        if ipaddress.ip_address(host).is_loopback:
            return
    raise ValueError(
        "`--host` must be an address of this machine only, such as 127.0.0.1, unless there are "
        f"keys, got {host!r}; make keys with graphcb serve-keys add, and pass their file to --keys"
    )


def listen(host: str, port: int) -> socket.socket:
    """A socket that accepts connections; port 0 takes any free port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as problem:
        raise OSError(f"cannot listen on {host}, port {port}: {problem}") from None


class Tls(NamedTuple):
    """The files of a certificate and of its private key."""

    cert: str
    key: str


def read_tls(cert: os.PathLike[str] | None, key: os.PathLike[str] | None) -> Tls | None:
    """The files with which HTTPS is served, if any; a pair that does not fit is refused."""
    if cert is None and key is None:
        return None
    if cert is None or key is None:
        missing = "--tls-cert" if cert is None else "--tls-key"
        raise ValueError(f"`{missing}` must be given too: HTTPS needs a certificate and its key")
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(cert, key, "")
    except (OSError, ssl.SSLError) as problem:
        raise ValueError(
            "`--tls-cert` and `--tls-key` must be a certificate and its private key, without a "
            f"passphrase, in PEM files, got {os.fspath(cert)!r} and {os.fspath(key)!r}: {problem}"
        ) from None
    return Tls(os.fspath(cert), os.fspath(key))


def address_of(listener: socket.socket, tls: Tls | None = None) -> str:
    """The URL of a socket."""
    host, port = listener.getsockname()[:2]
    scheme = "http" if tls is None else "https"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def new_server(app: Any, tls: Tls | None = None) -> uvicorn.Server:
    """A server for an ASGI application; it stops once its `should_exit` is true."""
    config = uvicorn.Config(
        app,
        http=Connection,
        loop="uvloop" if find_spec("uvloop") else "asyncio",
        ws="none",
        lifespan="on",
        access_log=False,
        log_level="error",  # its warnings are a line per request that is none, from anybody
        log_config=None,
        ssl_certfile=None if tls is None else tls.cert,
        ssl_keyfile=None if tls is None else tls.key,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=LAST_ANSWERS,
    )
    server = uvicorn.Server(config)
    # `run` handles signals; uvicorn would raise them again after its stop.
    server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign,assignment]
    return server


def run(
    server: uvicorn.Server,
    listener: socket.socket,
    greet: Callable[[], None] = lambda: None,
    leave: Callable[[], float] = lambda: 0.0,
) -> None:
    """Serve until SIGTERM or SIGINT, then answer the requests in progress and close the log.

    `greet` is called once these signals lead to an orderly stop. `leave` is called on SIGTERM; the
    service continues for as many seconds as it returns, so that load balancers notice. If the stop
    takes too long, the process ends without one, which loses nothing that was answered.
    """
    spare_collections()
    allow_files()
    with asyncio.Runner(loop_factory=server.config.get_loop_factory()) as runner:
        runner.run(_serve(server, listener, greet, leave))


def spare_collections() -> None:
    """Collect garbage only where there may be some.

    Looking at what is there now takes a tenth of a second: no collection does so any more. A
    request leaves no cycles behind, but has some hundred objects while it waits, so that a
    few of them at once would set off a collection which finds nothing.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS)


def allow_files() -> None:
    """Open as many files as the system allows: each connection is one, each log some.

    At the usual limit of 1024, connections of one client and the logs of 40 problems would leave
    none for the others.
    """
    if find_spec("resource") is None:  # on Windows, which has no such limit
        return
    import resource

    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if most == resource.RLIM_INFINITY else min(FILES, most)
    if now != resource.RLIM_INFINITY and now < wanted:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


async def _serve(
    server: uvicorn.Server,
    listener: socket.socket,
    greet: Callable[[], None],
    leave: Callable[[], float],
) -> None:
    loop, n_signals = asyncio.get_running_loop(), 0

    def stop() -> None:
        server.should_exit = True

    def hear(one: int) -> None:
        nonlocal n_signals
        n_signals += 1
        if n_signals > 1:
            server.force_exit = server.should_exit = True  # a second signal does not wait
            return
        seconds = leave() if one == signal.SIGTERM else 0.0
        last_resort = threading.Timer(seconds + LAST_RESORT, _end)
        last_resort.daemon = True
        last_resort.start()
        loop.call_later(seconds, stop)

    for one in (signal.SIGTERM, signal.SIGINT):
        with contextlib.suppress(NotImplementedError, ValueError, RuntimeError):
            loop.add_signal_handler(one, hear, one)  # not on Windows, nor outside the main thread
    greet()
    await server.serve(sockets=[listener])


def _end() -> None:
    LOGGER.error("stopped without a checkpoint, as the log does not answer; nothing is lost")
    os._exit(1)


class Connection(HttpToolsProtocol):
    """uvicorn's protocol with limits on the headers, for which it has none.

    Connections that send no request are closed, so that they do not take the place of others.
    """

    _late: asyncio.TimerHandle | None = None  # while headers are awaited
    _unread: asyncio.TimerHandle | None = None  # while a client does not read
    _n_bytes = 0
    _number = 0
    _cycles: tuple[Any, ...] = ()  # requests whose answers are not complete

    @property
    def is_idle(self) -> bool:
        """Whether it waits for its client: for a request, or for the rest of one."""
        cycle: Any = self.cycle  # None before the first request, though it is not typed so
        if cycle is None or cycle.response_complete:
            return True
        return bool(cycle.more_body) and not self.pipeline

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Expect a request within HEAD_SECONDS."""
        super().connection_made(transport)
        self._number = next(_NUMBERS)
        self._await_headers()
        if len(self.connections) > FULL * CONNECTIONS:
            _make_room(self.connections - {self})

    def connection_lost(self, exc: Exception | None) -> None:
        """Expect nothing more."""
        self._stop_waiting()
        for cycle in self._cycles:  # uvicorn tells only the last one, which may wait for others
            cycle.disconnected = True
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Close a connection whose headers do not end."""
        if self._late is not None:
            if self._n_bytes > HEAD_BYTES:
                REFUSED["slow"] += 1
                self.transport.close()
                return
            self._n_bytes += len(data)
        super().data_received(data)

    def on_message_begin(self) -> None:
        """Expect the end of the headers, unless too many requests of this client wait already."""
        if len(self.pipeline) >= PIPELINED:
            REFUSED["pipelined"] += 1
            self.transport.abort()
            raise ConnectionAbortedError  # ends the parser, which has the next ones already
        self._await_headers()
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Ignore what follows the body: trailers are no headers."""
        if self._late is not None:
            super().on_header(name, value)

    def pause_writing(self) -> None:
        """Close a connection whose client does not read its answers."""
        super().pause_writing()
        if self._unread is None:
            self._unread = self.loop.call_later(WRITE_SECONDS, self._give_up)

    def resume_writing(self) -> None:
        """The client reads."""
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None
        super().resume_writing()

    def on_headers_complete(self) -> None:
        """The headers have arrived in time."""
        self._stop_waiting()
        app = self.app
        if len(self.connections) >= CONNECTIONS or len(self.tasks) >= CONNECTIONS:
            REFUSED["full"] += 1
            self.app = _refuse  # uvicorn's own limit says nothing that clients can read
        super().on_headers_complete()
        self.app = app
        self._cycles = (*(one for one in self._cycles if not one.response_complete), self.cycle)

    def _await_headers(self) -> None:
        self._stop_waiting()
        self._n_bytes = 0
        self._late = self.loop.call_later(HEAD_SECONDS, self._too_late)

    def _too_late(self) -> None:
        REFUSED["slow"] += 1
        self.timeout_keep_alive_handler()

    def _give_up(self) -> None:
        REFUSED["unread"] += 1
        self.transport.abort()

    def _stop_waiting(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


async def _refuse(scope: Any, receive: Any, send: Any) -> None:
    refusal = Refused(503, "there are too many connections; try again", (*RETRY, *CLOSE))
    await send_answer(send, refusal.status, refusal.to_json(), headers=refusal.headers)


def _make_room(connections: "set[Any]") -> None:
    """Close the oldest idle one of these connections, of the address that has most of them."""
    idle = [one for one in connections if one.is_idle and not one.transport.is_closing()]
    counts = Counter(one.client[0] if one.client else "" for one in idle)
    if not counts:
        return
    address = counts.most_common(1)[0][0]
    own = (one for one in idle if (one.client[0] if one.client else "") == address)
    min(own, key=lambda one: one._number).transport.abort()
    REFUSED["room"] += 1
