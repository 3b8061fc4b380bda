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
MANY = 32  # numbers near each other that are worth a series of their own


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
    times: Indices,
    floor: float,
    ceiling: float,
    low: float,
    high: float,
) -> tuple[Floats, Floats]:
    """How likely each number is the smallest of all, and that times its loss.

    There are `times` numbers of each centre and spread. Numbers are log odds of losses between
    `low` and `high`. The distribution of the smallest one is summed over cells between `floor` and
    `ceiling`, beyond which nothing is the smallest.
    """
    n, step = centres.size, (ceiling - floor) / CELLS
    precisions, several = np.empty(n), np.empty(0, np.intp)
    for i in range(n):
        precisions[i] = 1.0 / max(spreads[i], 1e-12)
    order, n_far = _near_last(centres, precisions, floor, ceiling)
    if n_far < n:
        centres, precisions, times = centres[order], precisions[order], times[order]
    chances, moments, tails = np.zeros(n), np.zeros(n), np.zeros((AT_ONCE + 1, n))
    none, losses, begin = np.ones(AT_ONCE), np.empty(AT_ONCE), 0
    if times.sum() > n:
        several = np.flatnonzero(times > 1)
    while begin < CELLS and none[-1] >= NOTHING:
        first = floor + begin * step
        _fill_tails(centres, precisions, n_far, first, step, tails)
        _multiply(tails, several, times, none)
        for k in range(AT_ONCE):
            losses[k] = low + (high - low) / (1.0 + math.exp(-first - (k + 0.5) * step))
            if k > 0 and none[k - 1] < NOTHING:
                none[k] = 0.0
        _add_cells(tails, none, losses, chances, moments)
        begin += AT_ONCE
    if n_far < n:
        back = np.empty(n, np.intp)
        back[order] = np.arange(n)
        chances, moments = chances[back], moments[back]
    return chances, moments


@inner
def _near_last(
    centres: Floats, precisions: Floats, floor: float, ceiling: float
) -> tuple[Indices, int]:
    """An order in which the last numbers are all near the very last one, and how many are before.

    All are, in no order, if few are near each other. Near are numbers that are about as many
    deviations from any place between `floor` and `ceiling`.
    """
    n, one, votes, n_far = centres.size, 0, 0, 0
    if n < MANY:
        return np.empty(0, np.intp), n
    for i in range(0, n, n // MANY):  # for one that most of these are near to, if there is one
        if votes == 0:
            one = i
        is_near = _apart(centres, precisions, floor, ceiling, i, one) <= 0.5 / PLACES
        votes += 1 if is_near else -1
    if votes < MANY // 4:
        return np.empty(0, np.intp), n
    order, last = np.empty(n, np.intp), n - 1
    for i in range(n):
        if _apart(centres, precisions, floor, ceiling, i, one) <= 0.5 / PLACES:
            order[last] = i
            last -= 1
        else:
            order[n_far] = i
            n_far += 1
    return order, n_far


@inlined
def _apart(
    centres: Floats, precisions: Floats, floor: float, ceiling: float, i: int, j: int
) -> float:
    """By how many deviations two numbers differ in how far they are from some place, at most."""
    at_floor = (centres[i] - floor) * precisions[i] - (centres[j] - floor) * precisions[j]
    at_ceiling = (centres[i] - ceiling) * precisions[i] - (centres[j] - ceiling) * precisions[j]
    return float(max(abs(at_floor), abs(at_ceiling)))


@summed
def _fill_tails(
    centres: Floats, precisions: Floats, n_far: int, first: float, step: float, tails: Floats
) -> None:
    """How likely each number is below each edge.

    The last edge that is there already is the first one of these cells. Behind the first `n_far`
    numbers, those that are left have Taylor's series in common, around that of the very last one.
    """
    n_cells = tails.shape[0] - 1
    near, their_precisions = centres[n_far:], precisions[n_far:]
    for i in range(centres.size):
        tails[0, i] = tails[n_cells, i]
    for k in range(n_cells):
        edge = first + (k + 1) * step
        for i in range(n_far):
            tails[k + 1, i] = tail((centres[i] - edge) * precisions[i])
        if near.size > 0:
            x, found = (centres[-1] - edge) * precisions[-1], tails[k + 1, n_far:]
            q, square = math.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi), x * x
            whole, third = 0.5 * math.erfc(x / math.sqrt(2.0)), (square - 1.0) / 6.0
            fourth = x * (square - 3.0) / 24.0
            fifth = (square * (square - 6.0) + 3.0) / 120.0
            for i in range(near.size):
                off = (near[i] - edge) * their_precisions[i]
                d = off - x
                series = 1.0 - d * (0.5 * x - d * (third - d * (fourth - d * fifth)))
                found[i] = whole - q * d * series if off < FAR else 0.0


@summed
def _multiply(tails: Floats, several: Indices, times: Indices, none: Floats) -> None:
    """The products over all numbers: how likely none of them is below the middle of a cell."""
    for k in range(none.size):
        product = 1.0
        for i in range(times.size):
            product *= 1.0 - 0.5 * (tails[k, i] + tails[k + 1, i])
        for i in several:
            product *= (1.0 - 0.5 * (tails[k, i] + tails[k + 1, i])) ** (times[i] - 1)
        none[k] = product


@summed
def _add_cells(
    tails: Floats, none: Floats, losses: Floats, chances: Floats, moments: Floats
) -> None:
    """Add how likely each number is in a cell while all others are above it, and that times the
    loss."""
    for k in range(none.size):
        if none[k] == 0.0:
            break
        all_above, loss = none[k], losses[k]
        for i in range(chances.size):
            here = tails[k + 1, i] - tails[k, i]
            above = 1.0 - 0.5 * (tails[k, i] + tails[k + 1, i])
            chance = here * all_above / above if here > 0.0 else 0.0
            chances[i] += chance
            moments[i] += chance * loss
