"""From sums over decisions to estimates of a target's mean, each with the intervals that hold.

With w the weight of a decision, 1 on average, x = w times the value seen, and n decisions:

    ips                sum of x / n
    self-normalised    m = sum of x / sum of w, whose error is (x - m w) / mean of w per decision
    clipped            the same with weights of at most c = 2, 4, 8, ...; of the weight, the share
                       d = 1 - sum of min(w, c) / sum of w is lost, so its bias is at most
                       d * max(m - low, high - m)

An interval is `None` where it would not hold. The normal one is withheld if too few decisions
carry the weight, seen or to be expected, or if the weights are far from 1 on average, as they are
where something that the target plays is too rare to have been seen.
"""

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from graphcb.estimates.bounds import bernstein_interval, betting_interval
from graphcb.estimates.estimate import (
    Conditions,
    Estimate,
    TargetEstimates,
    WeightSpread,
    Why,
    spread,
)
from graphcb.estimates.intervals import Interval, check_confidence
from graphcb.estimates.moments import BySize, Moments
from graphcb.estimates.terms import Floats

# Effective sizes that a normal interval needs; chosen by `make study-coverage` (note 0015).
LEAST_SIZE = 10.0
LEAST_FOR_MEANS = 30.0  # of estimates that are not self-normalised
MOST_OFF = 3.0  # standard errors of the mean weight
# Where the range is not known:
LEAST_WITHOUT_RANGE = 30.0
MOST_SKEW = 0.25


def estimates(moments: Moments, asked: Conditions) -> list[TargetEstimates]:
    """What the sums say about each target.

    >>> moments = Moments(1)
    >>> moments.add(np.array([[2.0, 0.0, 2.0, 0.0]]), np.array([[1.0, 0.0, 2.0, 0.0]]))
    >>> found = estimates(moments, Conditions())[0]
    >>> found.estimates["ips"].value, found.estimates["self-normalised"].value
    (0.75, 0.75)
    """
    check_confidence(asked.confidence)
    return [_found(moments, target, asked) for target in range(moments.n_targets)]


def _found(moments: Moments, target: int, asked: Conditions) -> TargetEstimates:
    sums, n = moments.of(target), moments.n
    expected = None if asked.expected is None else asked.expected[target]
    weights = spread(sums, n, float(moments.largest[target]), expected)
    if weights.mean <= 0.0:
        return TargetEstimates({}, None, weights, ("nothing that this policy plays was seen",))
    anytime = betting_interval(sums, n, asked)
    bernstein = bernstein_interval(sums, n, asked) if asked.independent else None
    why = _why_not_normal(sums, weights, asked)
    mine = _self_normalised(sums, weights.effective_size, asked, why)
    found = {
        "self-normalised": mine._replace(anytime=anytime, bernstein=bernstein),
        "ips": _ips(sums, weights, asked, why)._replace(anytime=anytime, bernstein=bernstein),
    }
    cut = math.inf
    if asked.value_range is not None:
        clipped, cut = _clipped(sums, weights, asked)
        found["clipped"] = clipped._replace(anytime=anytime, bernstein=bernstein)
    warnings = weights.warnings()
    if why is not None:
        warnings.append(_REASONS[why])
    return TargetEstimates(found, "self-normalised", weights, tuple(warnings), cut, why)


_REASONS = {
    "few": "too few decisions carry the weight for a normal interval",
    "rare": "part of what this policy plays is too rare to have been seen: a normal interval would "
    "not hold",
    "skewed": "a few decisions make most of the error: without a range, no interval would hold",
    "equal": "all values that were seen are equal: without a range, no interval would hold",
}


class Errors(NamedTuple):
    """The sum of weights, m, and the sums of (x - m w)^2 and (x - m w)^3."""

    total: float
    mean: float
    squares: float
    cubes: float


def errors_of(sums: BySize) -> Errors:
    """What decisions add to the error of a self-normalised mean."""
    w, ww, www, x, wx, wwx, xx, wxx, xxx = (float(one.sum()) for one in sums[1:10])
    m = x / w
    squares = max(0.0, xx - 2.0 * m * wx + m * m * ww)
    return Errors(w, m, squares, xxx - 3.0 * m * wxx + 3.0 * m * m * wwx - m**3 * www)


def _why_not_normal(sums: BySize, weights: WeightSpread, asked: Conditions) -> Why | None:
    """What speaks against a normal interval, if anything does."""
    least = LEAST_WITHOUT_RANGE if asked.value_range is None else LEAST_SIZE
    if weights.effective_size < least:
        return "few"
    if weights.off > MOST_OFF:
        return "rare"
    if asked.value_range is not None:
        return None
    _, _, squares, cubes = errors_of(sums)
    if squares <= 1e-18 * float(sums.xx.sum()):
        return "equal"
    return "skewed" if abs(cubes) > MOST_SKEW * squares**1.5 else None


def _self_normalised(sums: BySize, size: float, asked: Conditions, why: Why | None) -> Estimate:
    _, mean, squares, _ = errors_of(sums)
    error = _standard_error(sums, squares)
    wide = max(error, least_error_of(sums, mean, size))
    normal = None if why else normal_around(mean, wide, size, asked)
    return Estimate(mean, error, normal, None)


