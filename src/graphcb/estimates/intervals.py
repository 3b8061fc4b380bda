"""Confidence intervals that are valid at any time, from terms in their order."""

import math
from typing import NamedTuple

import numpy as np

from graphcb.estimates.terms import Floats

# The smallest bet, 2^-30, is the best one after about 10^18 decisions.
N_BETS = 30


class Interval(NamedTuple):
    """The ends of a confidence interval."""

    lower: float
    upper: float


def interval_text(interval: Interval | None) -> str:
    """From its lower to its upper end."""
    return "-" if interval is None else f"{interval.lower:.4f} to {interval.upper:.4f}"


def confidence_sequence(
    below: Floats, above: Floats, *, confidence: float = 0.95, floor: float = 0.0
) -> tuple[Floats, Floats]:
    """Ends of an interval after each decision, valid for all of them at once: (..., n) each.

    You may look after every decision and stop at any time: the probability that any of the
    intervals misses is at most `1 - confidence`; see decision note 0015. `below` are terms of
    losses scaled to [0, 1], and `above` are terms of 1 - loss; neither may be less than -floor.
    They need no upper bound, which importance weights do not have. Each interval is for the mean
    over the decisions up to it, which may move.
    """
    check_confidence(confidence)
    alpha = 0.5 * (1.0 - confidence)
    return LowerEnds(alpha, floor).add(below), 1.0 - LowerEnds(alpha, floor).add(above)


class LowerEnds:
    """Lower ends for the mean of terms that are at least -floor, their mean being in [0, 1].

    Terms are added a piece at a time, (..., n) each, and the ends do not depend on the pieces.

    In units z = term / (1 + floor): with a guess g made before z is seen, z - g >= -1, and for
    any bet b in [0, 1) exp(b (z - mean) - psi(b) (z - g)^2) has expectation at most 1, where
    psi(b) = -log(1 - b) - b. The product over decisions stays below 1 / (alpha w) at all times
    with probability 1 - alpha w (Ville), which is solved for the mean. The bets 1/2, 1/4, ...
    share alpha by weights w that add up to 1, and the best of their ends is taken.

    The mean is that of the decisions so far. It moves, as that of a policy that learns does, so
    an end that was once reached need not hold for later means.
    """

    def __init__(self, alpha: float, floor: float = 0.0) -> None:
        self.n = 0
        self._alpha, self._floor = alpha, floor
        self._total: Floats | float = 0.0
        self._squares: Floats | float = 0.0

    def add(self, terms: Floats) -> Floats:
        """The ends after each of some more terms."""
        if terms.shape[-1] == 0:
            return np.zeros(terms.shape)
        z = terms / (1.0 + self._floor)
        n = np.arange(self.n + 1, self.n + z.shape[-1] + 1)
        middle = 0.5 / (1.0 + self._floor)
        total = self._total + np.cumsum(z, axis=-1)
        guess = _before((middle + total) / (n + 1), (middle + self._total) / (self.n + 1))
        guess = np.clip(guess, 0.0, 1.0 / (1.0 + self._floor))
        squares = self._squares + np.cumsum((z - guess) ** 2, axis=-1)
        ends = np.zeros(z.shape)
        for number in range(1, N_BETS + 1):
            bet, weight = 0.5**number, 1.0 / (number * (number + 1))
            psi = -math.log1p(-bet) - bet
            end = (bet * total - psi * squares + math.log(self._alpha * weight)) / (bet * n)
            ends = np.maximum(ends, (1.0 + self._floor) * end)
        self.n = int(n[-1])
        self._total, self._squares = total[..., -1:], squares[..., -1:]
        return np.asarray(ends)


def _before(values: Floats, first: Floats | float) -> Floats:
    """The value before each decision."""
    start = np.broadcast_to(first, (*values.shape[:-1], 1))
    return np.concatenate([start, values[..., :-1]], axis=-1)


def check_confidence(confidence: float) -> None:
    """A probability strictly between 0 and 1."""
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"`confidence` must lie between 0 and 1, such as 0.95, got {confidence}")
