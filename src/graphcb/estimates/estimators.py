"""From sums over decisions to estimates of a target's mean, each with the intervals that hold.

With w the weight of a decision, 1 on average, x = w times the value seen, and n decisions:

    ips                sum of x / n
    self-normalised    m = sum of x / sum of w, whose error is (x - m w) / mean of w per decision
    clipped            the same with weights of at most c = 2, 4, 8, ...; of the weight, the share
                       d = 1 - sum of min(w, c) / sum of w is lost, so its bias is at most
                       d * max(m - low, high - m)

An interval is `None` where it would not hold. The normal one is withheld if few decisions carry
the weight, if their errors are skewed, or if the weights are far from 1 on average, as they are
where something that the target plays is too rare to have been seen.
"""

import math
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np

from graphcb.estimates.bounds import bernstein_interval, betting_interval
from graphcb.estimates.estimate import Asked, Estimate, Found, spread
from graphcb.estimates.intervals import Interval, check_confidence
from graphcb.estimates.moments import BySize, Moments

# The normal interval is withheld unless this much is there; chosen by `make study-coverage`.
LEAST_SIZE = 30.0
MOST_SKEW = 0.25
MOST_OFF = 4.0  # standard errors of the mean weight

Why = Literal["few", "skewed", "rare", "equal"]


def estimates(moments: Moments, asked: Asked) -> list[Found]:
    """What the sums say about each target.

    >>> moments = Moments(1)
    >>> moments.add(np.array([[2.0, 0.0, 2.0, 0.0]]), np.array([[1.0, 0.0, 2.0, 0.0]]))
    >>> found = estimates(moments, Asked())[0]
    >>> found.estimates["ips"].value, found.estimates["self-normalised"].value
    (0.75, 0.75)
    """
    check_confidence(asked.confidence)
    return [_found(moments, target, asked) for target in range(moments.n_targets)]


def _found(moments: Moments, target: int, asked: Asked) -> Found:
    sums, n = moments.of(target), moments.n
    weights = spread(sums, n, float(moments.largest[target]))
    if weights.mean <= 0.0:
        return Found({}, None, weights, ("nothing that this policy plays was seen",))
    design = None if asked.design is None else asked.design[target]
    anytime = betting_interval(sums, n, asked)
    bernstein = bernstein_interval(sums, n, asked) if asked.independent else None
    normalised, why = _self_normalised(sums, n, asked, design)
    found = {
        "self-normalised": Estimate(
            normalised.value, normalised.standard_error, normalised.normal, anytime, bernstein
        ),
        "ips": _ips(sums, n, asked, why, anytime, bernstein),
    }
    cut = math.inf
    if asked.value_range is not None:
        clipped, cut = _clipped(sums, n, asked)
        found["clipped"] = Estimate(
            clipped.value, clipped.standard_error, clipped.normal, anytime, bernstein, clipped.bias
        )
    warnings = weights.warnings()
    if why is not None:
        warnings.append(_REASONS[why])
    return Found(found, best_of(found), weights, tuple(warnings), cut)


_REASONS = {
    "few": "too few decisions carry the weight for a normal interval",
    "skewed": "a few decisions make most of the error: a normal interval would not hold",
    "rare": "part of what this policy plays is too rare in the log to have been seen: a normal "
    "interval would not hold",
    "equal": "all values that were seen are equal: a normal interval would be too narrow",
}


def best_of(found: dict[str, Estimate]) -> str | None:
    """The one with the narrowest normal interval, bias included; else the first."""
    widths = {
        name: one.normal.upper - one.normal.lower
        for name, one in found.items()
        if one.normal is not None
    }
    return min(widths, key=widths.__getitem__) if widths else next(iter(found), None)


class _Normalised(NamedTuple):
    value: float
    standard_error: float
    normal: Interval | None
    bias: float = 0.0


def _self_normalised(
    sums: BySize, n: int, asked: Asked, design: tuple[float, float] | None
) -> tuple[_Normalised, Why | None]:
    total, mean, squares, cubes = errors_of(sums)
    error = math.sqrt(squares) / total if n > 1 else math.inf
    why = _why_not_normal(sums, n, squares, cubes, design)
    normal = None
    if why is None:
        size = float(total**2 / sums.ww.sum())
        normal = within(mean, quantile(asked.confidence, size) * error, asked)
    return _Normalised(mean, error, normal), why


