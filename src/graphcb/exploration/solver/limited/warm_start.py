"""The warm start of the limited program: from the iterate on a smaller set of actions."""

from typing import NamedTuple

import numpy as np

from graphcb.compilation import inner
from graphcb.exploration.solver import workspace as at
from graphcb.exploration.solver.limited import workspace as more
from graphcb.exploration.solver.limited.newton import find_pivot
from graphcb.exploration.solver.limited.workspace import Box, Work
from graphcb.exploration.solver.workspace import Floats, Indices


class LimitedIterate(NamedTuple):
    """What a warm start needs to know of the iterate on the smaller set."""

    point: Floats  # (6, n): d, e, q, s, m and n
    limit: Floats  # (2, r): z and y
    gradient_level: float  # the constant of g - m + n + rows.T @ y
    constraint_level: float  # the constant of c + s
    mu: float  # the mean product


@inner
def keep_iterate(work: Work, mu: float) -> LimitedIterate:
    """A copy of the iterate, before there are work arrays for a larger set."""
    v, limit = work.v, work.limit
    n, n_limits = v.shape[1], limit.shape[1]
    point, rows = np.empty((6, n)), np.empty((2, n_limits))
    q, s, c, g = v[at.Q], v[at.S], v[at.C], v[at.G]
    anchor, pivot = 0, find_pivot(v)
    for i in range(n):
        point[0, i], point[1, i], point[2, i] = v[more.D, i], v[more.E, i], q[i]
        point[3, i], point[4, i], point[5, i] = s[i], v[at.M, i], v[more.N, i]
        if q[i] * s[anchor] > q[anchor] * s[i]:
            anchor = i
    level = g[pivot] - v[at.M, pivot] + v[more.N, pivot]
    for r in range(n_limits):
        rows[0, r], rows[1, r] = limit[more.Z, r], limit[more.Y, r]
        level += limit[more.Y, r] * work.rows[r, pivot]
    return LimitedIterate(point, rows, level, s[anchor] + c[anchor], mu)


@inner
def warm_start(
    ft: Floats,
    actions: Indices,
    kept: LimitedIterate,
    box: Box,
    revealed: Floats,
    reduced: Floats,
    work: Work,
) -> None:
    """Fill the iterate: known actions stay where they are, new ones enter with products mu."""
    v, limit, point = work.v, work.limit, kept.point
    size, known, mu = v.shape[1], point.shape[1], kept.mu
    p, q, s, m = v[at.P], v[at.Q], v[at.S], v[at.M]
    x, d, e, caps, span = v[more.X], v[more.D], v[more.E], v[more.N], v[more.SPAN]
    for k in range(known):
        d[k], e[k], q[k] = point[0, k], point[1, k], point[2, k]
        s[k], m[k], caps[k] = point[3, k], point[4, k], point[5, k]
    for k in range(known, size):
        b = actions[k]
        least = 0.1 * (1.0 + ft[b])
        c = (1.0 - 2.0 * box.lower[b]) / revealed[b] - ft[b]
        s[k] = max(abs(kept.constraint_level - c), least)
        q[k] = mu / s[k]
        d[k], e[k], m[k], caps[k] = 0.0, 1.0, 0.0, 0.0
        if span[k] > 0.0:
            m[k] = max(abs(reduced[b] - kept.gradient_level), least)
            d[k] = min(mu / m[k], 0.5 * span[k], 0.5 * work.mass)
            if span[k] < np.inf:
                e[k] = span[k] - d[k]
                caps[k] = mu / e[k]
    sum_d = sum_q = 0.0
    for k in range(size):
        sum_d += d[k]
        sum_q += q[k]
    shrink = work.mass / sum_d
    for k in range(size):
        q[k] /= sum_q
        if 0.0 < span[k] < np.inf:
            e[k] += d[k] * (1.0 - shrink)
        d[k] *= shrink
        x[k], p[k] = d[k], v[more.L, k] + d[k]
    for r in range(limit.shape[1]):
        limit[more.Z, r], limit[more.Y, r] = kept.limit[0, r], kept.limit[1, r]
