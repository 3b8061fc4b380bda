"""What is asked of sums, and what an estimate is: a value with the intervals that hold."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from graphcb.estimates.intervals import Interval
from graphcb.estimates.moments import BySize

Range = tuple[float, float]
Why = Literal["few", "rare", "skewed", "equal"]


class Conditions(NamedTuple):
    """What is asked of sums: the range of values, if it is known, and how sure to be.

    `independent` says that decisions do not depend on earlier ones, as those of a policy that
    learns do; the Bernstein interval needs that. `expected` has, for each target, the sum of
    squared weights that was to be expected before anything was drawn: a weight that is large and
    rare may not have been seen yet. `missing_share` of the decisions may have had any value.
    """

    value_range: Range | None = None
    confidence: float = 0.95
    independent: bool = True
    expected: Sequence[float] | None = None
    missing_share: float = 0.0


class Estimate(NamedTuple):
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
class WeightSpread:
    """How the weight is spread over decisions: whether a few of them decide the estimate.

    `effective_size` is that of a sample without weights that is as good, by the weights that were
    seen or those that were to be expected, whichever is less. `top_share` is the share of weight
    that the heaviest 1 % of all decisions have.
    """

    n: int
    mean: float
    effective_size: float
    largest: float
    top_share: float
    off: float = 0.0  # of the mean weight from 1, in standard errors

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


def spread(sums: BySize, n: int, largest: float, expected: float | None = None) -> WeightSpread:
    """How the weight is spread; `expected` is what the sum of its squares was to be."""
    total, squares = float(sums.w.sum()), float(sums.ww.sum())
    left, top = 0.01 * n, 0.0
    for count, weight in zip(sums.number[::-1].tolist(), sums.w[::-1].tolist(), strict=True):
        if count > 0.0 and left > 0.0:
            top += weight * min(1.0, left / count)
            left -= count
    if total <= 0.0:
        return WeightSpread(n, 0.0, 0.0, largest, 0.0)
    effective, mean, off = total * total / squares, total / n, 0.0
    if expected is not None:
        effective = min(effective, n * n / expected)
    else:
        error = math.sqrt(max(0.0, squares / n - mean * mean) / n)
        off = abs(mean - 1.0) / max(error, 1e-9)
    return WeightSpread(n, mean, effective, largest, top / total, off)


@dataclass(frozen=True)
class TargetEstimates:
    """Everything that sums say about one target; `best` names the estimate to show."""

    estimates: dict[str, Estimate]
    best: str | None
    weights: WeightSpread
    warnings: tuple[str, ...] = ()
    cut: float = math.inf  # of the clipped estimate
    why: Why | None = None  # there is no normal interval

    @property
    def estimate(self) -> Estimate | None:
        """The best one."""
        return None if self.best is None else self.estimates[self.best]
