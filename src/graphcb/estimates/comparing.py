"""The difference of two targets, decision by decision."""

import math
from typing import NamedTuple

import numpy as np

from graphcb.estimates.bounds import lower_end, scaled
from graphcb.estimates.estimate import Conditions, Estimate, spread
from graphcb.estimates.estimators import LEAST_SIZE, errors_of, normal_around
from graphcb.estimates.intervals import Interval
from graphcb.estimates.moments import BySize, Moments
from graphcb.estimates.terms import Floats


class Apart(NamedTuple):
    """How far two targets are apart: the share of decisions that they make differently at most,
    the effective size of the sample that tells them apart, and a least standard error.
    """

    share: float
    effective_size: float
    least_error: float = 0.0


def apart(moments: Moments, one: int, other: int) -> Apart:
    """By the weights of two targets, where a decision shows the value of one action alone."""
    total = moments.apart(one, other)
    squares = float(moments.of(one).ww.sum() + moments.of(other).ww.sum())
    squares -= 2.0 * float(moments.products(one, other)[0, 0])
    size = total * total / squares if squares > 0.0 else 0.0
    return Apart(min(1.0, 0.5 * total / moments.n), size)


def difference(
    moments: Moments, one: int, other: int, asked: Conditions, how: Apart | None = None
) -> Estimate | None:
    """By how much the mean of a target is larger than that of another, decision by decision.

    None if nothing was seen of one of them. `how` far they are apart is seen from their weights,
    unless it is given: where they decide alike, the difference is no larger than the range times
    the share of decisions where they do not. Both means are divided by weights that are 1 on
    average; where few decisions carry these, the difference is as uncertain as their sum, however
    well the decisions that differ were seen.
    """
    first, second = moments.of(one), moments.of(other)
    if not (first.w.any() and second.w.any()):
        return None
    (w1, m1, squares1, _), (w2, m2, squares2, _) = errors_of(first), errors_of(second)
    products = moments.products(one, other)
    both = _bilinear(products, (-m1, 1.0), (-m2, 1.0)) / (w1 * w2)
    error = math.sqrt(max(0.0, squares1 / w1**2 + squares2 / w2**2 - 2.0 * both))
    if asked.value_range is None:
        return Estimate(m1 - m2, error, None, None)
    how = apart(moments, one, other) if how is None else how
    low, high = asked.value_range
    most = how.share * (high - low)
    normal = Interval(0.0, 0.0) if most == 0.0 else None
    if most > 0.0 and how.effective_size >= LEAST_SIZE:
        within = asked._replace(value_range=(-most, most))
        middle = min(max(m1 - m2, -most), most)
        by_scale = abs(m1 - m2) * _scale_error(moments, (one, other), asked)
        wide = math.hypot(max(error, how.least_error), by_scale)
        normal = normal_around(middle, wide, how.effective_size, within)
    alpha = 0.5 * (1.0 - asked.confidence)
    sides = [_half_difference(first, second, products, *pair, high - low)
             for pair in ((low, high), (high, low))]  # fmt: skip
    ends = [lower_end(*side, moments.n, alpha) for side in sides]
    return Estimate(m1 - m2, error, normal, scaled(ends, (low - high, high - low)))


def _scale_error(moments: Moments, targets: tuple[int, int], asked: Conditions) -> float:
    """The standard error of the mean weight, relative to it, of the target where it is larger."""
    size = math.inf
    for target in targets:
        expected = None if asked.expected is None else asked.expected[target]
        found = spread(moments.of(target), moments.n, float(moments.largest[target]), expected)
        size = min(size, found.effective_size)
    return 1.0 / math.sqrt(size)


def _half_difference(
    first: BySize, second: BySize, products: Floats, end: float, other: float, width: float
) -> tuple[float, float]:
    """Sums of half of the first one's distance from `end` and the second one's from `other`."""
    sign = 1.0 if other > end else -1.0
    a, b = (-sign * end, sign), (sign * other, -sign)
    total = squares = 0.0
    for sums, (of_w, of_x) in ((first, a), (second, b)):
        total += of_w * float(sums.w.sum()) + of_x * float(sums.x.sum())
        squares += of_w * of_w * float(sums.ww.sum()) + of_x * of_x * float(sums.xx.sum())
        squares += 2.0 * of_w * of_x * float(sums.wx.sum())
    squares += 2.0 * _bilinear(products, a, b)
    return 0.5 * total / width, 0.25 * squares / width**2


def _bilinear(products: Floats, a: tuple[float, float], b: tuple[float, float]) -> float:
    return float(np.array(a) @ products @ np.array(b))
