"""The Newton system of the limited program: `newton_system` with three more kinds of pairs.

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
from graphcb.exploration.solver.cholesky import add_squares, dot, factorise
from graphcb.exploration.solver.limited import workspace as more
from graphcb.exploration.solver.limited.workspace import Work
from graphcb.exploration.solver.newton_system import (
    add_sparse_squares,
    fill_curves,
    fill_slopes,
    weigh_constraints,
)
from graphcb.exploration.solver.sparsity import (
    Pattern,
    add_transposed_product,
    fill_in,
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
    anchor, total = weigh_constraints(v)
    _fill_missed(work)
    n_full = fill_in(pivot, a[at.SEEN_BY], pattern)
    sparse = n_full < n
    fill_slopes(v, a, v[more.X], pivot, anchor, sparse, pattern)
    fill_curves(v, a, v[more.X], pivot, pattern)
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
def _fill_missed(work: Work) -> None:
    """By how much the equations of the linear limits are missed."""
    limit = work.limit
    for r in range(limit.shape[1]):
        filled = dot(work.rows[r], work.v[more.D])
        limit[more.MISSED, r] = filled - limit[more.BOUND, r]
        if limit[more.EQUAL, r] == 0.0:
            limit[more.MISSED, r] += limit[more.Z, r] - more.SLACK


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
        root = np.sqrt(stiffness(limit, r))
        for j in range(x.size):
            tilt[j] *= root


@inlined
def stiffness(limit: Floats, r: int) -> float:
    """By how much the multiplier rises with what is missed."""
    weight = 1.0 if limit[more.EQUAL, r] != 0.0 else limit[more.Y, r]
    rise: float = weight / limit[more.Z, r]
    return rise
