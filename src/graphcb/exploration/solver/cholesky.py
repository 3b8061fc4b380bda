"""Solving with a symmetric positive matrix, in place and without threads.

Written out because the systems are small and called thousands of times a second: a threaded
library spends more time waking its threads than computing.
"""

import numpy as np
from numpy.typing import NDArray

from graphcb.compilation import fused_part

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

PANEL = 8  # rows eliminated together: one pass over the rest subtracts all of them
BLOCK = 32  # rows that first take in all rows above, so that a large matrix is read less often


@fused_part
def add_outer_products(sign: float, rows: Floats, first: int, stop: int, matrix: Floats) -> None:
    """matrix += sign * rows.T @ rows on the upper triangle, rows `first` to `stop`; rows is (m, n).

    Eight rows at a time, so that each entry is loaded and stored once for eight products; with
    one array written and eight read the compiler still turns the inner loop into vectors.
    """
    m, n = rows.shape
    i = 0
    while i + 8 <= m:
        for j in range(first, stop):
            # Slices, so that indices start at 0 and are seen not to be negative.
            target = matrix[j, j:]
            r0, r1, r2, r3 = rows[i, j:], rows[i + 1, j:], rows[i + 2, j:], rows[i + 3, j:]
            r4, r5, r6, r7 = rows[i + 4, j:], rows[i + 5, j:], rows[i + 6, j:], rows[i + 7, j:]
            a0, a1, a2, a3 = sign * r0[0], sign * r1[0], sign * r2[0], sign * r3[0]
            a4, a5, a6, a7 = sign * r4[0], sign * r5[0], sign * r6[0], sign * r7[0]
            for k in range(n - j):
                low = a0 * r0[k] + a1 * r1[k] + a2 * r2[k] + a3 * r3[k]
                target[k] += low + (a4 * r4[k] + a5 * r5[k] + a6 * r6[k] + a7 * r7[k])
        i += 8
    while i + 2 <= m:
        for j in range(first, stop):
            target, r0, r1 = matrix[j, j:], rows[i, j:], rows[i + 1, j:]
            a0, a1 = sign * r0[0], sign * r1[0]
            for k in range(n - j):
                target[k] += a0 * r0[k] + a1 * r1[k]
        i += 2
    if i < m:
        for j in range(first, stop):
            target, r0 = matrix[j, j:], rows[i, j:]
            a0 = sign * r0[0]
            for k in range(n - j):
                target[k] += a0 * r0[k]


@fused_part
def add_sparse_outer_product(row: Floats, places: Indices, matrix: Floats) -> None:
    """matrix += row.T @ row on the upper triangle; `places`, increasing, are all that is not 0."""
    for first in range(places.size):
        j = places[first]
        factor, target = row[j], matrix[j]
        for second in range(first, places.size):
            k = places[second]
            target[k] += factor * row[k]


@fused_part
def factorise(matrix: Floats) -> None:
    """Overwrite the upper triangle with U, where U.T @ U is the matrix.

    A pivot that rounding has made negative stands for a direction without curvature: it is
    given an infinite one, so that the solution does not move that way.
    """
    n = matrix.shape[0]
    for start in range(0, n, PANEL):
        end = min(start - start % BLOCK + BLOCK, n)
        if start % BLOCK == 0:
            add_outer_products(-1.0, matrix[:start], start, end, matrix)
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
            add_outer_products(-1.0, matrix[start:stop], stop, end, matrix)


@fused_part
def dot(left: Floats, right: Floats) -> float:
    """left @ right in four sums side by side, which do not wait for each other."""
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


@fused_part
def solve_in_place(factor: Floats, right: Floats) -> None:
    """Overwrite `right` with the solution, given the U of `factorise`."""
    n = right.size
    for i in range(n):
        row, below = factor[i, i:], right[i:]
        x = below[0] / row[0]
        for j in range(1, n - i):
            below[j] -= row[j] * x
        below[0] = x
    for i in range(n - 1, -1, -1):
        right[i] = (right[i] - dot(factor[i, i + 1 :], right[i + 1 :])) / factor[i, i]
