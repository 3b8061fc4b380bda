"""The complementary pairs of the interior-point method: products that go to zero together.

    s_b q_b     slack and multiplier of the constraint of action b
    p_i m_i     probability and multiplier of p_i >= 0; with limits d_i m_i, where d = p - floor
    e_i n_i     with a cap: the room below it, and its multiplier
    z_k y_k     slack and multiplier of a linear limit; equations have none

All stay positive, and mu is the mean of the products. A fixed action has d = m = 0, one without a
cap e = 1 and n = 0. Rows of linear limits are bound only where there are any: a bound row costs two
atomic counts, which small programs notice. The kernels follow in the order of one step.
"""

import numpy as np

from graphcb.compilation import inlined, inner
from graphcb.exploration.solver import workspace as at
from graphcb.exploration.solver.workspace import Floats, LimitWork


@inner
def count_pairs(v: Floats, limits: LimitWork | None) -> float:
    """How many there are."""
    if limits is None:
        return float(2 * v.shape[1])
    d, span = v[at.D], v[at.SPAN]
    pairs = float(d.size)
    for i in range(d.size):
        pairs += d[i] > 0.0
        pairs += 0.0 < span[i] < np.inf
    if limits.rows.shape[0] > 0:
        equal = limits.linear[at.EQUAL]
        for r in range(equal.size):
            pairs += 1.0 - equal[r]
    return pairs


@inner
def mean_product(v: Floats, limits: LimitWork | None) -> float:
    """The mean of all products at the iterate."""
    d = v[at.P] if limits is None else v[at.D]
    q, s, m, e, n = v[at.Q], v[at.S], v[at.M], v[at.E], v[at.N]
    mu, pairs = 0.0, count_pairs(v, limits)
    for i in range(d.size):
        mu += (d[i] * m[i] + q[i] * s[i]) / pairs
        if limits is not None:
            mu += e[i] * n[i] / pairs
    if limits is not None and limits.rows.shape[0] > 0:
        equal, z, y = limits.linear[at.EQUAL], limits.linear[at.Z], limits.linear[at.Y]
        for r in range(z.size):
            mu += z[r] * y[r] / pairs if equal[r] == 0.0 else 0.0
    return mu


@inlined
def aim_at_zero(v: Floats, limits: LimitWork | None, pairs: float) -> float:
    """The affine aim: change every product to zero. Returns the mean product mu."""
    d = v[at.P] if limits is None else v[at.D]
    q, s, m, e, n = v[at.Q], v[at.S], v[at.M], v[at.E], v[at.N]
    to_s, to_m, to_n = v[at.TO_S], v[at.TO_M], v[at.TO_N]
    mu = 0.0
    for i in range(d.size):
        to_s[i], to_m[i] = -s[i] * q[i], -d[i] * m[i]
        mu -= (to_s[i] + to_m[i]) / pairs
        if limits is not None:
            to_n[i] = -e[i] * n[i]
            mu -= to_n[i] / pairs
    if limits is not None and limits.rows.shape[0] > 0:
        linear = limits.linear
        equal, z, y, to_z = linear[at.EQUAL], linear[at.Z], linear[at.Y], linear[at.TO_Z]
        for r in range(z.size):
            to_z[r] = -z[r] * y[r] if equal[r] == 0.0 else 0.0
            mu -= to_z[r] / pairs
    return mu


@inner
def mean_product_after(v: Floats, limits: LimitWork | None, pairs: float, length: float) -> float:
    """The mean product after a step of this length along the direction."""
    d = v[at.P] if limits is None else v[at.D]
    q, s, m, e, n = v[at.Q], v[at.S], v[at.M], v[at.E], v[at.N]
    dp, dq, ds, dm, dn = v[at.DP], v[at.DQ], v[at.DS], v[at.DM], v[at.DN]
    left = 0.0
    for i in range(d.size):
        left += (d[i] + length * dp[i]) * (m[i] + length * dm[i]) / pairs
        left += (q[i] + length * dq[i]) * (s[i] + length * ds[i]) / pairs
        if limits is not None:
            left += (e[i] - length * dp[i]) * (n[i] + length * dn[i]) / pairs
    if limits is not None and limits.rows.shape[0] > 0:
        linear = limits.linear
        equal, z, y, dz, dy = (
            linear[at.EQUAL], linear[at.Z], linear[at.Y], linear[at.DZ], linear[at.DY],
        )  # fmt: skip
        for r in range(z.size):
            if equal[r] == 0.0:
                left += (z[r] + length * dz[r]) * (y[r] + length * dy[r]) / pairs
    return left


