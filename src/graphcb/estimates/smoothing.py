"""Logarithmic smoothing: bounds for a mean of weights without an upper bound.

For terms z >= 0 and any l > 0, exp(log(1 + l z) - l E z) has expectation at most 1, so that at
any time, with probability 1 - alpha (Ville; Sakhi, Aouali, Alquier and Chopin 2024)

    E z >= (sum of log(1 + l z) + log alpha) / (l n).

Large weights count by their logarithm alone. Several l share alpha. The terms are those of values
and of what they lack to the upper end of the range, so that there are two bounds.
"""

import math

import numpy as np

from graphcb.estimates.bounds import scaled
from graphcb.estimates.estimate import Estimate, Range
from graphcb.estimates.terms import Floats

RATES: Floats = np.power(0.5, np.arange(12))


def smoothed(weights: Floats, terms: Floats, value_range: Range, confidence: float) -> Estimate:
    """The middle of the smoothed means at the rates that give the best bounds.

    Weights and terms (n,) as in `Moments.add`.
    """
    low, high = value_range
    below = np.maximum((terms - low * weights) / (high - low), 0.0)
    log_alpha = math.log(0.5 * (1.0 - confidence) / RATES.size)
    middles, ends = [], []
    for z in (below, np.maximum(weights - below, 0.0)):
        sums = np.array([np.log1p(rate * z).sum() for rate in RATES])
        bounds = (sums + log_alpha) / (RATES * z.size)
        best = bounds.argmax()
        middles.append(float(sums[best] / (RATES[best] * z.size)))
        ends.append(max(0.0, float(bounds[best])))
    value = low + (high - low) * 0.5 * (middles[0] + 1.0 - middles[1])
    return Estimate(value, math.nan, None, scaled(ends, value_range))