def errors_of(sums: BySize) -> tuple[float, float, float, float]:
    """The sum of weights, m, and the sums of (x - m w)^2 and (x - m w)^3."""
    w, ww, www, x, wx, wwx, xx, wxx, xxx = (float(one.sum()) for one in sums[1:10])
    m = x / w
    squares = max(0.0, xx - 2.0 * m * wx + m * m * ww)
    return w, m, squares, xxx - 3.0 * m * wxx + 3.0 * m * m * wwx - m**3 * www


def _why_not_normal(
    sums: BySize, n: int, squares: float, cubes: float, design: tuple[float, float] | None
) -> Why | None:
    """What speaks against a normal interval, if anything does."""
    w, ww = float(sums.w.sum()), float(sums.ww.sum())
    scale = float(sums.xx.sum())
    if w * w / ww < LEAST_SIZE:
        return "few"
    if squares <= 1e-18 * scale or squares == 0.0:
        return "equal"
    if abs(cubes) > MOST_SKEW * squares**1.5:
        return "skewed"
    mean = w / n
    error = math.sqrt(max(0.0, ww / n - mean * mean) / n)
    if abs(mean - 1.0) > MOST_OFF * error + 1e-9:
        return "rare"
    if design is not None and design[1] > MOST_SKEW * design[0] ** 1.5:
        return "rare"
    return None


def _ips(
    sums: BySize,
    n: int,
    asked: Asked,
    why: Why | None,
    anytime: Interval | None,
    bernstein: Interval | None,
) -> Estimate:
    mean, square = float(sums.x.sum()) / n, float(sums.xx.sum())
    if n < 2:
        return Estimate(mean, math.inf, None, anytime, bernstein)
    error = math.sqrt(max(0.0, square - n * mean * mean) / (n * (n - 1)))
    cubes = float(sums.xxx.sum()) - 3.0 * mean * square + 2.0 * n * mean**3
    spread_out = (error * n) ** 2
    skewed = spread_out == 0.0 or abs(cubes) > MOST_SKEW * spread_out**1.5
    normal = None
    if why is None and not skewed:
        size = float(sums.w.sum() ** 2 / sums.ww.sum())
        normal = within(mean, quantile(asked.confidence, size) * error, asked)
    return Estimate(mean, error, normal, anytime, bernstein)


def _clipped(sums: BySize, n: int, asked: Asked) -> tuple[_Normalised, float]:
    """The cut that gives the narrowest interval, the bias included."""
    total = float(sums.w.sum())
    low, high = asked.value_range or (0.0, 1.0)
    best, best_cut, best_width = None, math.inf, math.inf
    used = int(np.flatnonzero(sums.number)[-1])
    for size in range(used + 1):
        cut = sums.cut(size) if size < used else sums
        left, mean, squares, cubes = errors_of(cut)
        error = math.sqrt(squares) / left if n > 1 else math.inf
        bias = max(0.0, 1.0 - left / total) * max(mean - low, high - mean)
        effective = float(left**2 / cut.ww.sum())
        wide = quantile(asked.confidence, effective) * error + bias
        sound = _why_not_normal(cut, n, squares, cubes, None) in (None, "rare")
        width = wide if sound else math.inf
        if best is None or width < best_width:
            normal = within(mean, wide, asked) if sound else None
            best, best_width = _Normalised(mean, error, normal, bias), width
            best_cut = 2.0**size if size < used else math.inf
    if best is None:
        raise ValueError("`sums` must have decisions with a weight, got none")
    return best, best_cut


def within(middle: float, wide: float, asked: Asked) -> Interval | None:
    """An interval around a value, cut at the ends of the range; None if that leaves nothing.

    What is missing altogether may lie anywhere in the range.
    """
    lower, upper = middle - wide, middle + wide
    if asked.value_range is None:
        return Interval(lower, upper)
    low, high = asked.value_range
    lost = asked.missing_share * (high - low)
    lower, upper = max(lower - lost, low), min(upper + lost, high)
    return Interval(lower, upper) if lower <= upper else None


def quantile(confidence: float, size: float) -> float:
    """Of Student's t with `size` degrees of freedom, by its expansion around the normal one."""
    z = NormalDist().inv_cdf(0.5 + 0.5 * confidence)
    first = (z**3 + z) / 4.0
    second = (5.0 * z**5 + 16.0 * z**3 + 3.0 * z) / 96.0
    return z + first / size + second / (size * size)