def _standard_error(sums: BySize, squares: float) -> float:
    """Of a self-normalised mean, with a degree of freedom less than its effective size."""
    total = float(sums.w.sum())
    whole = total * total  # infinite where weights are too large to say anything
    left = whole - float(sums.ww.sum())
    return math.sqrt(squares / left) if left > 1e-12 * whole else math.inf


def least_error_of(sums: BySize, mean: float, size: float) -> float:
    """What the standard error would be if large weights had values like the others.

    Two or three decisions may carry most of the weight; if their values happen to be equal, the
    standard error is far too small.
    """
    spread_out = float(sums.wvv.sum() / sums.w.sum()) - mean * mean
    return math.sqrt(max(0.0, spread_out) / size)


def _ips(sums: BySize, weights: WeightSpread, asked: Conditions, why: Why | None) -> Estimate:
    n = weights.n
    mean, square = float(sums.x.sum()) / n, float(sums.xx.sum())
    if n < 2:
        return Estimate(mean, math.inf, None, None)
    error = math.sqrt(max(0.0, square - n * mean * mean) / (n * (n - 1)))
    size = weights.effective_size
    if why is not None or size < LEAST_FOR_MEANS:
        return Estimate(mean, error, None, None)
    spread_out = n / size * float(sums.wvv.sum() / sums.w.sum()) - mean * mean
    wide = max(error, math.sqrt(max(0.0, spread_out) / n))  # as in `least_error_of`
    return Estimate(mean, error, normal_around(mean, wide, size, asked), None)


def mean_of(
    terms: Floats,
    found: TargetEstimates,
    asked: Conditions,
    *,
    bias: float = 0.0,
    least_error: float = 0.0,
) -> Estimate:
    """The mean of terms that need no normalising, such as those around a prediction."""
    n, mean = terms.size, float(terms.mean())
    error = float(terms.std(ddof=1)) / math.sqrt(n) if n > 1 else math.inf
    size, normal = found.weights.effective_size, None
    if found.why is None and n > 1 and size >= LEAST_FOR_MEANS:
        normal = normal_around(mean, max(error, least_error), size, asked, bias)
    return Estimate(mean, error, normal, None, None, bias)


def _clipped(sums: BySize, weights: WeightSpread, asked: Conditions) -> tuple[Estimate, float]:
    """Weights are cut where standard error and bias together are to be smallest.

    The cut is chosen by the weights alone, for values at the ends of the range and a bias of half
    of its bound: chosen by the values that were seen, it would favour the luckiest. If part of the
    weight may not have been seen, it counts as lost.
    """
    whole = float(sums.w.sum())
    if weights.effective_size < 5.0 * LEAST_SIZE or weights.off > MOST_OFF:
        whole = max(whole, float(weights.n))
    low, high = asked.value_range or (0.0, 1.0)
    z = NormalDist().inv_cdf(0.5 + 0.5 * asked.confidence)
    used = int(np.flatnonzero(sums.number)[-1])
    best, best_width = used, math.inf
    for size in range(used, -1, -1):
        cut = sums.cut(size) if size < used else sums
        left = float(cut.w.sum())
        lost = max(0.0, 1.0 - left / whole)
        width = 0.5 * (z * math.sqrt(float(cut.ww.sum())) / left + lost)
        if width < best_width:
            best, best_width = size, width
    cut = sums.cut(best) if best < used else sums
    left, mean, squares, _ = errors_of(cut)
    error = _standard_error(cut, squares)
    bias = max(0.0, 1.0 - left / whole) * max(mean - low, high - mean)
    effective = float(left**2 / cut.ww.sum()) if best < used else weights.effective_size
    normal = None
    if effective >= LEAST_SIZE:
        wide = max(error, least_error_of(cut, mean, effective))
        normal = normal_around(mean, wide, effective, asked, bias)
    return Estimate(mean, error, normal, None, None, bias), 2.0**best if best < used else math.inf


def normal_around(
    mean: float, error: float, size: float, asked: Conditions, bias: float = 0.0
) -> Interval | None:
    """A normal interval with two more values at each end of the range, cut at these ends.

    They have average weight; their number is half of the square of the normal quantile, as in the
    interval of Agresti and Coull (1998) for a proportion. Values that are all equal, or of which
    the rare ones were not seen, then do not make it too narrow. Without a range, it is mean +- a
    quantile of Student's t times its standard error.
    """
    z = NormalDist().inv_cdf(0.5 + 0.5 * asked.confidence)
    if asked.value_range is None:
        wide = quantile(asked.confidence, size) * error + bias
        return Interval(mean - wide, mean + wide)
    low, high = asked.value_range
    width, added = high - low, 0.5 * z * z
    whole = size + 2.0 * added
    middle = ((mean - low) / width * size + added) / whole
    squares = (error / width * size) ** 2 + added * (middle**2 + (1.0 - middle) ** 2)
    wide = z * math.sqrt(squares) / whole + bias / width + asked.missing_share
    lower, upper = low + width * max(middle - wide, 0.0), low + width * min(middle + wide, 1.0)
    return Interval(lower, upper) if lower <= upper else None


def quantile(confidence: float, size: float) -> float:
    """Of Student's t with `size` degrees of freedom."""
    from scipy.special import stdtrit  # where a range is known, it is not needed

    return float(stdtrit(size, 0.5 + 0.5 * confidence))
