"""The bandit with floors and caps, in O(K) after a sort.

With W = p the program is min p @ ft + x - 1 over p and x with 1 / p_a - ft_a <= x. For a given x
the constraint is one more floor, 1 / (x + ft_a), and the cheapest actions fill up to their caps.
The value is convex in x, which is found by bisection. An action at that floor has the multiplier
q_a = (ft_a - level) p_a^2, where the level is the ft at which the filling ends. If x is as small
as the caps allow, what is left of q belongs to the action whose cap is in the way.
"""

import numpy as np

from graphcb.compilation import inlined, inner
from graphcb.exploration.solver.filling import fill_up
from graphcb.exploration.solver.workspace import Floats, Indices
from graphcb.graphs.formulas import LEAST_SEEN, OPERATIONS, ROUNDING, Outcome

PASSES = 200


@inner
def solve_capped_bandit(ft: Floats, lower: Floats, upper: Floats, p: Floats) -> Outcome:
    """Solve the program of the scaled gaps `ft`, with positive caps, into `p`."""
    n = ft.size
    order, q = np.argsort(ft), np.zeros(n)
    least, tight = 1.0, 0
    for a in range(n):
        if 1.0 / upper[a] - ft[a] > least:
            least, tight = 1.0 / upper[a] - ft[a], a
    low, high = least, least
    passes = 1
    slope, level = _fill(least, ft, order, lower, upper, p)
    if slope < 0.0:
        high = 2.0 * least + n
        while _fill(high, ft, order, lower, upper, p)[0] < 0.0 and passes < PASSES:
            low, high = high, 2.0 * high
            passes += 1
        while passes < PASSES:
            x = 0.5 * (low + high)
            if not low < x < high:
                break
            passes += 1
            if _fill(x, ft, order, lower, upper, p)[0] < 0.0:
                low = x
            else:
                high = x
        slope, level = _fill(high, ft, order, lower, upper, p)
    _weigh(high, ft, order, lower, p, level, tight if high == least else -1, q)
    value, upper_bound, lower_bound = _prove(ft, lower, upper, p, q)
    return Outcome(value, upper_bound, lower_bound, passes, False, n)


@inner
def _fill(
    x: float, ft: Floats, order: Indices, lower: Floats, upper: Floats, p: Floats
) -> tuple[float, float]:
    """Fill p for this x; return the slope of the value, -inf if x is too small, and the level."""
    n = ft.size
    total = 0.0
    for a in range(n):
        p[a] = min(upper[a], max(lower[a], 1.0 / (x + ft[a])))
        total += p[a]
    rest, level, filled = 1.0 - total, ft[order[0]], n
    if rest < 0.0:
        return -np.inf, level
    for place in range(n):
        a = order[place]
        level = ft[a]
        if upper[a] - p[a] >= rest:
            p[a] = min(upper[a], p[a] + rest)  # the difference to the cap was rounded
            filled = place
            break
        rest -= upper[a] - p[a]
        p[a] = upper[a]
    slope = 1.0
    for place in range(filled + 1, n):
        a = order[place]
        if p[a] > lower[a]:
            slope -= (ft[a] - level) * p[a] * p[a]
    return slope, level


@inlined
def _weigh(
    x: float,
    ft: Floats,
    order: Indices,
    lower: Floats,
    p: Floats,
    level: float,
    tight: int,
    q: Floats,
) -> None:
    """Fill q, which sums to one: at a kink with the level that makes it so."""
    n = ft.size
    first = second = total = 0.0
    if tight < 0:
        for place in range(n - 1, -1, -1):
            a = order[place]
            if first > 0.0 and (second - 1.0) / first >= ft[a]:
                break
            if p[a] > lower[a] and p[a] * (x + ft[a]) < 1.0 + 1e-9:
                first += p[a] * p[a]
                second += ft[a] * p[a] * p[a]
        if first > 0.0:
            level = (second - 1.0) / first
    for a in range(n):
        if p[a] > lower[a] and p[a] * (x + ft[a]) < 1.0 + 1e-9 and ft[a] > level:
            q[a] = (ft[a] - level) * p[a] * p[a]
            total += q[a]
    if tight >= 0 and total < 1.0:
        q[tight] += 1.0 - total
        total = 1.0
    for a in range(n):
        q[a] = q[a] / total if total > 0.0 else 1.0 / n


@inlined
def _prove(
    ft: Floats, lower: Floats, upper: Floats, p: Floats, q: Floats
) -> tuple[float, float, float]:
    """The value, rounded up too, and the bound of `certificate` for W = p."""
    n = ft.size
    error = (n + OPERATIONS) * ROUNDING
    reduced, span = np.empty(n), np.empty(n)
    play = price = size = mass = 0.0
    value = top = -np.inf
    least = np.inf
    mass = 1.0
    for a in range(n):
        least = min(least, p[a])
        play += p[a] * ft[a]
        value = max(value, 1.0 / p[a] - ft[a])
        top = max(top, 1.0 / p[a] - ft[a] + error * (1.0 / p[a] + ft[a]))
        t, k = 1.0 - q[a] / p[a], q[a] * (1.0 - q[a])
        worth = t * t + k / p[a] / p[a]
        price += 2.0 * k / p[a] - q[a] * (2.0 * t + ft[a])
        size += 2.0 * k / p[a] + q[a] * (2.0 * abs(t) + ft[a])
        reduced[a] = ft[a] + 2.0 * t - worth - error * (ft[a] + 2.0 * abs(t) + worth)
        price += lower[a] * reduced[a]
        size += lower[a] * abs(reduced[a])
        span[a] = upper[a] - lower[a]
        mass -= lower[a]
    level, below = fill_up(reduced, span, max(mass, 0.0), error)
    size += 2.0 * abs(level)  # the mass is rounded too
    if not least >= LEAST_SEEN:
        return np.inf, np.inf, -np.inf
    value += play - 1.0
    return value, play - 1.0 + top + error * (1.0 + play), price + below - error * size
