"""The Newton system and direction of the limited program: `newton_system` and `direction`, with
three more kinds of pairs.

    (p_i - l_i) m_i = target,   (u_i - p_i) n_i = target,   z_k y_k = target

where z = most - rows @ p are the slacks of the linear limits and y their multipliers, which
enter stationarity: g - m + n + rows.T @ y = const. Floors and caps touch the diagonal only. A
linear limit adds the square of one row, and so does an action at its floor outside the active set.
Steps are in units of d = p - l, and one action is eliminated: the pivot, which is farthest from
its limits.
"""

from typing import NamedTuple

import numpy as np

from graphcb.compilation import inlined, inner
from graphcb.exploration.solver import workspace as at
from graphcb.exploration.solver.cholesky import add_squares, dot, factorise, solve_in_place
from graphcb.exploration.solver.limited import workspace as more
from graphcb.exploration.solver.limited.workspace import Work
from graphcb.exploration.solver.newton_system import add_sparse_squares
from graphcb.exploration.solver.sparsity import (
    Pattern,
    add_transposed_product,
    fill_in,
    multiply,
)
from graphcb.exploration.solver.workspace import Floats, squares

SLIGHT = 1e-3  # share of the matrix below which the curvature of passive terms is left out
WEIGHT = 1e6  # of an equation, relative to the rest of the matrix


class LimitedSystem(NamedTuple):
    """What the equations are relative to, and the sums that go with it."""

    pivot: int
    anchor: int
    total: float  # sum of q / s
    shared: float  # curvature along the sum of all steps, from the term of the pivot
    bent: bool  # whether the curvature of passive terms is in the matrix


@inner
def assemble(work: Work, pattern: Pattern, careful: bool) -> LimitedSystem:
    """Build the matrix at the iterate where `certificate.evaluate` was called; factorise it."""
    v, a = work.v, work.a
    n = v.shape[1]
    pivot = find_pivot(v)
    anchor, total = _weigh(work)
    n_full = fill_in(pivot, a[at.SEEN_BY], pattern)
    sparse = n_full < n
    _fill_slopes(v, a, pivot, anchor, sparse, pattern)
    _fill_curves(v, a, pivot, pattern)
    add_transposed_product(a[at.SLOPES], v[at.ROOT], pattern, v[at.MEAN])
    x, mean, flat = v[more.X], v[at.MEAN], v[at.FLAT]
    d, e, m, c = v[more.D], v[more.E], v[at.M], v[more.N]
    w, u, k = v[at.W], v[at.U], v[at.K]
    matrix = a[at.NEWTON]
    shared: float = 2.0 * k[pivot] / (w[pivot] * (u[pivot] * u[pivot] + k[pivot]))
    stiff = shared
    if x[pivot] > 0.0:
        stiff += m[pivot] / d[pivot] + c[pivot] / e[pivot]
    for i in range(n):
        along, down = stiff * x[i], mean[i] / total
        for j in range(i, n):
            matrix[i, j] = along * x[j] - down * mean[j]
        matrix[i, i] += flat[i] + x[i] * m[i] + x[i] * x[i] * (c[i] / e[i])
    factors = squares(a, n)
    if sparse:
        factors = add_sparse_squares(factors, pattern, n_full, matrix)
    add_squares(1.0, factors, int(0), n, matrix)
    bent = _is_bent(work, pivot, careful)
    if bent:
        _fill_bends(work, pivot)
        add_squares(1.0, work.bends, int(0), n, matrix)
    _fill_tilts(work, pivot)
    add_squares(1.0, work.tilts, int(0), n, matrix)
    for i in range(n):  # y = 0 for the pivot and for fixed actions
        if i == pivot or x[i] == 0.0:
            for j in range(n):
                matrix[min(i, j), max(i, j)] = 0.0
            matrix[i, i] = 1.0
    factorise(matrix)
    return LimitedSystem(pivot, anchor, total, shared, bent)


@inner
def find_pivot(v: Floats) -> int:
    """The action that is farthest from its limits."""
    x, e, span = v[more.X], v[more.E], v[more.SPAN]
    pivot, far = 0, -1.0
    for i in range(x.size):
        room = x[i] if span[i] == np.inf else min(x[i], e[i])
        if room > far:
            pivot, far = i, room
    return pivot


