"""The interior-point method of the limited program: `solver.interior_point` with more pairs."""

from typing import NamedTuple

import numpy as np

from graphcb.compilation import inlined, inner
from graphcb.exploration.solver import workspace as at
from graphcb.exploration.solver.interior_point import Caution
from graphcb.exploration.solver.limited import workspace as more
from graphcb.exploration.solver.limited.certificate import LimitedBounds, evaluate
from graphcb.exploration.solver.limited.direction import solve_direction
from graphcb.exploration.solver.limited.newton import assemble
from graphcb.exploration.solver.limited.starting_point import cold_start
from graphcb.exploration.solver.limited.workspace import Work
from graphcb.exploration.solver.sparsity import find_pattern
from graphcb.graphs.formulas import is_within

DEAR = 10.0  # 1 + value up to which a rough goal is relative to it


class LimitedIncumbent(NamedTuple):
    """The best value and the best bound so far, perhaps of two iterates; see `LimitedBounds`."""

    value: float
    upper: float
    worst: float
    lower: float
    price: float
    level: float


@inner
def advance(
    work: Work, cold: bool, goal: float, tolerance: float, max_steps: int, caution: Caution
) -> tuple[LimitedIncumbent, int]:
    """Step until the gap is at most goal * (1 + value), or `max_steps` are done; count the steps.

    The p, h, reduced gradients and multipliers of the result are in the BEST rows.
    """
    v, careful = work.v, not caution.skip_zeros
    pattern = find_pattern(work.a[at.SEEN_BY], not careful)
    if cold:
        cold_start(work, pattern, careful)
    best = LimitedIncumbent(np.inf, np.inf, np.inf, -np.inf, -np.inf, -np.inf)
    for i in range(v.shape[1]):
        v[at.BEST_P, i] = v[at.P, i]
    steps = 0
    pairs = _count_pairs(work)
    while True:
        bounds = evaluate(work, pattern)
        best = _improve(work, best, bounds)
        reached = is_within(best.value, best.upper, best.lower, _share(work, best, goal, tolerance))
        if reached or steps >= max_steps or not np.isfinite(bounds.value):
            return best, steps
        steps += 1
        system = assemble(work, pattern, careful)
        mu = _aim_at_zero(work, pairs)
        solve_direction(work, system, int(0), pattern)  # predictor
        left = _mean_product_after(work, pairs, min(1.0, _to_boundary(work))) / mu
        target = mu * max(left * left * left, caution.least)  # centring
        residuals = _residuals(work, system.pivot)
        target = max(target, min(caution.rise * mu, caution.balance * residuals))
        value = min(best.value, bounds.value)
        target = max(target, min(10.0 * mu, 0.1 * tolerance * (1.0 + value) / pairs))
        _aim_at(work, target, caution.limit * mu)
        solve_direction(work, system, caution.refinements, pattern)  # corrector
        far = pairs * mu > caution.near * (1.0 + bounds.value)
        stride = caution.stride if far else 0.995
        _step(work, min(1.0, stride * _to_boundary(work)))


@inlined
def _share(work: Work, best: LimitedIncumbent, goal: float, tolerance: float) -> float:
    """The goal; a rough one counts for at most DEAR if linear limits are dear to meet.

    What they cost is most of the value then, and says nothing of how well the rest is known.
    """
    if goal > tolerance and work.limit.shape[1] > 0 and 1.0 + best.value > DEAR:
        return max(tolerance, goal * (DEAR / (1.0 + best.value)))
    return goal


@inlined
def _improve(work: Work, best: LimitedIncumbent, bounds: LimitedBounds) -> LimitedIncumbent:
    """The incumbent after one more iterate, of which is kept what is better."""
    v, passive = work.v, work.passive
    value, upper, worst = best.value, best.upper, best.worst
    lower, price, level = best.lower, best.price, best.level
    if bounds.upper < upper:
        for i in range(v.shape[1]):
            v[at.BEST_P, i] = v[at.P, i]
        value, upper, worst = bounds.value, bounds.upper, bounds.worst
    if bounds.lower > lower:
        for i in range(v.shape[1]):
            v[at.BEST_H, i] = v[at.H, i]
            v[more.BEST_REDUCED, i] = v[more.REDUCED, i]
        for b in range(passive.shape[1]):
            passive[more.BEST_PASSIVE_T, b] = passive[more.PASSIVE_T, b]
        for r in range(work.best_y.size):
            work.best_y[r] = work.limit[more.Y, r]
        lower, price, level = bounds.lower, bounds.price, bounds.level
    return LimitedIncumbent(value, upper, worst, lower, price, level)


@inner
def _count_pairs(work: Work) -> float:
    v = work.v
    pairs = float(v.shape[1])
    for r in range(work.limit.shape[1]):
        pairs += 1.0 - work.limit[more.EQUAL, r]
    for i in range(v.shape[1]):
        pairs += v[more.X, i] > 0.0
        pairs += 0.0 < v[more.SPAN, i] < np.inf
    return pairs


@inner
def mean_product(work: Work) -> float:
    """The mean of all products at the iterate."""
    v, limit = work.v, work.limit
    total = 0.0
    for i in range(v.shape[1]):
        total += v[more.X, i] * v[at.M, i] + v[more.E, i] * v[more.N, i]
        total += v[at.Q, i] * v[at.S, i]
    for r in range(limit.shape[1]):
        if limit[more.EQUAL, r] == 0.0:
            total += limit[more.Z, r] * limit[more.Y, r]
    return total / _count_pairs(work)


