"""The one writer: what waits at the same time is committed together, then answered."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, NamedTuple

from graphcb.decisions import Decider, LogError, Policy, Trainer
from graphcb.decisions.together import Together
from graphcb.problems import Problem
from graphcb.service.errors import LOGGER, RETRY, Refused, is_refusal

Job = Callable[[Together], Any]
SHARE = 1.0  # of the last transaction's time that clients which were answered are waited for
AT_MOST = 0.005  # seconds that they are waited for
SLOW = 0.02  # seconds of a transaction after which the next one does not hold up the event loop
FIRST = 32  # transactions that do not either, as machine code may have to be loaded
Role = Literal["alone", "decider", "learner"]


class Waiting(NamedTuple):
    """A request that waits: what is to be done, for whom, and the decision it will read."""

    job: Job
    answer: "asyncio.Future[Any]"
    reads: str
    is_long: bool


class Desk:
    """Jobs from an event loop, done one after the other in shared transactions.

    Transactions on a file are done by the event loop itself: handing every request to a thread and
    back costs more than the few milliseconds for which the loop stands still. A thread does those
    that may take long: the first ones, on a server, after one that took long, and jobs that say so.

    A job is a function of an open transaction. It returns the answer, or raises to refuse: then
    it must have changed nothing, and the other jobs of the transaction stay. The answers are
    given after the commit. If a transaction fails for any other reason than the log itself, its
    jobs are done again, each in a transaction of its own.
    """

    def __init__(
        self, policy: Policy | Decider | Trainer, *, at_once: int = 256, most_waiting: int = 10_000
    ) -> None:
        self.policy = policy
        self.known_at = time.monotonic()  # when a learner last took in what had come
        self.position, self.model_version = policy.n_events, policy.model_version
        self.versions = policy.versions
        self.n_commits = self.n_jobs = 0
        self._at_once, self._most_waiting = at_once, most_waiting
        self._jobs: deque[Waiting] = deque()
        self._n_waiting = self._n_most = 0  # the latter since the last transaction began
        self._took = 0.0  # seconds, for the last transaction
        self._is_server = "://" in policy.location
        self._busy = self._stopping = False
        self._timer: asyncio.TimerHandle | None = None
        self._thread: ThreadPoolExecutor | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._idle = asyncio.Event()

    @property
    def n_waiting(self) -> int:
        """The number of jobs that have no answer yet."""
        return self._n_waiting

    @property
    def n_decisions(self) -> int:
        """The number of decisions in the log, also of those that were removed."""
        return self.position - self.model_version - (len(self.versions) - 1)

    @property
    def problem(self) -> Problem:
        """The problem that is decided now."""
        problem = self.versions.last.problem
        if problem is None:
            raise ValueError("`policy` must have a problem, whose names the service speaks")
        return problem

    @property
    def role(self) -> Role:
        """Whether it decides and learns, or only one of these."""
        if isinstance(self.policy, Decider):
            return "decider"
        return "learner" if isinstance(self.policy, Trainer) else "alone"

    @property
    def staleness(self) -> float | None:
        """How many seconds the model may have missed; None if it never misses any."""
        if isinstance(self.policy, Decider):
            return self.policy.staleness
        return time.monotonic() - self.known_at if self.role == "learner" else None

    @property
    def is_working(self) -> bool:
        """Whether jobs are done."""
        return self._thread is not None

    def start(self) -> None:
        """Begin to work for the running event loop."""
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, "graphcb-desk")

    async def stop(self) -> None:
        """Do what waits, then close the policy."""
        self._stopping = True
        if self._thread is not None:
            if self._n_waiting:
                self._go_on()
                await self._idle.wait()
            self._thread.shutdown()
            self._thread = None
        self.policy.close()

    def ask(self, job: Job, *, reads: str = "", is_long: bool = False) -> "asyncio.Future[Any]":
        """The answer to a job; `reads` names a decision to be read together with others."""
        if self._loop is None or self._stopping:
            raise Refused(503, "the service is not running; try again", RETRY)
        if self._n_waiting >= self._most_waiting:
            raise Refused(503, f"{self._n_waiting:,} requests wait already; try again", RETRY)
        answer = self._loop.create_future()
        self._n_waiting += 1
        self._n_most = max(self._n_most, self._n_waiting)
        self._jobs.append(Waiting(job, answer, reads, is_long))
        self._go_on()
        return answer

    def _go_on(self) -> None:
        """Begin a transaction: now if as many wait as did before, otherwise in a moment.

        Clients that were just answered may ask again, and a transaction costs the same for one job
        as for many. A client that is alone is not waited for.
        """
        if self._busy or self._loop is None:
            return
        if len(self._jobs) >= min(self._n_most, self._at_once) or self._stopping:
            self._busy = True
            self._loop.call_soon(self._begin)
        elif self._timer is None:
            pause = min(SHARE * self._took, AT_MOST)
            self._timer = self._loop.call_later(pause, self._stop_waiting)

    def _stop_waiting(self) -> None:
        self._timer = None
        if not self._busy:  # as many as were waited for may have come at the same moment
            self._begin()

    def _begin(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._busy, self._n_most = True, self._n_waiting
        batch = [self._jobs.popleft() for _ in range(min(len(self._jobs), self._at_once))]
        is_long = any(waiting.is_long for waiting in batch) or self.n_commits < FIRST
        if self._is_server or is_long or self._took > SLOW:
            if self._loop is not None:
                doing = self._loop.run_in_executor(self._thread, self._do, batch)
                doing.add_done_callback(lambda done: self._finish(batch, *done.result()))
        else:
            self._finish(batch, *self._do(batch))

    def _do(self, batch: Sequence[Waiting]) -> tuple[list[Any], float]:
        began = time.monotonic()
        return self._answers(batch), time.monotonic() - began

    def _finish(self, batch: Sequence[Waiting], answers: Sequence[Any], took: float) -> None:
        self._took, self._busy = took, False
        self._n_waiting -= len(batch)
        for waiting, answer in zip(batch, answers, strict=True):
            if waiting.answer.done():  # its client has gone
                continue
            if isinstance(answer, Exception):
                waiting.answer.set_exception(answer)
            else:
                waiting.answer.set_result(answer)
        if self._jobs:
            self._go_on()
        elif self._stopping:
            self._idle.set()

    def _answers(self, batch: Sequence[Waiting]) -> list[Any]:
        try:
            return self._commit(batch)
        except Exception as problem:
            if len(batch) == 1 or isinstance(problem, LogError):
                return [problem] * len(batch)
            LOGGER.warning(
                "a shared transaction failed (%r); its jobs are done one by one", problem
            )
            return [self._answers([one])[0] for one in batch]

    def _commit(self, batch: Sequence[Waiting]) -> list[Any]:
        answers: list[Any] = []
        with self.policy.together() as together:
            reads = [waiting.reads for waiting in batch if waiting.reads]
            if len(reads) > 1:
                together.look_up(reads)
            for waiting in batch:
                try:
                    answers.append(waiting.job(together))
                except Exception as problem:
                    if together.is_spoilt or not is_refusal(problem):
                        raise
                    answers.append(problem)
        self.position, self.model_version = together.position, together.model_version
        self.versions = together.versions
        self.n_commits += 1
        self.n_jobs += len(batch)
        return answers
