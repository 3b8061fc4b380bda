"""The Newton direction of the limited program, from the system in `newton`."""

from graphcb.compilation import inner
from graphcb.exploration.solver import workspace as at
from graphcb.exploration.solver.cholesky import dot, solve_in_place
from graphcb.exploration.solver.limited import workspace as more
from graphcb.exploration.solver.limited.newton import LimitedSystem, stiffness
from graphcb.exploration.solver.limited.workspace import Work
from graphcb.exploration.solver.sparsity import Pattern, add_transposed_product, multiply


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
                limit[more.TO_Z, r] / limit[more.Z, r] - stiffness(limit, r) * change
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
        y += limit[more.TO_Z, r] / limit[more.Z, r] + stiffness(limit, r) * limit[more.MISSED, r]
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