@inner
def _weigh(work: Work) -> tuple[int, float]:
    """Fill ROOT, RESIDUAL and MISSED, clear MEAN; return the anchor and sum q / s."""
    v = work.v
    q, s, c = v[at.Q], v[at.S], v[at.C]
    root, residual, mean = v[at.ROOT], v[at.RESIDUAL], v[at.MEAN]
    anchor, total = 0, 0.0
    for b in range(q.size):
        weight = q[b] / s[b]
        root[b] = np.sqrt(weight)
        total += weight
        if root[b] > root[anchor]:
            anchor = b
    for b in range(q.size):
        residual[b] = s[b] - s[anchor] + (c[b] - c[anchor])
        mean[b] = 0.0
    limit = work.limit
    for r in range(limit.shape[1]):
        filled = dot(work.rows[r], v[more.D])
        limit[more.MISSED, r] = filled - limit[more.BOUND, r]
        if limit[more.EQUAL, r] == 0.0:
            limit[more.MISSED, r] += limit[more.Z, r] - more.SLACK
    return anchor, total


@inner
def _fill_slopes(
    v: Floats, a: Floats, pivot: int, anchor: int, sparse: bool, pattern: Pattern
) -> None:
    """Row b: root_b x_j (d_j - d_pivot), d the gradient of constraint b minus the anchor's.

    In a sparse graph the gradient of the anchor is not subtracted; see `newton_system.assemble`.
    """
    n = v.shape[1]
    x, p, loops, w, w_others = v[more.X], v[at.P], v[at.LOOPS], v[at.W], v[at.W_OTHERS]
    roots, seen_by, slopes = v[at.ROOT], a[at.SEEN_BY], a[at.SLOPES]
    start, action, length = pattern.start, pattern.action, pattern.length
    anchor_row = slopes[anchor]
    for turn in range(1 if sparse else 0, n + 1):  # the anchor first: the others subtract it
        b = anchor if turn == 0 else turn - 1
        if turn > 0 and b == anchor and not sparse:
            continue
        own = -(2.0 * (w_others[b] / w[b]) + loops[b] / w[b]) / w[b]
        others = -(1.0 - 2.0 * p[b]) / w[b] / w[b]
        seen, row, root = seen_by[b], slopes[b], roots[b]
        if length[b] > 0:
            for e in range(start[b], start[b] + length[b]):
                row[action[e]] = root * (x[action[e]] * (others * seen[action[e]]))
            row[b] = root * (x[b] * own)
            continue
        base = own if b == pivot else others * seen[pivot]
        for j in range(n):
            row[j] = x[j] * (others * seen[j] - base)
        row[b] = x[b] * (own - base)
        if turn > 0:
            for j in range(n):
                row[j] = root * (row[j] if sparse else row[j] - anchor_row[j])
    if not sparse:
        for j in range(n):
            anchor_row[j] = 0.0


@inner
def _fill_curves(v: Floats, a: Floats, pivot: int, pattern: Pattern) -> None:
    """The curvature of the terms: squares of rows, and a diagonal rest in FLAT.

    See `newton_system._fill_curves`.
    """
    n = v.shape[1]
    x, q, loops, flat = v[more.X], v[at.Q], v[at.LOOPS], v[at.FLAT]
    w, w_others, u, k = v[at.W], v[at.W_OTHERS], v[at.U], v[at.K]
    seen_by, curves = a[at.SEEN_BY], a[at.CURVES]
    start, action, length = pattern.start, pattern.action, pattern.length
    for i in range(n):
        size = u[i] * u[i] + k[i]
        factor = np.sqrt(2.0 * size / w[i]) / w[i]
        share_u, share_k = u[i] / size, k[i] / size
        own = w_others[i] + q[i] * loops[i]
        seen, row = seen_by[i], curves[i]
        if i == pivot:
            for j in range(n):
                entry = share_k * (seen[j] - loops[i]) + share_u * (own + u[i] * seen[j])
                row[j] = factor * x[j] * entry
            row[i] = 0.0
            flat[i] = 0.0
        else:
            base = seen[pivot]
            if length[i] > 0:
                for e in range(start[i], start[i] + length[i]):
                    row[action[e]] = factor * x[action[e]] * seen[action[e]]
            else:
                for j in range(n):
                    row[j] = factor * x[j] * (seen[j] - base)
            row[i] = factor * x[i] * (share_k * (loops[i] - base) - share_u * (own + u[i] * base))
            flat[i] = 2.0 * share_k / w[i] * x[i] * x[i]


