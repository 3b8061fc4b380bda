"""uvicorn on a socket: limits on headers, and an orderly stop.

All that the service uses of uvicorn is here, some of it private: `HttpToolsProtocol` is
subclassed and `Server.capture_signals` replaced. The extra `serve` therefore bounds uvicorn's
version from above, and `tests/service/test_server.py` names what a new version has moved.
"""

import asyncio
import contextlib
import ipaddress
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

CONNECTIONS = 1000  # at the same time; more are answered with 503
KEEP_ALIVE = 30  # seconds that a connection may idle between two requests
LAST_ANSWERS = 12  # seconds for requests in progress when the service stops
LAST_RESORT = 25.0  # seconds until it ends in any case; Kubernetes kills after 30
HEAD_SECONDS = 10.0  # from the connection, or the first byte, to the end of the headers
HEAD_BYTES = 1_000_000  # until the headers end; the start of a body may come along with them


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


def address_of(listener: socket.socket) -> str:
    """The URL of a socket."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def new_server(app: Any) -> uvicorn.Server:
    """A server for an ASGI application; it stops once its `should_exit` is true."""
    config = uvicorn.Config(
        app,
        http=Connection,
        loop="uvloop" if find_spec("uvloop") else "asyncio",
        ws="none",
        lifespan="on",
        access_log=False,
        log_level="warning",
        server_header=False,
        limit_concurrency=CONNECTIONS,
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
    with asyncio.Runner(loop_factory=server.config.get_loop_factory()) as runner:
        runner.run(_serve(server, listener, greet, leave))


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
    text = "graphcb: stopped without a checkpoint, as the log does not answer; nothing is lost"
    print(text, file=sys.stderr, flush=True)
    os._exit(1)


class Connection(HttpToolsProtocol):
    """uvicorn's protocol with limits on the headers, for which it has none.

    Connections that send no request are closed, so that they do not take the place of others.
    """

    _late: asyncio.TimerHandle | None = None  # while headers are awaited
    _n_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Expect a request within HEAD_SECONDS."""
        super().connection_made(transport)
        self._await_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """Expect nothing more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Close a connection whose headers do not end."""
        if self._late is not None:
            self._n_bytes += len(data)
            if self._n_bytes > HEAD_BYTES:
                self.transport.close()
                return
        super().data_received(data)

    def on_message_begin(self) -> None:
        """Expect the end of the headers."""
        self._await_headers()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The headers have arrived in time."""
        self._stop_waiting()
        super().on_headers_complete()

    def _await_headers(self) -> None:
        self._stop_waiting()
        self._n_bytes = 0
        self._late = self.loop.call_later(HEAD_SECONDS, self.timeout_keep_alive_handler)

    def _stop_waiting(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None
