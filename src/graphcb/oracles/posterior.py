"""Kernels of Bayesian logistic regression: a Gaussian posterior over the weights of each action.

The score of an action, x @ weights, is then normal, with mean m and a variance s, its leverage.
The loss, as a share of the loss range, is sigmoid(score). By MacKay's approximation its mean is

    sigmoid(m / sqrt(1 + pi s / 8)),

and its variance v (1 - 1 / sqrt(1 + 2 v s)) with v = mean (1 - mean), the deviation within 6 % for
almost all m and s: a coin's where nothing is known of the score, v^2 s where much is. Learning
matches the moments of the posterior of a coin: with k = 1 / sqrt(1 + pi s / 8), p = sigmoid(k m)
and a = covariance @ x,

    weights += a k (loss - p),   covariance -= a a^T k^2 p (1 - p),

the derivatives of log p. A step of the extended Kalman filter would take the score as known, and
be too sure of itself.

Weights are stored (n_features, n_actions).
"""

import math

import numpy as np

from graphcb.compilation import compiled
from graphcb.oracles.rows import Columns, Floats, SparseRow

PI_8 = math.pi / 8.0
PRIOR_COUNT = 2.0  # observations that the dispersion starts from, spread like a coin's
POOLED = 20.0  # observations of all actions that count beside those of one
RECENT = 16.0  # losses that say whether the world is as it was
LARGEST_ALONG = 1e100  # of covariance @ x, whose square is taken off the covariance
LEAST_CURVATURE = 1e-6  # of p (1 - p): far out on the sigmoid a step stays small

Model = tuple[Floats, Floats, Floats]  # weights, covariances and prior variances
Look = tuple[Floats, Floats, Floats]  # scores, leverages and covariance @ x of some actions


@compiled
def full_scores(
    weights: Floats, covariances: Floats, indices: Columns, values: Floats, columns: Columns
) -> tuple[Floats, Floats]:
    """Mean and variance of the scores; covariances are (n_actions, n_features, n_features).

    The variance is NaN where learning from this row would not stay finite.
    """
    look = empty_look(columns.size, weights.shape[0])
    full_look(weights, covariances, indices, values, columns, look)
    return look[:2]


@compiled
def full_look(
    weights: Floats,
    covariances: Floats,
    indices: Columns,
    values: Floats,
    columns: Columns,
    look: Look,
) -> None:
    """Fill in what `full_scores` returns and covariance @ x for each column: all a step needs."""
    scores, leverages, alongs = look
    for c in range(columns.size):
        along = alongs[c, : weights.shape[0]]
        _multiply(covariances[columns[c]], indices, values, along)
        score = leverage = 0.0
        for k in range(indices.size):
            score += weights[indices[k], columns[c]] * values[k]
            leverage += along[indices[k]] * values[k]
        too_large = False
        for i in range(along.size):
            too_large |= not abs(along[i]) <= LARGEST_ALONG
        scores[c], leverages[c] = score, np.nan if too_large else max(leverage, 0.0)


@compiled
def empty_look(n_columns: int, n_features: int) -> Look:
    """Room for a look at so many actions."""
    return np.empty(n_columns), np.empty(n_columns), np.empty((n_columns, n_features))


@compiled
def full_fits(
    covariances: Floats, indices: Columns, values: Floats, columns: Columns, most: float
) -> bool:
    """Whether what is taken off a covariance is at most as large as `most`, its first entries.

    It is, unless rounding has the better of it: with a = covariance @ x, a_i^2 is at most the
    leverage times covariance_ii.
    """
    along = np.empty(covariances.shape[1])
    for c in range(columns.size):
        _multiply(covariances[columns[c]], indices, values, along)
        leverage = widest = 0.0
        for k in range(indices.size):
            leverage += along[indices[k]] * values[k]
        for i in range(along.size):
            widest = max(widest, abs(along[i]))
        if not 0.25 * widest * widest <= 4.0 * most * (1.0 + PI_8 * max(leverage, 0.0)):
            return False
    return True