@inner
def _is_bent(work: Work, pivot: int, careful: bool) -> bool:
    """Whether the curvature of passive terms counts beside that of the active ones."""
    x, passive, matrix = work.v[more.X], work.passive, work.a[at.NEWTON]
    most = 0.0
    for b in range(passive.shape[1]):
        most += 2.0 * passive[more.PASSIVE_H, b] / passive[more.PASSIVE_W, b]
    share = 0.0 if careful else SLIGHT
    for j in range(x.size):
        if j != pivot and x[j] * x[j] * most > share * matrix[j, j]:
            return True
    return False


@inner
def _fill_bends(work: Work, pivot: int) -> None:
    """The term l^2 / W of a passive action has the row (2 l^2 / W^3)^(1/2) G_.i alone."""
    x, passive, seen, bends = work.v[more.X], work.passive, work.seen, work.bends
    for b in range(passive.shape[1]):
        factor = np.sqrt(2.0 / passive[more.PASSIVE_W, b]) * passive[more.PASSIVE_T, b]
        for j in range(x.size):
            bends[b, j] = factor * x[j] * (seen[j, b] - seen[pivot, b])


@inner
def _fill_tilts(work: Work, pivot: int) -> None:
    """Row k: (y_k / z_k)^(1/2) x_j (row_kj - row_k,pivot).

    An equation has the weight 1 / z_k instead, WEIGHT times what the matrix weighs so far: the step
    meets it up to z dy, and the multiplier follows.
    """
    x, limit, matrix = work.v[more.X], work.limit, work.a[at.NEWTON]
    heaviest = 0.0
    for j in range(x.size):
        heaviest = max(heaviest, matrix[j, j] if j != pivot else 0.0)
    for r in range(limit.shape[1]):
        row, tilt = work.rows[r], work.tilts[r]
        longest = 0.0
        for j in range(x.size):
            tilt[j] = x[j] * (row[j] - row[pivot])
            longest = max(longest, abs(tilt[j]))
        if limit[more.EQUAL, r] != 0.0:
            limit[more.Z, r] = max(longest * longest / (WEIGHT * heaviest), 1e-200)
        root = np.sqrt(_stiffness(limit, r))
        for j in range(x.size):
            tilt[j] *= root


@inlined
def _stiffness(limit: Floats, r: int) -> float:
    """By how much the multiplier rises with what is missed."""
    weight = 1.0 if limit[more.EQUAL, r] != 0.0 else limit[more.Y, r]
    stiffness: float = weight / limit[more.Z, r]
    return stiffness


