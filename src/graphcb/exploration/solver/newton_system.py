"""The Newton system of the interior-point method, reduced to one symmetric positive matrix.

The perturbed optimality conditions in the unknowns p, q, s and m are

    g(p, q) - m = const          stationarity in p
    c(p) + s = const             the constraints, with slacks
    s_b q_b = p_i m_i = target   complementarity
    sum p = sum q = 1,   p, q, s, m > 0.

The two constants are the multiplier of sum p = 1 and the level of the maximum. They are removed by
taking every equation relative to one action: the pivot (the largest p) for the first and the
anchor (the largest q / s) for the second. Differences of huge numbers, which appear when hardly
any action reveals the pivot, are then taken between numbers known to full precision instead of
inside the elimination.

With steps in units of p, y = dp / p with y_pivot eliminated, and s, q and m eliminated, the matrix

    sum_i curve_i curve_i.T + diag(flat + p m) + (shared + m_0 / p_0) p p.T       Hessian, p >= 0
    + sum_b slope_b slope_b.T - mean mean.T / total                               constraints

is positive. The curves, `flat` and `shared` are the Hessian of the Lagrangian. The rows slope_b are
(q_b / s_b)^(1/2) times the gradients of the constraints; `mean` is their weighted sum, `total` the
sum of q / s, and the last term is there because the level moves along.

With limits there are three more kinds of pairs (see `pairs`), and stationarity is
g - m + n + rows.T @ y = const. Steps are in units of d = p - floor. The pivot is the action that is
farthest from its limits. Caps touch the diagonal only; a linear limit adds
the square of one row, and so does an action at its floor outside the active set (`passive`).
"""

from typing import NamedTuple

import numpy as np

from graphcb.compilation import inner
from graphcb.exploration.solver import workspace as at
from graphcb.exploration.solver.cholesky import add_sparse_square, add_squares, factorise
from graphcb.exploration.solver.linear_limits import fill_missed, fill_tilts
from graphcb.exploration.solver.passive import bend
from graphcb.exploration.solver.sparsity import Pattern, add_transposed_product, fill_in
from graphcb.exploration.solver.workspace import Floats, LimitWork, squares


class System(NamedTuple):
    """What the equations are relative to, and the sums that go with it."""

    pivot: int
    anchor: int
    total: float  # sum of q / s
    shared: float  # curvature along the sum of all steps, from the term of the pivot
    bent: bool  # whether the curvature of passive terms is in the matrix


@inner
def assemble(
    v: Floats, a: Floats, limits: LimitWork | None, pattern: Pattern, careful: bool
) -> System:
    """Build the matrix at the iterate where `certificate.evaluate` was called; factorise it.

    A sparse graph is built from its few entries. The slopes are then left as they are instead of
    relative to the anchor, which would fill them: the matrix is the same except for rounding.
    """
    n, matrix, d = v.shape[1], a[at.NEWTON], v[at.P] if limits is None else v[at.D]
    pivot = find_pivot(v, limits)
    anchor, total = _weigh_constraints(v)
    n_full = fill_in(pivot, a[at.SEEN_BY], pattern)
    sparse = n_full < n
    _fill_slopes(v, a, d, pivot, anchor, sparse, pattern)
    _fill_curves(v, a, d, pivot, pattern)
    add_transposed_product(a[at.SLOPES], v[at.ROOT], pattern, v[at.MEAN])
    shared = _fill_remainder(v, a, limits, pivot, total)
    factors = squares(a, n)
    if sparse:
        factors = _add_sparse_squares(factors, pattern, n_full, matrix)
    add_squares(1.0, factors, int(0), n, matrix)
    bent = False
    if limits is not None:
        bent = limits.outside.size > 0 and bend(v, matrix, limits, pivot, careful)
        if bent:
            add_squares(1.0, limits.bends, int(0), n, matrix)
        if limits.rows.shape[0] > 0:
            fill_missed(d, limits)
            fill_tilts(v, matrix, limits, pivot)
            add_squares(1.0, limits.tilts, int(0), n, matrix)
    for i in range(n):  # y = 0 for the pivot and for fixed actions
        if i == pivot or (limits is not None and d[i] == 0.0):
            for j in range(n):
                matrix[min(i, j), max(i, j)] = 0.0
            matrix[i, i] = 1.0
    factorise(matrix)
    return System(pivot, anchor, total, shared, bent)


@inner
def find_pivot(v: Floats, limits: LimitWork | None) -> int:
    """The action that is farthest from its limits: without any, that with the largest p."""
    d = v[at.P] if limits is None else v[at.D]
    e, span = v[at.E], v[at.SPAN]
    pivot, far = 0, -1.0
    for i in range(d.size):
        room = d[i]
        if limits is not None and span[i] < np.inf:
            room = min(d[i], e[i])
        if room > far:
            pivot, far = i, room
    return pivot


@inner
def _weigh_constraints(v: Floats) -> tuple[int, float]:
    """Fill ROOT = (q / s)^(1/2) and RESIDUAL, clear MEAN; return the anchor and sum q / s."""
    q, s, c = v[at.Q], v[at.S], v[at.C]
    root, residual, mean = v[at.ROOT], v[at.RESIDUAL], v[at.MEAN]
    anchor, total = int(0), 0.0
    for b in range(q.size):
        weight = q[b] / s[b]
        root[b] = np.sqrt(weight)
        total += weight
        if root[b] > root[anchor]:
            anchor = b
    for b in range(q.size):
        residual[b] = s[b] - s[anchor] + (c[b] - c[anchor])
        mean[b] = 0.0
    return anchor, total


