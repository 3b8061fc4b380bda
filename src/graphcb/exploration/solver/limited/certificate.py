"""The certificate with limits: the bound of `solver.certificate`, minimised over the feasible p.

With the linear part g of the Lagrangian's tangent, any y >= 0 and any p that obeys the limits,

    g @ p >= (g + rows.T @ y) @ p - y @ most,

and what is left is linear in p = floors + d with 0 <= d <= span and a given sum: its minimum fills
the cheapest actions up to their caps. Since sum_i floor_i sum_j G_ij h_j = sum_j h_j base_j, where
base is what the floors reveal, actions at their floors cost O(1) each. True for any q, t, v and y;
rounding is allowed for as there, in proportion to the sum of absolute values.
"""

from typing import NamedTuple

import numpy as np

from graphcb.compilation import inlined, inner
from graphcb.exploration.solver import workspace as at
from graphcb.exploration.solver.certificate import (
    UNBALANCED,
    add_revealed,
    add_worth,
    bound_above,
    fill_terms,
)
from graphcb.exploration.solver.cholesky import dot
from graphcb.exploration.solver.limited import workspace as more
from graphcb.exploration.solver.limited.products import add_combination, add_products
from graphcb.exploration.solver.limited.workspace import Work
from graphcb.exploration.solver.sparsity import Pattern
from graphcb.exploration.solver.workspace import Floats
from graphcb.graphs.formulas import LEAST_SEEN

FEW = 6  # actions that fill up one after the other before all are sorted


class LimitedBounds(NamedTuple):
    """Bounds on gamma * DEC at one iterate, over the active actions; see `IterateBounds`."""

    value: float
    upper: float  # infinite if a linear limit is missed
    lower: float
    price: float  # the part of `lower` that does not depend on d
    level: float  # the reduced gradient at which the cheapest actions fill up
    worst: float


@inner
def evaluate(work: Work, pattern: Pattern) -> LimitedBounds:
    """Fill W_OTHERS, W, U, K, H, C, G, REDUCED and the passive rows; return what they prove."""
    v = work.v
    n = v.shape[1]
    p, q = v[at.P], v[at.Q]
    top = 0
    for i in range(n):
        if p[i] > p[top]:
            top = i
    rest_p = work.idle
    rest_u = -work.idle
    rest_q = 0.0
    for i in range(n):
        if i != top:
            rest_p += p[i]
            rest_q += q[i]
            rest_u += q[i] - p[i]
    seen = _reveal(work, pattern)
    sound = fill_terms(v, top, rest_q, rest_u) and seen
    off_p, off_q = abs(rest_p + p[top] - 1.0), abs(rest_q + q[top] - 1.0)
    price, level, below = _bound_below(work, pattern, work.error + 4.0 * off_q)
    common = 0.0
    if work.passive.shape[1] > 0:
        common = work.paid + dot(work.passive[more.PASSIVE_L], work.passive[more.PASSIVE_T])
    value, upper, worst = bound_above(v, top, rest_p, common, work.error + 4.0 * off_p)
    if not (sound and off_p <= UNBALANCED and off_q <= UNBALANCED):
        return LimitedBounds(np.inf, np.inf, -np.inf, -np.inf, -np.inf, np.inf)
    if most_missed(work) > more.ALLOWED:
        upper = np.inf
    return LimitedBounds(value, upper, price + below, price, level, worst)


@inlined
def _reveal(work: Work, pattern: Pattern) -> bool:
    """W without the own part for active actions, W and L / W for passive ones; are these seen?"""
    v, passive = work.v, work.passive
    d, w_others, others = v[more.D], v[at.W_OTHERS], v[more.BASE]
    for i in range(d.size):
        w_others[i] = others[i]
    add_revealed(d, work.a, pattern, w_others)
    if passive.shape[1] == 0:
        return True
    w, t, h = passive[more.PASSIVE_W], passive[more.PASSIVE_T], passive[more.PASSIVE_H]
    floor, base = passive[more.PASSIVE_L], passive[more.PASSIVE_BASE]
    for b in range(w.size):
        w[b] = base[b]
    add_combination(d, work.seen, w)
    unseen = 0
    for b in range(w.size):
        ratio = floor[b] / w[b]
        t[b] = ratio
        h[b] = ratio * ratio
    for b in range(w.size):
        unseen += not w[b] >= LEAST_SEEN
    return unseen == 0


