"""Starting points of the interior-point method: cold, from the losses; warm, from a smaller set.

Both are interior and well centred: all products s_b q_b and p_i m_i are equal, or nearly so.
"""

from typing import NamedTuple

import numpy as np

from graphcb.compilation import inner
from graphcb.exploration.solver import workspace as at
from graphcb.exploration.solver.certificate import evaluate
from graphcb.exploration.solver.sparsity import Pattern
from graphcb.exploration.solver.workspace import Floats, Indices


class Iterate(NamedTuple):
    """What a warm start needs to know of the iterate on the smaller set."""

    point: Floats  # (4, n): p, q, s and m
    gradient_level: float  # the constant of g - m
    constraint_level: float  # the constant of c + s
    mu: float  # the mean product


@inner
def cold_start(v: Floats, a: Floats, pattern: Pattern, careful: bool) -> None:
    """Fill P, Q, S and M: choose p, set slacks below a level, and make all products equal.

    A careful start estimates the value first; otherwise it is taken to be of the order of one for
    each action, which is right unless some action is hardly ever seen.
    """
    _choose_probabilities(v, a, _estimate_value(v, a) if careful else 1.0)
    bounds = evaluate(v, a, pattern)
    _centre(v, bounds.worst, 0.5 * (1.0 + bounds.value))


@inner
def _centre(v: Floats, worst: float, room: float) -> None:
    """With s_b = level - c_b, q_b = mu / s_b and m_i = mu / p_i, all products are mu.

    The level is `room` above the worst constraint, which may be so large that the sum is too
    coarse. The constraints hold exactly, and mu makes q sum to one.
    """
    p, q, s, m, c = v[at.P], v[at.Q], v[at.S], v[at.M], v[at.C]
    total = 0.0
    for b in range(p.size):
        s[b] = max(worst + room - c[b], 0.5 * room)
        total += 1.0 / s[b]
    for b in range(p.size):
        q[b] = 1.0 / (total * s[b])
        m[b] = 1.0 / (total * p[b])


@inner
def _estimate_value(v: Floats, a: Floats) -> float:
    """What seeing the action costs that is seen least: 1 / G_ib + (ft_i / G_ib)^(1/2) - ft_b."""
    ft, loops, seen_by = v[at.FT], v[at.LOOPS], a[at.SEEN_BY]
    value = 1.0
    for b in range(ft.size):
        least = np.inf
        for i in range(ft.size):
            seen = loops[b] if i == b else seen_by[b, i]
            if seen > 0.0:
                least = min(least, 1.0 / seen + np.sqrt(ft[i] / seen))
        value = max(value, least - ft[b])
    return value


@inner
def _choose_probabilities(v: Floats, a: Floats, value: float) -> None:
    """For each action b, its cheapest observer gets what seeing b is worth; the best the rest.

    Seeing b at rate w costs w ft_i / G_ib and gains 1 / w - ft_b, which is balanced near
    w = 1 / (n value + ft_b + (ft_i / G_ib)^(1/2)). Half as much again lets slacks grow with ft, as
    they will. Gaps far below the value do not matter. For now q is uniform.
    """
    n = v.shape[1]
    ft, p, q, loops, seen_by = v[at.FT], v[at.P], v[at.Q], v[at.LOOPS], a[at.SEEN_BY]
    best = 0
    for b in range(n):
        if ft[b] < ft[best]:
            best = b
        p[b], q[b] = 0.1 / (n + ft[b] / value), 1.0 / n
    for b in range(n):
        observer, chance = b, loops[b]
        for i in range(n):
            seen = seen_by[b, i]
            if seen > 0.0 and (ft[i] + value) * chance < (ft[observer] + value) * seen:
                observer, chance = i, seen
        rate = 1.5 / (n * value + ft[b] + np.sqrt(ft[observer] / chance)) / chance
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


@inner
def keep_iterate(v: Floats) -> Iterate:
    """A copy of the iterate, before the work arrays are laid out for a larger set."""
    n = v.shape[1]
    p, q, s, m, c, g = v[at.P], v[at.Q], v[at.S], v[at.M], v[at.C], v[at.G]
    point = np.empty((4, n))
    head = anchor = 0
    mu = 0.0
    for i in range(n):
        point[0, i], point[1, i], point[2, i], point[3, i] = p[i], q[i], s[i], m[i]
        if p[i] > p[head]:
            head = i
        if q[i] * s[anchor] > q[anchor] * s[i]:
            anchor = i
        mu += (p[i] * m[i] + q[i] * s[i]) / (2 * n)
    return Iterate(point, g[head] - m[head], s[anchor] + c[anchor], mu)


@inner
def warm_start(
    ft: Floats, actions: Indices, kept: Iterate, revealed: Floats, worth: Floats, v: Floats
) -> None:
    """Fill P, Q, S and M: known actions stay where they are, new ones enter with products mu.

    A new action b = actions[k] gets the slack and the multiplier that the two equations ask for,
    s = level - c_b and m = g_b - level, or a tenth of 1 + ft_b if that is more.
    """
    size, known, point = v.shape[1], kept.point.shape[1], kept.point
    p, q, s, m = v[at.P], v[at.Q], v[at.S], v[at.M]
    for k in range(known):
        p[k], q[k], s[k], m[k] = point[0, k], point[1, k], point[2, k], point[3, k]
    for k in range(known, size):
        b = actions[k]
        least = 0.1 * (1.0 + ft[b])
        s[k] = max(abs(kept.constraint_level - 1.0 / revealed[b] + ft[b]), least)
        m[k] = max(abs(ft[b] - worth[b] - kept.gradient_level), least)
        q[k] = kept.mu / s[k]
        p[k] = kept.mu / m[k]
    sum_p = sum_q = 0.0
    for k in range(size):
        sum_p += p[k]
        sum_q += q[k]
    for k in range(size):
        p[k] /= sum_p
        q[k] /= sum_q
