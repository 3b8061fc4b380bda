"""The primal-dual interior-point method: Mehrotra's predictor-corrector, one step length.

Each step, at an iterate of positive `pairs` with mean product mu = (s @ q + p @ m) / (2 n):

    1. bounds      the certificate; stop if its gap is small enough
    2. factorise   the Newton matrix, once for both directions
    3. predictor   the affine direction, which aims for products of zero
    4. centring    target = sigma mu with sigma = (mu after the affine step / mu)^3
    5. corrector   aim for the target, less the products ds dq and dp dm of the predictor
    6. step        a share of the way to the boundary, at most 1

Three safeguards keep it on its way at every gamma: the target is not reduced faster than the
residuals of the equations (`balance`), the corrector is limited to the present mu (`limit`), and
once the gap asked for is within reach mu stays where it is until the equations follow. Limits on p
add pairs and equations, and change no step of the method.
"""

from typing import NamedTuple

import numpy as np

from graphcb.compilation import inlined, inner
from graphcb.exploration.solver import workspace as at
from graphcb.exploration.solver.certificate import IterateBounds, evaluate
from graphcb.exploration.solver.direction import solve_direction
from graphcb.exploration.solver.linear_limits import add_multipliers, keep_multipliers
from graphcb.exploration.solver.newton_system import assemble
from graphcb.exploration.solver.pairs import (
    aim_at,
    aim_at_zero,
    count_pairs,
    mean_product_after,
    step,
    to_boundary,
)
from graphcb.exploration.solver.passive import keep_passive
from graphcb.exploration.solver.sparsity import find_pattern
from graphcb.exploration.solver.starting_point import cold_start
from graphcb.exploration.solver.workspace import Floats, LimitWork
from graphcb.graphs.formulas import is_within

MOSTLY_LIMITS = 10.0  # 1 + value up to which a rough goal is relative to it, with linear limits


class Caution(NamedTuple):
    """The parameters of a step."""

    stride: float  # share of the way to the boundary, far from the solution
    near: float  # 2 n mu relative to 1 + value, below which the stride is 0.995
    balance: float  # least target, relative to the residuals of the equations
    rise: float  # largest target for that reason, relative to mu
    limit: float  # of the corrector, relative to mu
    least: float  # smallest centring parameter sigma
    refinements: int  # of the corrector's direction
    skip_zeros: bool  # use the sparsity of a large sparse graph: quicker, less exact


BOLD = Caution(
    0.9, near=0.1, balance=0.1, rise=2.0, limit=1.0, least=1e-6, refinements=1, skip_zeros=True
)
CAREFUL = Caution(
    0.7, near=1e-3, balance=0.3, rise=1.0, limit=0.3, least=1e-2, refinements=2, skip_zeros=False
)


class Incumbent(NamedTuple):
    """The best value and the best bound so far, perhaps of two iterates; see `IterateBounds`."""

    value: float
    upper: float
    worst: float
    lower: float
    price: float
    level: float


