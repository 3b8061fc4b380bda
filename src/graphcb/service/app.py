"""The ASGI application: from a request to its route, and from the route's answer to bytes."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from graphcb.decisions import Decider, Policy, Trainer
from graphcb.decisions.storage import without_password
from graphcb.service.admission import Admission, ClientGone, RequestLimits, read_body
from graphcb.service.desk import Desk
from graphcb.service.errors import RETRY, Refused, as_refusal
from graphcb.service.keys import Keys
from graphcb.service.metrics import Metrics
from graphcb.service.routes import ROUTES
from graphcb.service.routing import Call, Content, Route, Router
from graphcb.service.tending import tend, train
from graphcb.service.watching import Watch

Send = Callable[[Any], Awaitable[None]]
_ENCODE = msgspec.json.Encoder().encode
_JSON = b"application/json"
PATIENCE = 6  # times as long for changes, and while machine code may have to be compiled


class Service:
    """A policy with a problem, or a decider of one, as an ASGI application.

    Without `keys` any client that reaches it may do anything, so it must listen on this machine
    only. Every `tend_every` seconds, decisions that have waited long enough for feedback get the
    problem's default.
    """

    def __init__(
        self,
        policy: Policy | Decider | Trainer,
        *,
        keys: Keys | None = None,
        limits: RequestLimits | None = None,
        tend_every: float = 1.0,
        routes: Sequence[Route] = ROUTES,
    ) -> None:
        if policy.problem is None:
            raise ValueError("`policy` must have a problem, whose names the service speaks")
        self.limits = RequestLimits() if limits is None else limits
        self._shown = without_password(policy.location)
        self.desk, self.metrics = Desk(policy), Metrics()
        self.watch = Watch(policy.location, policy.versions)
        self.routes = tuple(routes)
        self.document: tuple[int, bytes] = (0, b"")  # OpenAPI's, of the version of this number
        self._router = Router(self.routes)
        self._decoders = {
            route.takes: msgspec.json.Decoder(route.takes).decode
            for route in self.routes
            if route.takes is not None
        }
        self._admission = Admission(keys, self.limits.per_second)
        self._tend_every = tend_every

    async def __call__(self, scope: Any, receive: Any, send: Send) -> None:
        """Answer a request, or start and stop with the server."""
        if scope["type"] == "http":
            await self._answer(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._start_and_stop(receive, send)
        else:
            await send({"type": "websocket.close", "code": 1000})

    async def _answer(self, scope: Any, receive: Any, send: Send) -> None:
        start, route, name = time.perf_counter(), None, ""
        headers: tuple[Any, ...] = ()
        kind = _JSON
        try:
            route, name = self._router.find(scope["method"], scope["raw_path"])
            self._admission.check(scope["headers"], route, (scope.get("client") or ("",))[0])
            body = None
            if route.takes is not None:
                body = self._decoders[route.takes](await read_body(receive, self.limits))
            answer = await self._in_time(route, Call(self, name, body))
            status = route.status
            if isinstance(answer, Content):
                content, kind, headers = answer
            else:
                content = b"" if answer is None else _ENCODE(answer)
        except ClientGone:
            return
        except Exception as problem:
            takes_input = route is not None and (route.takes is not None or bool(name))
            refusal = as_refusal(problem, at_fault=takes_input)
            refusal.message = refusal.message.replace(self._shown, "the log")
            status, content, headers = refusal.status, refusal.to_json(), refusal.headers
        sent = [*headers]
        if status != 204:
            sent += (b"content-type", kind), (b"content-length", b"%d" % len(content))
        await send({"type": "http.response.start", "status": status, "headers": sent})
        await send({"type": "http.response.body", "body": content})
        path = "other" if route is None else route.path
        self.metrics.note(path, status, time.perf_counter() - start)

    async def _in_time(self, route: Route, call: Call) -> Any:
        """The handler's answer; a request that waits for too long is refused."""
        seconds = self.limits.answer_seconds
        if route.scope == "admin" or not self.desk.is_warm:
            seconds *= PATIENCE
        try:
            async with asyncio.timeout(seconds):
                return await route.handler(call)
        except TimeoutError:
            text = f"there was no answer within {seconds:g} seconds; try again"
            raise Refused(503, text, RETRY) from None

    async def _start_and_stop(self, receive: Any, send: Send) -> None:
        tasks: list[asyncio.Task[None]] = []
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                self.desk.start()
                if self.desk.role != "decider":
                    tasks.append(asyncio.create_task(tend(self.desk, self._tend_every)))
                if isinstance(self.desk.policy, Trainer):
                    tasks.append(asyncio.create_task(train(self.desk, self.desk.policy)))
                await send({"type": "lifespan.startup.complete"})
            else:
                for task in tasks:
                    task.cancel()
                await self.desk.stop()
                self.watch.close()
                await send({"type": "lifespan.shutdown.complete"})
                return
