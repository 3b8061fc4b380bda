"""How far losses were from what was predicted: the noise of each action, and recent surprises."""

import math

import numpy as np

from graphcb.compilation import compiled
from graphcb.oracles.posterior import PRIOR_COUNT
from graphcb.oracles.rows import Columns, Floats

POOLED = 20.0  # observations of all actions that count beside those of one
RECENT = 16.0  # losses that say whether the world is as it was


@compiled
def forget_residuals(squares: Floats, counts: Floats, columns: Columns, keep: float) -> None:
    """Let the residuals seen of these actions count `keep` times as much."""
    for c in range(columns.size):
        b = columns[c]
        squares[b] = PRIOR_COUNT + keep * (squares[b] - PRIOR_COUNT)
        counts[b] *= keep


@compiled
def note_residuals(
    squares: Floats, counts: Floats, columns: Columns, predicted: Floats, shares: Floats
) -> None:
    """Add each squared residual, relative to a coin's variance, to its action's sum."""
    for c in range(columns.size):
        coin = max(predicted[c] * (1.0 - predicted[c]), 1e-3)
        residual = shares[c] - predicted[c]
        squares[columns[c]] += residual * residual / coin
        counts[columns[c]] += 1.0


@compiled
def note_surprises(
    surprises: Floats, counts: Floats, columns: Columns, predicted: Floats, shares: Floats
) -> None:
    """The mean residual of the last losses of each action; before they are counted."""
    for c in range(columns.size):
        b = columns[c]
        surprises[b] += (shares[c] - predicted[c] - surprises[b]) / min(counts[b] + 2.0, RECENT)


@compiled
def add_surprises(
    deviations: Floats, surprises: Floats, shares: Floats, dispersions: Floats
) -> None:
    """Widen deviations by mean residuals that are no noise: the world is not as it was.

    The noise of such a mean is its variance if losses are as predicted, and twice its deviation.
    """
    for c in range(shares.size):
        coin = max(shares[c] * (1.0 - shares[c]), 1e-9)
        noise = 9.0 * min(dispersions[c], 1.0) * coin / (2.0 * RECENT - 1.0)
        more = max(0.0, surprises[c] * surprises[c] - noise)
        deviations[c] = math.sqrt(deviations[c] * deviations[c] + more)


@compiled
def doubt_the_pool(deviations: Floats, unlearned: Floats, counts: Floats) -> None:
    """Widen deviations as far as their dispersion is that of other actions.

    Those may be quiet, which says nothing of what was never learned of this one: `unlearned` are
    the deviations if dispersions are only of what was learned (`posterior.sharpened`).
    """
    for c in range(counts.size):
        others = (POOLED / (POOLED + counts[c])) ** 2  # the square: soon it is mostly its own
        own = (1.0 - others) * deviations[c] * deviations[c]
        deviations[c] = math.sqrt(own + others * unlearned[c] * unlearned[c])


@compiled
def pooled_dispersions(squares: Floats, counts: Floats, columns: Columns) -> Floats:
    """Dispersions of these actions, shrunk to that of all: few losses may be alike by chance."""
    total, seen = PRIOR_COUNT, PRIOR_COUNT
    for b in range(counts.size):
        if counts[b] > 0.0:
            total += max(squares[b] - PRIOR_COUNT, 0.0)
            seen += counts[b]
    found = np.empty(columns.size)
    for c in range(columns.size):
        b = columns[c]
        found[c] = (squares[b] + POOLED * total / seen) / (PRIOR_COUNT + counts[b] + POOLED)
    return found
