"""Linear limits rows @ p <= most: a pair of slack z and multiplier y each, beside those of actions.

They enter stationarity, g - m + n + rows.T @ y = const, and the Newton matrix by the square of one
row (a tilt). A limit from below and above by the same number is an equation: one multiplier of any
sign, and a large weight on what is missed. All functions take r = 0 limits as well.
"""

import numpy as np

from graphcb.compilation import inlined, inner
from graphcb.exploration.solver import workspace as at
from graphcb.exploration.solver.cholesky import dot
from graphcb.exploration.solver.workspace import Box, Floats, LimitWork

SLACK = 4e-10  # linear limits are relaxed by this much, so that there is an interior
NO_WIDTH = 1e-13  # a limit from below and above with less between them is an equation
WEIGHT = 1e6  # of an equation, relative to the rest of the matrix
LEAST_SLACK = 1e-3  # of a linear limit that cannot be met with room to spare, at a cold start
TINY_SLACK = 1e-7  # the room to spare for that
KEPT = 0.3  # share of the inner point's slack that the starting point has
HALFWAY = 0.5  # the same if there are equations
FARTHEST = 0.9  # share of the way to the inner point: it may be at floors and caps


@inner
def room_for_linear(box: Box | None) -> Floats | None:
    """The (LINEAR_VECTORS, r) array of a program, which all its restrictions share."""
    if box is None:
        return None
    linear = np.zeros((at.LINEAR_VECTORS, box.rows.shape[0]))
    equal, bound = linear[at.EQUAL], linear[at.BOUND]
    equations, bounds = box.linear[at.EQUAL], box.linear[at.BOUND]
    for r in range(equal.size):
        equal[r], bound[r] = equations[r], bounds[r]
    return linear


@inlined
def most_missed(d: Floats, limits: LimitWork) -> float:
    """By how much the linear limits are exceeded at most."""
    equal, bound, worst = limits.linear[at.EQUAL], limits.linear[at.BOUND], -np.inf
    for r in range(bound.size):
        total, row = -bound[r], limits.rows[r]
        for j in range(d.size):
            total += row[j] * d[j]
        worst = max(worst, abs(total) if equal[r] != 0.0 else total)
    return worst


@inlined
def price_linear_limits(limits: LimitWork, error: float, reduced: Floats) -> tuple[float, float]:
    """What they take from the price, and its absolute values; adds them to `reduced`, rounded down.

    The bound is a difference of rounded sums, and an equation may have some width.
    """
    equal, bound, multiplier = limits.linear[at.EQUAL], limits.linear[at.BOUND], limits.linear[at.Y]
    paid = size = 0.0
    for r in range(bound.size):
        y, row = multiplier[r], limits.rows[r]
        paid += y * bound[r] + abs(y) * NO_WIDTH * equal[r]
        size += abs(y) * (abs(bound[r]) + 2.0)
        for i in range(reduced.size):
            reduced[i] += y * row[i] - error * abs(y * row[i])
    return paid, size


@inlined
def keep_multipliers(limits: LimitWork) -> None:
    """Keep the multipliers of the best bound so far."""
    y, best_y = limits.linear[at.Y], limits.linear[at.BEST_Y]
    for r in range(y.size):
        best_y[r] = y[r]


@inlined
def forget_multipliers(limits: LimitWork) -> None:
    """Start without multipliers."""
    y = limits.linear[at.Y]
    for r in range(y.size):
        y[r] = 0.0


@inlined
def move_within(v: Floats, limits: LimitWork) -> None:
    """Move d towards the inner point as far as the linear limits ask for."""
    d, e, p, floor, span, inner_point = (
        v[at.D], v[at.E], v[at.P], v[at.FLOOR], v[at.SPAN], v[at.INNER],
    )  # fmt: skip
    equal, bound, share = limits.linear[at.EQUAL], limits.linear[at.BOUND], 0.0
    for r in range(bound.size):
        row = limits.rows[r]
        slack, excess = bound[r] - dot(row, inner_point), dot(row, d) - bound[r]
        if equal[r] != 0.0:
            share = max(share, HALFWAY)
        elif excess + KEPT * slack > 0.0 and excess + slack > 0.0:
            share = max(share, min(FARTHEST, (excess + KEPT * slack) / (excess + slack)))
    if share > 0.0:
        total = 0.0
        for i in range(d.size):
            total += inner_point[i]
        for i in range(d.size):
            if d[i] > 0.0:
                change = share * (inner_point[i] * (limits.mass / total) - d[i])
                d[i] += change
                if span[i] < np.inf:
                    e[i] = max(e[i] - change, (1.0 - share) * e[i])
                p[i] = floor[i] + d[i]


