"""The sparsity pattern of the Newton system of a large sparse graph, and products that use it.

Row i of CURVES and of SLOPES has entries at i and at the actions that reveal i. Everything is
taken relative to the head (see `newton_system`), which fills the rows of the actions that the head
reveals: the fill-in. If there are few of those, loops over all rows touch a few entries of each
instead of n. In a dense graph every row is full.
"""

from typing import NamedTuple

import numpy as np

from graphcb.compilation import inner, inner_fused
from graphcb.exploration.solver.cholesky import dot
from graphcb.exploration.solver.workspace import Floats, Indices

SPARSE_FROM = 128  # smaller systems are quick enough when treated as dense, and more exact
SPARSE_SHARE = 8  # at most one entry, and one full row, in this many: otherwise it does not pay


class Pattern(NamedTuple):
    """Row i has entries at `action[start[i] : start[i] + length[i]]`, or everywhere if that is 0.

    `start` is empty for a dense graph. `length` depends on the head and is set by `fill_in`.
    """

    start: Indices  # (n + 1,)
    action: Indices
    length: Indices  # (n,)


@inner
def find_pattern(seen_by: Floats, allowed: bool) -> Pattern:
    """The pattern of a large sparse graph if `allowed`; otherwise that of a dense one."""
    n = seen_by.shape[0]
    length = np.empty(n, dtype=np.int64)
    entries = n  # the diagonal, which is zero in `seen_by` and not in the rows
    sparse = allowed and n >= SPARSE_FROM
    if sparse:
        for i in range(n):
            for j in range(n):
                entries += seen_by[i, j] != 0.0
    if not sparse or SPARSE_SHARE * entries > n * n:
        return Pattern(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), length)
    start, action = np.empty(n + 1, dtype=np.int64), np.empty(entries, dtype=np.int64)
    filled = 0
    for i in range(n):
        start[i] = filled
        for j in range(n):
            if j == i or seen_by[i, j] != 0.0:
                action[filled] = j
                filled += 1
    start[n] = filled
    return Pattern(start, action, length)


@inner
def fill_in(head: int, seen_by: Floats, pattern: Pattern) -> int:
    """Set `length` for this head and return the number of full rows: n if sparsity does not pay."""
    n: int = seen_by.shape[0]
    start, length = pattern.start, pattern.length
    full: int = 0
    for i in range(start.size - 1):
        is_full = i == head or seen_by[i, head] != 0.0
        full += int(is_full)
        length[i] = 0 if is_full else start[i + 1] - start[i]
    if start.size > 0 and SPARSE_SHARE * full <= n:
        return full
    for i in range(n):
        length[i] = 0
    return n


@inner_fused
def add_transposed_product(
    matrix: Floats, weights: Floats, pattern: Pattern, target: Floats
) -> None:
    """target += matrix.T @ weights"""
    start, action, length = pattern.start, pattern.action, pattern.length
    for i in range(target.size):
        weight, row = weights[i], matrix[i]
        if length[i] == 0:
            for j in range(target.size):
                target[j] += weight * row[j]
        else:
            for e in range(start[i], start[i] + length[i]):
                target[action[e]] += weight * row[action[e]]


@inner_fused
def multiply(matrix: Floats, vector: Floats, pattern: Pattern, out: Floats) -> None:
    """out = matrix @ vector"""
    start, action, length = pattern.start, pattern.action, pattern.length
    for i in range(vector.size):
        row = matrix[i]
        if length[i] == 0:
            out[i] = dot(row, vector)
        else:
            total = 0.0
            for e in range(start[i], start[i] + length[i]):
                total += row[action[e]] * vector[action[e]]
            out[i] = total
