"""Full information with floors and caps, in O(K) for each pass.

With W = 1 the program is min p @ ft + p @ p + max_a (1 - 2 p_a - ft_a). Whatever the maximum is,
2 p_a + ft_a is the same for all actions between their limits, so that p_a is (level - ft_a) / 2
cut off at floor and cap, and the level is the one at which p adds up to 1. If some cap is in the
way, the action that it keeps lowest has the largest constraint, and q is that action alone;
otherwise q is uniform over the actions between their limits.
"""

import numpy as np

from graphcb.compilation import inlined, inner
from graphcb.exploration.solver.filling import fill_up
from graphcb.exploration.solver.workspace import Floats
from graphcb.graphs.formulas import OPERATIONS, ROUNDING, Outcome

PASSES = 300
CLOSE = 1e-12  # levels that differ by less are the same


@inner
def solve_capped_full_information(ft: Floats, lower: Floats, upper: Floats, p: Floats) -> Outcome:
    """Solve the program of the scaled gaps `ft` into `p`."""
    n, q = ft.size, np.zeros(ft.size)
    level, passes = _find_level(ft, lower, upper)
    total, widest = 0.0, 0
    for a in range(n):
        p[a] = min(upper[a], max(lower[a], 0.5 * (level - ft[a])))
        total += p[a]
        if min(upper[a] - p[a], p[a] - lower[a]) > min(
            upper[widest] - p[widest], p[widest] - lower[widest]
        ):
            widest = a
    p[widest] = min(upper[widest], max(lower[widest], p[widest] + (1.0 - total)))
    _weigh(ft, lower, upper, level, p, q)
    value, above, below = _prove(ft, lower, upper, p, q)
    return Outcome(value, above, below, passes, False, n)


@inner
def _find_level(ft: Floats, lower: Floats, upper: Floats) -> tuple[float, int]:
    """Where p adds up to 1: Newton steps on a sum that is piecewise linear, kept in a bracket."""
    low, high = np.inf, -np.inf
    for a in range(ft.size):
        low = min(low, ft[a])
        high = max(high, ft[a] + 2.0)
    level = low + 2.0
    passes = 1
    while passes < PASSES:
        passes += 1
        total, free = 0.0, 0
        for a in range(ft.size):
            wish = 0.5 * (level - ft[a])
            total += min(upper[a], max(lower[a], wish))
            free += lower[a] < wish < upper[a]
        if total > 1.0:
            high = level
        else:
            low = level
        step = level + 2.0 * (1.0 - total) / free if free > 0 else low
        if passes % 3 == 0 or not low < step < high:  # at kinks, Newton steps may go in circles
            step = 0.5 * (low + high)
        if abs(total - 1.0) <= ROUNDING or not low < step < high:
            break
        level = step
    return level, passes


@inlined
def _weigh(ft: Floats, lower: Floats, upper: Floats, level: float, p: Floats, q: Floats) -> None:
    """Fill q, which sums to one."""
    free, worst = 0, 0
    for a in range(ft.size):
        free += lower[a] < p[a] < upper[a]
        if 2.0 * p[a] + ft[a] < 2.0 * p[worst] + ft[worst]:
            worst = a
    if free == 0 or 2.0 * p[worst] + ft[worst] < level - CLOSE * (1.0 + abs(level)):
        q[worst] = 1.0
        return
    for a in range(ft.size):
        if lower[a] < p[a] < upper[a]:
            q[a] = 1.0 / free


@inlined
def _prove(
    ft: Floats, lower: Floats, upper: Floats, p: Floats, q: Floats
) -> tuple[float, float, float]:
    """The value, rounded up too, and the bound of `certificate` for W = 1.

    L(p, q) = (p - q) @ ft + p @ p - 2 p @ q + 1, and p @ p is above its tangent.
    """
    n = ft.size
    error = (n + OPERATIONS) * ROUNDING
    reduced, span = np.empty(n), np.empty(n)
    play, worst, top, mass, total = 0.0, -np.inf, -np.inf, 1.0, 0.0
    price, size = 1.0, 1.0
    for a in range(n):
        play += p[a] * (ft[a] + p[a])
        worst = max(worst, 1.0 - 2.0 * p[a] - ft[a])
        top = max(top, 1.0 - 2.0 * p[a] - ft[a] + error * (3.0 + ft[a]))
        price -= q[a] * ft[a] + p[a] * p[a]
        size += q[a] * ft[a] + p[a] * p[a]
        slope = ft[a] + 2.0 * p[a] - 2.0 * q[a]
        reduced[a] = slope - error * (ft[a] + 2.0 * p[a] + 2.0 * q[a])
        price += lower[a] * reduced[a]
        size += lower[a] * abs(reduced[a])
        span[a] = upper[a] - lower[a]
        mass -= lower[a]
        total += p[a]
    level, below = fill_up(reduced, span, max(mass, 0.0), error)
    off = abs(total - 1.0)
    size += 2.0 * abs(level)  # the mass is rounded too
    above = play + top + (error + 4.0 * off) * (1.0 + play)
    return play + worst, above, price + below - error * size
