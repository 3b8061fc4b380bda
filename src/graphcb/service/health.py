"""Whether the service lives and whether it is ready: two checks that can fail."""

import asyncio
import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

from graphcb.decisions import Decider
from graphcb.decisions.together import Together
from graphcb.service.desk import Desk
from graphcb.service.errors import RETRY, Refused
from graphcb.service.server import Tls, new_server, run

STUCK = 60.0  # seconds in one transaction after which only a restart helps
STUCK_LONG = 3600.0  # in a long one, such as a prune
BUSY = 2.0  # seconds in one transaction after which others should be asked
LATELY = 5.0  # seconds for which the last transaction speaks for the next
MOST_STALE = 60.0  # seconds by which a trainer may be behind
PROBE = 2.0  # seconds for a transaction that tries whether the log can be written


def check_live(desk: Desk) -> dict[str, str]:
    """Refuse if the service is stuck."""
    if desk.busy_for > (STUCK_LONG if desk.is_in_long else STUCK):
        raise Refused(503, f"one transaction has taken {desk.busy_for:.0f} seconds")
    return {"status": "ok"}


async def check_ready(desk: Desk) -> dict[str, str]:
    """Refuse if requests should go elsewhere at the moment, and say why."""
    if not desk.is_working or desk.is_leaving:
        raise Refused(503, "the service is about to stop", RETRY)
    if desk.busy_for > BUSY:
        raise Refused(503, "the service is busy with a long transaction", RETRY)
    now = time.monotonic()
    if now - desk.failed_at < LATELY:
        raise Refused(503, "the log could not be written just now", RETRY)
    if now - desk.committed_at > LATELY:
        try:
            async with asyncio.timeout(PROBE):
                await desk.ask(_write if desk.failed_at > desk.committed_at else _look)
        except TimeoutError:
            raise Refused(503, "the log does not answer", RETRY) from None
    most = desk.policy.most_stale if isinstance(desk.policy, Decider) else MOST_STALE
    if (desk.staleness or 0.0) > most:
        raise Refused(503, f"the model is {desk.staleness:.0f} seconds behind", RETRY)
    return {"status": "ok"}


def _look(together: Together) -> None:
    """That a transaction can be begun and committed is enough."""


def _write(together: Together) -> None:
    """Write what is there already; only the trainer may, where there are deciders."""
    if together.is_in_log:
        together.storage.execute("UPDATE graphcb_writer SET epoch = epoch")


@contextlib.contextmanager
def answering(listener: socket.socket, tls: Tls | None = None) -> Iterator[None]:
    """Answer that this process lives and is not ready, while a log is opened or waited for."""
    server = new_server(_answer_meanwhile, tls)
    ours = listener.dup()
    thread = threading.Thread(target=run, args=(server, ours), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()
        ours.close()


async def _answer_meanwhile(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "lifespan":
        for event in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{event}.complete"})
        return
    is_live = scope["path"] == "/livez"
    error = {"code": "unavailable", "message": "the service is starting; try again"}
    body = json.dumps({"status": "ok"} if is_live else {"error": error}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    headers += () if is_live else RETRY
    status = 200 if is_live else 503
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
