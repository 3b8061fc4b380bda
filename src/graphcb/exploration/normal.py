"""Normal numbers: how likely each is below some edge, and which of them is the smallest.

A table has the tail Q of a normal distribution and the density q at every 1/32 of a deviation. With
x the nearest of these places and d the distance from it, Taylor's series is

    Q(x + d) = Q - q d (1 - x d / 2 + (x^2 - 1) d^2 / 6 - (x^3 - 3 x) d^3 / 24
                        + (x^4 - 6 x^2 + 3) d^4 / 120),

up to 1e-13, and up to 1e-9 of the tail. Unlike `math.erfc`, it becomes vector instructions.
"""

import math

import numpy as np

from graphcb.compilation import inlined, inner, summed
from graphcb.graphs.structure import Floats, Indices

FAR = 6.0  # deviations beyond which a tail is 0, to 1e-9,
NEAR = -8.5  # and below which it is 1, to 1e-16
PLACES = 32.0  # per deviation
CELLS = 32  # in which the distribution of the smallest number is summed,
AT_ONCE = 8  # of them, a divisor,
NOTHING = 1e-12  # up to where less than this is left


def _table() -> tuple[Floats, Floats]:
    """The tail and the density at every place."""
    places = np.arange(NEAR, FAR + 0.5 / PLACES, 1.0 / PLACES)
    tails = np.array([0.5 * math.erfc(x / math.sqrt(2.0)) for x in places])
    return tails, np.exp(-0.5 * places * places) / math.sqrt(2.0 * math.pi)


_TAILS, _DENSITIES = _table()


@inlined
def tail(off: float) -> float:
    """The probability that a normal number is more than so many deviations above its mean."""
    within = off if off > NEAR else NEAR  # which NaN is not
    within = within if within < FAR else FAR
    place = int((within - NEAR) * PLACES + 0.5)
    x = NEAR + place / PLACES
    d, square = within - x, x * x
    fourth = (square * (square - 6.0) + 3.0) / 120.0
    third = x * (square - 3.0) / 24.0 - d * fourth
    series = 1.0 - d * (0.5 * x - d * ((square - 1.0) / 6.0 - d * third))
    found = _TAILS[place] - _DENSITIES[place] * d * series
    return found if off < FAR else 0.0


@summed
def chances_below(
    centres: Floats, spreads: Floats, edge: float, spread: float, found: Floats
) -> None:
    """Fill in how likely each number is below another one, whose centre and spread these are."""
    for i in range(found.size):
        apart = math.sqrt(spreads[i] * spreads[i] + spread * spread)
        found[i] = tail((centres[i] - edge) / (apart if apart > 1e-12 else 1e-12))


@inner
def smallest(
    centres: Floats,
    spreads: Floats,
    groups: Indices,
    floor: float,
    ceiling: float,
    low: float,
    high: float,
) -> tuple[Floats, Floats]:
    """How likely each number is the smallest of all, and that times its loss.

    There are as many numbers as `groups` has entries; each says which centre and spread is its own.
    Numbers are log odds of losses between `low` and `high`. The distribution of the smallest one is
    summed over cells between `floor` and `ceiling`, beyond which nothing is the smallest.
    """
    chances, moments = np.zeros(centres.size), np.zeros(centres.size)
    tails, none_here = np.zeros((centres.size, AT_ONCE + 1)), np.empty((centres.size, AT_ONCE))
    none, losses = np.ones(AT_ONCE), np.empty(AT_ONCE)
    step, begin, precisions = (ceiling - floor) / CELLS, 0, 1.0 / np.maximum(spreads, 1e-12)
    while begin < CELLS and none[-1] >= NOTHING:
        first = floor + begin * step
        _fill_cells(centres, precisions, first, step, tails, none_here)
        _multiply(groups, none_here, none)
        for k in range(AT_ONCE):
            losses[k] = low + (high - low) / (1.0 + math.exp(-first - (k + 0.5) * step))
            if k > 0 and none[k - 1] < NOTHING:
                none[k] = 0.0
        _add_cells(tails, none_here, none, losses, chances, moments)
        begin += AT_ONCE
    return chances, moments


@summed
def _fill_cells(
    centres: Floats,
    precisions: Floats,
    first: float,
    step: float,
    tails: Floats,
    none_here: Floats,
) -> None:
    """How likely each number is below each edge, and not in each cell or below the cell's middle.

    The last edge that is there already is the first one of these cells.
    """
    n_cells = none_here.shape[1]
    for i in range(centres.size):
        tails[i, 0] = tails[i, n_cells]
        for k in range(n_cells):
            tails[i, k + 1] = tail((centres[i] - (first + (k + 1) * step)) * precisions[i])
        for k in range(n_cells):
            none_here[i, k] = 1.0 - 0.5 * (tails[i, k] + tails[i, k + 1])


@summed
def _multiply(groups: Indices, none_here: Floats, none: Floats) -> None:
    """The products over all numbers: how likely none of them is in a cell or below."""
    none[:] = 1.0
    for g in groups:
        for k in range(none.size):
            none[k] *= none_here[g, k]


@summed
def _add_cells(
    tails: Floats,
    none_here: Floats,
    none: Floats,
    losses: Floats,
    chances: Floats,
    moments: Floats,
) -> None:
    """Add how likely each number is in a cell while all others are above it, as none / none_here
    says, and that times the loss."""
    n_cells = none.size
    for i in range(chances.size):
        if tails[i, n_cells] <= tails[i, 0]:
            continue
        chance = moment = 0.0
        for k in range(n_cells):
            here = tails[i, k + 1] - tails[i, k]
            here = here * none[k] / none_here[i, k] if here > 0.0 else 0.0
            chance += here
            moment += here * losses[k]
        chances[i] += chance
        moments[i] += moment
