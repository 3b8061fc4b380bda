"""The DEC of a distribution in whole numbers: no rounding, no range. What answers are judged by.

A floating-point number is a whole number of 2^-1074. Sums and products of those are exact; the few
quotients are rounded down, at 2^-2300.
"""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from graphcb import FeedbackGraph

Floats = NDArray[np.float64]
UNIT = 1074  # every finite number is a whole number of 2^-1074
FINE = 2300  # quotients are rounded at 2^-2300


def whole(number: float) -> int:
    """`number` in units of 2^-1074."""
    numerator, denominator = float(number).as_integer_ratio()
    return (numerator << UNIT) // denominator


def exact_matrix(graph: FeedbackGraph) -> NDArray[np.object_]:
    """The edges in units of 2^-1074."""
    matrix = graph.matrix
    exact = np.zeros(matrix.shape, dtype=object)
    for i, j in np.argwhere(matrix > 0.0):
        exact[i, j] = whole(matrix[i, j])
    return exact


def exact_dec(
    probabilities: Floats, losses: Floats, matrix: NDArray[np.object_], gamma: float
) -> Fraction | None:
    """The DEC of `probabilities`, divided by their sum; None for infinity.

    max_a p @ f - f_a + (1 / gamma) sum_i (p_i - [i = a])^2 / W_i with W = matrix.T @ p.
    """
    n = len(losses)
    if n == 1:
        return Fraction(0)
    weights = np.array([whole(x) for x in probabilities], dtype=object)
    total = int(weights.sum())
    seen = weights @ matrix  # W in units of 2^-1074 / total
    if not all(seen):
        return None
    f = [whole(x) for x in losses]
    best = min(f)
    gaps = [x - best for x in f]
    # Everything times gamma, in units of 2^-FINE.
    slope = whole(gamma)
    shift = FINE - 2 * UNIT
    scaled = [slope * gap << shift for gap in gaps]
    common = sum(int(w) * ft for w, ft in zip(weights, scaled, strict=True)) // total
    common += sum((w * w << UNIT + FINE) // (total * s) for w, s in zip(weights, seen, strict=True))
    worst = max(
        ((total - 2 * w << UNIT + FINE) // s) - ft
        for w, s, ft in zip(weights, seen, scaled, strict=True)
    )
    return Fraction(max(common + worst, 0), 1 << FINE) / Fraction(gamma)  # never negative