@inner
def _fill_remainder(
    v: Floats, a: Floats, limits: LimitWork | None, pivot: int, total: float
) -> float:
    """Set the upper triangle to all but the squares of curves and slopes; return `shared`."""
    m, w, u, k, flat, mean = v[at.M], v[at.W], v[at.U], v[at.K], v[at.FLAT], v[at.MEAN]
    e, n, matrix = v[at.E], v[at.N], a[at.NEWTON]
    d = v[at.P] if limits is None else v[at.D]
    shared: float = 2.0 * k[pivot] / (w[pivot] * (u[pivot] * u[pivot] + k[pivot]))
    stiff = shared
    if limits is None or d[pivot] > 0.0:
        stiff += m[pivot] / d[pivot]
    if limits is not None:
        stiff += n[pivot] / e[pivot]
    for i in range(d.size):
        along, down = stiff * d[i], mean[i] / total
        for j in range(i, d.size):
            matrix[i, j] = along * d[j] - down * mean[j]
        matrix[i, i] += flat[i] + d[i] * m[i]
        if limits is not None:
            matrix[i, i] += d[i] * d[i] * (n[i] / e[i])
    return shared


@inner
def _add_sparse_squares(factors: Floats, pattern: Pattern, n_full: int, matrix: Floats) -> Floats:
    """Add the squares of the rows with few entries, and return the full rows in one block."""
    n = matrix.shape[0]
    full = np.empty((2 * n_full, n))
    size = 0
    for r in range(2 * n):
        first, length = pattern.start[r % n], pattern.length[r % n]
        if length > 0:
            add_sparse_square(factors[r], pattern.action[first : first + length], matrix)
        else:
            for j in range(n):
                full[size, j] = factors[r, j]
            size += 1
    return full


@inner
def _fill_slopes(
    v: Floats, a: Floats, x: Floats, head: int, anchor: int, sparse: bool, pattern: Pattern
) -> None:
    """Row b: root_b x_j (d_j - d_head) with d the gradient of constraint b minus the anchor's.

    Steps are in units of x, which is p here, and another one with limits.

    The gradient of (1 - 2 p_b) / W_b is -(2 W_others + G_bb) / W^2 in p_b, and
    -(1 - 2 p_b) / W^2 G_jb in the other p_j. In a sparse graph the gradient of the anchor is not
    subtracted, see `assemble`.
    """
    n = v.shape[1]
    p, loops, w, w_others, roots = v[at.P], v[at.LOOPS], v[at.W], v[at.W_OTHERS], v[at.ROOT]
    seen_by, slopes = a[at.SEEN_BY], a[at.SLOPES]
    start, action, length = pattern.start, pattern.action, pattern.length
    anchor_row = slopes[anchor]
    for turn in range(1 if sparse else 0, n + 1):  # the anchor first: the others subtract it
        b = anchor if turn == 0 else turn - 1
        if turn > 0 and b == anchor and not sparse:
            continue
        w_b, p_b, root = w[b], p[b], roots[b]
        own = -(2.0 * (w_others[b] / w_b) + loops[b] / w_b) / w_b
        others = -(1.0 - 2.0 * p_b) / w_b / w_b
        seen, row = seen_by[b], slopes[b]
        if length[b] > 0:
            for e in range(start[b], start[b] + length[b]):
                row[action[e]] = root * (x[action[e]] * (others * seen[action[e]]))
            row[b] = root * (x[b] * own)
            continue
        base = own if b == head else others * seen[head]
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
def _fill_curves(v: Floats, a: Floats, x: Floats, head: int, pattern: Pattern) -> None:
    """The curvature of (u_i^2 + k_i) / W_i: the square of row i, and a diagonal rest in FLAT.

    With N = u^2 + k the row is (2 N / W^3)^(1/2) (G_.i - (u W / N) e_i), relative to the head and
    in units of x; the rest is 2 k / (W N). The e_i of the head is minus the sum of all others.
    """
    n = v.shape[1]
    q, loops, flat = v[at.Q], v[at.LOOPS], v[at.FLAT]
    w, w_others, u, k = v[at.W], v[at.W_OTHERS], v[at.U], v[at.K]
    seen_by, curves = a[at.SEEN_BY], a[at.CURVES]
    start, action, length = pattern.start, pattern.action, pattern.length
    for i in range(n):
        w_i, u_i, k_i, loop = w[i], u[i], k[i], loops[i]
        size = u_i * u_i + k_i
        factor = np.sqrt(2.0 * size / w_i) / w_i
        share_u, share_k = u_i / size, k_i / size
        own = w_others[i] + q[i] * loop
        seen, row = seen_by[i], curves[i]
        if i == head:
            for j in range(n):
                entry = share_k * (seen[j] - loop) + share_u * (own + u_i * seen[j])
                row[j] = factor * x[j] * entry
            row[i] = 0.0
            flat[i] = 0.0
        else:
            base = seen[head]
            if length[i] > 0:
                for e in range(start[i], start[i] + length[i]):
                    row[action[e]] = factor * x[action[e]] * seen[action[e]]
            else:
                for j in range(n):
                    row[j] = factor * x[j] * (seen[j] - base)
            row[i] = factor * x[i] * (share_k * (loop - base) - share_u * (own + u_i * base))
            flat[i] = 2.0 * share_k / w_i * x[i] * x[i]
