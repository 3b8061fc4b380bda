"""A primal-dual interior-point method for the scaled program (see `certificate`).

Mehrotra's predictor and corrector with independent slacks and one common step length. Three
things keep it on its way at every gamma: complementarity is never reduced faster than the
equations are met, the corrector is limited to the size of the present complementarity, and once
the gap asked for is within reach complementarity stays where it is until the equations follow.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.compilation import inlined, part
from graphcb.exploration.solver.certificate import evaluate
from graphcb.exploration.solver.newton_system import assemble, solve_direction
from graphcb.exploration.solver.sparsity import find_places
from graphcb.exploration.solver.workspace import (
    BEST_H,
    BEST_P,
    DM,
    DP,
    DQ,
    DS,
    FT,
    LOOPS,
    RESIDUAL,
    SEEN_BY,
    TO_M,
    TO_S,
    C,
    G,
    H,
    M,
    P,
    Q,
    S,
)

Floats = NDArray[np.float64]


class Caution(NamedTuple):
    """How boldly to step."""

    stride: float  # share of the way to the boundary, far from the solution
    near: float  # complementarity, relative to the value, from which the stride is 0.995
    balance: float  # least complementarity aimed for, relative to the equations' residuals
    limit: float  # of the corrector, relative to complementarity
    least: float  # smallest reduction of complementarity aimed for
    refinements: int
    skip_zeros: bool  # build the system of a large sparse graph from its edges: quicker, less exact


BOLD = Caution(0.9, near=0.1, balance=0.1, limit=1.0, least=1e-6, refinements=1, skip_zeros=True)
CAREFUL = Caution(
    0.7, near=1e-3, balance=0.3, limit=0.3, least=1e-2, refinements=2, skip_zeros=False
)


class Best(NamedTuple):
    """The best value and the best bound seen, perhaps of two iterates; see `Bounds`."""

    value: float
    upper: float
    worst: float
    lower: float
    price: float
    least: float
    steps: int


@part
def spread(v: Floats, a: Floats) -> None:
    """A first p: who sees an action most cheaply gets what that is worth, the best the rest.

    Seeing b at rate w costs w ft_i / G_ib and is worth 1 / w - ft_b, which is balanced near
    w = 1 / (n + ft_b + (ft_i / G_ib)^(1/2)); half as much again lets slacks grow with ft,
    as they will.
    """
    n = v.shape[1]
    ft, p = v[FT], v[P]
    best = 0
    for b in range(n):
        if ft[b] < ft[best]:
            best = b
        p[b] = 0.1 / (n + ft[b])
        v[Q, b] = 1.0 / n
    for b in range(n):
        observer, chance = b, v[LOOPS, b]
        for i in range(n):
            seen = a[SEEN_BY, b, i]
            if seen > 0.0 and (ft[i] + 1.0) * chance < (ft[observer] + 1.0) * seen:
                observer, chance = i, seen
        rate = 1.5 / (n + ft[b] + np.sqrt(ft[observer] / chance)) / chance
        p[observer] = max(p[observer], min(rate, 0.5))
    others = 0.0
    for b in range(n):
        if b != best:
            others += p[b]
    if others < 0.9:
        p[best] = 1.0 - others
    else:
        total = others + p[best]
        for b in range(n):
            p[b] /= total


@part
def advance(
    v: Floats,
    a: Floats,
    fresh: bool,
    goal: float,
    tolerance: float,
    max_steps: int,
    caution: Caution,
) -> Best:
    """Step until the gap is `goal` relative to 1 + value, or `max_steps` are done.

    `fresh` says that only P is set. `tolerance` is the goal in the end, when the caller may go
    on from where this stopped.

    BEST_P and BEST_H belong to the result. Steps stop early when numbers cease to be finite.
    """
    n = v.shape[1]
    p, q, s, m, dp, dq, ds, dm = v[P], v[Q], v[S], v[M], v[DP], v[DQ], v[DS], v[DM]
    value = upper = worst = np.inf
    lower = price = least = -np.inf
    steps = 0
    places = find_places(a[SEEN_BY], caution.skip_zeros)
    while True:
        bounds = evaluate(v, a, places)
        if fresh and steps == 0:
            _complete(v, bounds.worst + 0.5 * (1.0 + bounds.value))
            fresh = False
            continue
        if bounds.upper < upper:
            for i in range(n):
                v[BEST_P, i] = p[i]
            value, upper, worst = bounds.value, bounds.upper, bounds.worst
        if bounds.lower > lower:
            for i in range(n):
                v[BEST_H, i] = v[H, i]
            lower, price, least = bounds.lower, bounds.price, bounds.least
        reached = upper - lower <= goal * (1.0 + value)
        if reached or steps >= max_steps or not np.isfinite(bounds.value):
            return Best(value, upper, worst, lower, price, least, steps)
        steps += 1
        fixed = assemble(v, a, bounds.head, places)
        mu = length = 0.0
        for i in range(n):
            v[TO_S, i], v[TO_M, i] = -s[i] * q[i], -p[i] * m[i]
            mu -= (v[TO_S, i] + v[TO_M, i]) / (2 * n)
        far = 2 * n * mu > caution.near * (1.0 + bounds.value)
        stride = caution.stride if far else 0.995
        for phase in range(2):
            solve_direction(v, a, fixed, caution.refinements if phase == 1 else 0, places)
            reach = _to_boundary(v)
            if phase == 1:
                length = min(1.0, stride * reach)
                break
            # The predictor went straight for the solution. Aim by what it would leave of the
            # products, and correct for what its linear model left out.
            length = min(1.0, reach)
            left = 0.0
            for i in range(n):
                left += (p[i] + length * dp[i]) * (m[i] + length * dm[i]) / (2 * n)
                left += (q[i] + length * dq[i]) * (s[i] + length * ds[i]) / (2 * n)
            aim = mu * max((left / mu) ** 3, caution.least)
            aim = max(aim, min(2.0 * mu, caution.balance * _imbalance(v, bounds.head)))
            aim = max(aim, min(10.0 * mu, 0.1 * tolerance * (1.0 + value) / (2 * n)))
            limit = caution.limit * mu
            for i in range(n):
                v[TO_S, i] += aim - max(-limit, min(limit, ds[i] * dq[i]))
                v[TO_M, i] += aim - max(-limit, min(limit, dp[i] * dm[i]))
        for i in range(n):
            p[i] += length * dp[i]
            q[i] += length * dq[i]
            s[i] += length * ds[i]
            m[i] += length * dm[i]


@inlined
def _complete(v: Floats, level: float) -> None:
    """Slacks exact below `level`, and all products equal."""
    total = 0.0
    for b in range(v.shape[1]):
        v[S, b] = level - v[C, b]
        total += 1.0 / v[S, b]
    for b in range(v.shape[1]):
        v[Q, b] = 1.0 / (total * v[S, b])
        v[M, b] = 1.0 / (total * v[P, b])


@inlined
def _to_boundary(v: Floats) -> float:
    """The longest step that keeps everything non-negative."""
    fastest = 1e-300
    for row in range(4):
        for i in range(v.shape[1]):
            fastest = max(fastest, -v[DP + row, i] / v[P + row, i])
    return 1.0 / fastest


@inlined
def _imbalance(v: Floats, head: int) -> float:
    """The largest residual of the two equations, in the units of the products."""
    worst = 0.0
    level = v[G, head] - v[M, head]
    for i in range(v.shape[1]):
        worst = max(worst, v[P, i] * abs(v[G, i] - v[M, i] - level))
        worst = max(worst, v[Q, i] * abs(v[RESIDUAL, i]))
    return worst
