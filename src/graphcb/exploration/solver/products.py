"""Products with a wide matrix: a few active actions by all that stay at their floors."""

from graphcb.compilation import inner_fused
from graphcb.exploration.solver.cholesky import dot
from graphcb.exploration.solver.workspace import Floats


@inner_fused
def add_combination(weights: Floats, matrix: Floats, out: Floats) -> None:
    """out += weights @ matrix, four rows at a time."""
    n, m = matrix.shape
    i = 0
    while i + 4 <= n:
        r0, r1, r2, r3 = matrix[i], matrix[i + 1], matrix[i + 2], matrix[i + 3]
        a0, a1, a2, a3 = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
        for b in range(m):
            out[b] += (a0 * r0[b] + a1 * r1[b]) + (a2 * r2[b] + a3 * r3[b])
        i += 4
    while i < n:
        row, weight = matrix[i], weights[i]
        for b in range(m):
            out[b] += weight * row[b]
        i += 1


@inner_fused
def add_products(matrix: Floats, vector: Floats, out: Floats) -> None:
    """out += matrix @ vector, four rows at a time."""
    n, m = matrix.shape
    i = 0
    while i + 4 <= n:
        r0, r1, r2, r3 = matrix[i], matrix[i + 1], matrix[i + 2], matrix[i + 3]
        s0 = s1 = s2 = s3 = t0 = t1 = t2 = t3 = 0.0
        for k in range(m // 2):
            b = 2 * k
            left, right = vector[b], vector[b + 1]
            s0 += r0[b] * left
            s1 += r1[b] * left
            s2 += r2[b] * left
            s3 += r3[b] * left
            t0 += r0[b + 1] * right
            t1 += r1[b + 1] * right
            t2 += r2[b + 1] * right
            t3 += r3[b + 1] * right
        if m % 2 == 1:
            last = vector[m - 1]
            s0 += r0[m - 1] * last
            s1 += r1[m - 1] * last
            s2 += r2[m - 1] * last
            s3 += r3[m - 1] * last
        out[i] += s0 + t0
        out[i + 1] += s1 + t1
        out[i + 2] += s2 + t2
        out[i + 3] += s3 + t3
        i += 4
    while i < n:
        out[i] += dot(matrix[i], vector)
        i += 1