@inlined
def _aim_at_zero(work: Work, pairs: float) -> float:
    """The affine aim: change every product to zero. Returns the mean product mu."""
    v, limit = work.v, work.limit
    mu = 0.0
    for i in range(v.shape[1]):
        v[at.TO_S, i] = -v[at.S, i] * v[at.Q, i]
        v[at.TO_M, i] = -v[more.X, i] * v[at.M, i]
        v[more.TO_N, i] = -v[more.E, i] * v[more.N, i]
        mu -= (v[at.TO_S, i] + v[at.TO_M, i] + v[more.TO_N, i]) / pairs
    for r in range(limit.shape[1]):
        limit[more.TO_Z, r] = 0.0
        if limit[more.EQUAL, r] == 0.0:
            limit[more.TO_Z, r] = -limit[more.Z, r] * limit[more.Y, r]
            mu -= limit[more.TO_Z, r] / pairs
    return mu


@inner
def _mean_product_after(work: Work, pairs: float, length: float) -> float:
    """The mean product after a step of this length along the direction."""
    v, limit = work.v, work.limit
    left = 0.0
    for i in range(v.shape[1]):
        step = length * v[at.DP, i]
        left += (v[more.X, i] + step) * (v[at.M, i] + length * v[at.DM, i])
        left += (v[more.E, i] - step) * (v[more.N, i] + length * v[more.DN, i])
        left += (v[at.Q, i] + length * v[at.DQ, i]) * (v[at.S, i] + length * v[at.DS, i])
    for r in range(limit.shape[1]):
        if limit[more.EQUAL, r] == 0.0:
            z = limit[more.Z, r] + length * limit[more.DZ, r]
            left += z * (limit[more.Y, r] + length * limit[more.DY, r])
    return left / pairs


@inlined
def _residuals(work: Work, pivot: int) -> float:
    """The largest residual of the equations of `newton`, in the units of products."""
    v, limit, spare = work.v, work.limit, work.v[at.SPARE]
    worst = 0.0
    for i in range(v.shape[1]):
        spare[i] = v[at.G, i] - v[at.M, i] + v[more.N, i]
    for r in range(limit.shape[1]):
        y, row = limit[more.Y, r], work.rows[r]
        for i in range(v.shape[1]):
            spare[i] += y * row[i]
        worst = max(worst, abs(y * limit[more.MISSED, r]))
    for i in range(v.shape[1]):
        worst = max(worst, v[more.X, i] * abs(spare[i] - spare[pivot]))
        worst = max(worst, v[at.Q, i] * abs(v[at.RESIDUAL, i]))
    return worst


@inlined
def _aim_at(work: Work, target: float, limit: float) -> None:
    """Aim for products of `target`, less the predictor's second-order terms up to `limit`."""
    v, rows = work.v, work.limit
    for i in range(v.shape[1]):
        dp = v[at.DP, i]
        v[at.TO_S, i] += target - max(-limit, min(limit, v[at.DS, i] * v[at.DQ, i]))
        if v[more.X, i] > 0.0:
            v[at.TO_M, i] += target - max(-limit, min(limit, dp * v[at.DM, i]))
            if v[more.SPAN, i] < np.inf:
                v[more.TO_N, i] += target - max(-limit, min(limit, -dp * v[more.DN, i]))
    for r in range(rows.shape[1]):
        if rows[more.EQUAL, r] == 0.0:
            second = rows[more.DZ, r] * rows[more.DY, r]
            rows[more.TO_Z, r] += target - max(-limit, min(limit, second))


@inner
def _to_boundary(work: Work) -> float:
    """The length of the longest step that keeps all that must be positive non-negative."""
    v, limit = work.v, work.limit
    fastest = 1e-300
    for i in range(v.shape[1]):
        fastest = max(fastest, -v[at.DQ, i] / v[at.Q, i])
        fastest = max(fastest, -v[at.DS, i] / v[at.S, i])
        if v[more.X, i] > 0.0:
            fastest = max(fastest, -v[at.DP, i] / v[more.D, i])
            fastest = max(fastest, -v[at.DM, i] / v[at.M, i])
            if v[more.SPAN, i] < np.inf:
                fastest = max(fastest, v[at.DP, i] / v[more.E, i])
                fastest = max(fastest, -v[more.DN, i] / v[more.N, i])
    for r in range(limit.shape[1]):
        if limit[more.EQUAL, r] == 0.0:
            fastest = max(fastest, -limit[more.DZ, r] / limit[more.Z, r])
            fastest = max(fastest, -limit[more.DY, r] / limit[more.Y, r])
    return 1.0 / fastest


@inlined
def _step(work: Work, length: float) -> None:
    v, limit = work.v, work.limit
    for i in range(v.shape[1]):
        v[at.Q, i] += length * v[at.DQ, i]
        v[at.S, i] += length * v[at.DS, i]
        if v[more.X, i] > 0.0:
            step = length * v[at.DP, i]
            v[more.D, i] += step
            v[more.X, i] = v[more.D, i]
            v[at.P, i] = v[more.L, i] + v[more.D, i]
            v[at.M, i] += length * v[at.DM, i]
            if v[more.SPAN, i] < np.inf:
                v[more.E, i] -= step
                v[more.N, i] += length * v[more.DN, i]
    for r in range(limit.shape[1]):
        limit[more.Z, r] += length * limit[more.DZ, r]
        limit[more.Y, r] += length * limit[more.DY, r]
