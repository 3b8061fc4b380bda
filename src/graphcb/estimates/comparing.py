"""The difference of two targets, decision by decision."""

import math
from collections.abc import Sequence

import numpy as np

from graphcb.estimates.bounds import lower_end, scaled
from graphcb.estimates.estimate import Asked, Estimate, Found
from graphcb.estimates.estimators import errors_of, quantile, within
from graphcb.estimates.moments import BySize, Moments
from graphcb.estimates.terms import Floats


def difference(
    moments: Moments, found: Sequence[Found], one: int, other: int, asked: Asked
) -> Estimate | None:
    """By how much the mean of a target is larger than that of another, decision by decision."""
    first, second = moments.of(one), moments.of(other)
    if not (found[one].estimates and found[other].estimates):
        return None
    (w1, m1, squares1, _), (w2, m2, squares2, _) = errors_of(first), errors_of(second)
    products = moments.products(one, other)
    both = _bilinear(products, (-m1, 1.0), (-m2, 1.0)) / (w1 * w2)
    error = math.sqrt(max(0.0, squares1 / w1**2 + squares2 / w2**2 - 2.0 * both))
    sizes = [found[place].weights.effective_size for place in (one, other)]
    normal, wide = None, asked.value_range
    if wide is not None:
        wide = (wide[0] - wide[1], wide[1] - wide[0])
    if all(found[place].estimates["self-normalised"].normal for place in (one, other)):
        half = quantile(asked.confidence, min(sizes)) * error
        normal = within(m1 - m2, half, asked._replace(value_range=wide)) if error > 0.0 else None
    anytime = None
    if asked.value_range is not None and wide is not None:
        low, high = asked.value_range
        alpha = 0.5 * (1.0 - asked.confidence)
        sides = [_half_difference(first, second, products, *pair, high - low)
                 for pair in ((low, high), (high, low))]  # fmt: skip
        ends = [lower_end(*side, moments.n, alpha) for side in sides]
        anytime = scaled(ends, wide)
    return Estimate(m1 - m2, error, normal, anytime)


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