@compiled
def full_learn(
    weights: Floats,
    covariances: Floats,
    indices: Columns,
    values: Floats,
    columns: Columns,
    shares: Floats,
) -> None:
    """One step for each column, on losses as shares of their range."""
    look = empty_look(columns.size, weights.shape[0])
    full_look(weights, covariances, indices, values, columns, look)
    model = weights, covariances, np.zeros(weights.shape[0])  # nothing is forgotten
    full_step(model, columns, look, shares, 1.0)


@compiled
def full_step(model: Model, columns: Columns, look: Look, shares: Floats, keep: float) -> None:
    """Learn from a row that was looked at, then let all that is known count `keep` times as much.

    The prior never counts less. Entries are multiplied by products of factors, so a covariance
    stays symmetric and positive.
    """
    weights, covariances, priors = model
    scores, leverages, alongs = look
    factors = np.ones(weights.shape[0])
    for c in range(columns.size):
        covariance, along = covariances[columns[c]], alongs[c, : factors.size]
        step, shrink = step_and_shrink(scores[c], leverages[c], shares[c])
        for i in range(along.size):
            weights[i, columns[c]] += step * along[i]
        if keep == 1.0:
            for i in range(along.size):
                if along[i] != 0.0:
                    row = covariance[i]
                    for j in range(along.size):  # exactly symmetric
                        row[j] -= shrink * (along[i] * along[j])
            continue
        for i in range(along.size):
            known = covariance[i, i] - shrink * (along[i] * along[i])
            most = priors[i] / max(known, 1e-300)
            factors[i] = math.sqrt(max(1.0, min(1.0 / keep, most)))
        for i in range(along.size):
            row, factor, taken = covariance[i], factors[i], along[i]
            for j in range(along.size):
                row[j] = (row[j] - shrink * (taken * along[j])) * (factor * factors[j])


@compiled
def _multiply(covariance: Floats, indices: Columns, values: Floats, along: Floats) -> None:
    """along = covariance @ x; row by row, as the matrix is symmetric, and four at once."""
    along[:] = 0.0
    fours = indices.size // 4 * 4
    for k in range(0, fours, 4):
        a, b = covariance[indices[k]], covariance[indices[k + 1]]
        c, d = covariance[indices[k + 2]], covariance[indices[k + 3]]
        for i in range(along.size):
            along[i] += (values[k] * a[i] + values[k + 1] * b[i]) + (
                values[k + 2] * c[i] + values[k + 3] * d[i]
            )
    for k in range(fours, indices.size):
        row, value = covariance[indices[k]], values[k]
        for i in range(along.size):
            along[i] += value * row[i]


@compiled
def diagonal_scores(
    weights: Floats, variances: Floats, indices: Columns, values: Floats, columns: Columns
) -> tuple[Floats, Floats]:
    """Mean and variance of the scores; variances are (n_features, n_actions)."""
    n_actions = weights.shape[1]
    if 4 * columns.size < n_actions:
        scores, leverages = np.zeros(columns.size), np.zeros(columns.size)
        for k in range(indices.size):
            means, spreads, value = weights[indices[k]], variances[indices[k]], values[k]
            for c in range(columns.size):
                scores[c] += value * means[columns[c]]
                leverages[c] += value * value * spreads[columns[c]]
        return scores, leverages
    scores, leverages = np.zeros(n_actions), np.zeros(n_actions)  # all of them: vectorised
    for k in range(indices.size):
        means, spreads, value = weights[indices[k]], variances[indices[k]], values[k]
        for a in range(n_actions):
            scores[a] += value * means[a]
            leverages[a] += value * value * spreads[a]
    return scores[columns], leverages[columns]


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
    diagonal_step(model, (indices, values), columns, look, shares, 1.0)