@inner
def solve_direction(work: Work, system: LimitedSystem, refinements: int, pattern: Pattern) -> None:
    """Fill DP, DQ, DS, DM, DN, DZ and DY with the direction that aims at TO_S, ..., TO_Z."""
    v, a, limit = work.v, work.a, work.limit
    n, pivot, anchor = v.shape[1], system.pivot, system.anchor
    x, q, s, m, c = v[more.X], v[at.Q], v[at.S], v[at.M], v[more.N]
    d, e = v[more.D], v[more.E]
    dp, dq, ds, dm, dn = v[at.DP], v[at.DQ], v[at.DS], v[at.DM], v[more.DN]
    to_s, to_m, to_n = v[at.TO_S], v[at.TO_M], v[more.TO_N]
    root, right, mean, residual = v[at.ROOT], v[at.RIGHT], v[at.MEAN], v[at.RESIDUAL]
    slopes = a[at.SLOPES]
    _pull_of_stationarity(work, pivot)
    for j in range(n):
        dp[j] = 0.0
    pull = 0.0
    for b in range(n):
        push = to_s[b] / s[b] + root[b] * root[b] * residual[b]
        pull += push
        ds[b] = -push / root[b]
    add_transposed_product(slopes, ds, pattern, right)
    for j in range(n):
        right[j] += mean[j] * (pull / system.total)
    for turn in range(refinements + 1):
        if turn > 0:
            _stationarity_residual(work, system, pattern)
        for j in range(n):
            if j == pivot or x[j] == 0.0:
                right[j] = 0.0
        solve_in_place(a[at.NEWTON], right)
        moved = along = 0.0
        for j in range(n):  # dp is in units of x until the end
            dp[j] += right[j]
            moved += x[j] * dp[j]
            along += mean[j] * dp[j]
        lift = (pull + along) / system.total
        excess = 0.0
        multiply(slopes, dp, pattern, ds)
        for b in range(n):
            ds[b] = lift - ds[b] / root[b] - residual[b]
            dq[b] = (to_s[b] - q[b] * ds[b]) / s[b]
            excess += dq[b]
            step = -moved if b == pivot else x[b] * dp[b]
            if x[b] > 0.0:
                dm[b] = (to_m[b] - m[b] * step) / d[b]
                dn[b] = (to_n[b] + c[b] * step) / e[b]
            else:
                dm[b] = dn[b] = 0.0
        dq[anchor] -= excess
        for r in range(limit.shape[1]):
            row = work.rows[r]
            filled = -moved * row[pivot]
            for j in range(n):
                filled += x[j] * dp[j] * row[j]
            change = -limit[more.MISSED, r] - filled
            limit[more.DY, r] = (
                limit[more.TO_Z, r] / limit[more.Z, r] - _stiffness(limit, r) * change
            )
            limit[more.DZ, r] = 0.0 if limit[more.EQUAL, r] != 0.0 else change
    for j in range(n):
        dp[j] *= x[j]
    dp[pivot] = -moved


@inner
def _pull_of_stationarity(work: Work, pivot: int) -> None:
    """Fill RIGHT with what stationarity asks for, relative to the pivot; SPARE is overwritten."""
    v, limit = work.v, work.limit
    x, d, e, m, c, g = v[more.X], v[more.D], v[more.E], v[at.M], v[more.N], v[at.G]
    to_m, to_n, right, spare = v[at.TO_M], v[more.TO_N], v[at.RIGHT], v[at.SPARE]
    for j in range(x.size):
        spare[j] = (g[j] - m[j]) + (c[j] + to_n[j] / e[j])
    for r in range(limit.shape[1]):
        y, row = limit[more.Y, r], work.rows[r]
        y += limit[more.TO_Z, r] / limit[more.Z, r] + _stiffness(limit, r) * limit[more.MISSED, r]
        for j in range(x.size):
            spare[j] += y * row[j]
    level = spare[pivot]
    if x[pivot] > 0.0:
        level -= to_m[pivot] / d[pivot]
    for j in range(x.size):
        right[j] = to_m[j] - x[j] * (spare[j] - level)


@inner
def _stationarity_residual(work: Work, system: LimitedSystem, pattern: Pattern) -> None:
    """Fill RIGHT with what the direction leaves of stationarity: iterative refinement."""
    v, a, limit, pivot = work.v, work.a, work.limit, system.pivot
    n = v.shape[1]
    x, m, c, g = v[more.X], v[at.M], v[more.N], v[at.G]
    dp, dq, dm, dn = v[at.DP], v[at.DQ], v[at.DM], v[more.DN]
    right, spare, flat, root = v[at.RIGHT], v[at.SPARE], v[at.FLAT], v[at.ROOT]
    moved = 0.0
    for j in range(n):
        moved += x[j] * dp[j]
        spare[j] = (g[j] - m[j] - dm[j]) + (c[j] + dn[j])
    for r in range(limit.shape[1]):
        y, row = limit[more.Y, r] + limit[more.DY, r], work.rows[r]
        for j in range(n):
            spare[j] += y * row[j]
    level = spare[pivot] - system.shared * moved
    for j in range(n):
        right[j] = -x[j] * (spare[j] - level) - flat[j] * dp[j]
    multiply(a[at.CURVES], dp, pattern, spare)
    for i in range(n):
        spare[i] = -spare[i]
    add_transposed_product(a[at.CURVES], spare, pattern, right)
    for i in range(n):
        spare[i] = -dq[i] / root[i]
    add_transposed_product(a[at.SLOPES], spare, pattern, right)
    for b in range(work.bends.shape[0] if system.bent else 0):
        row = work.bends[b]
        factor = -dot(row, dp)
        for j in range(n):
            right[j] += factor * row[j]
