"""Logs whose feedback is missing or rare: is an interval printed that is false?

Each log is judged as in the study of coverage, whose worlds these are: what it says of the policy
that wrote it, of another one, and of their difference. An interval without width that misses is a
finding at once. Misses of the others are one if there are more than an interval of 95 % has in one
of 10,000 campaigns.
"""

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from scipy.stats import binom
from studies.coverage.counting import INTERVALS, Claim, holds
from studies.coverage.judging import DECISIONS, claims_of
from studies.coverage.logs import new_log
from studies.coverage.worlds import new_world

from faults import plants
from faults.tally import Row

MISSES = 0.05  # of all intervals of one kind
CHANCE = 1e-4  # of a finding if no more than that miss
CASES: Mapping[str, Mapping[str, Any]] = {
    "action that is rarely seen": {"graph": "bandit", "rare": True},
    "feedback that is pending": {"graph": "bandit", "feedback": "late"},
    "feedback that comes from some actions": {"graph": "review", "feedback": "by action"},
    "feedback in part": {"graph": "inventory", "feedback": "in part"},
    "default after waiting": {"graph": "bandit", "feedback": "defaults"},
}
PLANTS = {"intervals for whatever was seen": plants.trust_few}


def run(n: int, number: int, plant: str | None = None) -> Iterator[Row]:
    if plant:
        PLANTS[plant]()
    for place, (name, settings) in enumerate(CASES.items()):
        row, start = Row(f"log, {name}"), time.monotonic()
        rng = np.random.default_rng((number, place))
        given: Counter[tuple[str, str, str]] = Counter()
        missed: Counter[tuple[str, str, str]] = Counter()
        for _ in range(n // len(CASES)):
            world = new_world(settings, rng)
            log = new_log(world, settings, DECISIONS, rng)
            claimed = claims_of(world, log, DECISIONS, learns=False)
            row.tell(*_without_width(claimed))
            for one in claimed:
                for kind in INTERVALS:
                    if (interval := one.interval(kind)) is not None:
                        given[one.target, one.estimator, kind] += 1
                        missed[one.target, one.estimator, kind] += not holds(interval, one.truth)
        for key, n_given in given.items():
            if binom.sf(missed[key] - 1, n_given, MISSES) < CHANCE:
                text = f"{', '.join(key)}: {missed[key]} of {n_given} miss"
                row.n -= 1  # which counts logs
                row.tell("silent", text)
        row.seconds = time.monotonic() - start
        yield row


def _without_width(claimed: list[Claim]) -> tuple[str | None, str]:
    for one in claimed:
        for kind in INTERVALS:
            interval = one.interval(kind)
            if interval is None or interval.upper > interval.lower or holds(interval, one.truth):
                continue
            return "silent", f"{one.target}, {one.estimator}: {interval} where it is {one.truth:g}"
    return None, ""
