"""What is asked of sums, and what an estimate is: a value with the intervals that hold."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from graphcb.estimates.intervals import Interval
from graphcb.estimates.moments import BySize

Range = tuple[float, float]


class Asked(NamedTuple):
    """What is asked of sums: the range of values, if it is known, and how sure to be.

    `independent` says that decisions do not depend on earlier ones, as those of a policy that
    learns do; the Bernstein interval needs that. `design` has, for each target, what was to be
    expected before anything was drawn: sums of weights squared and cubed.
    """

    value_range: Range | None = None
    confidence: float = 0.95
    independent: bool = True
    design: Sequence[tuple[float, float]] | None = None
    missing_share: float = 0.0


@dataclass(frozen=True)
class Estimate:
    """The mean that a policy would have had, and confidence intervals for it.

    `normal` is valid for looking once, `bernstein` too, without an approximation, and `anytime`
    however often one looks. Each is None where it does not hold or was not asked for. `bias` is
    how far the value may be off on average; the intervals include it.
    """

    value: float
    standard_error: float
    normal: Interval | None
    anytime: Interval | None
    bernstein: Interval | None = None
    bias: float = 0.0

    @property
    def interval(self) -> Interval | None:
        """The one to show: the normal interval, else the narrower of the others."""
        if self.normal is not None:
            return self.normal
        others = [one for one in (self.bernstein, self.anytime) if one is not None]
        return min(others, key=lambda one: one.upper - one.lower, default=None)


@dataclass(frozen=True)
class Weights:
    """How the weight is spread over decisions: whether a few of them decide the estimate.

    `effective_size` is that of a sample without weights that is as good. `top_share` is the
    share of weight that the heaviest 1 % of all decisions have.
    """

    n: int
    mean: float
    effective_size: float
    largest: float
    top_share: float

    def warnings(self) -> list[str]:
        """What is bad about them, and what to do."""
        found = []
        if self.effective_size < max(100.0, 0.01 * self.n):
            found.append(
                f"{self.effective_size:,.0f} of {self.n:,} decisions carry the weight (effective "
                "sample size): collect more, explore more, or judge a policy closer to that of "
                "the log"
            )
        if self.top_share > 0.5:
            found.append(
                f"the heaviest 1 % of decisions have {self.top_share:.0%} of the weight; the "
                f"largest weight is {self.largest:,.4g}: look at the clipped estimate"
            )
        return found


def spread(sums: BySize, n: int, largest: float) -> Weights:
    """How the weight is spread."""
    total, squares = float(sums.w.sum()), float(sums.ww.sum())
    left, top = 0.01 * n, 0.0
    for count, weight in zip(sums.number[::-1].tolist(), sums.w[::-1].tolist(), strict=True):
        if count > 0.0 and left > 0.0:
            top += weight * min(1.0, left / count)
            left -= count
    effective = total * total / squares if squares > 0.0 else 0.0
    share = top / total if total > 0.0 else 0.0
    return Weights(n, total / max(n, 1), effective, largest, share)


@dataclass(frozen=True)
class Found:
    """Everything that sums say about one target; `best` names the estimate to show."""

    estimates: dict[str, Estimate]
    best: str | None
    weights: Weights
    warnings: tuple[str, ...] = ()
    cut: float = math.inf  # of the clipped estimate

    @property
    def estimate(self) -> Estimate | None:
        """The best one."""
        return None if self.best is None else self.estimates[self.best]
