"""Apple tasting with any number of actions: the optimum up to one root.

One action reveals everything, so W is its probability w for every action. Given w, the others
fill up to a common level: p_a = w max(0, level - ft_a) / 2, which makes the constraint
1 / w - level on all that are played, and lower on the rest; that of the revealing action is
1 / w - 2 - ft. What is left is convex in w alone, and its slope is found by bisection. The
multipliers q are uniform on the actions played, or all on the revealing one; between the two
sides of the root they are mixed so that the slope vanishes, which proves the answer.

The root may be at a kink where another action is just about to be played. If that one is far
worse, say ft = 1e20, then so is what rounding adds to the value: p ft for a p that should be zero,
and 1 / w - ft. So the answer is moved off the kink by some roundings, towards more w and less of
the multipliers on the low side. That costs as little, and neither is near the value any more.
"""

from typing import NamedTuple

import numpy as np

from graphcb.compilation import compiled
from graphcb.graphs.formulas import (
    LARGEST_GAP,
    OPERATIONS,
    ROUNDING,
    Outcome,
    is_within,
    record,
    scale,
)
from graphcb.graphs.structure import Floats

LEAST, LEAST_OF_ALL = 1e-75, 1e-110  # of w: with gaps up to 1e70 or 1e100 it is never smaller
MAX_PASSES = 100
PROVEN = 1e-9  # a gap above this, relative to 1 + value, is rounding at a kink


class Filled(NamedTuple):
    """The others at a given w: their level, how many are played and the worst of them, q, slope."""

    level: float
    n_played: int
    last: float
    q_revealing: float
    slope: float


@compiled
def solve_rows(
    revealing: int,
    losses: Floats,
    gammas: Floats,
    first: int,
    stop: int,
    p: Floats,
    numbers: Floats,
) -> None:
    """Solve the rows of losses where `revealing` shows every loss and the others show none."""
    for row in range(first, stop):
        cut = scale(losses[row], gammas[row], LARGEST_GAP)
        record(_solve(losses[row], revealing, p[row]), cut, numbers[row])


@compiled
def _solve(ft: Floats, revealing: int, p: Floats) -> Outcome:
    """The optimum where `revealing` shows every loss and no other action shows any."""
    n = ft.size
    if n == 1:
        p[0] = 1.0
        return Outcome(0.0, 0.0, 0.0, 0, False, 1)
    others = np.empty(n - 1)
    others[:revealing] = ft[:revealing]
    others[revealing:] = ft[revealing + 1 :]
    others.sort()
    sums = np.cumsum(others)
    low, high = (LEAST if ft.max() < 1e70 else LEAST_OF_ALL), 1.0
    at_low = _fill(others, sums, ft[revealing], low)
    at_high = _fill(others, sums, ft[revealing], high)
    passes = 2
    if at_high.slope <= 0.0:  # playing another action gains nothing
        low, at_low = high, at_high
    while high > low * (1.0 + 2.0 * ROUNDING) and passes < MAX_PASSES:
        passes += 1
        middle = np.sqrt(low) * np.sqrt(high) if high > 2.0 * low else 0.5 * (low + high)
        if middle <= low or middle >= high:
            break
        here = _fill(others, sums, ft[revealing], middle)
        if here.slope > 0.0:
            high, at_high = middle, here
        else:
            low, at_low = middle, here
    share = 1.0  # of the multipliers on the low side
    if at_high.slope > 0.0 and at_low.slope < 0.0:
        share = at_high.slope / (at_high.slope - at_low.slope)
    w, best = (low, at_low) if -at_low.slope <= at_high.slope or low == high else (high, at_high)
    _share_out(ft, revealing, w, best.level, p)
    outcome = _prove(ft, revealing, p, at_low, at_high, share, passes)
    slack, other = 16.0 * (n + OPERATIONS) * ROUNDING, np.empty(n)
    while slack < PROVEN and not is_within(outcome.value, outcome.upper, outcome.lower, PROVEN):
        w = min(high * (1.0 + slack), 1.0)
        _share_out(ft, revealing, w, _fill(others, sums, ft[revealing], w).level, other)
        off = _prove(ft, revealing, other, at_low, at_high, share * (1.0 - slack), passes)
        lower = max(outcome.lower, off.lower)
        if off.upper < outcome.upper:
            outcome = off
            p[:] = other
        outcome = Outcome(outcome.value, outcome.upper, lower, passes, False, outcome.n_active)
        slack *= 8.0
    return outcome


@compiled
def _share_out(ft: Floats, revealing: int, w: float, level: float, p: Floats) -> None:
    """The others get what they lack to the level, 1 - w together; the revealing one the rest."""
    rest = 0.0
    for a in range(p.size):
        p[a] = 0.0 if a == revealing else 0.5 * w * max(0.0, level - ft[a])
        rest += p[a]
    scale = (1.0 - w) / rest if rest > 0.0 else 0.0
    for a in range(p.size):
        p[a] *= scale
    p[revealing] = w if rest > 0.0 else 1.0


