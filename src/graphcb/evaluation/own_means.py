"""The mean of the policy that wrote a log, over all of it and over windows."""

from bisect import bisect_right
from functools import partial
from typing import NamedTuple

import numpy as np

from graphcb.decisions import LoggedDecision
from graphcb.estimates.intervals import Interval
from graphcb.estimates.terms import Flags
from graphcb.evaluation.estimating import WITHOUT_RANGE, Estimating, Scale
from graphcb.evaluation.rounds import Rounds, RoundTerms
from graphcb.evaluation.settling import Settling
from graphcb.evaluation.targets import logged
from graphcb.problems import Problem


class OwnMean(NamedTuple):
    """The mean of the policy that wrote some decisions, as `Evaluation.graph` has it."""

    n_used: int
    mean: float | None
    interval: Interval | None
    anytime: Interval | None
    unseen_share: float
    warnings: tuple[str, ...] = ()


class OwnMeans:
    """Settled decisions of a log, and where they stand in it."""

    def __init__(self, problems: list[Problem | None]) -> None:
        ranges = [one.range for one in problems if one is not None and one.range is not None]
        known = len(ranges) == len(problems)
        lows, highs = zip(*ranges, strict=True) if known else ((0.0,), (1.0,))
        self._scale = Scale(min(lows), max(highs) - min(lows))
        self._settling, self._positions = Settling(), list[int]()
        self._rounds = Rounds([logged], None, (min(lows), max(highs)), is_guessed=not known)

    def add(self, row: LoggedDecision, judged: LoggedDecision) -> None:
        """One decision, and the same as it is weighed."""
        for settled in self._settling.add(row, judged):
            self._rounds.add(settled)
            self._positions.append(settled.row.position)

    def work_out(self, confidence: float, *, has_true_weights: bool) -> None:
        """All decisions were added."""
        (self._terms,) = self._rounds.terms()
        answers = self._settling.answers
        self._stands_for = answers.stands_for[self._rounds.groups]
        self._estimating = partial(
            Estimating,
            self._scale,
            answers,
            confidence=confidence,
            has_true_weights=has_true_weights,
            has_range=self._rounds.within_range,
        )

    def of_all(self, unit: str) -> OwnMean:
        """That of all decisions; `unit` is "loss" or "reward"."""
        found = self._own_mean(np.ones(self._stands_for.size, dtype=bool))
        if found.n_used == 0:
            return found
        estimating = self._estimating(stands_for=self._stands_for)
        unbounded = () if self._rounds.within_range else (WITHOUT_RANGE.format(unit=unit),)
        return found._replace(
            anytime=estimating.bounds(self._terms.terms), warnings=(*found.warnings, *unbounded)
        )

    def of_windows(self, begins: list[int]) -> list[OwnMean]:
        """Those of windows that begin at these positions."""
        windows = np.array([bisect_right(begins, place) - 1 for place in self._positions], int)
        return [self._own_mean(windows == k) for k in range(len(begins))]

    def _own_mean(self, chosen: Flags) -> OwnMean:
        n = int(chosen.sum())
        if n == 0:
            return OwnMean(0, None, None, None, 0.0)
        terms = RoundTerms(*(part[chosen] for part in self._terms))
        share = float(terms.unseen.mean())
        if share > 0.0:
            return OwnMean(n, None, None, None, share)
        estimating = self._estimating(stands_for=self._stands_for[chosen])
        _, (found,) = estimating.with_graph([terms])
        one = found.estimates.get("self-normalised")
        if one is None:
            return OwnMean(n, None, None, None, 0.0, found.warnings)
        return OwnMean(n, one.value, one.normal, None, 0.0, found.warnings)
