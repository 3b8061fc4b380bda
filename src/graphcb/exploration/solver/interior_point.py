"""The primal-dual interior-point method: Mehrotra's predictor-corrector, one step length.

Each step, at an iterate (p, q, s, m) > 0 with mean product mu = (s @ q + p @ m) / (2 n):

    1. bounds      the certificate; stop if its gap is small enough
    2. factorise   the Newton matrix, once for both directions
    3. predictor   the affine direction, which aims for products of zero
    4. centring    target = sigma mu with sigma = (mu after the affine step / mu)^3
    5. corrector   aim for the target, less the products ds dq and dp dm of the predictor
    6. step        a share of the way to the boundary, at most 1

Three safeguards keep it on its way at every gamma: the target is not reduced faster than the
residuals of the equations (`balance`), the corrector is limited to the present mu (`limit`), and
once the gap asked for is within reach mu stays where it is until the equations follow.
"""

from typing import NamedTuple

import numpy as np

from graphcb.compilation import inlined, inner
from graphcb.exploration.solver import workspace as at
from graphcb.exploration.solver.certificate import IterateBounds, evaluate
from graphcb.exploration.solver.direction import solve_direction
from graphcb.exploration.solver.newton_system import assemble
from graphcb.exploration.solver.sparsity import find_pattern
from graphcb.exploration.solver.starting_point import cold_start
from graphcb.exploration.solver.workspace import Floats
from graphcb.graphs.formulas import is_within


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
    least: float


@inner
def advance(
    v: Floats,
    a: Floats,
    cold: bool,
    goal: float,
    tolerance: float,
    max_steps: int,
    caution: Caution,
) -> tuple[Incumbent, int]:
    """Step until the gap is at most goal * (1 + value), or `max_steps` are done; count the steps.

    Begins at the iterate in the work arrays, or at a cold start. `tolerance` is the final goal:
    the caller may continue from where this stopped. The p and h of the result are in BEST_P and
    BEST_H. Stops early when numbers cease to be finite.
    """
    n = v.shape[1]
    pattern = find_pattern(a[at.SEEN_BY], caution.skip_zeros)
    if cold:
        cold_start(v, a, pattern, not caution.skip_zeros)
    best = Incumbent(np.inf, np.inf, np.inf, -np.inf, -np.inf, -np.inf)
    steps = 0
    while True:
        bounds = evaluate(v, a, pattern)
        best = _improve(v, best, bounds)
        reached = is_within(best.value, best.upper, best.lower, goal)
        if reached or steps >= max_steps or not np.isfinite(bounds.value):
            return best, steps
        steps += 1
        system = assemble(v, a, bounds.head, pattern)
        mu = _aim_at_zero(v)
        solve_direction(v, a, system, int(0), pattern)  # predictor
        left = _mean_product_after(v, min(1.0, _to_boundary(v))) / mu
        target = mu * max(left * left * left, caution.least)  # centring
        target = max(target, min(caution.rise * mu, caution.balance * _residuals(v, bounds.head)))
        target = max(target, min(10.0 * mu, 0.1 * tolerance * (1.0 + best.value) / (2 * n)))
        _aim_at(v, target, caution.limit * mu)
        solve_direction(v, a, system, caution.refinements, pattern)  # corrector
        far = 2 * n * mu > caution.near * (1.0 + bounds.value)
        stride = caution.stride if far else 0.995
        _step(v, min(1.0, stride * _to_boundary(v)))


@inlined
def _improve(v: Floats, best: Incumbent, bounds: IterateBounds) -> Incumbent:
    """The incumbent after one more iterate, whose p and h are kept where they are better."""
    p, h, best_p, best_h = v[at.P], v[at.H], v[at.BEST_P], v[at.BEST_H]
    value, upper, worst = best.value, best.upper, best.worst
    lower, price, least = best.lower, best.price, best.least
    if bounds.upper < upper:
        for i in range(v.shape[1]):
            best_p[i] = p[i]
        value, upper, worst = bounds.value, bounds.upper, bounds.worst
    if bounds.lower > lower:
        for i in range(v.shape[1]):
            best_h[i] = h[i]
        lower, price, least = bounds.lower, bounds.price, bounds.least
    return Incumbent(value, upper, worst, lower, price, least)


@inlined
def _aim_at_zero(v: Floats) -> float:
    """The affine aim: change every product s q and p m to zero. Returns the mean product mu."""
    n = v.shape[1]
    p, q, s, m, to_s, to_m = v[at.P], v[at.Q], v[at.S], v[at.M], v[at.TO_S], v[at.TO_M]
    mu = 0.0
    for i in range(n):
        to_s[i], to_m[i] = -s[i] * q[i], -p[i] * m[i]
        mu -= (to_s[i] + to_m[i]) / (2 * n)
    return mu


@inlined
def _mean_product_after(v: Floats, length: float) -> float:
    """The mean product after a step of this length along the direction."""
    n = v.shape[1]
    p, q, s, m = v[at.P], v[at.Q], v[at.S], v[at.M]
    dp, dq, ds, dm = v[at.DP], v[at.DQ], v[at.DS], v[at.DM]
    left = 0.0
    for i in range(n):
        left += (p[i] + length * dp[i]) * (m[i] + length * dm[i]) / (2 * n)
        left += (q[i] + length * dq[i]) * (s[i] + length * ds[i]) / (2 * n)
    return left


@inlined
def _residuals(v: Floats, head: int) -> float:
    """The largest residual of the two equations of `newton_system`, in the units of products."""
    p, q, m, g, residual = v[at.P], v[at.Q], v[at.M], v[at.G], v[at.RESIDUAL]
    worst = 0.0
    level = g[head] - m[head]
    for i in range(v.shape[1]):
        worst = max(worst, p[i] * abs(g[i] - m[i] - level))
        worst = max(worst, q[i] * abs(residual[i]))
    return worst


@inlined
def _aim_at(v: Floats, target: float, limit: float) -> None:
    """Aim for products of `target`, less the predictor's second-order terms up to `limit`."""
    dp, dq, ds, dm, to_s, to_m = v[at.DP], v[at.DQ], v[at.DS], v[at.DM], v[at.TO_S], v[at.TO_M]
    for i in range(v.shape[1]):
        to_s[i] += target - max(-limit, min(limit, ds[i] * dq[i]))
        to_m[i] += target - max(-limit, min(limit, dp[i] * dm[i]))


@inner
def _to_boundary(v: Floats) -> float:
    """The length of the longest step that keeps p, q, s and m non-negative."""
    p, q, s, m = v[at.P], v[at.Q], v[at.S], v[at.M]
    dp, dq, ds, dm = v[at.DP], v[at.DQ], v[at.DS], v[at.DM]
    fastest = 1e-300
    for i in range(v.shape[1]):
        fastest = max(fastest, -dp[i] / p[i])
        fastest = max(fastest, -dq[i] / q[i])
        fastest = max(fastest, -ds[i] / s[i])
        fastest = max(fastest, -dm[i] / m[i])
    return 1.0 / fastest


@inlined
def _step(v: Floats, length: float) -> None:
    p, q, s, m = v[at.P], v[at.Q], v[at.S], v[at.M]
    dp, dq, ds, dm = v[at.DP], v[at.DQ], v[at.DS], v[at.DM]
    for i in range(v.shape[1]):
        p[i] += length * dp[i]
        q[i] += length * dq[i]
        s[i] += length * ds[i]
        m[i] += length * dm[i]
