"""The Newton direction: solve with the factorised system, refine, and recover what was eliminated.

The direction changes s q by `to_s` and p m by `to_m` and aims to meet the equations of
`newton_system`. With y = dp / p known,

    ds_b = lift - (slope_b @ y) / root_b - residual_b      the constraints; lift: of the level
    dq_b = (to_s_b - q_b ds_b) / s_b                       complementarity
    dm_i = to_m_i / p_i - m_i y_i                          complementarity

where `lift` makes sum dq = 0, and dp_head = -sum of the other dp.
"""

from graphcb.compilation import inner
from graphcb.exploration.solver import workspace as at
from graphcb.exploration.solver.cholesky import solve_in_place
from graphcb.exploration.solver.newton_system import System
from graphcb.exploration.solver.sparsity import Pattern, add_transposed_product, multiply
from graphcb.exploration.solver.workspace import Floats


@inner
def solve_direction(
    v: Floats, a: Floats, system: System, refinements: int, pattern: Pattern
) -> None:
    """Fill DP, DQ, DS and DM with the direction that changes s q by TO_S and p m by TO_M."""
    n = v.shape[1]
    head, anchor = system.head, system.anchor
    p, q, s, m, g = v[at.P], v[at.Q], v[at.S], v[at.M], v[at.G]
    dp, dq, ds, dm = v[at.DP], v[at.DQ], v[at.DS], v[at.DM]
    to_s, to_m, root, right = v[at.TO_S], v[at.TO_M], v[at.ROOT], v[at.RIGHT]
    mean, residual = v[at.MEAN], v[at.RESIDUAL]
    level = g[head] - m[head] - to_m[head] / p[head]
    for j in range(n):
        right[j] = to_m[j] - p[j] * ((g[j] - m[j]) - level)
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
            _stationarity_residual(v, a, system, pattern)
        right[head] = 0.0
        solve_in_place(a[at.NEWTON], right)
        moved = along = 0.0
        for j in range(n):  # dp is y = dp / p until the end
            dp[j] += right[j]
            moved += p[j] * dp[j]
            along += mean[j] * dp[j]
        lift = (pull + along) / system.total
        excess = 0.0
        multiply(a[at.SLOPES], dp, pattern, ds)
        for b in range(n):
            ds[b] = lift - ds[b] / root[b] - residual[b]
            dq[b] = (to_s[b] - q[b] * ds[b]) / s[b]
            excess += dq[b]
            dm[b] = to_m[b] / p[b] - m[b] * dp[b]
        dq[anchor] -= excess
        dm[head] = (to_m[head] + m[head] * moved) / p[head]
    for j in range(n):
        dp[j] *= p[j]
    dp[head] = -moved


@inner
def _stationarity_residual(v: Floats, a: Floats, system: System, pattern: Pattern) -> None:
    """Fill RIGHT with what the direction leaves of stationarity: iterative refinement.

    Computed from the unreduced equation g + H dp + slopes - m - dm = const, so that it is a small
    sum of numbers known to full precision.
    """
    n = v.shape[1]
    head = system.head
    p, m, g, dp, dq, dm = v[at.P], v[at.M], v[at.G], v[at.DP], v[at.DQ], v[at.DM]
    right, spare, flat, root = v[at.RIGHT], v[at.SPARE], v[at.FLAT], v[at.ROOT]
    moved = 0.0
    for j in range(n):
        moved += p[j] * dp[j]
    level = g[head] - m[head] - dm[head] - system.shared * moved
    for j in range(n):
        right[j] = -p[j] * ((g[j] - m[j] - dm[j]) - level) - flat[j] * dp[j]
    multiply(a[at.CURVES], dp, pattern, spare)
    for i in range(n):
        spare[i] = -spare[i]
    add_transposed_product(a[at.CURVES], spare, pattern, right)
    for i in range(n):
        spare[i] = -dq[i] / root[i]
    add_transposed_product(a[at.SLOPES], spare, pattern, right)