@inner
def most_missed(work: Work) -> float:
    """By how much the linear limits are exceeded at most."""
    d, worst = work.v[more.D], -np.inf
    for r in range(work.rows.shape[0]):
        total, row = -work.limit[more.BOUND, r], work.rows[r]
        for j in range(d.size):
            total += row[j] * d[j]
        worst = max(worst, abs(total) if work.limit[more.EQUAL, r] != 0.0 else total)
    return worst


@inlined
def _bound_below(work: Work, pattern: Pattern, error: float) -> tuple[float, float, float]:
    """The price, the level and the minimum of the reduced gradient over d, rounded down."""
    v, passive, limit = work.v, work.passive, work.limit
    ft, loops, q, w = v[at.FT], v[at.LOOPS], v[at.Q], v[at.W]
    u, k, h, g = v[at.U], v[at.K], v[at.H], v[at.G]
    floor, base, reduced = v[more.L], v[more.BASE], v[more.REDUCED]
    n = q.size
    for i in range(n):
        g[i] = loops[i] * h[i]
    paid = kept = 0.0
    if passive.shape[1] > 0:
        add_products(work.seen, passive[more.PASSIVE_H], g)
        paid = work.paid + 2.0 * dot(passive[more.PASSIVE_L], passive[more.PASSIVE_T])
        kept = dot(passive[more.PASSIVE_H], passive[more.PASSIVE_BASE])
    add_worth(h, work.a, pattern, g)
    price, size = paid - kept, paid + kept
    for i in range(n):
        t, gain = u[i] / w[i], 2.0 * k[i] / w[i]
        worth = g[i]
        kept = h[i] * (base[i] + loops[i] * floor[i])
        price += gain - q[i] * (2.0 * t + ft[i]) + floor[i] * (ft[i] + 2.0 * t) - kept
        size += gain + (q[i] + floor[i]) * (2.0 * abs(t) + ft[i]) + kept
        g[i] = ft[i] + 2.0 * t - worth
        reduced[i] = g[i] - error * (ft[i] + 2.0 * abs(t) + worth)
    for r in range(limit.shape[1]):
        y, row = limit[more.Y, r], work.rows[r]
        price -= y * limit[more.BOUND, r]
        # The bound is a difference of rounded sums, and an equation may have some width.
        size += abs(y) * (abs(limit[more.BOUND, r]) + 2.0)
        price -= abs(y) * more.NO_WIDTH * limit[more.EQUAL, r]
        for i in range(n):
            reduced[i] += y * row[i] - error * abs(y * row[i])
    level, below = fill_up(reduced, v[more.SPAN], work.mass, error)
    return price - error * size, level, below


@inner
def fill_up(reduced: Floats, span: Floats, mass: float, error: float) -> tuple[float, float]:
    """The level, and the minimum of reduced @ d over 0 <= d <= span with sum d = mass."""
    n, first = reduced.size, -1
    for i in range(n):
        if span[i] > 0.0 and (first < 0 or reduced[i] < reduced[first]):
            first = i
    if first < 0:
        return 0.0, 0.0
    if span[first] >= mass:
        below = mass * reduced[first]
        return reduced[first], below - error * abs(below)
    left, below, size, level = mass - span[first], span[first] * reduced[first], 0.0, reduced[first]
    size = abs(below)
    for _ in range(FEW):  # the next in order, by value and place
        last, first = first, -1
        for i in range(n):
            later = reduced[i] > reduced[last] or (reduced[i] == reduced[last] and i > last)
            if later and span[i] > 0.0 and (first < 0 or reduced[i] < reduced[first]):
                first = i
        if first < 0:
            return level, below - error * (size + mass * abs(level))
        share, level = min(span[first], left), reduced[first]
        below += share * level
        size += share * abs(level)
        left -= share
        if not left > 0.0:
            return level, below - error * (size + mass * abs(level))
    order = np.argsort(reduced, kind="mergesort")
    reached = False
    for place in range(n):
        i = order[place]
        if reached and span[i] > 0.0:
            share, level = min(span[i], left), reduced[i]
            below += share * level
            size += share * abs(level)
            left -= share
            if not left > 0.0:
                break
        reached = reached or i == first
    return level, below - error * (size + mass * abs(level))
