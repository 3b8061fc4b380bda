"""Background tasks: defaults after waiting, removal of old decisions, and a trainer's learning."""

import asyncio
import math
import time

from graphcb.decisions import Trainer, Versions
from graphcb.decisions.pruning import DAY, Pruning
from graphcb.decisions.together import Together
from graphcb.decisions.writer import Took
from graphcb.problems import Problem
from graphcb.service.desk import Desk
from graphcb.service.errors import LOGGER
from graphcb.service.personalizer_rewards import adds_up, learn_sums

PRUNE_EVERY = 3600.0  # seconds
# Between two slices, in multiples of what the first took: one request in a hundred meets one. It is
# at least and at most so many seconds, as a slice may have waited for others.
PRUNE_CALMLY = (100.0, 0.1, 1.0)
PRUNE_HURRIEDLY = (4.0, 0.1, 0.25)  # after half the time until the next removal
PAUSE = 0.05  # seconds from one look for new events to the next
AFTER_AN_ERROR = 0.2


async def train(desk: Desk, trainer: Trainer) -> None:
    """Learn from what deciders write until cancelled, and try again after a failure.

    A failure may mean that another trainer is at work; then this one waits to take over.
    """
    said = ""
    while True:
        pause, began = PAUSE, time.monotonic()
        try:
            taken = await desk.ask(trainer.take_in, is_long=True)
            said = ""
            if taken.is_all:
                desk.trained_at = began
            else:
                pause = 0.0
            if taken.n_ignored:
                LOGGER.info("%d parts of feedback were known, or had no decision", taken.n_ignored)
        except Exception as problem:
            if str(problem) != said:
                said = str(problem)
                LOGGER.warning("nothing was learned: %s", problem)
            pause = AFTER_AN_ERROR
        await asyncio.sleep(pause)


async def tend(desk: Desk, every: float) -> None:
    """Fill in defaults and remove old decisions until cancelled; try again after a failure."""
    pruned, filling = -PRUNE_EVERY, _Filling(desk)
    while True:
        await asyncio.sleep(every)
        try:
            if desk.role == "alone":
                await learn_all_sums(desk)  # before defaults take their place
            while _has_default(desk.versions) and not await desk.ask(filling, is_long=True):
                pass
            if _keep_days(desk.versions.last.problem) and time.monotonic() - pruned >= PRUNE_EVERY:
                pruned = time.monotonic()
                keep_days = _keep_days(desk.versions.last.problem) or math.inf
                await prune(desk, time.time() - DAY * keep_days)
                desk.last_prune = Took(time.time(), time.monotonic() - pruned)
        except Exception as problem:
            LOGGER.warning("could not fill in defaults or remove old decisions: %s", problem)


async def add_up(desk: Desk, every: float) -> None:
    """Learn rewards that were added up, by a decider, until cancelled."""
    while True:
        await asyncio.sleep(every)
        try:
            await learn_all_sums(desk)
        except Exception as problem:
            LOGGER.warning("could not learn the sums of rewards: %s", problem)


async def learn_all_sums(desk: Desk) -> None:
    """Learn the sums of rewards that have waited long enough, if any version adds them up."""
    problems = (one.problem for one in desk.versions)
    may_hold = any(one is not None and adds_up(one) for one in problems)
    while may_hold and not await desk.ask(learn_sums, is_long=True):
        pass


async def prune(desk: Desk, before: float) -> None:
    """Remove old decisions in short transactions, between which requests are answered."""
    pruning, is_done, hurries_at = Pruning(before), False, time.monotonic() + PRUNE_EVERY / 2

    def go_on(together: Together) -> bool:
        return together.prune_some(pruning)

    while not is_done:
        began = time.monotonic()
        is_done = await desk.ask(go_on, is_long=True)
        now = time.monotonic()
        times, least, most = PRUNE_CALMLY if now < hurries_at else PRUNE_HURRIEDLY
        await asyncio.sleep(min(max(least, times * (now - began)), most))


def _has_default(versions: Versions) -> bool:
    defaults = [one.problem.defaults for one in versions if one.problem is not None]
    return any(one is not None and one.waiting is not None for one in defaults)


def _keep_days(problem: Problem | None) -> float | None:
    defaults = None if problem is None else problem.defaults
    return None if defaults is None else defaults.keep_days


class _Filling:
    """Fills in defaults, and says once when an outage of feedback begins and when it is over.

    And once of each key whose decisions never get feedback.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk, self._is_outage = desk, False
        self._said: set[int] = set()

    def __call__(self, together: Together) -> bool:
        n_filled, is_done = together.fill_in(time.time())
        self._desk.n_defaults += n_filled
        self._desk.n_withheld += together.n_withheld + together.unheard.total()
        names = {who: name for name, who in self._desk.askers.items()}
        for who in sorted(together.unheard.keys() - self._said):
            name = names.get(who, f"number {who} in graphcb_askers")
            LOGGER.warning("decisions of the key %r never get feedback, nor a default now", name)
        self._said |= together.unheard.keys()
        if together.n_withheld and not self._is_outage:
            LOGGER.warning(
                "hardly any feedback comes: decisions that wait for it get no default until it does"
            )
            self._is_outage = True
        elif n_filled and not together.n_withheld and self._is_outage:
            LOGGER.warning("feedback comes again, and decisions without it get the default")
            self._is_outage = False
        return is_done
