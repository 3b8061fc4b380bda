"""Features brought to one scale as they arrive: each row is scaled by the rows up to it.

The kernels go row by row, so the result does not depend on how the rows are cut into batches.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import LARGEST
from graphcb.compilation import compiled
from graphcb.loaded import MOST, Array, Rule
from graphcb.standardising import counted, standard, standard_with

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


def sums_of(sizes: Any) -> dict[str, Rule]:
    """The rules for running sums of these numbers in a file."""
    return {
        "means": Array(sizes, least=-LARGEST, most=LARGEST),
        "squares": Array(sizes, least=0.0),
        "counts": Array(sizes, least=0.0, most=MOST),
    }


@compiled
def standardise(
    rows: Floats, means: Floats, squares: Floats, counts: Floats, weight: float
) -> None:
    """Replace each cell by its distance from the column's mean, in deviations times `weight`.

    `means`, `squares` (sums of squared deviations) and `counts` are updated row by row. A missing
    value (NaN) becomes 0, the mean, and is not counted.
    """
    for i in range(rows.shape[0]):
        row = rows[i]
        for j in range(row.size):
            if row[j] != row[j]:
                row[j] = 0.0
                continue
            counts[j] += 1.0
            means[j], squares[j] = counted(row[j], means[j], squares[j], counts[j])
            row[j] = weight * standard(row[j], means[j], squares[j], counts[j])


@compiled
def scale_row(
    row: Floats, means: Floats, squares: Floats, counts: Floats, weight: float, scaled: Floats
) -> None:
    """Fill `scaled` with what `standardise` would make of the row, and count nothing."""
    for j in range(row.size):
        missing = row[j] != row[j]
        distance = 0.0 if missing else standard_with(row[j], means[j], squares[j], counts[j])
        scaled[j] = weight * distance


@compiled
def first_beyond(row: Floats) -> int:
    """Index of the first number beyond LARGEST, or -1; a missing one is none."""
    for j in range(row.size):
        if abs(row[j]) > LARGEST:
            return j
    return -1


@compiled
def shrink(starts: Places, places: Places, values: Floats, largest: Floats) -> None:
    """Divide each value by the largest one seen at its place, then each row by its norm.

    Row i is values[starts[i] : starts[i + 1]]. Zeros stay zeros.
    """
    for i in range(starts.size - 1):
        total = 0.0
        for k in range(starts[i], starts[i + 1]):
            size = abs(values[k])
            if size > largest[places[k]]:
                largest[places[k]] = size
            if size > 0.0:
                values[k] /= largest[places[k]]
                total += values[k] * values[k]
        if total > 0.0:
            norm = math.sqrt(total)
            for k in range(starts[i], starts[i + 1]):
                values[k] /= norm
