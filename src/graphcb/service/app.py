"""The ASGI application: who asks, for what, and what is answered."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any

import msgspec

from graphcb.decisions import Decider, Policy, Trainer
from graphcb.decisions.together import NewRound, Together
from graphcb.problems import Problem
from graphcb.service import answers, pages, personalizer
from graphcb.service.desk import Desk, Job
from graphcb.service.doors import Doors
from graphcb.service.errors import Refused, as_refusal
from graphcb.service.guards import ClientGone, RequestLimits, read_body
from graphcb.service.keys import Keys
from graphcb.service.live import live_of
from graphcb.service.metrics import Metrics
from graphcb.service.openapi import description
from graphcb.service.requests import (
    FeedbackRequest,
    as_rounds,
    read_decisions,
    read_feedback,
    read_problem,
    read_rollback,
    values_in,
)
from graphcb.service.routes import Answer, Call, Route, Routes
from graphcb.service.status import status_of
from graphcb.service.tending import tend, train
from graphcb.service.watching import Watch

Send = Callable[[Any], Awaitable[None]]
_WRITE = msgspec.json.Encoder().encode
MANY = 32  # rounds of one request that may take long


class Service:
    """A policy with a problem, or a decider of one, as an ASGI application.

    Without `keys` anybody who reaches it may do anything, so that it must listen on this machine
    only. `echo=True` adds /v1/echo and /v1/echo/{id}, which parse requests for decisions and
    feedback and answer a constant: benchmarks compare themselves with it. Every `tend_every`
    seconds decisions that have waited long enough get the default of the problem.
    """

    def __init__(
        self,
        policy: Policy | Decider | Trainer,
        *,
        keys: Keys | None = None,
        limits: RequestLimits | None = None,
        echo: bool = False,
        tend_every: float = 1.0,
    ) -> None:
        if policy.problem is None:
            raise ValueError("`policy` must have a problem, whose names the service speaks")
        self.limits = RequestLimits() if limits is None else limits
        self.desk, self.metrics = Desk(policy), Metrics()
        self._watch = Watch(policy.location, policy.versions)
        self._doors = Doors(keys, self.limits.per_second)
        routes = [
            Route("POST", "/v1/decisions", "decide", self._decide, has_body=True),
            Route("GET", "/v1/decisions/{id}", "read", self._look),
            Route("POST", "/v1/decisions/{id}/feedback", "feedback", self._learn, has_body=True),
            Route("GET", "/v1/problem", "read", self._show_problem),
            Route("POST", "/v1/problem", "admin", self._change, has_body=True),
            Route("POST", "/v1/rollback", "admin", self._roll_back, has_body=True),
            Route("GET", "/v1/versions", "read", self._show_versions),
            Route("GET", "/v1/status", "read", self._show_status),
            Route("GET", "/v1/live", "read", self._show_live),
            Route("GET", "/metrics", "read", self._show_metrics),
            Route("GET", "/healthz", "", self._health),
            Route("GET", "/openapi.json", "", self._describe),
            *pages.routes(),
            *personalizer.routes(self.desk, self.limits),
        ]
        if echo:
            routes += [
                Route("POST", "/v1/echo", "decide", self._echo, has_body=True),
                Route("POST", "/v1/echo/{id}", "feedback", self._echo_feedback, has_body=True),
            ]
        self.routes = tuple(routes)
        self._routes = Routes(routes)
        self._tend_every = tend_every

    @property
    def problem(self) -> Problem:
        """The problem that is decided now."""
        return self.desk.problem

    async def __call__(self, scope: Any, receive: Any, send: Send) -> None:
        """Answer a request, or start and stop with the server."""
        if scope["type"] == "http":
            await self._answer(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._live(receive, send)
        else:
            await send({"type": "websocket.close", "code": 1000})

    async def _answer(self, scope: Any, receive: Any, send: Send) -> None:
        start, path, takes_input = time.perf_counter(), "other", False
        headers: tuple[Any, ...] = ()
        try:
            route, name = self._routes.find(scope["method"], scope["raw_path"])
            path, takes_input = route.path, route.has_body or bool(name)
            self._doors.admit(scope["headers"], route)
            body = await read_body(receive, self.limits) if route.has_body else b""
            answer = await route.handler(Call(name, body))
            headers = answer.headers
        except ClientGone:
            return
        except Exception as problem:
            refusal = as_refusal(problem, at_fault=takes_input)
            answer, headers = Answer(refusal.status, refusal.to_json()), refusal.headers
        await _send(send, answer, headers)
        self.metrics.note(path, answer.status, time.perf_counter() - start)

    async def _live(self, receive: Any, send: Send) -> None:
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
                self._watch.close()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _decide(self, call: Call) -> Answer:
        rounds, several = as_rounds(read_decisions(call.body), self.problem, self.limits)
        if several:
            job = partial(_decide_all, rounds)
            return Answer(200, await self.desk.ask(job, is_long=len(rounds) > MANY))
        return Answer(200, await self.desk.ask(partial(_decide_one, rounds[0])))

    async def _learn(self, call: Call) -> Answer:
        job = partial(_learn, call.name, read_feedback(call.body))
        return Answer(200, await self.desk.ask(job, reads=call.name))

    async def _look(self, call: Call) -> Answer:
        return Answer(200, await self.desk.ask(partial(_look, call.name), reads=call.name))

    async def _echo(self, call: Call) -> Answer:
        as_rounds(read_decisions(call.body), self.problem, self.limits)
        return Answer(200, b'{"echo":true}')

    async def _echo_feedback(self, call: Call) -> Answer:
        values_in(read_feedback(call.body), self.problem)
        return Answer(200, b'{"echo":true}')

    async def _change(self, call: Call) -> Answer:
        return Answer(200, await self._ask_long(partial(_change, *read_problem(call.body))))

    async def _roll_back(self, call: Call) -> Answer:
        asked = read_rollback(call.body)
        return Answer(200, await self._ask_long(partial(_roll_back, asked.version, asked.note)))

    async def _ask_long(self, job: Job) -> Any:
        return await self.desk.ask(job, is_long=True)

    async def _show_versions(self, call: Call) -> Answer:
        return Answer(200, _WRITE(answers.of_versions(self.desk.versions)))

    async def _show_problem(self, call: Call) -> Answer:
        return Answer(200, _WRITE(answers.of_problem(self.problem)))

    async def _show_status(self, call: Call) -> Answer:
        return Answer(200, _WRITE(status_of(self.desk, self.metrics)))

    async def _show_live(self, call: Call) -> Answer:
        return Answer(200, await asyncio.to_thread(self._live_now))

    def _live_now(self) -> bytes:
        with self._watch.looking():
            return _WRITE(live_of(self._watch, self.desk, self.metrics))

    async def _show_metrics(self, call: Call) -> Answer:
        kind = b"text/plain; version=0.0.4; charset=utf-8"
        return Answer(200, self.metrics.to_text(self.desk), kind)

    async def _health(self, call: Call) -> Answer:
        if not self.desk.is_working:
            raise Refused(503, "the service is not ready")
        return Answer(200, b'{"status":"ok"}')

    async def _describe(self, call: Call) -> Answer:
        return Answer(200, _WRITE(description(self.problem)))


def _decide_one(one: NewRound, together: Together) -> bytes:
    return _WRITE(answers.of_decision(together.decide(*one)))


def _decide_all(rounds: list[NewRound], together: Together) -> bytes:
    made = together.decide_rounds(rounds)
    return _WRITE(answers.DecisionsAnswer([answers.of_decision(one) for one in made]))


def _learn(name: str, request: FeedbackRequest, together: Together) -> bytes:
    version = together.versions.of(together.find(name).row)
    problem = together.version.problem if version.problem is None else version.problem
    values = values_in(request, problem) if problem is not None else {}
    return _WRITE(answers.of_receipt(together.feedback(name, values)))


def _change(problem: Problem, note: str, together: Together) -> bytes:
    if problem == together.version.problem:
        raise ValueError("`toml` must differ from the problem that is decided now, got the same")
    return _WRITE(answers.of_change(together.change(problem, note=note)))


def _roll_back(version: int, note: str, together: Together) -> bytes:
    return _WRITE(answers.of_change(together.roll_back(version, note)))


def _look(name: str, together: Together) -> bytes:
    return _WRITE(answers.of_logged(together.find(name), together))


async def _send(send: Send, answer: Answer, more: Iterable[tuple[bytes, bytes]]) -> None:
    headers = [*more]
    if answer.status != 204:
        headers.append((b"content-type", answer.kind))
        headers.append((b"content-length", b"%d" % len(answer.content)))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.content})
