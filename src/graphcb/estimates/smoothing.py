"""Logarithmic smoothing: bounds for a mean of weights without an upper bound.

For terms z >= 0 and any l > 0, exp(log(1 + l z) - l E z) has expectation at most 1, so that at
any time, with probability 1 - alpha (Ville; Sakhi, Aouali, Alquier and Chopin 2024)

    E z >= (sum of log(1 + l z) + log alpha) / (l n).

Large weights count by their logarithm alone. Several l share alpha. The terms are those of values
and of what they lack to the upper end of the range, so that there are two bounds.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.compilation import compiled
from graphcb.estimates.bounds import scaled
from graphcb.estimates.estimate import Conditions, Estimate, Range
from graphcb.estimates.exact import N_DIGITS, Digits, add_exactly, carry, rounded
from graphcb.estimates.terms import Floats

RATES: Floats = np.power(0.5, np.arange(12))


class Smoothing:
    """Exact sums of logarithms for some targets; added and merged as `Moments` are."""

    def __init__(self, n_targets: int, value_range: Range) -> None:
        self.value_range, self.n = value_range, 0
        self._digits = np.zeros((n_targets, 2, RATES.size, N_DIGITS), dtype=np.int64)

    def add(self, weights: Floats, terms: Floats) -> None:
        """Some more decisions, (n_targets, n) each, as in `Moments.add`."""
        low, high = self.value_range
        below = np.maximum((terms - low * weights) / (high - low), 0.0)
        above = np.maximum(weights - below, 0.0)
        for side, z in enumerate((below, above)):
            _add_logs(np.ascontiguousarray(z), RATES, self._digits[:, side])
        self.n += weights.shape[1]
        carry(self._digits)

    def merge(self, other: "Smoothing") -> None:
        """Add the sums of other decisions."""
        self.n += other.n
        self._digits += other._digits
        carry(self._digits)

    def as_arrays(self) -> dict[str, NDArray[Any]]:
        """All of it, for a file or another process."""
        return {
            "range": np.array(self.value_range),
            "n": np.array(self.n),
            "digits": self._digits,
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> "Smoothing":
        """What `as_arrays` gave."""
        low, high = arrays["range"].tolist()
        smoothing = cls(arrays["digits"].shape[0], (low, high))
        smoothing.n, smoothing._digits = int(arrays["n"]), arrays["digits"].copy()
        return smoothing

    def estimate(self, target: int, asked: Conditions) -> Estimate:
        """The middle of the smoothed means at the rates that give the best bounds."""
        log_alpha = math.log(0.5 * (1.0 - asked.confidence) / RATES.size)
        sums = rounded(self._digits[target])
        ends = (sums + log_alpha) / (RATES * self.n)
        best = ends.argmax(axis=1)
        below, above = (float(sums[side, k] / (RATES[k] * self.n)) for side, k in enumerate(best))
        low, high = self.value_range
        value = low + (high - low) * 0.5 * (below + 1.0 - above)
        bounds = scaled([max(0.0, float(end)) for end in ends.max(axis=1)], self.value_range)
        return Estimate(value, math.nan, None, bounds)


@compiled
def _add_logs(z: Floats, rates: Floats, digits: Digits) -> None:
    one = np.empty(1)
    bits = one.view(np.int64)
    for target in range(z.shape[0]):
        for i in range(z.shape[1]):
            if z[target, i] > 0.0:
                for k in range(rates.size):
                    one[0] = math.log1p(rates[k] * z[target, i])
                    add_exactly(digits[target, k], bits[0])
