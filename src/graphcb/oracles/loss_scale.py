"""Losses as shares of a working range: a declared range is a bound, not a scale.

The working range starts as the declared one. Where none is, it starts as (0, 1), or with the first
loss in its middle if that lies outside: actions that were not seen yet look like the first, neither
better nor worse. It grows when a loss falls outside, and shrinks at 16, 32, 64, ... losses if those
seen fill less than an eighth of it (half of one that was guessed from the first) and vary: an
action that always cost the same may be a coin that fell on one side so far. Losses 0 and 1 in
(0, 1), and all that fill their range, never change it.
"""

from typing import NamedTuple

import numpy as np

from graphcb.checks import LARGEST, as_count, as_range, first_outside
from graphcb.compilation import compiled
from graphcb.loaded import Array, Count, Learned, Number
from graphcb.oracles.rows import Columns, Floats

FIRST_LOOK = 16  # losses before the range may shrink,
FILLED = 1.0 / 8.0  # which it does if they fill less of it than this
GUESSED = 1.0 / 2.0  # or less than this of one that the first losses alone have set
MARGIN = 0.1  # of the width seen, on both sides of it
NARROWEST = 1e-12  # relative to the losses: what varies less is rounding
LEAST_SHARE = 1e-4  # at which a model is carried over

Range = tuple[float, float]


class Carry(NamedTuple):
    """How the model of each action, arrays (n_actions,), gets to another range of shares.

    A score becomes slopes * score + shifts, and its data count `keeps` times as much. `looks` is
    what the mean is worth by itself. `noises` are factors of the residuals' variance relative to
    a coin's; infinity stands for a coin's.
    """

    slopes: Floats
    shifts: Floats
    keeps: Floats
    looks: Floats
    noises: Floats


