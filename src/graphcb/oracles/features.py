"""Contexts of any scale as rows with a norm of about 1, for oracles that scale for themselves.

Dense contexts are scaled by what was seen of each number so far (`contexts.scaling`). Sparse ones
are divided, feature by feature, by the largest value seen where that is above 1, and then by their
norm. Sparse features get places in the order in which they first appear, so memory grows with the
features seen and not with the largest index.
"""

import math
from typing import Any

import numpy as np

from graphcb.checks import LARGEST, as_count
from graphcb.compilation import compiled
from graphcb.contexts.scaling import NumberScales
from graphcb.loaded import Array, Count, Learned, Made
from graphcb.oracles.rows import (
    Columns,
    Floats,
    SparseRow,
    as_dense,
    as_row,
    check_finite,
    every_index,
    is_sparse,
)

DENSE_CONSTANT = math.sqrt(10.0)  # beside standardised features: the mean loss is learned first
SPARSE_CONSTANT = 0.05  # beside words: what is new should not inherit much from what is known
LARGEST_INDEX = 2**62


class DenseFeatures:
    """The numbers of contexts (n_features,) on one scale, and a constant behind them.

    A feature that never varies becomes zero.
    """

    learned = Learned(scales=Made())

    def __init__(self, n_features: int) -> None:
        self.n_features = as_count("n_features", n_features)
        self.n_places = n_features + 1
        self.scales = NumberScales(n_features)

    def read(self, context: Any) -> Floats:
        """The context, checked."""
        if is_sparse(context):
            raise ValueError(
                f"`context` must have shape ({self.n_features},), like those learned from so far, "
                "got a sparse row; use one oracle for dense and one for sparse contexts"
            )
        x = as_dense(context, self.n_features)
        check_finite(every_index(self.n_features), x)
        return x

    def scale(self, x: Floats) -> Floats:
        """The row (n_places,): features and constant, as if `x` were counted."""
        return np.append(self.scales.scale(x), DENSE_CONSTANT) / math.sqrt(self.n_places)

    def learn(self, x: Floats) -> None:
        """Count the context."""
        self.scales.count(x)


class SparseFeatures:
    """The features of sparse contexts by place; the constant has place 0."""

    learned = Learned(
        n_places=Count(1),
        keys=Array(None, dtype=np.int64, least=-1, most=LARGEST_INDEX),
        key_places=Array("keys", dtype=np.int64, least=0),
        largest=Array("keys", least=1.0, most=LARGEST),
    )

    def __init__(self) -> None:
        self.keys = np.full(64, -1)
        self.key_places = np.zeros(64, dtype=np.int64)
        self.largest = np.ones(64)  # by place, at least 1
        self.n_places = 1

    def read(self, context: Any) -> SparseRow:
        """The context, checked."""
        if not is_sparse(context):
            raise ValueError(
                "`context` must be a sparse row, like those learned from so far, got a "
                f"{type(context).__name__}; use one oracle for dense and one for sparse contexts"
            )
        row = as_row(context, LARGEST_INDEX if isinstance(context, tuple) else context.shape[-1])
        check_finite(*row)
        return row

    def scale(self, row: SparseRow) -> tuple[SparseRow, float]:
        """The row by place, and the squared norm of what it has of features never seen."""
        places, values = np.empty(row[0].size + 1, np.int64), np.empty(row[0].size + 1)
        size, novelty = _scale_sparse(
            *row, self.keys, self.key_places, self.largest, places, values
        )
        return (places[:size], values[:size]), novelty

    def learn(self, row: SparseRow) -> None:
        """Give new features places, and note the largest values."""
        needed = self.n_places + row[0].size
        if 2 * needed > self.keys.size:
            capacity = 1 << (4 * needed - 1).bit_length()
            keys, key_places = np.full(capacity, -1), np.zeros(capacity, dtype=np.int64)
            _move_keys(self.keys, self.key_places, keys, key_places)
            self.largest = np.append(self.largest, np.ones(capacity - self.largest.size))
            self.keys, self.key_places = keys, key_places
        self.n_places = _count_sparse(*row, self.keys, self.key_places, self.largest, self.n_places)

    def check_loaded(self) -> None:
        """Refuse keys that have no place of their own."""
        if not fits_table(self.keys, 2 * self.n_places):
            raise ValueError(f"{self.n_places} places must be in a table of a fitting power of 2")
        used = np.sort(self.key_places[self.keys >= 0])
        if not np.array_equal(used, np.arange(1, self.n_places)):
            raise ValueError("each key must have a place of its own, in the order of their number")


def fits_table(keys: Columns, size: int) -> bool:
    """Whether an open hash table has a capacity that is allowed, and is enough."""
    return keys.size >= max(64, size) and keys.size.bit_count() == 1


@compiled
def _scale_sparse(
    indices: Columns,
    values: Floats,
    keys: Columns,
    key_places: Columns,
    largest: Floats,
    places: Columns,
    scaled: Floats,
) -> tuple[int, float]:
    """Fill `places` and `scaled`, the constant first; how many there are, and the novelty."""
    size, known, new = 1, 0.0, 0.0
    for k in range(indices.size):
        at = find_key(keys, indices[k])
        if keys[at] < 0:
            new += min(abs(values[k]), 1.0) ** 2
            continue
        place = key_places[at]
        value = values[k] / max(largest[place], abs(values[k]))
        places[size], scaled[size] = place, value
        known += value * value
        size += 1
    places[0], scaled[0] = 0, SPARSE_CONSTANT
    if known + new == 0.0:
        return size, 0.0
    for k in range(1, size):
        scaled[k] /= math.sqrt(known + new)
    return size, new / (known + new)


@compiled
def _count_sparse(
    indices: Columns,
    values: Floats,
    keys: Columns,
    key_places: Columns,
    largest: Floats,
    n_places: int,
) -> int:
    """Give new keys the next places; the number of places afterwards."""
    for k in range(indices.size):
        at = find_key(keys, indices[k])
        if keys[at] < 0:
            keys[at], key_places[at] = indices[k], n_places
            n_places += 1
        place = key_places[at]
        largest[place] = max(largest[place], abs(values[k]))
    return n_places


@compiled
def _move_keys(keys: Columns, places: Columns, new_keys: Columns, new_places: Columns) -> None:
    """Copy a table of keys into a larger, empty one."""
    for k in range(keys.size):
        if keys[k] >= 0:
            at = find_key(new_keys, keys[k])
            new_keys[at], new_places[at] = keys[k], places[k]


@compiled
def find_key(keys: Columns, key: int) -> int:
    """Where the key is in an open hash table, or the free place where it belongs."""
    mask = keys.size - 1
    at = ((key ^ (key >> 15)) * 2654435761) & mask
    while keys[at] >= 0 and keys[at] != key:
        at = (at + 1) & mask
    return at
