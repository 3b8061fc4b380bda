"""From a request to its route, and from the route's answer to bytes."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from graphcb.service.admission import WORK_BYTES, ClientGone, read_body
from graphcb.service.errors import RETRY, Refused, as_refusal
from graphcb.service.messages import REQUEST, request_id
from graphcb.service.personalizer_admin import MODEL_BYTES
from graphcb.service.routing import Call, Content, Route, Router

if TYPE_CHECKING:
    from graphcb.service.app import Service
    from graphcb.service.problems import Problems

Send = Callable[[Any], Awaitable[None]]
_ENCODE = msgspec.json.Encoder().encode
_JSON = b"application/json"


class Application:
    """Answers requests for a service by a table of routes."""

    def __init__(
        self, service: "Service | Problems", routes: Sequence[Route], name: str = ""
    ) -> None:
        self._service = service
        self._router = Router(routes, name)
        self._decoders = {
            route.takes: bytes if route.takes is bytes else msgspec.json.Decoder(route.takes).decode
            for route in routes
            if route.takes is not None
        }

    async def answer(self, scope: Any, receive: Any, send: Send) -> None:
        """Answer one request."""
        start, route, name, service = time.perf_counter(), None, "", self._service
        REQUEST.set(scope)
        headers: tuple[Any, ...] = ()
        kind = _JSON
        try:
            route, name = self._router.find(scope["method"], scope["raw_path"])
            address = (scope.get("client") or ("",))[0]
            client = service.admission.check(scope["headers"], route, address)
            body = None
            if route.takes is not None:
                limits = service.limits
                if route.takes is bytes:
                    limits = replace(limits, body=MODEL_BYTES)
                sent = await read_body(receive, limits)
                if route.takes is not bytes:  # texts are hashed word by word
                    service.admission.charge(client, len(sent) // WORK_BYTES)
                body = self._decoders[route.takes](sent)
            call: Any = Call(service, name, body, client)  # type: ignore[arg-type]
            answer = await _in_time(route, call, service.seconds_for(route))
            status = route.status
            if isinstance(answer, Content):
                content, kind, headers = answer[:3]
                status = answer.status or status
            else:
                content = b"" if answer is None else _ENCODE(answer)
        except ClientGone:
            return
        except Exception as problem:
            may_be = route is not None and (bool(name) or route.takes or route.scope == "admin")
            refusal = as_refusal(problem, at_fault=bool(may_be))
            refusal.message = service.cleaned(refusal.message)
            status, headers = refusal.status, refusal.headers
            content = refusal.to_json(scope["raw_path"])
            if status >= 500:
                headers = (*headers, (b"x-request-id", (request_id() or "").encode("latin-1")))
        await send_answer(send, status, content, kind, headers)
        path = "other" if route is None else route.path
        seconds = time.perf_counter() - start
        service.metrics.note(path, status, seconds)
        if service.telemetry is not None:
            service.telemetry.note(scope["method"], path, status, seconds, scope["headers"])


async def _in_time(route: Route, call: Call, seconds: float) -> Any:
    """The handler's answer; a request that waits for too long is refused."""
    try:
        async with asyncio.timeout(seconds):
            return await route.handler(call)
    except TimeoutError:
        text = f"there was no answer within {seconds:g} seconds; try again"
        raise Refused(503, text, RETRY) from None
    except asyncio.CancelledError:  # the last requests of a stop have taken too long
        raise Refused(503, "the service is about to stop", RETRY) from None


async def send_answer(
    send: Send, status: int, content: bytes, kind: bytes = _JSON, headers: tuple[Any, ...] = ()
) -> None:
    """Send an answer with its type and length."""
    sent = [*headers]
    if status != 204:
        sent += (b"content-type", kind), (b"content-length", b"%d" % len(content))
    await send({"type": "http.response.start", "status": status, "headers": sent})
    await send({"type": "http.response.body", "body": content})


async def live(receive: Any, send: Send, start: Any, stop: Any) -> None:
    """Start and stop with the server."""
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            await start()
            await send({"type": "lifespan.startup.complete"})
        else:
            await stop()
            await send({"type": "lifespan.shutdown.complete"})
            return
