"""The Newton direction: solve with the factorised system, refine, and recover what was eliminated.

The direction changes s q by `to_s` and p m by `to_m` and aims to meet the equations of
`newton_system`. With y = dp / p known,

    ds_b = lift - (slope_b @ y) / root_b - residual_b      the constraints; lift: of the level
    dq_b = (to_s_b - q_b ds_b) / s_b                       complementarity
    dm_i = to_m_i / p_i - m_i y_i                          complementarity

where `lift` makes sum dq = 0, and dp_pivot = -sum of the other dp. With limits d takes the place
of p, caps have dn_i = (to_n_i + n_i dp_i) / e_i, and `linear_limits` has dz and dy.
"""

from graphcb.compilation import inlined, inner
from graphcb.exploration.solver import workspace as at
from graphcb.exploration.solver.cholesky import dot, solve_in_place
from graphcb.exploration.solver.linear_limits import add_multipliers, add_pull, turn_linear
from graphcb.exploration.solver.newton_system import System
from graphcb.exploration.solver.sparsity import Pattern, add_transposed_product, multiply
from graphcb.exploration.solver.workspace import Floats, LimitWork


@inner
def solve_direction(
    v: Floats,
    a: Floats,
    limits: LimitWork | None,
    system: System,
    refinements: int,
    pattern: Pattern,
) -> None:
    """Fill DP, DQ, DS and DM, and DN, DZ and DY, with the direction that aims at TO_S, TO_M, ..."""
    n, pivot, anchor = v.shape[1], system.pivot, system.anchor
    q, s, m, e, caps = v[at.Q], v[at.S], v[at.M], v[at.E], v[at.N]
    d = v[at.P] if limits is None else v[at.D]
    dp, dq, ds, dm, dn = v[at.DP], v[at.DQ], v[at.DS], v[at.DM], v[at.DN]
    to_s, to_m, to_n = v[at.TO_S], v[at.TO_M], v[at.TO_N]
    root, right, mean, residual = v[at.ROOT], v[at.RIGHT], v[at.MEAN], v[at.RESIDUAL]
    _pull_of_stationarity(v, limits, pivot)
    for j in range(n):
        dp[j] = 0.0
    pull = 0.0
    for b in range(n):
        push = to_s[b] / s[b] + root[b] * root[b] * residual[b]
        pull += push
        ds[b] = -push / root[b]
    add_transposed_product(a[at.SLOPES], ds, pattern, right)
    for j in range(n):
        right[j] += mean[j] * (pull / system.total)
    for turn in range(refinements + 1):
        if turn > 0:
            _stationarity_residual(v, a, limits, system, pattern)
        right[pivot] = 0.0
        if limits is not None:
            for j in range(n):
                right[j] = right[j] if d[j] > 0.0 else 0.0
        solve_in_place(a[at.NEWTON], right)
        moved = along = 0.0
        for j in range(n):  # dp is y = dp / d until the end
            dp[j] += right[j]
            moved += d[j] * dp[j]
            along += mean[j] * dp[j]
        lift = (pull + along) / system.total
        excess = 0.0
        multiply(a[at.SLOPES], dp, pattern, ds)
        for b in range(n):
            ds[b] = lift - ds[b] / root[b] - residual[b]
            dq[b] = (to_s[b] - q[b] * ds[b]) / s[b]
            excess += dq[b]
            dm[b] = to_m[b] / d[b] - m[b] * dp[b]
        dq[anchor] -= excess
        dm[pivot] = (to_m[pivot] + m[pivot] * moved) / d[pivot]
        if limits is not None:
            for b in range(n):
                dn[b] = (to_n[b] + caps[b] * (-moved if b == pivot else d[b] * dp[b])) / e[b]
                dm[b] = dm[b] if d[b] > 0.0 else 0.0
            if limits.rows.shape[0] > 0:
                turn_linear(v, limits, moved, pivot)
    for j in range(n):
        dp[j] *= d[j]
    dp[pivot] = -moved


@inlined
def _pull_of_stationarity(v: Floats, limits: LimitWork | None, pivot: int) -> None:
    """Fill RIGHT with what stationarity asks for, relative to the pivot; SPARE is overwritten."""
    m, e, caps, g, to_m, to_n = v[at.M], v[at.E], v[at.N], v[at.G], v[at.TO_M], v[at.TO_N]
    d, right, spare = v[at.P] if limits is None else v[at.D], v[at.RIGHT], v[at.SPARE]
    for j in range(d.size):
        spare[j] = g[j] - m[j]
    if limits is not None:
        for j in range(d.size):
            spare[j] += caps[j] + to_n[j] / e[j]
        if limits.rows.shape[0] > 0:
            add_pull(limits, spare)
    level = spare[pivot]
    if limits is None or d[pivot] > 0.0:
        level -= to_m[pivot] / d[pivot]
    for j in range(d.size):
        right[j] = to_m[j] - d[j] * (spare[j] - level)


@inlined
def _stationarity_residual(
    v: Floats, a: Floats, limits: LimitWork | None, system: System, pattern: Pattern
) -> None:
    """Fill RIGHT with what the direction leaves of stationarity: iterative refinement.

    Computed from the unreduced equation g + H dp + slopes - m - dm = const, so that it is a small
    sum of numbers known to full precision.
    """
    n, m, caps, g = v.shape[1], v[at.M], v[at.N], v[at.G]
    d, dp, dq, dm, dn = v[at.P], v[at.DP], v[at.DQ], v[at.DM], v[at.DN]
    if limits is not None:
        d = v[at.D]
    right, spare, flat, root = v[at.RIGHT], v[at.SPARE], v[at.FLAT], v[at.ROOT]
    moved = 0.0
    for j in range(n):
        moved += d[j] * dp[j]
        spare[j] = g[j] - m[j] - dm[j]
    if limits is not None:
        for j in range(n):
            spare[j] += caps[j] + dn[j]
        if limits.rows.shape[0] > 0:
            add_multipliers(limits, 1.0, spare)
    level = spare[system.pivot] - system.shared * moved
    for j in range(n):
        right[j] = -d[j] * (spare[j] - level) - flat[j] * dp[j]
    multiply(a[at.CURVES], dp, pattern, spare)
    for i in range(n):
        spare[i] = -spare[i]
    add_transposed_product(a[at.CURVES], spare, pattern, right)
    for i in range(n):
        spare[i] = -dq[i] / root[i]
    add_transposed_product(a[at.SLOPES], spare, pattern, right)
    if limits is not None and system.bent:
        for row in limits.bends:
            factor = -dot(row, dp)
            for j in range(n):
                right[j] += factor * row[j]
