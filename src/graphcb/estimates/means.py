"""The mean loss of a policy from terms of decisions: one number, wherever it is shown.

With x_i the importance-weighted loss of decision i and w_i its weight, the mean is

    m = sum of x_i / sum of w_i,

the self-normalised estimate. It does not depend on the range that losses are scaled by, lies
between the losses that were seen, and is their average where every decision shows the loss of
what it played. `estimators` has its error, and the other estimates.
"""

import numpy as np

from graphcb.estimates.intervals import LowerEnds
from graphcb.estimates.terms import FLOOR, Floats, Terms


def normalised_mean(below: Floats, above: Floats) -> Floats:
    """From sums of the terms `below` and `above`; NaN where nothing was revealed."""
    weights = np.asarray(below + above, dtype=np.float64)
    mean = np.full(weights.shape, np.nan)
    np.divide(below, weights, out=mean, where=weights > 0.0)
    return mean


def differences(terms: Terms) -> Terms:
    """Those of the first row less each of the other rows, scaled from [-1, 1] to [0, 1]."""
    below, above, centred_below, centred_above, unseen = terms
    return Terms(
        0.5 * (below[0] + above[1:]),
        0.5 * (above[0] + below[1:]),
        0.5 * (centred_below[0] + centred_above[1:]),
        0.5 * (centred_above[0] + centred_below[1:]),
        np.maximum(unseen[0], unseen[1:]),
    )


class AnytimeEnds:
    """Both ends of intervals for several policies, (..., n) terms each, valid at any time.

    The terms as they are and those around a guess each have half of `alpha`, and the better of
    their ends is taken. Terms are added a piece at a time; those around a guess are at least
    -floor.
    """

    def __init__(self, alpha: float, *, floor: float = FLOOR) -> None:
        self._plain = LowerEnds(0.25 * alpha), LowerEnds(0.25 * alpha)
        self._centred = LowerEnds(0.25 * alpha, floor), LowerEnds(0.25 * alpha, floor)

    def add(self, terms: Terms) -> Floats:
        """The ends after each of some more decisions, (..., n, 2)."""
        lower = np.maximum(self._plain[0].add(terms.below),
                           self._centred[0].add(terms.centred_below))  # fmt: skip
        upper = np.maximum(self._plain[1].add(terms.above),
                           self._centred[1].add(terms.centred_above))  # fmt: skip
        return np.stack([lower, 1.0 - upper], axis=-1)
