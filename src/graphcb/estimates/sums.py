"""A lower bound for a growing sum of which only estimates are seen, valid at any time.

The sum is over rounds, of u: what a draw from known probabilities brought. Its estimate in a
round is g + e, with a guess g made beforehand and an importance-weighted correction e >= -floor.
For a bet b, with b * floor < 1 and psi(x) = -log(1 - x) - x,

    exp(b (g + e - mean of u) - psi(b floor) (e / floor)^2)

has expectation at most 1, as in `intervals`; and so has, if draws move u by at most `range` and
with variance at most v, phi(x) = exp(x) - 1 - x (Bennett),

    exp(b (mean of u - u) - phi(b range) v / range^2).

By Cauchy and Schwarz the square root of their product has too: it multiplies over rounds to a
supermartingale, which stays below 1 / (alpha w) at all times with probability 1 - alpha w
(Ville). So for all rounds at once

    sum of u >= sum of (g + e - penalties / b) - 2 log(1 / (alpha w)) / b,

for bets 1, 1/2, 1/4, ... that share alpha by weights w. A bet shrinks the guess, by what is
known beforehand, until b * floor is at most 1/2.
"""

from typing import NamedTuple

import numpy as np

from graphcb.estimates.terms import Floats

N_BETS = 24
BETS: Floats = np.power(0.5, np.arange(N_BETS))
_LOG_WEIGHTS: Floats = -np.log((np.arange(N_BETS) + 1.0) * (np.arange(N_BETS) + 2.0))
_MOST = 0.5  # of bet * floor


class Shrunk(NamedTuple):
    """For each bet, how far it trusts the guess, and the weight of squares in its penalty."""

    trust: Floats
    weight: Floats


def shrink(floor: float) -> Shrunk:
    """What each bet makes of a guess with which the correction is at least -floor."""
    trust = np.ones(N_BETS) if floor <= 0.0 else np.minimum(1.0, _MOST / (BETS * floor))
    x = np.maximum(BETS * trust * floor, 1e-4)  # psi(x) / x^2 rises: a larger x is a bound
    return Shrunk(trust, (-np.log1p(-x) - x) / (x * x) * BETS)


def draw_penalty(variance: float, width: float) -> Floats:
    """For each bet, what chance in the draws takes from the sum."""
    if variance <= 0.0:
        return np.zeros(N_BETS)
    x = BETS * width
    return (np.expm1(x) - x) / (width * width) * variance / BETS


def lower_end(sums: Floats, alpha: float) -> float:
    """The best of the bets' ends; `sums` are of estimates less penalties, one per bet."""
    return float((sums + 2.0 * (np.log(alpha) + _LOG_WEIGHTS) / BETS).max())
