"""What an encoder makes of a context: one row that every oracle reads."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
