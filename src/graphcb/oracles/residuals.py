"""How far losses were from what was predicted: the noise of each action, and recent surprises."""

import math

import numpy as np

from graphcb.compilation import compiled, inner
from graphcb.oracles.posterior import PRIOR_COUNT
from graphcb.oracles.rows import Columns, Floats

POOLED = 20.0  # observations of all actions that count beside those of one
RECENT = 16.0  # losses that say whether the world is as it was
LEVELS = 15  # of predicted log odds, from -7 to 7: noise is often larger where losses are
MOST_APART = 16.0  # the factor by which a level may be noisier or quieter than all
LEAST_UNIT = 0.002  # of noise: what varies less is taken to vary so much


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


@inner
def surprised(deviation: float, surprise: float, share: float, dispersion: float) -> float:
    """A deviation, wider by a mean residual that is no noise: the world is not as it was.

    The noise of such a mean is its variance if losses are as predicted, and twice its deviation.
    """
    coin = max(share * (1.0 - share), 1e-9)
    noise = 9.0 * min(dispersion, 1.0) * coin / (2.0 * RECENT - 1.0)
    more = max(0.0, surprise * surprise - noise)
    return math.sqrt(deviation * deviation + more)


@compiled
def doubting_the_pool(deviation: float, unlearned: float, count: float) -> float:
    """A deviation, wider as far as its dispersion is that of other actions.

    Those may be quiet, which says nothing of what was never learned of this one: `unlearned` is
    the deviation if dispersions are only of what was learned (`posterior.sharpened`).
    """
    others = (POOLED / (POOLED + count)) ** 2  # the square: soon it is mostly its own
    own = (1.0 - others) * deviation * deviation
    return math.sqrt(own + others * unlearned * unlearned)


@inner
def pooled_squares(squares: Floats, counts: Floats) -> float:
    """Squared residuals of all actions, as those of `POOLED` losses."""
    total, seen = PRIOR_COUNT, PRIOR_COUNT
    for b in range(counts.size):
        if counts[b] > 0.0:
            total += max(squares[b] - PRIOR_COUNT, 0.0)
            seen += counts[b]
    return POOLED * total / seen


@compiled
def note_levels(
    levels: Floats, between: Floats, columns: Columns, predicted: Floats, shares: Floats
) -> None:
    """Add squared residuals and counts to the levels of predictions, and what lies between.

    With mean share p, E[share (1 - share)] is p (1 - p) less the variance: nothing where losses
    are 0 and 1, almost a coin's variance where they hardly vary.
    """
    for c in range(columns.size):
        coin = max(predicted[c] * (1.0 - predicted[c]), 1e-4)
        residual, level = shares[c] - predicted[c], _level(predicted[c])
        levels[0, level] += residual * residual / coin
        levels[1, level] += 1.0
        between[columns[c]] += shares[c] * (1.0 - shares[c]) / coin


@compiled
def units_of(levels: Floats, between: Floats, counts: Floats, columns: Columns) -> Floats:
    """The noise that covariances of these actions are relative to: 1 where losses are 0 or 1."""
    unit = min(max(_mean_noise(levels), LEAST_UNIT), 1.0)
    found = np.empty(columns.size)
    for c in range(columns.size):
        found[c] = unit ** _unlike_coins(between, counts, columns[c])
    return found


@compiled
def noises_of(
    levels: Floats, between: Floats, counts: Floats, columns: Columns, predicted: Floats
) -> Floats:
    """The noise of losses with these predictions, relative to coins': 1 where they are 0 or 1."""
    mean, found = _mean_noise(levels), units_of(levels, between, counts, columns)
    for c in range(columns.size):
        level = _level(predicted[c])
        own = (levels[0, level] + POOLED * mean) / (levels[1, level] + POOLED)
        apart = min(max(own / mean, 1.0 / MOST_APART), MOST_APART)
        found[c] *= apart ** _unlike_coins(between, counts, columns[c])
    return found


@compiled
def _mean_noise(levels: Floats) -> float:
    squares, seen = PRIOR_COUNT, PRIOR_COUNT
    for level in range(LEVELS):
        squares += float(levels[0, level])
        seen += float(levels[1, level])
    return squares / seen


@compiled
def _unlike_coins(between: Floats, counts: Floats, column: int) -> float:
    """0 for an action whose losses are 0 or 1, and 1 from half of a coin's variance down."""
    share = float(between[column] / (PRIOR_COUNT + counts[0, column]))
    return min(2.0 * share, 1.0)


@compiled
def _level(share: float) -> int:
    odds = math.log(max(share, 1e-9) / max(1.0 - share, 1e-9))
    return int(min(max(odds + 0.5 * LEVELS, 0.0), LEVELS - 1.0))
