"""How members are weighed: by the squared errors of the last rounds, and how much they forget.

Weights, and whether there is such a member, are arrays (kind, rate).
"""

import math

import numpy as np

from graphcb.compilation import inner
from graphcb.oracles.blend_rows import PAIRED, STRAIGHT
from graphcb.oracles.rows import Columns, Floats

KINDS = 3
KEEPS = (1.0, 0.998, 0.98)  # of what is known of an action, with each of its losses
RATE = 2.0  # at which weights fall with squared errors: Vovk's for losses between 0 and 1
REMEMBERED = 0.998  # of the squared errors, with each round
STILL = (0.0, -3.0, -5.0)  # log weights before errors speak: most worlds stand still
CHANGED = 10.0  # log weights by which a world has changed, between members that forget and others
LITTLE_FADED = 0.95  # of what is known, which is not worth the time
LEAST_WEIGHT = 0.04  # of a member that is asked for a forecast


@inner
def heard(present: Floats, has_products: bool) -> Floats:
    """1 for each member that is not silent, as paired ones are without products."""
    found = present.copy()
    if present[STRAIGHT, 0] > 0.0 and not has_products:
        found[PAIRED] = 0.0
    return found


@inner
def weigh(log_weights: Floats, heard: Floats, least: float) -> Floats:
    """The weights of members with sum 1; 0 for those that are silent, or have less than `least`."""
    weights, largest, most = np.empty(heard.shape), -np.inf, 0.0
    for kind in range(KINDS):
        for r in range(len(KEEPS)):
            if heard[kind, r] > 0.0:
                largest = max(largest, log_weights[kind, r])
    for kind in range(KINDS):
        for r in range(len(KEEPS)):
            off = min(log_weights[kind, r] - largest, 0.0)
            weights[kind, r] = heard[kind, r] * math.exp(off)
            most = max(most, weights[kind, r])
    least = min(least * weights.sum(), most)
    for kind in range(KINDS):
        for r in range(len(KEEPS)):
            if weights[kind, r] < least:
                weights[kind, r] = 0.0
    weights /= weights.sum()
    return weights


@inner
def with_weight(weights: Floats) -> Columns:
    """The members that have some, numbered kind by kind."""
    found, n = np.empty(weights.size, np.int64), 0
    for m in range(weights.size):
        if weights[m // len(KEEPS), m % len(KEEPS)] > 0.0:
            found[n] = m
            n += 1
    return found[:n]


@inner
def mixed(weights: Floats, members: Columns, found: Floats, c: int) -> float:
    """The mean over members of what was found for a column; theirs if all agree."""
    mean, first = 0.0, found[members[0] // len(KEEPS), members[0] % len(KEEPS), c]
    for m in members[1:]:
        kind, r = m // len(KEEPS), m % len(KEEPS)
        mean += weights[kind, r] * (found[kind, r, c] - first)
    return mean + float(first)


@inner
def reweigh(log_weights: Floats, present: Floats, found: Floats, seen: Floats) -> None:
    """Let weights fall with squared errors, and forget the old ones.

    The losses of one round depend on each other: n count as the square root of n.
    """
    rate = RATE / math.sqrt(seen.size)
    most = -np.inf
    for kind in range(KINDS):
        for r in range(len(KEEPS)):
            log_weights[kind, r] += (1.0 - REMEMBERED) * (STILL[r] - log_weights[kind, r])
            for c in range(seen.size):
                error = found[kind, r, c] - seen[c]
                log_weights[kind, r] -= present[kind, r] * rate * error * error
            if present[kind, r] > 0.0:
                most = max(most, log_weights[kind, r])
    for kind in range(KINDS):
        for r in range(len(KEEPS)):
            log_weights[kind, r] = min(log_weights[kind, r] - most, 0.0)


@inner
def faded(log_weights: Floats, present: Floats, ages: Floats, columns: Columns) -> Floats:
    """How much members (kind, rate, column) still know of actions not seen for long.

    No columns if that is all for everybody.
    Where a member that forgets predicts better than all that keep what they learned, the world has
    changed, and most likely also for actions that nobody plays any more.
    """
    most = new = -np.inf
    for kind in range(KINDS):
        if present[kind, 0] > 0.0:
            most = max(most, log_weights[kind, 0])
        for r in range(1, len(KEEPS)):
            if present[kind, r] > 0.0:
                new = max(new, log_weights[kind, r])
    left = np.ones((KINDS, len(KEEPS), columns.size if new > most + CHANGED else 0))
    if left.size == 0:
        return left
    for kind in range(KINDS):
        for r in range(1, len(KEEPS)):
            if present[kind, r] > 0.0 and log_weights[kind, r] > most + CHANGED:
                for c in range(columns.size):
                    keep = KEEPS[r] ** ages[columns[c]]
                    left[kind, r, c] = keep if keep <= LITTLE_FADED else 1.0
    return left