@inner
def advance(
    v: Floats,
    a: Floats,
    limits: LimitWork | None,
    cold: bool,
    goal: float,
    tolerance: float,
    max_steps: int,
    caution: Caution,
) -> tuple[Incumbent, int]:
    """Step until the gap is at most goal * (1 + value), or `max_steps` are done; count the steps.

    Begins at the iterate in the work arrays, or at a cold start. `tolerance` is the final goal:
    the caller may continue from where this stopped. What belongs to the result is in the BEST
    rows. Stops early when numbers cease to be finite.
    """
    careful = not caution.skip_zeros
    pattern = find_pattern(a[at.SEEN_BY], caution.skip_zeros)
    if cold:
        cold_start(v, a, limits, pattern, careful)
    best = Incumbent(np.inf, np.inf, np.inf, -np.inf, -np.inf, -np.inf)
    steps, pairs = 0, count_pairs(v, limits)
    while True:
        bounds = evaluate(v, a, limits, pattern)
        best = _improve(v, limits, best, bounds)
        share = _share(limits, best, goal, tolerance)
        reached = is_within(best.value, best.upper, best.lower, share)
        if reached or steps >= max_steps or not np.isfinite(bounds.value):
            return best, steps
        steps += 1
        system = assemble(v, a, limits, pattern, careful)
        mu = aim_at_zero(v, limits, pairs)
        solve_direction(v, a, limits, system, int(0), pattern)  # predictor
        left = mean_product_after(v, limits, pairs, min(1.0, to_boundary(v, limits))) / mu
        target = mu * max(left * left * left, caution.least)  # centring
        residuals = _residuals(v, limits, system.pivot)
        target = max(target, min(caution.rise * mu, caution.balance * residuals))
        value = best.value if limits is None else min(best.value, bounds.value)
        target = max(target, min(10.0 * mu, 0.1 * tolerance * (1.0 + value) / pairs))
        aim_at(v, limits, target, caution.limit * mu)
        solve_direction(v, a, limits, system, caution.refinements, pattern)  # corrector
        far = pairs * mu > caution.near * (1.0 + bounds.value)
        stride = caution.stride if far else 0.995
        step(v, limits, min(1.0, stride * to_boundary(v, limits)))


@inlined
def _share(limits: LimitWork | None, best: Incumbent, goal: float, tolerance: float) -> float:
    """The goal; where linear limits make the value large, a rough one counts for less.

    What meeting them costs is most of the value then, and says nothing of how well the rest is
    known.
    """
    if limits is None:
        return goal
    if goal > tolerance and limits.rows.shape[0] > 0 and 1.0 + best.value > MOSTLY_LIMITS:
        return max(tolerance, goal * (MOSTLY_LIMITS / (1.0 + best.value)))
    return goal


@inlined
def _improve(
    v: Floats, limits: LimitWork | None, best: Incumbent, bounds: IterateBounds
) -> Incumbent:
    """The incumbent after one more iterate, of which is kept what is better."""
    p, h, best_p, best_h = v[at.P], v[at.H], v[at.BEST_P], v[at.BEST_H]
    reduced, best_reduced = v[at.REDUCED], v[at.BEST_REDUCED]
    value, upper, worst = best.value, best.upper, best.worst
    lower, price, level = best.lower, best.price, best.level
    if bounds.upper < upper:
        for i in range(p.size):
            best_p[i] = p[i]
        value, upper, worst = bounds.value, bounds.upper, bounds.worst
    if bounds.lower > lower:
        for i in range(p.size):
            best_h[i] = h[i]
        if limits is not None:
            for i in range(p.size):
                best_reduced[i] = reduced[i]
            if limits.outside.size > 0:
                keep_passive(limits)
            if limits.rows.shape[0] > 0:
                keep_multipliers(limits)
        lower, price, level = bounds.lower, bounds.price, bounds.level
    return Incumbent(value, upper, worst, lower, price, level)


@inlined
def _residuals(v: Floats, limits: LimitWork | None, pivot: int) -> float:
    """The largest residual of the equations of `newton_system`, in the units of products."""
    q, m, n, g, residual, spare = v[at.Q], v[at.M], v[at.N], v[at.G], v[at.RESIDUAL], v[at.SPARE]
    d = v[at.P] if limits is None else v[at.D]
    worst = 0.0
    for i in range(d.size):
        spare[i] = g[i] - m[i]
    if limits is not None:
        for i in range(d.size):
            spare[i] += n[i]
        if limits.rows.shape[0] > 0:
            add_multipliers(limits, 0.0, spare)
            y, missed = limits.linear[at.Y], limits.linear[at.MISSED]
            for r in range(y.size):
                worst = max(worst, abs(y[r] * missed[r]))
    for i in range(d.size):
        worst = max(worst, d[i] * abs(spare[i] - spare[pivot]))
        worst = max(worst, q[i] * abs(residual[i]))
    return worst