@inlined
def aim_at(v: Floats, limits: LimitWork | None, target: float, limit: float) -> None:
    """Aim for products of `target`, less the predictor's second-order terms up to `limit`."""
    d, span = v[at.D], v[at.SPAN]
    dp, dq, ds, dm, dn = v[at.DP], v[at.DQ], v[at.DS], v[at.DM], v[at.DN]
    to_s, to_m, to_n = v[at.TO_S], v[at.TO_M], v[at.TO_N]
    for i in range(dp.size):
        to_s[i] += target - max(-limit, min(limit, ds[i] * dq[i]))
        if limits is None or d[i] > 0.0:
            to_m[i] += target - max(-limit, min(limit, dp[i] * dm[i]))
        if limits is not None and 0.0 < span[i] < np.inf:
            to_n[i] += target - max(-limit, min(limit, -dp[i] * dn[i]))
    if limits is not None and limits.rows.shape[0] > 0:
        linear = limits.linear
        equal, to_z, dz, dy = linear[at.EQUAL], linear[at.TO_Z], linear[at.DZ], linear[at.DY]
        for r in range(to_z.size):
            if equal[r] == 0.0:
                to_z[r] += target - max(-limit, min(limit, dz[r] * dy[r]))


@inner
def to_boundary(v: Floats, limits: LimitWork | None) -> float:
    """The length of the longest step that keeps all of them non-negative."""
    d = v[at.P] if limits is None else v[at.D]
    q, s, m, e, n, span = v[at.Q], v[at.S], v[at.M], v[at.E], v[at.N], v[at.SPAN]
    dp, dq, ds, dm, dn = v[at.DP], v[at.DQ], v[at.DS], v[at.DM], v[at.DN]
    fastest = 1e-300
    for i in range(d.size):
        if limits is None or d[i] > 0.0:
            fastest = max(fastest, -dp[i] / d[i])
        fastest = max(fastest, -dq[i] / q[i])
        fastest = max(fastest, -ds[i] / s[i])
        if limits is None or d[i] > 0.0:
            fastest = max(fastest, -dm[i] / m[i])
        if limits is not None and 0.0 < span[i] < np.inf:
            fastest = max(fastest, dp[i] / e[i])
            fastest = max(fastest, -dn[i] / n[i])
    if limits is not None and limits.rows.shape[0] > 0:
        linear = limits.linear
        equal, z, y, dz, dy = (
            linear[at.EQUAL], linear[at.Z], linear[at.Y], linear[at.DZ], linear[at.DY],
        )  # fmt: skip
        for r in range(z.size):
            if equal[r] == 0.0:
                fastest = max(fastest, -dz[r] / z[r])
                fastest = max(fastest, -dy[r] / y[r])
    return 1.0 / fastest


@inlined
def step(v: Floats, limits: LimitWork | None, length: float) -> None:
    """Take the step."""
    p, q, s, m = v[at.P], v[at.Q], v[at.S], v[at.M]
    d, e, n, floor, span = v[at.D], v[at.E], v[at.N], v[at.FLOOR], v[at.SPAN]
    dp, dq, ds, dm, dn = v[at.DP], v[at.DQ], v[at.DS], v[at.DM], v[at.DN]
    for i in range(p.size):
        q[i] += length * dq[i]
        s[i] += length * ds[i]
        if limits is None:
            p[i] += length * dp[i]
            m[i] += length * dm[i]
        elif d[i] > 0.0:
            d[i] += length * dp[i]
            p[i] = floor[i] + d[i]
            m[i] += length * dm[i]
            if span[i] < np.inf:
                e[i] -= length * dp[i]
                n[i] += length * dn[i]
    if limits is not None and limits.rows.shape[0] > 0:
        linear = limits.linear
        z, y, dz, dy = linear[at.Z], linear[at.Y], linear[at.DZ], linear[at.DY]
        for r in range(z.size):
            z[r] += length * dz[r]
            y[r] += length * dy[r]