@compiled
def _fill(others: Floats, sums: Floats, ft: float, w: float) -> Filled:
    """The level at which the others, sorted, hold 1 - w together, and what follows from it."""
    mass = 2.0 * (1.0 - w) / w
    low, high = 1, others.size  # the number played: the first whose level the next does not pass
    while low < high:
        count = (low + high) // 2
        if others[count] >= (mass + sums[count - 1]) / count:
            high = count
        else:
            low = count + 1
    level = (mass + sums[low - 1]) / low
    # Rounding may split equal gaps; they are out together or in together.
    while low > 1 and others[low - 1] >= level:
        low -= 1
        level = (mass + sums[low - 1]) / low
    while low < others.size and others[low] == others[low - 1]:
        low += 1
        level = (mass + sums[low - 1]) / low
    squares = apart = 0.0
    for a in range(low):
        part = 0.5 * w * max(0.0, level - others[a])
        squares += part * part
        apart += (part - 1.0 / low) * (part - 1.0 / low) if low > 1 else w * w
    if level < 2.0 + ft:  # q is uniform on the actions played
        total = (w * w + apart + (1.0 - 1.0 / low)) / w
        gradient = ft + 2.0 - total / w
        return Filled(level, low, others[low - 1], 0.0, gradient - level + 2.0 / (low * w))
    total = (w * w - 2.0 * w + 1.0 + squares) / w
    slope = ft + 2.0 * (w - 1.0) / w - total / w - level
    return Filled(level, low, others[low - 1], 1.0, slope)


@compiled
def _multiplier(side: Filled, gap: float) -> float:
    """q of an action other than the revealing one, on one side of the root."""
    return (1.0 - side.q_revealing) / side.n_played if gap <= side.last else 0.0


@compiled
def _prove(
    ft: Floats,
    revealing: int,
    p: Floats,
    at_low: Filled,
    at_high: Filled,
    share: float,
    passes: int,
) -> Outcome:
    """Value and bound: -q @ ft + 2 sum_i q_i (1 - p_i) / w + min_i g_i, rounding allowed for.

    g_i = ft_i + 2 (p_i - q_i) / w for the others, and for the revealing action also less
    sum_j N_j / w^2 with N = (p - q)^2 + q (1 - q).
    """
    n, w = ft.size, p[revealing]
    error = (n + OPERATIONS) * ROUNDING
    q, total = np.empty(n), 0.0
    for a in range(n):
        if a == revealing:
            q[a] = share * at_low.q_revealing + (1.0 - share) * at_high.q_revealing
        else:
            q[a] = share * _multiplier(at_low, ft[a])
            q[a] += (1.0 - share) * _multiplier(at_high, ft[a])
        total += q[a]
    head = np.argmax(p)  # whose probability is one less those of the others
    p_rest = q_rest = 0.0
    for a in range(n):
        if a != head:
            q[a] /= total
            p_rest += p[a]
            q_rest += q[a]
    q[head] = max(1.0 - q_rest, 0.0)
    common = spread = price = cost = 0.0
    value = upper = -np.inf
    least = np.inf
    for a in range(n):
        common += p[a] * (ft[a] if a == head else ft[a] + p[a] / w)
    for a in range(n):
        # The square of the head is kept apart, as in `certificate`: it nearly cancels.
        apart = q_rest - p_rest if a == head else p[a] - q[a]
        term = p_rest * (p_rest / w) if a == head else p[head] * (p[head] / w)
        size = term if a == head else term + 1.0 / w
        term += 0.0 if a == head else (1.0 - 2.0 * p[a]) / w
        value = max(value, common + (term - ft[a]))
        upper = max(upper, common + (term - ft[a]) + error * (common + size + ft[a]))
        spread += apart * apart + q[a] * (q_rest if a == head else 1.0 - q[a])
        price += 2.0 * q[a] * (p_rest if a == head else 1.0 - p[a]) / w
        cost += q[a] * ft[a] if q[a] > 0.0 else 0.0
    seen = spread / w / w
    for a in range(n):
        apart = q_rest - p_rest if a == head else p[a] - q[a]
        size = ft[a] + 2.0 * (q_rest + p_rest if a == head else p[a] + q[a]) / w
        gradient = ft[a] + 2.0 * apart / w
        if a == revealing:
            gradient -= seen
            size += seen
        least = min(least, gradient - error * size)
    lower = price - cost + least - error * (price + cost)
    return Outcome(value, upper, lower, passes, False, at_low.n_played + 1)
