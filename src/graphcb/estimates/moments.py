"""Sums over decisions, of which every estimate is a function.

A decision counts for a target with a weight w, 1 on average, and with x = w times the value that
was seen (a loss or a reward, in its own units). Sums are kept for weights between powers of two
apart, so that they can be cut at any power of two afterwards; and for pairs of targets, so that
these can be compared. They are exact: parts of a log, summed anywhere and merged in any order,
give the same bits.
"""

from typing import NamedTuple

import numpy as np

from graphcb.compilation import compiled
from graphcb.estimates.exact import (
    MOST_ADDITIONS,
    N_DIGITS,
    Digits,
    add_exactly,
    carry,
    rounded,
)
from graphcb.estimates.terms import Floats

N_SIZES = 41  # of weights: below 1, below 2, below 4, ...
POWERS = ("w", "ww", "www", "x", "wx", "wwx", "xx", "wxx", "xxx", "v", "vv", "vvv", "wvv")
PRODUCTS = ("ww", "wx", "xw", "xx", "least")  # the last is the smaller of two weights


class BySize(NamedTuple):
    """Sums over decisions with weights of one size, (n_sizes,) each, v being x / w."""

    number: Floats
    w: Floats
    ww: Floats
    www: Floats
    x: Floats
    wx: Floats
    wwx: Floats
    xx: Floats
    wxx: Floats
    xxx: Floats
    v: Floats
    vv: Floats
    vvv: Floats
    wvv: Floats

    def cut(self, size: int) -> "BySize":
        """The same, if weights of more than 2^size had been 2^size."""
        above = np.arange(N_SIZES) > size
        found = []
        for name in POWERS:
            whole, factors = getattr(self, name), name.count("w") + name.count("x")
            of_values = getattr(self, "v" * (name.count("v") + name.count("x")) or "number")
            cut = 2.0 ** (size * factors) * of_values
            found.append(np.where(above, cut, whole) if factors else whole)
        return BySize(self.number, *found)


class Moments:
    """Sums for some targets, and for each pair of them.

    >>> moments = Moments(1)
    >>> moments.add(np.array([[2.0, 0.0, 2.0]]), np.array([[1.0, 0.0, 2.0]]))
    >>> moments.n, float(moments.of(0).x.sum())
    (3, 3.0)
    """

    def __init__(self, n_targets: int) -> None:
        self.n_targets, self.n = n_targets, 0
        self.largest = np.zeros(n_targets)
        self._counts = np.zeros((n_targets, N_SIZES), dtype=np.int64)
        self._digits = np.zeros((n_targets, N_SIZES, len(POWERS), N_DIGITS), dtype=np.int64)
        n_pairs = n_targets * (n_targets - 1) // 2
        self._pairs = np.zeros((n_pairs, len(PRODUCTS), N_DIGITS), dtype=np.int64)
        self._since_carry = 0

    def add(self, weights: Floats, terms: Floats) -> None:
        """Some more decisions, (n_targets, n) each; x must be 0 where w is."""
        n = weights.shape[1]
        for first in range(0, n, MOST_ADDITIONS):
            part = slice(first, first + MOST_ADDITIONS)
            self._room_for(min(n - first, MOST_ADDITIONS))
            w, x = np.ascontiguousarray(weights[:, part]), np.ascontiguousarray(terms[:, part])
            _add(w, x, self._counts, self._digits, self.largest)
            _add_pairs(w, x, self._pairs)
        self.n += n

    def merge(self, other: "Moments") -> None:
        """Add the sums of other decisions."""
        self._room_for(MOST_ADDITIONS // 2)
        other._room_for(MOST_ADDITIONS)
        self.n += other.n
        self.largest = np.maximum(self.largest, other.largest)
        self._counts += other._counts
        self._digits += other._digits
        self._pairs += other._pairs

    def of(self, target: int) -> BySize:
        """The sums of a target."""
        return BySize(self._counts[target].astype(np.float64), *rounded(self._digits[target]).T)

    def products(self, one: int, other: int) -> Floats:
        """Sums of the products of two targets, [[ww, wx], [xw, xx]], the first one's first."""
        if one > other:
            return np.asarray(self.products(other, one).T)
        return rounded(self._pairs[self._pair(one, other), :4]).reshape(2, 2)

    def apart(self, one: int, other: int) -> float:
        """The sum of the absolute differences of two targets' weights."""
        pair = self._pair(min(one, other), max(one, other))
        both = float(self.of(one).w.sum() + self.of(other).w.sum())
        return both - 2.0 * float(rounded(self._pairs[pair, 4]))

    def _pair(self, one: int, other: int) -> int:
        return one * self.n_targets - one * (one + 1) // 2 + other - one - 1

    def _room_for(self, n: int) -> None:
        """Carry, unless this many more additions fit."""
        if self._since_carry + n > MOST_ADDITIONS:
            carry(self._digits)
            carry(self._pairs)
            self._since_carry = 0
        self._since_carry += n


@compiled
def _add(w: Floats, x: Floats, counts: Digits, digits: Digits, largest: Floats) -> None:
    n_targets, n = w.shape
    powers = np.empty(13)
    bits = powers.view(np.int64)
    one = np.empty(1)
    bits_of_one = one.view(np.int64)
    for target in range(n_targets):
        for i in range(n):
            weight, term = w[target, i], x[target, i]
            if weight <= 0.0:
                continue
            one[0] = weight
            size = min(max(((bits_of_one[0] >> 52) & 0x7FF) - 1022, 0), 40)
            largest[target] = max(largest[target], weight)
            counts[target, size] += 1
            powers[0] = weight
            powers[1] = weight * weight
            powers[2] = powers[1] * weight
            powers[3] = term
            powers[4] = weight * term
            powers[5] = powers[1] * term
            powers[6] = term * term
            powers[7] = powers[6] * weight
            powers[8] = powers[6] * term
            value = term / weight
            powers[9] = value
            powers[10] = value * value
            powers[11] = powers[10] * value
            powers[12] = term * value
            for k in range(13):
                if powers[k] != 0.0:
                    add_exactly(digits[target, size, k], bits[k])


@compiled
def _add_pairs(w: Floats, x: Floats, digits: Digits) -> None:
    n_targets, n = w.shape
    products = np.empty(5)
    bits = products.view(np.int64)
    pair = 0
    for one in range(n_targets):
        for other in range(one + 1, n_targets):
            for i in range(n):
                products[0] = w[one, i] * w[other, i]
                if products[0] <= 0.0:
                    continue
                products[1] = w[one, i] * x[other, i]
                products[2] = x[one, i] * w[other, i]
                products[3] = x[one, i] * x[other, i]
                products[4] = min(w[one, i], w[other, i])
                for k in range(5):
                    if products[k] != 0.0:
                        add_exactly(digits[pair, k], bits[k])
            pair += 1
