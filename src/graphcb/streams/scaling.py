"""Features brought to one scale as they arrive: each row is scaled by the rows up to it.

Both kernels go row by row, so the result does not depend on how the file is cut into batches.
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
    """Replace each cell by its distance from the column's mean, in deviations times `weight`.

    `means` and `squares` (sums of squared deviations) are updated row by row by Welford's method;
    `count` is the number of rows they hold already. Values are clipped at CLIP deviations.
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
