"""The Newton system of the interior-point method, reduced to one symmetric positive matrix.

The perturbed optimality conditions in the unknowns p, q, s and m are

    g(p, q) - m = const          stationarity in p
    c(p) + s = const             the constraints, with slacks
    s_b q_b = p_i m_i = target   complementarity
    sum p = sum q = 1,   p, q, s, m > 0.

The two constants are the multiplier of sum p = 1 and the level of the maximum. They are removed by
taking every equation relative to one action: the head (the largest p) for the first and the
anchor (the largest q / s) for the second. Differences of huge numbers, which appear when hardly
any action reveals the head, are then taken between numbers known to full precision instead of
inside the elimination.

With steps in units of p, y = dp / p with y_head eliminated, and s, q and m eliminated, the matrix

    sum_i curve_i curve_i.T + diag(flat + p m) + (shared + m_h / p_h) p p.T       Hessian, p >= 0
    + sum_b slope_b slope_b.T - mean mean.T / total                               constraints

is positive. The curves, `flat` and `shared` are the Hessian of the Lagrangian. The rows slope_b are
(q_b / s_b)^(1/2) times the gradients of the constraints; `mean` is their weighted sum, `total` the
sum of q / s, and the last term is there because the level moves along.
"""

from typing import NamedTuple

import numpy as np

from graphcb.compilation import inner
from graphcb.exploration.solver import workspace as at
from graphcb.exploration.solver.cholesky import add_sparse_square, add_squares, factorise
from graphcb.exploration.solver.sparsity import Pattern, add_transposed_product, fill_in
from graphcb.exploration.solver.workspace import Floats, squares


class System(NamedTuple):
    """What the equations are relative to, and the sums that go with it."""

    head: int
    anchor: int
    total: float  # sum of q / s
    shared: float  # curvature along the sum of all steps, from the term of the head


@inner
def assemble(v: Floats, a: Floats, head: int, pattern: Pattern) -> System:
    """Build the matrix at the iterate where `certificate.evaluate` was called; factorise it.

    A sparse graph is built from its few entries. The slopes are then left as they are instead of
    relative to the anchor, which would fill them: the matrix is the same except for rounding.
    """
    n = v.shape[1]
    anchor, total = weigh_constraints(v)
    n_full = fill_in(head, a[at.SEEN_BY], pattern)
    sparse = n_full < n
    fill_slopes(v, a, v[at.P], head, anchor, sparse, pattern)
    fill_curves(v, a, v[at.P], head, pattern)
    add_transposed_product(a[at.SLOPES], v[at.ROOT], pattern, v[at.MEAN])
    shared = _fill_remainder(v, a, head, total)
    matrix = a[at.NEWTON]
    factors = squares(a, n)
    if sparse:
        factors = add_sparse_squares(factors, pattern, n_full, matrix)
    add_squares(1.0, factors, int(0), n, matrix)
    for j in range(n):  # y_head = 0
        matrix[min(j, head), max(j, head)] = 0.0
    matrix[head, head] = 1.0
    factorise(matrix)
    return System(head, anchor, total, shared)


@inner
def weigh_constraints(v: Floats) -> tuple[int, float]:
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
def _fill_remainder(v: Floats, a: Floats, head: int, total: float) -> float:
    """Set the upper triangle to all but the squares of curves and slopes; return `shared`."""
    p, m, w, u, k, flat, mean = v[at.P], v[at.M], v[at.W], v[at.U], v[at.K], v[at.FLAT], v[at.MEAN]
    matrix = a[at.NEWTON]
    shared: float = 2.0 * k[head] / (w[head] * (u[head] * u[head] + k[head]))
    for i in range(p.size):
        along, down = (shared + m[head] / p[head]) * p[i], mean[i] / total
        for j in range(i, p.size):
            matrix[i, j] = along * p[j] - down * mean[j]
        matrix[i, i] += flat[i] + p[i] * m[i]
    return shared


@inner
def add_sparse_squares(factors: Floats, pattern: Pattern, n_full: int, matrix: Floats) -> Floats:
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
def fill_slopes(
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
def fill_curves(v: Floats, a: Floats, x: Floats, head: int, pattern: Pattern) -> None:
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
