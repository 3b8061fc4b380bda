"""A socket, uvicorn on it, and an orderly stop."""

import asyncio
import contextlib
import ipaddress
import signal
import socket
from collections.abc import Callable
from importlib.util import find_spec

import uvicorn

from graphcb.service.app import Service
from graphcb.service.connections import Connection

CONNECTIONS = 1000  # at the same time; more are answered with 503
KEEP_ALIVE = 30  # seconds that a connection may idle
LAST_ANSWERS = 20  # seconds for requests in progress when the service stops


def check_address(host: str, *, has_keys: bool) -> None:
    """Refuse to listen beyond this machine without keys."""
    if has_keys or host == "localhost":
        return
    with contextlib.suppress(ValueError):
        if ipaddress.ip_address(host).is_loopback:
            return
    raise ValueError(
        f"`--host` must be of this machine, such as 127.0.0.1, as there are no keys, got {host!r}; "
        "make keys with graphcb serve-keys add, and give their file with --keys"
    )


def listen(host: str, port: int) -> socket.socket:
    """A socket that takes connections; port 0 is any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as problem:
        raise OSError(f"cannot listen on {host}, port {port}: {problem}") from None


def new_server(service: Service) -> uvicorn.Server:
    """A server for the service; it stops once its `should_exit` is true."""
    config = uvicorn.Config(
        service,
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
    server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign,assignment]
    return server


def run(
    server: uvicorn.Server, listener: socket.socket, greet: Callable[[], None] = lambda: None
) -> None:
    """Serve until SIGTERM or SIGINT: then answer what was asked, and close the log.

    `greet` is called once these signals lead to an orderly stop.
    """
    with asyncio.Runner(loop_factory=server.config.get_loop_factory()) as runner:
        runner.run(_serve(server, listener, greet))


def address_of(listener: socket.socket) -> str:
    """The address of a socket for a browser."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


async def _serve(
    server: uvicorn.Server, listener: socket.socket, greet: Callable[[], None]
) -> None:
    loop = asyncio.get_running_loop()

    def stop() -> None:
        server.force_exit = server.should_exit  # a second signal does not wait
        server.should_exit = True

    for one in (signal.SIGTERM, signal.SIGINT):
        with contextlib.suppress(NotImplementedError, ValueError, RuntimeError):
            loop.add_signal_handler(one, stop)  # not on Windows, nor outside the main thread
    greet()
    await server.serve(sockets=[listener])
