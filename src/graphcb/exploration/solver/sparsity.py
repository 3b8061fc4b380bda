"""Where the rows of the Newton system of a sparse graph have entries, and sums over them.

Row i of the slopes and of the curves has entries at i and at those who see i, unless the head
sees i: everything is relative to the head, which fills the row. Few are, so work that goes over
all rows goes over a few entries each. In a dense graph every row is full.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.compilation import fused_part, part
from graphcb.exploration.solver.cholesky import dot

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

SPARSE_FROM = 128  # smaller systems are quick enough when treated as dense, and more exact
SPARSE_SHARE = 8  # rows and entries at most one in so many, for it to pay


class Places(NamedTuple):
    """Of row i: `action[start[i] : start[i] + length[i]]`, or all actions if length[i] is 0."""

    start: Indices  # (n + 1,), or empty for a dense graph
    action: Indices
    length: Indices  # (n,)


@part
def find_places(seen_by: Floats, allowed: bool) -> Places:
    """The places of a large sparse graph, of any other none."""
    n = seen_by.shape[0]
    length = np.zeros(n, dtype=np.int64)
    entries = n  # the diagonal is zero here and not in the rows
    sparse = allowed and n >= SPARSE_FROM
    if sparse:
        for i in range(n):
            for j in range(n):
                entries += seen_by[i, j] != 0.0
    if not sparse or SPARSE_SHARE * entries > n * n:
        return Places(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), length)
    start, action = np.empty(n + 1, dtype=np.int64), np.empty(entries, dtype=np.int64)
    filled = 0
    for i in range(n):
        start[i] = filled
        for j in range(n):
            if j == i or seen_by[i, j] != 0.0:
                action[filled] = j
                filled += 1
    start[n] = filled
    return Places(start, action, length)


@part
def fill_rows_of(head: int, seen_by: Floats, places: Places) -> int:
    """Set the lengths for this head; how many rows are full now, all if sparsity would not pay."""
    n: int = seen_by.shape[0]
    start, length = places.start, places.length
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


@fused_part
def add_rows(rows: Floats, weights: Floats, places: Places, target: Floats) -> None:
    """target += weights @ rows"""
    start, action, length = places.start, places.action, places.length
    for i in range(target.size):
        weight, row = weights[i], rows[i]
        if length[i] == 0:
            for j in range(target.size):
                target[j] += weight * row[j]
        else:
            for e in range(start[i], start[i] + length[i]):
                target[action[e]] += weight * row[action[e]]


@fused_part
def multiply_rows(rows: Floats, vector: Floats, places: Places, out: Floats) -> None:
    """out = rows @ vector"""
    start, action, length = places.start, places.action, places.length
    for i in range(vector.size):
        row = rows[i]
        if length[i] == 0:
            out[i] = dot(row, vector)
        else:
            total = 0.0
            for e in range(start[i], start[i] + length[i]):
                total += row[action[e]] * vector[action[e]]
            out[i] = total
