"""The service of one problem: a policy, a decider or a trainer behind the table of routes."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from graphcb.decisions import Decider, Policy, Trainer
from graphcb.decisions.storage import without_password
from graphcb.service.admission import Admission, RequestLimits
from graphcb.service.application import Application, Send, live
from graphcb.service.desk import Desk
from graphcb.service.keys import Keys
from graphcb.service.metrics import Metrics
from graphcb.service.routes import ROUTES
from graphcb.service.routing import Route
from graphcb.service.telemetry import telemetry_of
from graphcb.service.tending import add_up, tend, train
from graphcb.service.watcher import IDLE, Watcher

Result = TypeVar("Result")
PATIENCE = 6  # times as long for changes, and while machine code may have to be compiled


class Service:
    """A policy with a problem, or a decider of one, as an ASGI application.

    Without `keys` any client that reaches it may do anything, so it must listen on this machine
    only. Every `tend_every` seconds, decisions that have waited long enough for feedback get the
    problem's default. With a `name` it is one of several problems, and its paths begin with
    /v1/problems/NAME.
    """

    def __init__(
        self,
        policy: Policy | Decider | Trainer,
        *,
        keys: Keys | None = None,
        limits: RequestLimits | None = None,
        tend_every: float = 1.0,
        routes: Sequence[Route] = ROUTES,
        name: str = "",
    ) -> None:
        if policy.problem is None:
            raise ValueError("`policy` must have a problem, whose names the service speaks")
        self.limits = RequestLimits() if limits is None else limits
        self._shown = without_password(policy.location)
        self.desk, self.metrics = Desk(policy), Metrics()
        self.watcher = Watcher(policy.location)
        self.telemetry = telemetry_of(self.desk, self.metrics)
        self.routes, self.name = tuple(routes), name
        self.document: tuple[int, bytes] = (0, b"")  # OpenAPI's, of the version of this number
        self.needed: tuple[int, frozenset[str]] = (0, frozenset())  # features, of this version
        self.admission = Admission(keys, self.limits.per_second)
        self.application = Application(self, self.routes, name)
        self._tend_every = tend_every
        self._tasks: list[asyncio.Task[Any]] = []

    async def __call__(self, scope: Any, receive: Any, send: Send) -> None:
        """Answer a request, or start and stop with the server."""
        if scope["type"] == "http":
            await self.application.answer(scope, receive, send)
        elif scope["type"] == "lifespan":
            await live(receive, send, self.start, self.stop)
        else:
            await send({"type": "websocket.close", "code": 1000})

    def seconds_for(self, route: Route) -> float:
        """How long an answer may take."""
        is_patient = route.scope == "admin" or not self.desk.is_warm
        return self.limits.answer_seconds * (PATIENCE if is_patient else 1)

    def cleaned(self, message: str) -> str:
        """A message that does not say where the log is."""
        text = message.replace(f"the log {self._shown}", "the log")
        return text.replace(self._shown, "the log")

    def in_background(self, work: Coroutine[Any, Any, Result]) -> "asyncio.Future[Result]":
        """Work that goes on until it is done or the service stops, whether or not anybody waits."""
        task = asyncio.create_task(work)
        self._tasks.append(task)
        task.add_done_callback(self._tasks.remove)
        return asyncio.shield(task)

    async def start(self) -> None:
        """Begin to work for the running event loop."""
        self.desk.start()
        upkeep = add_up if self.desk.role == "decider" else tend
        self._tasks.append(asyncio.create_task(upkeep(self.desk, self._tend_every)))
        self._tasks.append(asyncio.create_task(self._stop_watching()))
        if isinstance(self.desk.policy, Trainer):
            self._tasks.append(asyncio.create_task(train(self.desk, self.desk.policy)))

    async def stop(self) -> None:
        """Answer the requests in progress and close the log."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.desk.stop()
        self.watcher.close()

    async def _stop_watching(self) -> None:
        """End what counts for the page once nobody has looked for a while."""
        while True:
            await asyncio.sleep(IDLE)
            self.watcher.stop_if_idle()
