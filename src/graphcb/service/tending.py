"""Background tasks: defaults after waiting, removal of old decisions, and a trainer's learning."""

import asyncio
import time

from graphcb.decisions import Trainer, Versions
from graphcb.decisions.pruning import DAY
from graphcb.decisions.together import Together
from graphcb.problems import Problem
from graphcb.service.desk import Desk
from graphcb.service.errors import LOGGER

PRUNE_EVERY = 3600.0  # seconds
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
    pruned = -PRUNE_EVERY
    while True:
        await asyncio.sleep(every)
        try:
            while _has_default(desk.versions) and not await desk.ask(_fill_in, is_long=True):
                pass
            if _keep_days(desk.versions.last.problem) and time.monotonic() - pruned >= PRUNE_EVERY:
                pruned = time.monotonic()
                await desk.ask(_prune, is_long=True)
        except Exception as problem:
            LOGGER.warning("could not fill in defaults or remove old decisions: %s", problem)


def _has_default(versions: Versions) -> bool:
    defaults = [one.problem.defaults for one in versions if one.problem is not None]
    return any(one is not None and one.waiting is not None for one in defaults)


def _keep_days(problem: Problem | None) -> float | None:
    defaults = None if problem is None else problem.defaults
    return None if defaults is None else defaults.keep_days


def _fill_in(together: Together) -> bool:
    return together.fill_in(time.time())[1]


def _prune(together: Together) -> None:
    days = _keep_days(together.version.problem)
    if days is not None:
        together.prune(time.time() - DAY * days)
