"""The one writer: what waits at the same time is committed together, then answered."""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Any, Literal, NamedTuple

from graphcb.decisions import Decider, LogError, Policy, Trainer
from graphcb.decisions.together import Together
from graphcb.problems import Problem
from graphcb.service.errors import LOGGER, RETRY, Refused, is_refusal

Job = Callable[[Together], Any]
ENOUGH = 8  # jobs that share the cost of a transaction well enough
SHARE = 0.25  # of the last transaction's time that a decider waits for so many
AT_MOST = 0.005  # seconds that it waits
Role = Literal["alone", "decider", "learner"]


class Waiting(NamedTuple):
    """A request that waits: what is to be done, for whom, and the decision it will read."""

    job: Job
    answer: "asyncio.Future[Any]"
    reads: str


class Desk:
    """Jobs from an event loop, done by one thread in shared transactions.

    A job is a function of an open transaction. It returns the answer, or raises to refuse: then
    it must have changed nothing, and the other jobs of the transaction stay. The answers are
    given after the commit. If a transaction fails for any other reason than the log itself, its
    jobs are done again, each in a transaction of its own.
    """

    def __init__(
        self, policy: Policy | Decider, *, at_once: int = 256, most_waiting: int = 10_000
    ) -> None:
        self.policy = policy
        self.known_at = time.monotonic()  # when a learner last took in what had come
        self.position, self.model_version = policy.n_events, policy.model_version
        self.versions = policy.versions
        self.n_commits = self.n_jobs = 0
        self._at_once, self._most_waiting = at_once, most_waiting
        self._queue: SimpleQueue[Waiting | None] = SimpleQueue()
        self._n_waiting = self._n_most = 0  # the latter since the last transaction began
        self._took = 0.0  # seconds, for the last transaction
        self._gathers = isinstance(policy, Decider)
        self._stopping = False
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

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
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Begin to work for the running event loop."""
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._work, name="graphcb-desk", daemon=True)
        self._thread.start()

    async def stop(self) -> None:
        """Do what waits, then close the policy."""
        self._stopping = True
        if self._thread is not None:
            self._queue.put(None)
            await asyncio.to_thread(self._thread.join)
            await asyncio.sleep(0)  # the last answers are given by the loop
        self.policy.close()

    def ask(self, job: Job, *, reads: str = "") -> "asyncio.Future[Any]":
        """The answer to a job; `reads` names a decision to be read together with others."""
        if self._loop is None or self._stopping:
            raise Refused(503, "the service is not running; try again", RETRY)
        if self._n_waiting >= self._most_waiting:
            raise Refused(503, f"{self._n_waiting:,} requests wait already; try again", RETRY)
        answer = self._loop.create_future()
        self._n_waiting += 1
        self._n_most = max(self._n_most, self._n_waiting)
        self._queue.put(Waiting(job, answer, reads))
        return answer

    def _work(self) -> None:
        stopped = False
        while not stopped:
            first = self._queue.get()
            if first is None:
                return
            batch, began = [first], time.monotonic()
            while len(batch) < self._at_once:
                try:
                    following = self._following(len(batch), began)
                except Empty:
                    break
                if following is None:
                    stopped = True
                    break
                batch.append(following)
            self._n_most, began = self._n_waiting, time.monotonic()
            answers = self._answers(batch)
            self._took = time.monotonic() - began
            self._give(batch, answers)

    def _following(self, n_jobs: int, began: float) -> Waiting | None:
        """The next job, if there is one; a decider waits a moment for clients that were answered.

        Of several deciders each has few clients, and a transaction costs the same for one job as
        for several. A client that is alone is not waited for.
        """
        if self._gathers and n_jobs < min(self._n_most, ENOUGH) and self._queue.empty():
            left = began + min(SHARE * self._took, AT_MOST) - time.monotonic()
            return self._queue.get(timeout=max(left, 0.0))
        return self._queue.get_nowait()

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

    def _give(self, batch: Sequence[Waiting], answers: Sequence[Any]) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._deliver, batch, answers)

    def _deliver(self, batch: Sequence[Waiting], answers: Sequence[Any]) -> None:
        self._n_waiting -= len(batch)
        for waiting, answer in zip(batch, answers, strict=True):
            if waiting.answer.done():  # its client has gone
                continue
            if isinstance(answer, Exception):
                waiting.answer.set_exception(answer)
            else:
                waiting.answer.set_result(answer)