@inlined
def centre_linear(v: Floats, limits: LimitWork, mu: float) -> None:
    """Slacks as they are, or a little above zero; multipliers that make their products mu."""
    d, inner_point, linear = v[at.D], v[at.INNER], limits.linear
    equal, bound, z, y = linear[at.EQUAL], linear[at.BOUND], linear[at.Z], linear[at.Y]
    for r in range(bound.size):
        left = bound[r] + SLACK - dot(limits.rows[r], d)
        most = bound[r] - dot(limits.rows[r], inner_point)
        enough = left > max(0.1 * most, TINY_SLACK)
        z[r] = left if enough else max(0.1 * abs(left), LEAST_SLACK)
        y[r] = mu / z[r] if equal[r] == 0.0 else 0.0


@inlined
def fill_missed(d: Floats, limits: LimitWork) -> None:
    """By how much the equations of the linear limits are missed."""
    linear = limits.linear
    equal, bound, z, missed = linear[at.EQUAL], linear[at.BOUND], linear[at.Z], linear[at.MISSED]
    for r in range(bound.size):
        missed[r] = dot(limits.rows[r], d) - bound[r]
        if equal[r] == 0.0:
            missed[r] += z[r] - SLACK


@inlined
def fill_tilts(v: Floats, matrix: Floats, limits: LimitWork, pivot: int) -> None:
    """Row k: (y_k / z_k)^(1/2) d_j (row_kj - row_k,pivot); fill STIFFNESS.

    An equation has the weight 1 / z_k instead, WEIGHT times what the matrix weighs so far: the step
    meets it up to z dy, and the multiplier follows.
    """
    d, linear = v[at.D], limits.linear
    equal, z, y, stiffness = linear[at.EQUAL], linear[at.Z], linear[at.Y], linear[at.STIFFNESS]
    heaviest = 0.0
    for j in range(d.size):
        heaviest = max(heaviest, matrix[j, j] if j != pivot else 0.0)
    for r in range(z.size):
        row, tilt = limits.rows[r], limits.tilts[r]
        longest = 0.0
        for j in range(d.size):
            tilt[j] = d[j] * (row[j] - row[pivot])
            longest = max(longest, abs(tilt[j]))
        if equal[r] != 0.0:
            z[r] = max(longest * longest / (WEIGHT * heaviest), 1e-200)
        stiffness[r] = (1.0 if equal[r] != 0.0 else y[r]) / z[r]
        root = np.sqrt(stiffness[r])
        for j in range(d.size):
            tilt[j] *= root


@inlined
def add_pull(limits: LimitWork, target: Floats) -> None:
    """Add what the multipliers will be if nothing moves: y + to_z / z + stiffness * missed."""
    linear = limits.linear
    y, z, to_z, missed = linear[at.Y], linear[at.Z], linear[at.TO_Z], linear[at.MISSED]
    stiffness = linear[at.STIFFNESS]
    for r in range(y.size):
        pull, row = y[r], limits.rows[r]
        pull += to_z[r] / z[r] + stiffness[r] * missed[r]
        for j in range(target.size):
            target[j] += pull * row[j]


@inlined
def add_multipliers(limits: LimitWork, share: float, target: Floats) -> None:
    """target += rows.T @ (y + share * dy)"""
    y, dy = limits.linear[at.Y], limits.linear[at.DY]
    for r in range(y.size):
        multiplier, row = y[r] if share == 0.0 else y[r] + share * dy[r], limits.rows[r]
        for j in range(target.size):
            target[j] += multiplier * row[j]


@inlined
def turn_linear(v: Floats, limits: LimitWork, moved: float, pivot: int) -> None:
    """Fill DZ and DY from DP, which is in units of d still."""
    d, dp, linear = v[at.D], v[at.DP], limits.linear
    equal, z, to_z, missed = linear[at.EQUAL], linear[at.Z], linear[at.TO_Z], linear[at.MISSED]
    dz, dy, stiffness = linear[at.DZ], linear[at.DY], linear[at.STIFFNESS]
    for r in range(z.size):
        row = limits.rows[r]
        filled = -moved * row[pivot]
        for j in range(d.size):
            filled += d[j] * dp[j] * row[j]
        change = -missed[r] - filled
        dy[r] = to_z[r] / z[r] - stiffness[r] * change
        dz[r] = 0.0 if equal[r] != 0.0 else change
