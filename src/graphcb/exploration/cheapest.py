"""The cheapest distribution within limits: the smallest cost @ p, at a vertex.

    lower <= p <= upper,  sum of p = 1,  rows @ p <= most

Without rows, the cheapest actions are filled up to their caps, one after the other. With
a handful of rows it is the simplex method, which starts from there. Kernels trust their
input: `Limits.on` has checked that some p obeys.
"""

import numpy as np

from graphcb.compilation import compiled, inner
from graphcb.exploration.simplex import Polytope, first_basis, walk
from graphcb.graphs.structure import Floats

ROUNDING = 1e-15  # of a linear limit, relative to what it is the sum of


@compiled
def cheapest(
    costs: Floats, lower: Floats, upper: Floats, rows: Floats, most: Floats
) -> tuple[Floats, bool]:
    """A cheapest p; of two equal costs the first action gets more. False: no p obeys."""
    polytope = start(lower, upper, rows, most)
    obeys = cheapest_vertex(scaled(costs), polytope)
    return within(polytope.x[: costs.size], lower, upper), obeys


@inner
def within(p: Floats, lower: Floats, upper: Floats) -> Floats:
    """A copy that obeys floors and caps to the last bit."""
    nearest: Floats = np.minimum(upper, np.maximum(lower, p))
    return nearest


@compiled
def obeys(p: Floats, lower: Floats, upper: Floats, rows: Floats, most: Floats) -> bool:
    """Whether p is within the limits: floors and caps exactly, rows to rounding."""
    for a in range(p.size):
        if not lower[a] <= p[a] <= upper[a]:
            return False
    for i in range(most.size):
        total, size = 0.0, abs(most[i])
        for a in range(p.size):
            total += rows[i, a] * p[a]
            size += abs(rows[i, a]) * p[a]
        if not total <= most[i] + ROUNDING * size:
            return False
    return True


@inner
def scaled(costs: Floats) -> Floats:
    """Costs from 0 to 1, in the same proportions."""
    least, largest = costs.min(), costs.max()
    if not largest > least:
        return np.zeros(costs.size)
    half = 0.5 * costs - 0.5 * least  # the span of two finite numbers may be infinite
    unit: Floats = half / half.max()
    return unit


@inner
def start(lower: Floats, upper: Floats, rows: Floats, most: Floats) -> Polytope:
    """A polytope whose vertex is not known yet."""
    r, k = rows.shape[0], lower.size
    low, high = np.zeros(k + r), np.full(k + r, np.inf)
    low[:k], high[:k] = lower, upper
    unit_rows, unit_most = np.empty((r, k)), np.empty(r)
    for i in range(r):
        largest = 0.0
        for a in range(k):
            largest = max(largest, abs(rows[i, a]))
        scale = 1.0 / largest if largest > 0.0 else 1.0
        for a in range(k):
            unit_rows[i, a] = scale * rows[i, a]
        unit_most[i] = scale * most[i]
    m = r + 1 if r > 0 else 0
    basis, inverse = np.full(m, -1), np.zeros((m, m))
    side = np.zeros(k + r, dtype=np.int8)
    return Polytope(
        low, high, unit_rows, unit_most, np.zeros(k + r), side, basis, inverse, np.arange(k)
    )


@inner
def cheapest_vertex(costs: Floats, polytope: Polytope) -> bool:
    """Move to a cheapest vertex; whether there is one."""
    if polytope.basis.size == 0:
        _fill(costs, polytope)
        return True
    if polytope.basis[0] < 0:
        first_basis(_fill(costs, polytope), polytope)
    return walk(costs, polytope)


@inner
def _fill(costs: Floats, polytope: Polytope) -> int:
    """Fill the cheapest actions up to their caps; the last one that got something.

    A sort that leaves out the side of each pivot on which all is filled, or nothing: O(K).
    """
    lower, upper, x, order = polytope.lower, polytope.upper, polytope.x, polytope.order
    rest = 1.0
    for a in range(costs.size):
        rest -= lower[a]
        x[a] = lower[a]
    begin, end, last = 0, costs.size, order[0]
    while begin < end and rest > 0.0:
        split, room = _partition(costs, begin, end, polytope)
        if room >= rest:
            end = split
            continue
        for i in range(begin, split):
            x[order[i]] = upper[order[i]]
        rest, last = rest - room, order[split]
        width = upper[last] - lower[last]
        x[last] = upper[last] if rest >= width else min(upper[last], lower[last] + rest)
        rest, begin = rest - width, split + 1
    return int(last)


@inner
def _partition(costs: Floats, begin: int, end: int, polytope: Polytope) -> tuple[int, float]:
    """Move what is cheaper than a pivot before it: its place, and the room before it.

    Of equal costs the first action is the cheaper one.
    """
    lower, upper, order = polytope.lower, polytope.upper, polytope.order
    middle, split, room = (begin + end) // 2, begin, 0.0
    pivot = order[middle]
    order[middle] = order[end - 1]
    for i in range(begin, end - 1):
        a = order[i]
        if costs[a] < costs[pivot] or (costs[a] == costs[pivot] and a < pivot):
            order[i], order[split] = order[split], a
            split += 1
            room += upper[a] - lower[a]
    order[end - 1], order[split] = order[split], pivot
    return split, room
