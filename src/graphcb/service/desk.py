"""The one writer: jobs that wait at the same time share a transaction, and are then answered."""

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, NamedTuple, TypeVar

from graphcb.decisions import Decider, LogError, Policy, Trainer
from graphcb.decisions.askers import number_of
from graphcb.decisions.decided import NewRound
from graphcb.decisions.together import Together
from graphcb.decisions.writer import Took
from graphcb.problems import Problem
from graphcb.problems.guarded import played_by
from graphcb.service.clock import WallClock
from graphcb.service.errors import LOGGER, RETRY, Refused, is_refusal

Result = TypeVar("Result")
Role = Literal["alone", "decider", "trainer"]
LONGEST_WAIT = 0.005  # seconds for which further jobs are waited for
PASSES = 2  # of the event loop without a new job: one reads requests, the next turns them to jobs
TICK = 0.001  # seconds; timers of event loops round to this, so that nobody waits for less
SLOW = 0.02  # seconds; after a transaction that took longer, the next one is done by the thread
WARM_UP = 32  # transactions that the thread does first, as machine code may have to be loaded


class Waiting(NamedTuple):
    """A job, the future of its answer, what it will read and decide, its claims, and who asks."""

    job: Callable[[Together], Any]
    answer: "asyncio.Future[Any]"
    reads: str
    decides: NewRound | None
    is_long: bool
    claims: str
    client: str


class Done(NamedTuple):
    """The answer or the exception of each job of a batch.

    And how many seconds it took, in all and beside the jobs themselves.
    """

    answers: list[Any]
    seconds: float
    beside: float


