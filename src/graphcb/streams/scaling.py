"""Features brought to one size as they come by: a row is scaled by what was seen up to it.

Both kernels go row by row in order, so the result does not depend on how the file was cut.
"""

import math

import numpy as np
from numpy.typing import NDArray

from graphcb.compilation import compiled

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

CLIP = 4.0  # standard deviations


@compiled
def standardise(rows: Floats, means: Floats, squares: Floats, count: int, weight: float) -> None:
    """Each cell less the mean of its column, in standard deviations times `weight`, in place.

    `means` and `squares` (sums of squared deviations, Welford's) go on from row to row; `count`
    is how many rows they hold already. Values beyond CLIP deviations are cut off there.
    """
    for i in range(rows.shape[0]):
        row = rows[i]
        seen = count + i + 1.0
        for j in range(row.size):
            off = row[j] - means[j]
            means[j] += off / seen
            squares[j] += off * (row[j] - means[j])
            deviation = math.sqrt(squares[j] / seen)
            scaled = (row[j] - means[j]) / deviation if deviation > 0.0 else 0.0
            row[j] = weight * min(CLIP, max(-CLIP, scaled))


@compiled
def shrink(starts: Places, places: Places, values: Floats, largest: Floats) -> None:
    """Each value over the largest size met at its place, and each row to norm 1, in place.

    Row i is values[starts[i] : starts[i + 1]]. A zero stays a zero.
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
