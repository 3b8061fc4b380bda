"""Kernels of a Gaussian posterior of independent weights, a variance each: see `posterior`.

Variances are stored like weights, (n_features, n_actions): words touch few contiguous rows.
"""

import numpy as np

from graphcb.compilation import compiled, summed
from graphcb.oracles.posterior import Model, Noise, coins, step_and_shrink
from graphcb.oracles.rows import Columns, Floats, SparseRow
from graphcb.oracles.weights import add_rows, is_most


@compiled
def diagonal_scores(
    weights: Floats, variances: Floats, indices: Columns, values: Floats, columns: Columns
) -> tuple[Floats, Floats]:
    """Mean and variance of the scores."""
    n_actions = weights.shape[1]
    if not is_most(columns.size, n_actions):
        scores, leverages = np.empty(columns.size), np.empty(columns.size)
        for c in range(columns.size):
            scores[c], leverages[c] = _score(weights, variances, indices, values, columns[c])
        return scores, leverages
    scores, leverages = np.zeros(n_actions), np.zeros(n_actions)
    add_rows(weights, indices, values, scores)
    add_rows(variances, indices, values * values, leverages)
    return scores[columns], leverages[columns]


@compiled
def diagonal_glance(
    weights: Floats,
    variances: Floats,
    indices: Columns,
    rows: Floats,
    columns: Columns,
    scores: Floats,
    leverages: Floats,
) -> None:
    """Fill in `diagonal_scores` of several rows with the same indices.

    The numbers of few actions are far apart in memory, and are gathered once for all rows.
    """
    n_rows, size = rows.shape
    squares = rows * rows
    if is_most(columns.size, weights.shape[1]):
        both = np.empty((2, weights.shape[1]))
        for n in range(n_rows):
            both[:] = 0.0
            add_rows(weights, indices, rows[n], both[0])
            add_rows(variances, indices, squares[n], both[1])
            for c in range(columns.size):
                scores[n, c], leverages[n, c] = both[0, columns[c]], both[1, columns[c]]
        return
    means, spreads = np.empty(size), np.empty(size)
    for c in range(columns.size):
        for k in range(size):
            means[k] = weights[indices[k], columns[c]]
            spreads[k] = variances[indices[k], columns[c]]
        for n in range(n_rows):
            scores[n, c], leverages[n, c] = _dots(rows[n], means, squares[n], spreads)


@compiled
def diagonal_learn(
    weights: Floats,
    variances: Floats,
    indices: Columns,
    values: Floats,
    columns: Columns,
    shares: Floats,
) -> None:
    """One step for each column, as if the weights were independent."""
    look = diagonal_scores(weights, variances, indices, values, columns)
    model = weights, variances, np.zeros(weights.shape[0])  # nothing is forgotten
    diagonal_step(model, (indices, values), columns, look, shares, coins(columns.size), 1.0)


@compiled
def diagonal_step(
    model: Model,
    row: SparseRow,
    columns: Columns,
    look: tuple[Floats, Floats],
    shares: Floats,
    noise: Noise,
    keep: float,
) -> None:
    """`full_step` for independent weights; what does not stand in the row is not forgotten."""
    scores, leverages = look
    n_actions = model[0].shape[1]
    if not is_most(columns.size, n_actions):
        for c in range(columns.size):
            step, shrink = step_and_shrink(
                scores[c], leverages[c], shares[c], noise[0][c], noise[1][c]
            )
            _move(model, row, columns[c], step, shrink, 1.0 / keep)
        return
    steps, shrinks, growths = np.zeros(n_actions), np.zeros(n_actions), np.ones(n_actions)
    for c in range(columns.size):
        b = columns[c]
        steps[b], shrinks[b] = step_and_shrink(
            scores[c], leverages[c], shares[c], noise[0][c], noise[1][c]
        )
        growths[b] = 1.0 / keep
    _move_all(model, row, steps, shrinks, growths)


@compiled
def diagonal_fade(model: Model, column: int, keep: float) -> None:
    """`full_fade` for independent weights."""
    weights, variances, priors = model
    for i in range(priors.size):
        weights[i, column] *= keep
        variances[i, column] += (1.0 - keep) * (priors[i] - variances[i, column])


@summed
def _score(
    weights: Floats, variances: Floats, indices: Columns, values: Floats, column: int
) -> tuple[float, float]:
    score = leverage = 0.0
    for k in range(indices.size):
        value = values[k]
        score += value * weights[indices[k], column]
        leverage += value * value * variances[indices[k], column]
    return score, leverage


@summed
def _dots(a: Floats, b: Floats, c: Floats, d: Floats) -> tuple[float, float]:
    """a @ b and c @ d."""
    one = other = 0.0
    for k in range(a.size):
        one += a[k] * b[k]
        other += c[k] * d[k]
    return one, other


@compiled
def _move(
    model: Model, row: SparseRow, column: int, step: float, shrink: float, growth: float
) -> None:
    """Learn and forget one action."""
    weights, variances, priors = model
    indices, values = row
    for k in range(indices.size):
        i = indices[k]
        along = variances[i, column] * values[k]
        weights[i, column] += step * along
        # Rounding may take off more than there is where the context is very large.
        left = max(variances[i, column] - shrink * along * along, 0.0)
        variances[i, column] = max(left, min(left * growth, priors[i]))


@compiled
def _move_all(
    model: Model, row: SparseRow, steps: Floats, shrinks: Floats, growths: Floats
) -> None:
    """`_move` for all actions; those with a step of 0 stay."""
    weights, variances, priors = model
    indices, values = row
    for k in range(indices.size):
        means, spreads, value = weights[indices[k]], variances[indices[k]], values[k]
        most = priors[indices[k]]
        for a in range(steps.size):
            means[a] += steps[a] * (spreads[a] * value)
        for a in range(steps.size):  # without max and min, which have NaN to think of
            along = spreads[a] * value
            left = spreads[a] - shrinks[a] * along * along
            left = left if left > 0.0 else 0.0
            grown = left * growths[a]
            grown = grown if grown < most else most
            spreads[a] = left if left > grown else grown