class Desk:
    """Jobs from an event loop, done one after the other in shared transactions.

    The event loop itself does transactions on a file: handing every request to a thread and back
    costs more than the few milliseconds for which the loop stands still. A thread does those that
    may take long: the first ones, those on a server, one that follows a slow one, and jobs that
    are said to be long.

    A job is a function of an open transaction. It returns the answer, or raises an exception to
    refuse: then it must have changed nothing, and the other jobs of the transaction stay. Answers
    are given after the commit. If a transaction fails for any reason other than the log itself,
    its jobs are done again, each in a transaction of its own.
    """

    def __init__(
        self, policy: Policy | Decider | Trainer, *, at_once: int = 256, most_waiting: int = 10_000
    ) -> None:
        self.policy = policy
        self.trained_at = time.monotonic()  # when a trainer last took in all that had come
        self.position, self.model_version = policy.n_events, policy.model_version
        self.versions = policy.versions
        self.n_commits = self.n_jobs = 0
        self.committed_at, self.failed_at = time.monotonic(), -math.inf
        self.clock = WallClock()
        self.askers: dict[str, int] = {}  # by their names, the numbers that the log has for them
        self.n_failures = 0  # of the log
        self.n_defaults = self.n_withheld = 0  # given, and withheld in outages of feedback
        self.last_prune: Took | None = None
        self.is_leaving = False  # others should be asked, as this one is about to stop
        self.is_in_long = False
        self._began = math.inf  # when the transaction in progress began
        self._played_by = (0, "")  # in the version of this number
        self._at_once, self._most_waiting = at_once, most_waiting
        self._jobs: deque[Waiting] = deque()
        self._n_waiting = 0
        self._peak = 0  # of `_n_waiting`, since the last transaction began
        self._seconds = self._beside = 0.0  # of the last transaction, and beside its jobs
        self._in_jobs = 0.0  # seconds, of the transaction in progress
        self._is_server = "://" in policy.location
        self._busy = self._stopping = False
        self._pass: asyncio.Handle | None = None  # of the event loop, while jobs gather
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
        """The number of decisions ever written to the log, including removed ones."""
        return self.position - self.model_version - (len(self.versions) - 1)

    @property
    def problem(self) -> Problem:
        """The current problem."""
        problem = self.versions.last.problem
        if problem is None:
            raise ValueError("`policy` must have a problem, whose names the service speaks")
        return problem

    @property
    def played_by(self) -> str:
        """Who decides in the current version, by the names of the classes; "" for a decider."""
        number = self.versions.last.number
        if self._played_by[0] != number and not isinstance(self.policy, Decider):
            self._played_by = number, played_by(getattr(self.policy.agent, "agent", None))
        return self._played_by[1]

    @property
    def last_checkpoint(self) -> Took | None:
        """When a checkpoint was stored last, None if this process has stored none."""
        return None if isinstance(self.policy, Decider) else self.policy.last_checkpoint

    @property
    def role(self) -> Role:
        """Whether it both decides and learns, or only one of these."""
        if isinstance(self.policy, Decider):
            return "decider"
        return "trainer" if isinstance(self.policy, Trainer) else "alone"

    @property
    def staleness(self) -> float | None:
        """By how many seconds the model may be behind; None if it never is."""
        if isinstance(self.policy, Decider):
            return self.policy.staleness
        return time.monotonic() - self.trained_at if self.role == "trainer" else None

    @property
    def busy_for(self) -> float:
        """For how many seconds a transaction has been in progress."""
        return max(0.0, time.monotonic() - self._began)

    @property
    def is_warm(self) -> bool:
        """Whether machine code has been loaded."""
        return self.n_commits >= WARM_UP

    @property
    def is_working(self) -> bool:
        """Whether jobs are done."""
        return self._thread is not None

    def start(self) -> None:
        """Begin to work for the running event loop."""
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, "graphcb-desk")

    async def stop(self) -> None:
        """Do the jobs that wait, then close the policy."""
        self._stopping = True
        if self._thread is not None:
            if self._n_waiting:
                self._schedule()
                await self._idle.wait()
            self._thread.shutdown()
            self._thread = None
        await asyncio.to_thread(self.policy.close)

    def ask(
        self,
        job: Callable[[Together], Result],
        *,
        reads: str = "",
        decides: NewRound | None = None,
        is_long: bool = False,
        claims: str = "",
        client: str = "",
    ) -> "asyncio.Future[Result]":
        """The answer to a job. A decision that it `reads` is read together with those of others,
        and a round that it `decides` is prepared with theirs.

        What it `claims` no job of another process has at the same time. The log notes a hash of
        `client` as the one who asked for its decisions.
        """
        if self._loop is None or self._stopping:
            raise Refused(503, "the service is not running; try again", RETRY)
        if self._n_waiting >= self._most_waiting:
            raise Refused(503, f"{self._n_waiting:,} requests wait already; try again", RETRY)
        answer: asyncio.Future[Result] = self._loop.create_future()
        self._n_waiting += 1
        self._peak = max(self._peak, self._n_waiting)
        self._jobs.append(Waiting(job, answer, reads, decides, is_long, claims, client))
        self._schedule()
        return answer

    def _schedule(self) -> None:
        """Begin a transaction soon, unless one is in progress or about to begin."""
        if not self._busy and self._pass is None and self._loop is not None:
            self._pass = self._loop.call_soon(self._gather, self._loop, 0, PASSES)

    def _gather(self, loop: asyncio.AbstractEventLoop, n_before: int, n_passes: int) -> None:
        """Begin once the event loop, left to itself, brings no further jobs.

        Requests that clients have sent by now are read meanwhile, and a commit costs the same for
        many as for one. A client that is alone waits for a few passes of a loop that has nothing
        to do: some microseconds. Where a commit costs more than a tick of the timers, jobs that are
        fewer than before wait for as long: clients that just got their answers may ask again, and
        a longer wait would save less than it takes.
        """
        self._pass, n_jobs = None, len(self._jobs)
        n_passes = PASSES if n_jobs > n_before else n_passes - 1
        if n_jobs >= self._at_once or self._stopping:
            self._begin()
        elif n_passes > 0:
            self._pass = loop.call_soon(self._gather, loop, n_jobs, n_passes)
        elif n_jobs >= self._peak or self._beside < TICK:
            self._begin()
        elif self._timer is None:
            self._timer = loop.call_later(min(self._beside, LONGEST_WAIT), self._begin)

    def _begin(self) -> None:
        for handle in (self._pass, self._timer):
            if handle is not None:
                handle.cancel()
        self._pass = self._timer = None
        self._busy, self._peak = True, self._n_waiting
        taken = [self._jobs.popleft() for _ in range(min(len(self._jobs), self._at_once))]
        batch = [waiting for waiting in taken if not waiting.answer.done()]
        self._n_waiting -= len(taken) - len(batch)  # whose clients have gone
        is_long = any(waiting.is_long for waiting in batch) or not self.is_warm
        self._began, self.is_in_long = time.monotonic(), is_long
        if self._is_server or is_long or self._seconds > SLOW:
            if self._loop is not None:
                doing = self._loop.run_in_executor(self._thread, self._do, batch)
                doing.add_done_callback(lambda done: self._finish(batch, done.result()))
        else:
            self._finish(batch, self._do(batch))

    def _do(self, batch: Sequence[Waiting]) -> Done:
        began = time.monotonic()
        self._in_jobs = 0.0
        answers = self._answers(batch)
        seconds = time.monotonic() - began
        return Done(answers, seconds, seconds - self._in_jobs)

    def _finish(self, batch: Sequence[Waiting], done: Done) -> None:
        self._seconds, self._beside = done.seconds, done.beside
        self._busy, self._began = False, math.inf
        self._n_waiting -= len(batch)
        for waiting, answer in zip(batch, done.answers, strict=True):
            if waiting.answer.done():  # its client has gone
                continue
            if isinstance(answer, Exception):
                waiting.answer.set_exception(answer)
            else:
                waiting.answer.set_result(answer)
        if self._jobs:
            self._schedule()
        elif self._stopping:
            self._idle.set()

    def _answers(self, batch: Sequence[Waiting]) -> list[Any]:
        try:
            return self._commit(batch)
        except Exception as problem:
            if isinstance(problem, LogError):
                self.failed_at = time.monotonic()
                self.n_failures += 1
            if len(batch) == 1 or isinstance(problem, LogError):
                return [problem] * len(batch)
            kind = type(problem).__name__  # its message may quote what clients sent
            LOGGER.warning("a shared transaction failed (%s); its jobs are done one by one", kind)
            return [self._answers([one])[0] for one in batch]

    def _commit(self, batch: Sequence[Waiting]) -> list[Any]:
        answers: list[Any] = []
        with self.policy.together() as together:
            claims = {waiting.claims for waiting in batch if waiting.claims}
            if claims:
                together.claim(sorted(claims))
            reads = [waiting.reads for waiting in batch if waiting.reads]
            if len(reads) > 1:
                together.look_up(reads)
            rounds = [waiting.decides for waiting in batch if waiting.decides is not None]
            if len(rounds) > 1:
                together.foresee(rounds)
            began = time.monotonic()
            for waiting in batch:
                if waiting.client not in self.askers:
                    self.askers[waiting.client] = number_of(waiting.client, together.pending.start)
                together.pending.asker = self.askers[waiting.client]
                try:
                    answers.append(waiting.job(together))
                except Exception as problem:
                    if together.is_spoilt or not is_refusal(problem):
                        raise
                    answers.append(problem)
            self._in_jobs += time.monotonic() - began
        self.position, self.model_version = together.position, together.model_version
        self.versions = together.versions
        self.committed_at = time.monotonic()
        self.clock.look()
        self.n_commits += 1
        self.n_jobs += len(batch)
        return answers
