"""The warm start of the interior-point method: from the iterate on a smaller set of actions."""

from typing import NamedTuple

import numpy as np

from graphcb.compilation import inner
from graphcb.exploration.solver import workspace as at
from graphcb.exploration.solver.newton_system import find_pivot
from graphcb.exploration.solver.pairs import mean_product
from graphcb.exploration.solver.workspace import Box, Floats, Indices, LimitWork


class Iterate(NamedTuple):
    """What a warm start needs to know of the iterate on the smaller set."""

    point: Floats  # (6, n): p or d, q, s and m; with limits e and n
    gradient_level: float  # the constant of g - m, or g - m + n + rows.T @ y
    constraint_level: float  # the constant of c + s
    mu: float  # the mean product


@inner
def keep_iterate(v: Floats, limits: LimitWork | None) -> Iterate:
    """A copy of the iterate, before the work arrays are laid out for a larger set.

    The slacks and multipliers of linear limits stay where they are.
    """
    n = v.shape[1]
    d = v[at.P] if limits is None else v[at.D]
    q, s, m, c, g, e, caps = v[at.Q], v[at.S], v[at.M], v[at.C], v[at.G], v[at.E], v[at.N]
    point = np.empty((6, n))
    anchor, pivot = 0, find_pivot(v, limits)
    for i in range(n):
        point[0, i], point[1, i], point[2, i], point[3, i] = d[i], q[i], s[i], m[i]
        if limits is not None:
            point[4, i], point[5, i] = e[i], caps[i]
        if q[i] * s[anchor] > q[anchor] * s[i]:
            anchor = i
    level = g[pivot] - m[pivot]
    if limits is not None:
        level += caps[pivot]
        y = limits.linear[at.Y]
        for r in range(y.size):
            level += y[r] * limits.rows[r, pivot]
    return Iterate(point, level, s[anchor] + c[anchor], mean_product(v, limits))


@inner
def warm_start(
    ft: Floats,
    actions: Indices,
    kept: Iterate,
    box: Box | None,
    limits: LimitWork | None,
    revealed: Floats,
    gradient: Floats,
    v: Floats,
) -> None:
    """Fill the iterate: known actions stay where they are, new ones enter with products mu.

    A new action b = actions[k] gets the slack and the multiplier that the two equations ask for,
    s = level - c_b and m = g_b - level, or a tenth of 1 + ft_b if that is more.
    """
    size, known, point, mu = v.shape[1], kept.point.shape[1], kept.point, kept.mu
    p, q, s, m = v[at.P], v[at.Q], v[at.S], v[at.M]
    e, caps, span, floor = v[at.E], v[at.N], v[at.SPAN], v[at.FLOOR]
    d = p if limits is None else v[at.D]
    for k in range(known):
        d[k], q[k], s[k], m[k] = point[0, k], point[1, k], point[2, k], point[3, k]
        if limits is not None:
            e[k], caps[k] = point[4, k], point[5, k]
    for k in range(known, size):
        b = actions[k]
        least = 0.1 * (1.0 + ft[b])
        top = 1.0 if box is None else 1.0 - 2.0 * floor[k]
        s[k] = max(abs(kept.constraint_level - top / revealed[b] + ft[b]), least)
        q[k] = mu / s[k]
        m[k] = max(abs(gradient[b] - kept.gradient_level), least)
        d[k] = mu / m[k]
        if limits is not None:
            e[k], caps[k] = 1.0, 0.0
            d[k] = min(d[k], 0.5 * span[k], 0.5 * limits.mass)
            if span[k] == 0.0:
                m[k] = 0.0
            elif span[k] < np.inf:
                e[k] = span[k] - d[k]
                caps[k] = mu / e[k]
    sum_d = sum_q = 0.0
    for k in range(size):
        sum_d += d[k]
        sum_q += q[k]
    for k in range(size):
        q[k] /= sum_q
        if limits is None:
            d[k] /= sum_d
    if limits is not None:
        shrink = limits.mass / sum_d
        for k in range(size):
            if 0.0 < span[k] < np.inf:
                e[k] += d[k] * (1.0 - shrink)
            d[k] *= shrink
            p[k] = floor[k] + d[k]
