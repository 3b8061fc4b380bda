"""Dense linear algebra: a symmetric positive definite system by Cholesky, in place, one thread.

Written out because the systems are small and solved thousands of times per second: a threaded
library spends more time waking its threads than computing. Only upper triangles are read and
written.
"""

import numpy as np

from graphcb.compilation import inner_fused
from graphcb.exploration.solver.workspace import Floats, Indices

PANEL = 8  # pivots eliminated together: one pass over the rest subtracts all of them
BLOCK = 32  # pivots that first take in everything above, so that a large matrix is read less often


@inner_fused
def add_squares(sign: float, factors: Floats, first: int, stop: int, matrix: Floats) -> None:
    """matrix[first:stop] += sign * (factors.T @ factors)[first:stop], upper triangle only.

    `factors` is (m, n). Eight of its rows at a time, so that each entry of the matrix is loaded
    and stored once for eight products; with one array written and eight read the compiler still
    vectorises the inner loop.
    """
    m, n = factors.shape
    i = 0
    while i + 8 <= m:
        eight = factors[i : i + 8]
        for j in range(first, stop):
            # Slices, so that indices start at 0 and are seen not to be negative.
            target = matrix[j, j:]
            r0, r1, r2, r3 = eight[0, j:], eight[1, j:], eight[2, j:], eight[3, j:]
            r4, r5, r6, r7 = eight[4, j:], eight[5, j:], eight[6, j:], eight[7, j:]
            a0, a1, a2, a3 = sign * r0[0], sign * r1[0], sign * r2[0], sign * r3[0]
            a4, a5, a6, a7 = sign * r4[0], sign * r5[0], sign * r6[0], sign * r7[0]
            for k in range(n - j):
                low = a0 * r0[k] + a1 * r1[k] + a2 * r2[k] + a3 * r3[k]
                target[k] += low + (a4 * r4[k] + a5 * r5[k] + a6 * r6[k] + a7 * r7[k])
        i += 8
    while i + 2 <= m:
        for j in range(first, stop):
            target, r0, r1 = matrix[j, j:], factors[i, j:], factors[i + 1, j:]
            a0, a1 = sign * r0[0], sign * r1[0]
            for k in range(n - j):
                target[k] += a0 * r0[k] + a1 * r1[k]
        i += 2
    if i < m:
        for j in range(first, stop):
            target, r0 = matrix[j, j:], factors[i, j:]
            a0 = sign * r0[0]
            for k in range(n - j):
                target[k] += a0 * r0[k]


@inner_fused
def add_sparse_square(row: Floats, entries: Indices, matrix: Floats) -> None:
    """matrix += row.T @ row on the upper triangle; `entries`, increasing, are those not zero."""
    for first in range(entries.size):
        j = entries[first]
        factor, target = row[j], matrix[j]
        for second in range(first, entries.size):
            k = entries[second]
            target[k] += factor * row[k]


@inner_fused
def factorise(matrix: Floats) -> None:
    """Cholesky: overwrite the upper triangle with U, where U.T @ U is the matrix.

    A pivot that rounding has made negative means a direction without curvature. It is
    set to infinity, so that the solution does not move in that direction.
    """
    n = matrix.shape[0]
    for start in range(0, n, PANEL):
        end = min(start - start % BLOCK + BLOCK, n)
        if start % BLOCK == 0:
            add_squares(-1.0, matrix[:start], start, end, matrix)
        stop = min(start + PANEL, n)
        for k in range(start, stop):
            row = matrix[k, k:]
            for i in range(start, k):
                above = matrix[i, k:]
                factor = above[0]
                for j in range(n - k):
                    row[j] -= factor * above[j]
            pivot = row[0]
            scale = 1.0 / np.sqrt(pivot) if pivot > 0.0 else 0.0
            for j in range(n - k):
                row[j] *= scale
            if not pivot > 0.0:
                row[0] = np.inf
        if stop < end:
            add_squares(-1.0, matrix[start:stop], stop, end, matrix)


@inner_fused
def dot(left: Floats, right: Floats) -> float:
    """left @ right, as four independent sums that can run side by side."""
    n = left.size
    s0 = s1 = s2 = s3 = 0.0
    for k in range(n // 4):
        j = 4 * k
        s0 += left[j] * right[j]
        s1 += left[j + 1] * right[j + 1]
        s2 += left[j + 2] * right[j + 2]
        s3 += left[j + 3] * right[j + 3]
    for j in range(n - n % 4, n):
        s0 += left[j] * right[j]
    return (s0 + s1) + (s2 + s3)


@inner_fused
def solve_in_place(factor: Floats, right: Floats) -> None:
    """Overwrite `right` with the solution of U.T @ U @ x = right, given the U of `factorise`."""
    n = right.size
    for i in range(n):
        row, below = factor[i, i:], right[i:]
        x = below[0] / row[0]
        for j in range(1, n - i):
            below[j] -= row[j] * x
        below[0] = x
    for i in range(n - 1, -1, -1):
        right[i] = (right[i] - dot(factor[i, i + 1 :], right[i + 1 :])) / factor[i, i]
