"""The Newton system of the interior-point method, reduced to one symmetric positive matrix.

Unknowns are p, q, s and m (see `layout`) with

    g(p, q) - m = const,   s + c(p) = const,   s q = p m = target,   sum p = sum q = 1.

The two constants are removed by taking every equation relative to one action: the head (the
largest p) for the first, the anchor (the largest q / s) for the second. What is left is
positive, and differences of huge numbers, which appear when hardly anybody sees the head, are
taken between numbers known to full precision instead of inside the elimination. Steps are in
units of p: y = dp / p.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.compilation import part
from graphcb.exploration.solver.cholesky import (
    add_outer_products,
    add_sparse_outer_product,
    factorise,
    solve_in_place,
)
from graphcb.exploration.solver.sparsity import Places, add_rows, fill_rows_of, multiply_rows
from graphcb.exploration.solver.workspace import (
    CURVE,
    DM,
    DP,
    DQ,
    DS,
    FLAT,
    LOOPS,
    MEAN,
    NEWTON,
    RESIDUAL,
    RIGHT,
    ROOT,
    SEEN_BY,
    SLOPE,
    SPARE,
    TO_M,
    TO_S,
    W_OTHERS,
    C,
    G,
    K,
    M,
    P,
    Q,
    S,
    U,
    W,
)

Floats = NDArray[np.float64]


class Fixed(NamedTuple):
    """What the equations are relative to, and the sums that go with it."""

    head: int
    anchor: int
    total: float  # sum of q / s
    shared: float  # curvature along the sum of all steps, from the term of the head


@part
def assemble(v: Floats, a: Floats, head: int, places: Places) -> Fixed:
    """Build the matrix where `certificate.evaluate` was called, and factorise it.

    A sparse graph is built from its few entries. The slopes are then left as they are instead of
    relative to the anchor, which would fill them: the matrix is the same but for rounding.
    """
    n = v.shape[1]
    p, m, s, root, mean, matrix = v[P], v[M], v[S], v[ROOT], v[MEAN], a[NEWTON]
    anchor = head - head  # not a literal, for which numba would compile callees once more
    total = 0.0
    for b in range(n):
        weight = v[Q, b] / s[b]
        root[b] = np.sqrt(weight)
        total += weight
        if root[b] > root[anchor]:
            anchor = b
        mean[b] = 0.0
    n_full = fill_rows_of(head, a[SEEN_BY], places)
    sparse = n_full < n
    _fill_slopes(v, a, head, anchor, sparse, places)
    _fill_curves(v, a, head, places)
    for b in range(n):
        v[RESIDUAL, b] = s[b] - s[anchor] + (v[C, b] - v[C, anchor])
    add_rows(a[SLOPE], root, places, mean)
    k = v[K, head]
    shared = 2.0 * k / (v[W, head] * (v[U, head] * v[U, head] + k))
    for i in range(n):
        along, down = (shared + m[head] / p[head]) * p[i], mean[i] / total
        for j in range(i, n):
            matrix[i, j] = along * p[j] - down * mean[j]
        matrix[i, i] += v[FLAT, i] + p[i] * m[i]
    rows = a[CURVE : SLOPE + 1].reshape(2 * n, n)
    if sparse:
        rows = _add_sparse_rows(rows, places, n_full, matrix)
    add_outer_products(1.0, rows, head - head, n, matrix)
    for j in range(n):
        matrix[min(j, head), max(j, head)] = 0.0
    matrix[head, head] = 1.0
    factorise(matrix)
    return Fixed(head, anchor, total, shared)


@part
def _add_sparse_rows(rows: Floats, places: Places, n_full: int, matrix: Floats) -> Floats:
    """Add the products of the rows with few entries, and return the others in one block."""
    n = matrix.shape[0]
    full = np.empty((2 * n_full, n))
    size = 0
    for r in range(2 * n):
        first, length = places.start[r % n], places.length[r % n]
        if length > 0:
            add_sparse_outer_product(rows[r], places.action[first : first + length], matrix)
        else:
            for j in range(n):
                full[size, j] = rows[r, j]
            size += 1
    return full


@part
def _fill_slopes(
    v: Floats, a: Floats, head: int, anchor: int, sparse: bool, places: Places
) -> None:
    """Row b: p_j (d_j - d_head) with d the gradient of constraint b less that of the anchor.

    The gradient of (1 - 2 p_b) / W_b has the own part -(2 W_others + G_bb) / W^2 and for the
    others -(1 - 2 p_b) / W^2 * G_jb. Rows are weighted by (q_b / s_b)^(1/2). In a sparse graph
    the slope of the anchor is not taken off, see `assemble`.
    """
    n = v.shape[1]
    p, start, action, length = v[P], places.start, places.action, places.length
    base_row = a[SLOPE, anchor]
    for turn in range(1 if sparse else 0, n + 1):
        b = anchor if turn == 0 else turn - 1
        if turn > 0 and b == anchor and not sparse:
            continue
        w = v[W, b]
        own = -(2.0 * (v[W_OTHERS, b] / w) + v[LOOPS, b] / w) / w
        others = -(1.0 - 2.0 * p[b]) / w / w
        seen_by, row, root = a[SEEN_BY, b], a[SLOPE, b], v[ROOT, b]
        if length[b] > 0:
            for e in range(start[b], start[b] + length[b]):
                row[action[e]] = root * (p[action[e]] * (others * seen_by[action[e]]))
            row[b] = root * (p[b] * own)
            continue
        base = own if b == head else others * seen_by[head]
        for j in range(n):
            row[j] = p[j] * (others * seen_by[j] - base)
        row[b] = p[b] * (own - base)
        if turn > 0:
            for j in range(n):
                row[j] = root * (row[j] if sparse else row[j] - base_row[j])
    if not sparse:
        for j in range(n):
            base_row[j] = 0.0


@part
def _fill_curves(v: Floats, a: Floats, head: int, places: Places) -> None:
    """Row i: the curvature of (u_i^2 + k_i) / W_i is a square along it, and a diagonal rest.

    With N = u^2 + k the row is (2 N / W^3)^(1/2) (G_.i - (u W / N) e_i), relative to the head and
    in units of p; the rest is 2 k / (W N). The head's own e_i is minus all the others.
    """
    n = v.shape[1]
    p, start, action, length = v[P], places.start, places.action, places.length
    for i in range(n):
        w, u, k, loop = v[W, i], v[U, i], v[K, i], v[LOOPS, i]
        size = u * u + k
        factor = np.sqrt(2.0 * size / w) / w
        share_u, share_k = u / size, k / size
        own = v[W_OTHERS, i] + v[Q, i] * loop
        seen_by, row = a[SEEN_BY, i], a[CURVE, i]
        if i == head:
            for j in range(n):
                part = share_k * (seen_by[j] - loop) + share_u * (own + u * seen_by[j])
                row[j] = factor * p[j] * part
            row[i] = 0.0
            v[FLAT, i] = 0.0
        else:
            base = seen_by[head]
            if length[i] > 0:
                for e in range(start[i], start[i] + length[i]):
                    row[action[e]] = factor * p[action[e]] * seen_by[action[e]]
            else:
                for j in range(n):
                    row[j] = factor * p[j] * (seen_by[j] - base)
            row[i] = factor * p[i] * (share_k * (loop - base) - share_u * (own + u * base))
            v[FLAT, i] = 2.0 * share_k / w * p[i] * p[i]


@part
def solve_direction(v: Floats, a: Floats, fixed: Fixed, refinements: int, places: Places) -> None:
    """Fill DP, DQ, DS and DM: the step that changes s q by TO_S and p m by TO_M."""
    n = v.shape[1]
    head, anchor = fixed.head, fixed.anchor
    p, q, s, m, g = v[P], v[Q], v[S], v[M], v[G]
    dp, dq, ds, dm = v[DP], v[DQ], v[DS], v[DM]
    to_s, to_m, root, right = v[TO_S], v[TO_M], v[ROOT], v[RIGHT]
    level = g[head] - m[head] - to_m[head] / p[head]
    for j in range(n):
        right[j] = to_m[j] - p[j] * ((g[j] - m[j]) - level)
        dp[j] = 0.0
    pull = 0.0
    for b in range(n):
        part = to_s[b] / s[b] + root[b] * root[b] * v[RESIDUAL, b]
        pull += part
        ds[b] = -part / root[b]
    add_rows(a[SLOPE], ds, places, right)
    for j in range(n):
        right[j] += v[MEAN, j] * (pull / fixed.total)
    for turn in range(refinements + 1):
        if turn > 0:
            _stationarity_left(v, a, fixed, places)
        right[head] = 0.0
        solve_in_place(a[NEWTON], right)
        moved = along = 0.0
        for j in range(n):  # dp in units of p until the end
            dp[j] += right[j]
            moved += p[j] * dp[j]
            along += v[MEAN, j] * dp[j]
        lift = (pull + along) / fixed.total
        kept = 0.0
        multiply_rows(a[SLOPE], dp, places, ds)
        for b in range(n):
            ds[b] = lift - ds[b] / root[b] - v[RESIDUAL, b]
            dq[b] = (to_s[b] - q[b] * ds[b]) / s[b]
            kept += dq[b]
            dm[b] = to_m[b] / p[b] - m[b] * dp[b]
        dq[anchor] -= kept
        dm[head] = (to_m[head] + m[head] * moved) / p[head]
    for j in range(n):
        dp[j] *= p[j]
    dp[head] = -moved


@part
def _stationarity_left(v: Floats, a: Floats, fixed: Fixed, places: Places) -> None:
    """What the step leaves of the first equation, in RIGHT: a small sum, computed afresh."""
    n = v.shape[1]
    head = fixed.head
    p, m, g, dp, dq, dm = v[P], v[M], v[G], v[DP], v[DQ], v[DM]
    right, spare = v[RIGHT], v[SPARE]
    moved = 0.0
    for j in range(n):
        moved += p[j] * dp[j]
    level = g[head] - m[head] - dm[head] - fixed.shared * moved
    for j in range(n):
        right[j] = -p[j] * ((g[j] - m[j] - dm[j]) - level) - v[FLAT, j] * dp[j]
    multiply_rows(a[CURVE], dp, places, spare)
    for i in range(n):
        spare[i] = -spare[i]
    add_rows(a[CURVE], spare, places, right)
    for i in range(n):
        spare[i] = -dq[i] / v[ROOT, i]
    add_rows(a[SLOPE], spare, places, right)