class LossScale:
    """The working range, what was seen of it, and the mean loss of each action.

    >>> scale = LossScale(2, (0.0, 1000.0))
    >>> scale.count(np.zeros(16, int), np.linspace(3.0, 5.0, 16))
    True
    >>> scale.fitted()
    (2.8, 5.2)
    """

    learned = Learned(
        low=Number(-2.0 * LARGEST, 2.0 * LARGEST),
        high=Number(-2.0 * LARGEST, 2.0 * LARGEST),
        n_losses=Count(),
        seen=Array(2, least=-np.inf, most=np.inf),
        varied=Array(1, least=0.0, most=2.0 * LARGEST),
        means=Array("n_actions", least=-LARGEST, most=LARGEST),
        counts=Array("n_actions", least=0.0),
    )

    def __init__(self, n_actions: int, bounds: Range | None) -> None:
        self.n_actions = as_count("n_actions", n_actions)
        self.bounds = None if bounds is None else as_range("bounds", bounds)
        self.low, self.high = self.bounds or (0.0, 1.0)
        self.n_losses = 0
        self.seen = np.array([np.inf, -np.inf])  # least and most
        self.varied = np.zeros(1)  # the largest distance of a loss from the mean of its action
        self.means = np.zeros(n_actions)
        self.counts = np.zeros(n_actions)

    @property
    def span(self) -> float:
        """The width of the working range."""
        return self.high - self.low

    def shares(self, losses: Floats) -> Floats:
        """The losses as shares of the working range."""
        if self.low == 0.0 and self.high == 1.0:
            return losses
        shares: Floats = (losses - self.low) / (self.high - self.low)
        return shares

    def around(self, losses: Floats) -> Range | None:
        """A range that holds these losses too; None if the working one does."""
        if first_outside(losses, self.low, self.high) < 0:
            return None
        least, most = float(losses.min()), float(losses.max())
        if self.bounds is None and self.n_losses == 0:  # in the middle, as those of other actions
            reach = max(abs(least), abs(most))
            return least - reach, most + reach
        low, high = self._with_margin(min(self.seen[0], least), max(self.seen[1], most))
        return low if least < self.low else self.low, high if most > self.high else self.high

    def count(self, columns: Columns, losses: Floats) -> bool:
        """Count losses that were learned; whether to look if the range may shrink."""
        before, self.n_losses = self.n_losses, self.n_losses + losses.size
        _count(columns, losses, self.seen, self.varied, self.means, self.counts)
        doubled = self.n_losses.bit_length() > before.bit_length()
        return doubled and self.n_losses >= FIRST_LOOK

    def fitted(self) -> Range | None:
        """A smaller range that fits what was seen; None if the working one does."""
        least, most = self.seen
        narrowest = max(NARROWEST * max(abs(least), abs(most)), 1.0 / LARGEST)
        guessed = self.bounds is None and (self.low, self.high) != (0.0, 1.0)
        filled = (GUESSED if guessed else FILLED) * self.span
        if self.varied[0] <= narrowest or not most - least < filled:
            return None
        low, high = self._with_margin(least, most)
        return max(low, self.low), min(high, self.high)

    def move(self, new: Range) -> Carry:
        """Take a new working range; how models of shares of the old one get there.

        Linear in the score around each action's mean loss: with b the old width over the new one
        and v = share (1 - share), a slope is b v / v'. Data count by their number, so that their
        precision changes with v, but never rises. Of a range at which they were not learned, n
        losses say what n coins would: a mean share s becomes (n s + 1/2) / (n + 1), or an action
        with a few losses at one end would never be tried again. Where the range shrinks, what was
        learned at a wrong scale is forgotten, up to the means.
        """
        low, high = new
        ratio = self.span / (high - low)
        known = self.counts > 0.0
        old = np.where(known, _inner_share(self.means, self.low, self.high), 0.5)
        share = np.where(known, _inner_share(self.means, low, high), 0.5)
        share = (self.counts * share + 0.5) / (self.counts + 1.0)
        before, after = old * (1.0 - old), share * (1.0 - share)
        if ratio > 1.0:  # by any factor: a loss may be 1e-170
            slopes, keeps, looks = np.zeros(share.size), np.zeros(share.size), self.counts * after
            noises = np.full(share.size, np.inf)
        else:
            slopes, keeps = ratio * before / after, np.minimum(1.0, after / before)
            looks, noises = 0.0 * after, slopes * slopes * keeps
        self.low, self.high = low, high
        return Carry(slopes, _logits(share) - slopes * _logits(old), keeps, looks, noises)

    def grow(self, n_actions: int) -> None:
        """Make room for more actions."""
        more = np.zeros(n_actions - self.n_actions)
        self.means, self.counts = np.append(self.means, more), np.append(self.counts, more)
        self.n_actions = n_actions

    def take(self, columns: Columns) -> None:
        """Keep these actions, in this order."""
        self.means, self.counts = self.means[columns], self.counts[columns]
        self.n_actions = columns.size

    def check_loaded(self) -> None:
        """Refuse a range without a width."""
        if not self.high - self.low > 0.0:
            raise ValueError(f"`high` must be above `low`, got {self.low} and {self.high}")

    def _with_margin(self, least: float, most: float) -> Range:
        margin = MARGIN * (most - least)
        low, high = (-np.inf, np.inf) if self.bounds is None else self.bounds
        return float(max(low, least - margin)), float(min(high, most + margin))


def _inner_share(losses: Floats, low: float, high: float) -> Floats:
    return np.clip((losses - low) / (high - low), LEAST_SHARE, 1.0 - LEAST_SHARE)


def _logits(shares: Floats) -> Floats:
    logits: Floats = np.log(shares / (1.0 - shares))
    return logits


@compiled
def _count(
    columns: Columns,
    losses: Floats,
    seen: Floats,
    varied: Floats,
    means: Floats,
    counts: Floats,
) -> None:
    for c in range(columns.size):
        b = columns[c]
        seen[0], seen[1] = min(seen[0], losses[c]), max(seen[1], losses[c])
        if counts[b] > 0.0:
            varied[0] = max(varied[0], abs(losses[c] - means[b]))
        counts[b] += 1.0
        means[b] += (losses[c] - means[b]) / counts[b]
