"""Actions outside the active set that stay at a positive floor: passive ones.

Outside the set p_b = floor_b and q_b = 0. What such floors reveal is a constant in W (BASE), and
the term floor_b^2 / W_b stays in the program: it depends on what the active actions reveal of b.
So a floor on every action does not make every action active.
"""

import numpy as np

from graphcb.compilation import inlined, inner_fused
from graphcb.exploration.solver import workspace as at
from graphcb.exploration.solver.cholesky import dot
from graphcb.exploration.solver.workspace import Floats, LimitWork
from graphcb.graphs.formulas import LEAST_SEEN

SLIGHT = 1e-3  # share of the matrix below which the curvature of passive terms is left out


@inlined
def reveal_passive(d: Floats, limits: LimitWork) -> bool:
    """Fill PASSIVE_W, PASSIVE_T and PASSIVE_H; whether all passive actions are seen."""
    passive = limits.passive
    w, t, h = passive[at.PASSIVE_W], passive[at.PASSIVE_T], passive[at.PASSIVE_H]
    floor, base = passive[at.PASSIVE_FLOOR], passive[at.PASSIVE_BASE]
    for b in range(w.size):
        w[b] = base[b]
    _add_combination(d, limits.seen, w)
    unseen = 0
    for b in range(w.size):
        ratio = floor[b] / w[b]
        t[b] = ratio
        h[b] = ratio * ratio
    for b in range(w.size):
        unseen += not w[b] >= LEAST_SEEN
    return unseen == 0


@inlined
def add_worth_of_passive(limits: LimitWork, worth: Floats) -> float:
    """Add the worth of what active actions reveal of passive ones; return the part of the value."""
    passive = limits.passive
    _add_products(limits.seen, passive[at.PASSIVE_H], worth)
    spent: float = limits.paid + dot(passive[at.PASSIVE_FLOOR], passive[at.PASSIVE_T])
    return spent


@inlined
def price_passive(limits: LimitWork) -> tuple[float, float]:
    """Their part of the price of the bound, and the sum of its absolute values."""
    passive = limits.passive
    paid = limits.paid + 2.0 * dot(passive[at.PASSIVE_FLOOR], passive[at.PASSIVE_T])
    kept = dot(passive[at.PASSIVE_H], passive[at.PASSIVE_BASE])
    return paid - kept, paid + kept


@inlined
def bend(v: Floats, matrix: Floats, limits: LimitWork, pivot: int, careful: bool) -> bool:
    """Fill the bends, if they count beside the matrix: whether they do.

    The term floor^2 / W of a passive action b has the row (2 floor^2 / W^3)^(1/2) G_.b alone,
    relative to the pivot.
    """
    d, passive, seen, bends = v[at.D], limits.passive, limits.seen, limits.bends
    w, t, h = passive[at.PASSIVE_W], passive[at.PASSIVE_T], passive[at.PASSIVE_H]
    most = 0.0
    for b in range(w.size):
        most += 2.0 * h[b] / w[b]
    share = 0.0 if careful else SLIGHT
    counts = False
    for j in range(d.size):
        counts = counts or (j != pivot and d[j] * d[j] * most > share * matrix[j, j])
    if counts:
        for b in range(w.size):
            factor = np.sqrt(2.0 / w[b]) * t[b]
            for j in range(d.size):
                bends[b, j] = factor * d[j] * (seen[j, b] - seen[pivot, b])
    return counts


@inlined
def keep_passive(limits: LimitWork) -> None:
    """Keep what the best bound so far needs of the passive actions."""
    t, best_t = limits.passive[at.PASSIVE_T], limits.passive[at.BEST_PASSIVE_T]
    for b in range(t.size):
        best_t[b] = t[b]


@inner_fused
def _add_combination(weights: Floats, matrix: Floats, out: Floats) -> None:
    """out += weights @ matrix, four rows at a time."""
    n, m = matrix.shape
    i = 0
    while i + 4 <= n:
        r0, r1, r2, r3 = matrix[i], matrix[i + 1], matrix[i + 2], matrix[i + 3]
        a0, a1, a2, a3 = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
        for b in range(m):
            out[b] += (a0 * r0[b] + a1 * r1[b]) + (a2 * r2[b] + a3 * r3[b])
        i += 4
    while i < n:
        row, weight = matrix[i], weights[i]
        for b in range(m):
            out[b] += weight * row[b]
        i += 1


@inner_fused
def _add_products(matrix: Floats, vector: Floats, out: Floats) -> None:
    """out += matrix @ vector, four rows at a time."""
    n, m = matrix.shape
    i = 0
    while i + 4 <= n:
        r0, r1, r2, r3 = matrix[i], matrix[i + 1], matrix[i + 2], matrix[i + 3]
        s0 = s1 = s2 = s3 = t0 = t1 = t2 = t3 = 0.0
        for k in range(m // 2):
            b = 2 * k
            left, right = vector[b], vector[b + 1]
            s0 += r0[b] * left
            s1 += r1[b] * left
            s2 += r2[b] * left
            s3 += r3[b] * left
            t0 += r0[b + 1] * right
            t1 += r1[b + 1] * right
            t2 += r2[b + 1] * right
            t3 += r3[b + 1] * right
        if m % 2 == 1:
            last = vector[m - 1]
            s0 += r0[m - 1] * last
            s1 += r1[m - 1] * last
            s2 += r2[m - 1] * last
            s3 += r3[m - 1] * last
        out[i] += s0 + t0
        out[i + 1] += s1 + t1
        out[i + 2] += s2 + t2
        out[i + 3] += s3 + t3
        i += 4
    while i < n:
        out[i] += dot(matrix[i], vector)
        i += 1