@compiled
def diagonal_step(
    model: Model,
    row: SparseRow,
    columns: Columns,
    look: tuple[Floats, Floats],
    shares: Floats,
    keep: float,
) -> None:
    """`full_step` for independent weights; what does not stand in the row is not forgotten."""
    weights, variances, priors = model
    indices, values = row
    scores, leverages = look
    growth = 1.0 / keep
    steps, shrinks = np.empty(columns.size), np.empty(columns.size)
    for c in range(columns.size):
        steps[c], shrinks[c] = step_and_shrink(scores[c], leverages[c], shares[c])
    for k in range(indices.size):
        means, spreads, value = weights[indices[k]], variances[indices[k]], values[k]
        most = priors[indices[k]]
        for c in range(columns.size):
            along = spreads[columns[c]] * value
            means[columns[c]] += steps[c] * along
            # Rounding may take off more than there is where the context is very large.
            left = max(spreads[columns[c]] - shrinks[c] * along * along, 0.0)
            spreads[columns[c]] = max(left, min(left * growth, most))


@compiled
def forget_residuals(squares: Floats, counts: Floats, columns: Columns, keep: float) -> None:
    """Let the residuals seen of these actions count `keep` times as much."""
    for c in range(columns.size):
        b = columns[c]
        squares[b] = PRIOR_COUNT + keep * (squares[b] - PRIOR_COUNT)
        counts[b] *= keep


@compiled
def full_add(weights: Floats, covariance: Floats, precisions: Floats) -> None:
    """Add to the prior precision of each weight of one action; the data's information stays.

    One rank-one step per feature i: with c its column of the covariance and g = p_i / (1 + p_i
    c_i), weights -= g weights_i c and covariance -= g c c^T. A precision may be negative, but
    takes off less than there is.
    """
    along = np.empty(weights.size)
    for i in range(weights.size):
        if precisions[i] == 0.0:
            continue
        along[:] = covariance[i]
        gain = precisions[i] / (1.0 + precisions[i] * along[i])
        step = gain * weights[i]
        for j in range(weights.size):
            weights[j] -= step * along[j]
            row = covariance[j]
            for k in range(weights.size):
                row[k] -= gain * (along[j] * along[k])


@compiled
def step_and_shrink(score: float, leverage: float, share: float) -> tuple[float, float]:
    """The factors of the step and of what is taken off the covariance."""
    scale = 1.0 / math.sqrt(1.0 + PI_8 * max(leverage, 0.0))
    mean = 1.0 / (1.0 + math.exp(-scale * score))
    return scale * (share - mean), scale * scale * max(mean * (1.0 - mean), LEAST_CURVATURE)


@compiled
def mean_shares(scores: Floats, leverages: Floats) -> Floats:
    """The mean of each loss, as a share of the loss range."""
    shares = np.empty(scores.size)
    for c in range(scores.size):
        shares[c] = mean_share(scores[c], leverages[c])
    return shares


@compiled
def mean_share(score: float, leverage: float) -> float:
    """The mean of one loss, as a share of the loss range."""
    return 1.0 / (1.0 + math.exp(-score / math.sqrt(1.0 + PI_8 * leverage)))


@compiled
def certainty(shares: Floats, leverages: Floats, dispersions: Floats) -> tuple[Floats, Floats]:
    """Standard deviation of each mean share, and the information that seeing its loss gives.

    `dispersions` are the residuals' variances relative to those of coins: a loss that hardly
    varies is known sooner.
    """
    deviations, gains = np.empty(shares.size), np.empty(shares.size)
    for c in range(shares.size):
        coin = max(shares[c] * (1.0 - shares[c]), 1e-9)
        unknown = 1.0 - 1.0 / math.sqrt(1.0 + 2.0 * coin * leverages[c])
        deviations[c] = math.sqrt(min(dispersions[c], 1.0) * coin * unknown)
        gains[c] = math.log1p(leverages[c] * coin)
    return deviations, gains


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
