"""Intervals from sums without an approximation: for looking once, and for looking at any time."""

import math
from collections.abc import Sequence

import numpy as np

from graphcb.estimates.estimate import Conditions, Range
from graphcb.estimates.intervals import Interval
from graphcb.estimates.moments import N_SIZES, BySize
from graphcb.estimates.terms import Floats


def bernstein_interval(sums: BySize, n: int, asked: Conditions) -> Interval | None:
    """By the empirical Bernstein inequality (Maurer and Pontil 2009), for looking once.

    Weights are cut at a power of two that depends on n alone. Cutting makes importance-weighted
    values between 0 and the range smaller, so a lower bound for their mean stays one, and the
    same holds for their distance from the upper end.
    """
    if asked.value_range is None or n < 2:
        return None
    size = max(0, round(math.log2(0.25 * math.sqrt(n))))
    cut = sums.cut(min(size, N_SIZES - 1))
    log = math.log(4.0 / (1.0 - asked.confidence))
    ends = []
    for total, squares in both_sides(cut, asked.value_range):
        mean = total / n
        variance = max(0.0, squares - n * mean * mean) / (n - 1)
        wide = math.sqrt(2.0 * variance * log / n) + 7.0 * 2.0**size * log / (3.0 * (n - 1))
        ends.append(max(0.0, mean - wide))
    return scaled(ends, asked.value_range)


GUESSES: Floats = np.concatenate([[0.0], 0.5 ** np.arange(10, 0, -1), 1.0 - 0.5 ** np.arange(2, 7)])


def betting_interval(sums: BySize, n: int, asked: Conditions) -> Interval | None:
    """Valid at any time, whatever the order of the decisions: `LowerEnds` with fixed guesses.

    With guesses fixed beforehand, the bets need no more than sums of values and their squares;
    bets and guesses share alpha.
    """
    if asked.value_range is None:
        return None
    alpha = 0.5 * (1.0 - asked.confidence)
    sides = both_sides(sums, asked.value_range)
    return scaled([lower_end(*side, n, alpha) for side in sides], asked.value_range)


def lower_end(total: float, squares: float, n: int, alpha: float) -> float:
    """A bound for the mean of n terms that are not negative, from their sums."""
    number = np.arange(1, 31)
    bets = 0.5**number
    psi = -np.log1p(-bets) - bets
    penalties = squares - 2.0 * GUESSES * total + n * GUESSES * GUESSES
    share = np.log(alpha / (number * (number + 1.0) * GUESSES.size))
    ends = (bets * total - psi * penalties[:, None] + share) / (bets * n)
    return max(0.0, float(ends.max()))


def both_sides(sums: BySize, value_range: Range) -> list[tuple[float, float]]:
    """Sums and sums of squares of the terms of values, and of what they lack to the upper end."""
    low, high = value_range
    width = high - low
    w, x = float(sums.w.sum()), float(sums.x.sum())
    ww, wx, xx = float(sums.ww.sum()), float(sums.wx.sum()), float(sums.xx.sum())

    def side(end: float, sign: float) -> tuple[float, float]:
        return sign * (x - end * w) / width, (xx - 2.0 * end * wx + end * end * ww) / width**2

    return [side(low, 1.0), side(high, -1.0)]


def scaled(ends: Sequence[float], value_range: Range) -> Interval:
    """From lower bounds, between 0 and 1, of values and of what they lack to the upper end."""
    low, high = value_range
    lower, upper = low + (high - low) * ends[0], high - (high - low) * ends[1]
    return Interval(min(lower, high), max(upper, low))
