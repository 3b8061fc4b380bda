"""Many problems in one service: each has its own log, paths, keys and limits."""

import asyncio
import math
import random
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from graphcb.decisions import LogError
from graphcb.service.admission import Admission, RequestLimits
from graphcb.service.app import Service
from graphcb.service.application import Application, Send, live, send_answer
from graphcb.service.aside import aside
from graphcb.service.errors import LOGGER, RETRY, Refused
from graphcb.service.health import check_live, check_ready
from graphcb.service.metrics import Metrics
from graphcb.service.overview import ROUTES, ProblemStanding
from graphcb.service.routing import PROBLEMS, Route

if TYPE_CHECKING:
    from graphcb.decisions.learners import Learners

AGAIN = 0.5  # seconds until a log that could not be opened is tried again
MOST_RARELY = 30.0  # seconds between two trials of what does not depend on other processes
LOOK_EVERY = 0.5  # seconds between two looks at how many learners there are
STARTING = "it is starting"
NO_LOG = "its log cannot be opened, or another process has it"
NOT_IN_ORDER = "its file, keys or log are not in order; the service's own log says why"
ELSEWHERE = "it is left to another learner"


class Opening(NamedTuple):
    """What a problem's task needs: how to open it, and when to give it up again."""

    open: Callable[[], Service]
    is_given_up: asyncio.Event


class Problems:
    """Several services as one ASGI application, by the names of their problems.

    Each is opened by its function, in a thread. One that cannot be opened is tried again, and
    neither that nor a failure of its log concerns the others. If it `is_local`, some have no keys,
    and only programs on this machine may ask. With `sharing`, several processes that serve the same
    problems have about as many each: one that has more than its part gives some back. `say` is
    called with each problem that is open.
    """

    def __init__(
        self,
        openings: Mapping[str, Callable[[], Service]],
        *,
        is_local: bool = True,
        sharing: "Learners | None" = None,
        say: Callable[[str, Service], None] = lambda name, service: None,
    ) -> None:
        self.limits, self.metrics = RequestLimits(), Metrics()
        self.admission = Admission(None, None, is_local=is_local)
        self.telemetry = None  # each problem has its own
        self.is_leaving = False
        self._openings = {
            name: Opening(opening, asyncio.Event()) for name, opening in openings.items()
        }
        self._sharing, self._say = sharing, say
        self._services: dict[str, Service] = {}
        self._reasons = dict.fromkeys(openings, STARTING)
        self._n_claimed = 0  # problems that are open or being opened
        self._application = Application(self, ROUTES)
        self._tasks: list[asyncio.Task[None]] = []

    async def __call__(self, scope: Any, receive: Any, send: Send) -> None:
        """Answer a request, or start and stop with the server."""
        if scope["type"] == "lifespan":
            await live(receive, send, self.start, self.stop)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1000})
        elif scope["raw_path"].startswith(PROBLEMS.encode()):
            await self._pass_on(scope, receive, send)
        else:
            await self._application.answer(scope, receive, send)

    async def _pass_on(self, scope: Any, receive: Any, send: Send) -> None:
        """Let the problem that is named in the path answer."""
        name = scope["raw_path"][len(PROBLEMS) :].partition(b"/")[0].decode("latin-1")
        service = self._services.get(name)
        if service is not None:
            await service(scope, receive, send)
            return
        if name in self._openings:
            refusal = Refused(503, f"the problem is not served here: {self._reasons[name]}", RETRY)
        else:
            refusal = Refused(404, "there is no such problem; /v1/problems lists what there is")
        await send_answer(
            send, refusal.status, refusal.to_json(scope["raw_path"]), headers=refusal.headers
        )

    def seconds_for(self, route: Route) -> float:
        """How long an answer may take."""
        return self.limits.answer_seconds

    def cleaned(self, message: str) -> str:
        """A message; those of this application name no log."""
        return message

    async def standings(self) -> list[ProblemStanding]:
        """The state of each problem."""
        return await asyncio.gather(*map(self._standing, self._openings))

    async def _standing(self, name: str) -> ProblemStanding:
        service = self._services.get(name)
        if service is None:
            return ProblemStanding(
                name, self._reasons[name], is_starting=self._reasons[name] == STARTING
            )
        try:
            await check_ready(service.desk)
        except (Refused, LogError, OSError, ValueError) as problem:
            text = problem.message if isinstance(problem, Refused) else NO_LOG
            return ProblemStanding(name, text)
        return ProblemStanding(name, "ok", is_ready=True)

    def check_live(self) -> dict[str, str]:
        """Refuse if a service is stuck."""
        for service in self._services.values():
            check_live(service.desk)
        return {"status": "ok"}

    def leave(self) -> None:
        """Be not ready from now on, as the service is about to stop."""
        self.is_leaving = True
        for service in self._services.values():
            service.desk.is_leaving = True

    async def start(self) -> None:
        """Begin to open all problems."""
        self._tasks = [asyncio.create_task(self._keep(name)) for name in self._openings]
        if self._sharing is not None:
            self._tasks.append(asyncio.create_task(self._share()))

    async def stop(self) -> None:
        """Answer the requests in progress and close all logs."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        services, self._services = list(self._services.values()), {}
        await asyncio.gather(*(service.stop() for service in services))

    @property
    def _part(self) -> float:
        """How many problems this process should have at most."""
        if self._sharing is None:
            return math.inf
        return math.ceil(len(self._openings) / max(self._sharing.n, 1))

    async def _share(self) -> None:
        """Give problems back while this process has more than its part."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            surplus = self._n_claimed - self._part
            for name in list(self._services)[::-1]:
                given_up = self._openings[name].is_given_up
                if surplus > 0 and not given_up.is_set():
                    given_up.set()
                    surplus -= 1

    async def _keep(self, name: str) -> None:
        """Open a problem and serve it; begin again after it was given up."""
        opening, pause, said = self._openings[name], AGAIN, ""
        while True:
            if self._n_claimed >= self._part:
                self._reasons[name] = ELSEWHERE
                await asyncio.sleep(LOOK_EVERY)
                continue
            self._n_claimed += 1
            try:
                service = await aside(opening.open, lambda late: late.desk.policy.close())
                await self._serve(name, service, opening.is_given_up)
                pause, said = AGAIN, ""
                self._reasons[name] = ELSEWHERE
            except Exception as problem:
                if isinstance(problem, LogError):
                    self._reasons[name], pause = NO_LOG, AGAIN
                else:
                    self._reasons[name], pause = NOT_IN_ORDER, min(2.0 * pause, MOST_RARELY)
                if str(problem) != said:
                    said = str(problem)
                    LOGGER.warning("problem %s is not served: %s", name, problem)
            finally:
                self._n_claimed -= 1
            await asyncio.sleep(pause * random.uniform(0.5, 1.5))  # others wait too

    async def _serve(self, name: str, service: Service, is_given_up: asyncio.Event) -> None:
        await service.start()
        service.desk.is_leaving = self.is_leaving
        self._services[name] = service
        self._say(name, service)
        await is_given_up.wait()
        await service.stop()
        del self._services[name]
        is_given_up.clear()
