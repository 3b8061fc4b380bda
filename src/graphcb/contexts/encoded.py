"""What an encoder makes of a context: one row that every oracle reads."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.compilation import compiled

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


class EncodedRow(NamedTuple):
    """Numbers on one scale, then words and marks of missing values.

    `indices` and `values` hold the `n_numbers` numbers first, 0 where one is missing, in
    the same order in every row; then each word and each mark. A feature that is one word has the
    value 1; the words of a text share it. Words have indices below `constant`, numbers above.
    """

    indices: Indices
    values: Floats
    n_numbers: int
    constant: int

    def pair(self) -> tuple[Indices, Floats]:
        """(indices, values) with a constant and a norm of about 1, for oracles that scale nothing.

        >>> row = EncodedRow(np.array([5, 6, 2]), np.array([0.0, -1.5, 1.0]), 2, 4)
        >>> row.pair()
        (array([5, 6, 2, 4]), array([ 0.  , -0.75,  0.5 ,  0.5 ]))
        """
        words = self.values[self.n_numbers :]
        weight = 1.0 / math.sqrt(1.0 + self.n_numbers + float(words @ words))
        size = self.values.size
        indices, values = np.empty(size + 1, dtype=np.int64), np.empty(size + 1)
        indices[:size], indices[size] = self.indices, self.constant
        np.multiply(self.values, weight, out=values[:size])
        values[size] = weight
        return indices, values


class EncodedRows(NamedTuple):
    """Several encoded rows, one after the other; row r is at starts[r] to starts[r + 1]."""

    starts: Indices
    indices: Indices
    values: Floats
    n_numbers: Indices
    constants: Indices

    @classmethod
    def of(cls, rows: Sequence[EncodedRow]) -> "EncodedRows":
        """Rows that were encoded one by one; there must be some."""
        starts = np.zeros(len(rows) + 1, dtype=np.int64)
        starts[1:] = [row.values.size for row in rows]
        return cls(
            starts.cumsum(),
            np.concatenate([row.indices for row in rows]),
            np.concatenate([row.values for row in rows]),
            np.array([row.n_numbers for row in rows], dtype=np.int64),
            np.array([row.constant for row in rows], dtype=np.int64),
        )

    def pairs(self) -> tuple[Indices, Indices, Floats] | None:
        """Starts, indices and values of all `pair()`; None if a word has a value other than 1.

        The sum of other squares depends on who adds them up.
        """
        size, n = self.values.size, self.starts.size - 1
        starts, values = np.empty(n + 1, np.int64), np.empty(size + n)
        indices = np.empty(size + n, np.int64)
        fits = _pairs(*self, starts, indices, values)
        return (starts, indices, values) if fits else None


@compiled
def _pairs(
    row_starts: Indices,
    row_indices: Indices,
    row_values: Floats,
    n_numbers: Indices,
    constants: Indices,
    starts: Indices,
    indices: Indices,
    values: Floats,
) -> bool:
    starts[0] = at = 0
    for r in range(n_numbers.size):
        begin, end = row_starts[r], row_starts[r + 1]
        for k in range(begin + n_numbers[r], end):
            if row_values[k] != 1.0:
                return False
        weight = 1.0 / math.sqrt(1.0 + (end - begin))
        for k in range(begin, end):
            indices[at], values[at] = row_indices[k], row_values[k] * weight
            at += 1
        indices[at], values[at] = constants[r], weight
        at += 1
        starts[r + 1] = at
    return True
