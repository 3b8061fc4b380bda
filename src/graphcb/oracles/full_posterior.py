"""Kernels of a Gaussian posterior with a full covariance per action: see `posterior`.

Of each covariance the lower triangle is kept, row by row: entry (i, j), j <= i, is at
i (i + 1) / 2 + j. So it is symmetric whatever is rounded, new features go to the end, and a loss
reads and writes half of a square.

Covariances are stored (n_actions, n_entries(n_features)).
"""

import math

import numpy as np

from graphcb.compilation import compiled, summed
from graphcb.oracles.posterior import PI_8, Look, Model, Noise, coins, step_and_shrink
from graphcb.oracles.rows import Columns, Floats
from graphcb.oracles.weights import add_rows, is_most

LARGEST_SQUARE = 1e200  # of covariance @ x, which is taken off the covariance


def n_entries(n_features: int) -> int:
    """How many entries the triangle of a covariance has."""
    return n_features * (n_features + 1) // 2


def on_diagonal(n_features: int) -> Columns:
    """Where the variances are in a triangle."""
    numbers = np.arange(n_features)
    found: Columns = numbers * (numbers + 3) // 2
    return found


def as_triangles(variances: Floats, n_actions: int) -> Floats:
    """Covariances of independent weights with these variances, one for each action."""
    found = np.zeros((n_actions, n_entries(variances.size)))
    found[:, on_diagonal(variances.size)] = variances
    return found


@compiled
def full_scores(
    weights: Floats, covariances: Floats, indices: Columns, values: Floats, columns: Columns
) -> tuple[Floats, Floats]:
    """Mean and variance of the scores: NaN where learning from this row would not stay finite."""
    look = empty_look(columns.size, weights.shape[0])
    full_look(weights, covariances, indices, values, columns, look)
    return look[:2]


@compiled
def full_glance(
    weights: Floats,
    covariances: Floats,
    indices: Columns,
    rows: Floats,
    columns: Columns,
    scores: Floats,
    leverages: Floats,
) -> None:
    """`full_look` at several rows with the same indices, for those who do not learn.

    It is without covariance @ x.
    """
    used = indices.max() + 1 if indices.size > 0 else 0  # there may be room for more
    is_dense = 2 * indices.size >= used
    products = np.empty(used * (used + 1) // 2 if is_dense else 0)
    for n in range(len(rows)):
        x = _spread(indices, rows[n], weights.shape[0])
        _score(weights, indices, rows[n], columns, scores[n])
        if is_dense:
            _multiply_out(x[:used], products)
        for c in range(columns.size):
            covariance = covariances[columns[c]]
            leverage = _dot(products, covariance) if is_dense else _leverage(covariance, x)
            leverages[n, c] = max(leverage, 0.0) if leverage < np.inf else np.nan


@compiled
def full_look(
    weights: Floats,
    covariances: Floats,
    indices: Columns,
    values: Floats,
    columns: Columns,
    look: Look,
) -> None:
    """Fill in what `full_scores` returns and covariance @ x for each column: all a step needs.

    The variance is NaN where learning from this row would not stay finite.
    """
    scores, leverages, alongs = look
    x = _spread(indices, values, weights.shape[0])
    _score(weights, indices, values, columns, scores)
    for c in range(columns.size):
        along = alongs[c, : x.size]
        _multiply(covariances[columns[c]], x, along)
        leverage = _dot(along, x)
        fits = leverage < np.inf and _dot(along, along) <= LARGEST_SQUARE
        leverages[c] = max(leverage, 0.0) if fits else np.nan


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
    n_features = int(math.sqrt(8 * covariances.shape[1] + 1) - 1) // 2
    x, along = _spread(indices, values, n_features), np.empty(n_features)
    for c in range(columns.size):
        _multiply(covariances[columns[c]], x, along)
        leverage, widest = _dot(along, x), np.abs(along).max()
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
    full_step(model, columns, look, shares, coins(columns.size), 1.0)


@compiled
def full_step(
    model: Model, columns: Columns, look: Look, shares: Floats, noise: Noise, keep: float
) -> None:
    """Learn from a row that was looked at, then let all that is known count `keep` times as much.

    The prior never counts less. Entries are multiplied by products of factors, so a covariance
    stays positive.
    """
    weights, covariances, priors = model
    scores, leverages, alongs = look
    factors = np.empty(priors.size)
    for c in range(columns.size):
        covariance, along = covariances[columns[c]], alongs[c, : priors.size]
        step, shrink = step_and_shrink(scores[c], leverages[c], shares[c], noise[0][c], noise[1][c])
        for i in range(along.size):
            weights[i, columns[c]] += step * along[i]
        if keep == 1.0:
            _take_off(covariance, along, shrink)
        else:
            _growths(covariance, along, shrink, priors, keep, factors)
            _take_off_and_grow(covariance, along, shrink, factors)


@compiled
def full_fade(model: Model, column: int, keep: float) -> None:
    """Let what is known of an action go to the prior: `keep` of it stays."""
    weights, covariances, priors = model
    covariance, end = covariances[column], -1
    covariance *= keep
    for i in range(priors.size):
        weights[i, column] *= keep
        end += i + 1
        covariance[end] += (1.0 - keep) * priors[i]


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
        for j in range(weights.size):
            low, high = min(i, j), max(i, j)
            along[j] = covariance[high * (high + 1) // 2 + low]
        gain = precisions[i] / (1.0 + precisions[i] * along[i])
        step = gain * weights[i]
        for j in range(weights.size):
            weights[j] -= step * along[j]
        _take_off(covariance, along, gain)


@compiled
def _spread(indices: Columns, values: Floats, n_features: int) -> Floats:
    """The row as a vector of all features."""
    x = np.zeros(n_features)
    for k in range(indices.size):
        x[indices[k]] += values[k]
    return x


@compiled
def _score(
    weights: Floats, indices: Columns, values: Floats, columns: Columns, scores: Floats
) -> None:
    """Fill in the mean of each score."""
    if is_most(columns.size, weights.shape[1]):
        total = np.zeros(weights.shape[1])
        add_rows(weights, indices, values, total)
        for c in range(columns.size):
            scores[c] = total[columns[c]]
        return
    for c in range(columns.size):
        scores[c] = _dot_column(weights, indices, values, columns[c])


@summed
def _dot_column(weights: Floats, indices: Columns, values: Floats, column: int) -> float:
    total = 0.0
    for k in range(indices.size):
        total += weights[indices[k], column] * values[k]
    return total


@summed
def _dot(a: Floats, b: Floats) -> float:
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@summed
def _multiply_out(x: Floats, products: Floats) -> None:
    """Fill in x x^T as a triangle, what stands twice in the square taken twice.

    Then x @ covariance @ x is one long sum for each action instead of many short ones.
    """
    begin = 0
    for i in range(x.size):
        row, twice = products[begin : begin + i + 1], 2.0 * x[i]
        for j in range(i):
            row[j] = twice * x[j]
        row[i] = x[i] * x[i]
        begin += i + 1


@summed
def _leverage(covariance: Floats, x: Floats) -> float:
    """x @ covariance @ x, for an x with many zeros."""
    total, begin = 0.0, 0
    for i in range(x.size):
        if x[i] != 0.0:
            row, before = covariance[begin : begin + i], 0.0
            for j in range(i):
                before += row[j] * x[j]
            total += x[i] * (2.0 * before + x[i] * covariance[begin + i])
        begin += i + 1
    return total


@summed
def _multiply(covariance: Floats, x: Floats, along: Floats) -> None:
    """along = covariance @ x: a row of the triangle is also a column. Four rows at once."""
    begin, fours = 0, x.size // 4 * 4
    for i in range(0, fours, 4):
        a, b = covariance[begin:], covariance[begin + i + 1 :]
        c, d = covariance[begin + 2 * i + 3 :], covariance[begin + 3 * i + 6 :]
        x_a, x_b, x_c, x_d = x[i], x[i + 1], x[i + 2], x[i + 3]
        in_a = in_b = in_c = in_d = 0.0
        for j in range(i):
            in_a += a[j] * x[j]
            in_b += b[j] * x[j]
            in_c += c[j] * x[j]
            in_d += d[j] * x[j]
            along[j] += (x_a * a[j] + x_b * b[j]) + (x_c * c[j] + x_d * d[j])
        along[i] = in_a + x_a * a[i] + x_b * b[i] + x_c * c[i] + x_d * d[i]
        along[i + 1] = in_b + x_a * b[i] + x_b * b[i + 1] + x_c * c[i + 1] + x_d * d[i + 1]
        along[i + 2] = in_c + x_a * c[i] + x_b * c[i + 1] + x_c * c[i + 2] + x_d * d[i + 2]
        along[i + 3] = in_d + x_a * d[i] + x_b * d[i + 1] + x_c * d[i + 2] + x_d * d[i + 3]
        begin += 4 * i + 10
    for i in range(fours, x.size):
        row, value, before = covariance[begin : begin + i], x[i], 0.0
        for j in range(i):
            before += row[j] * x[j]
            along[j] += value * row[j]
        along[i] = before + value * covariance[begin + i]
        begin += i + 1


@summed
def _take_off(covariance: Floats, along: Floats, shrink: float) -> None:
    """covariance -= shrink along along^T."""
    begin = 0
    for i in range(along.size):
        row, taken = covariance[begin : begin + i + 1], shrink * along[i]
        if taken != 0.0:
            for j in range(i + 1):
                row[j] -= taken * along[j]
        begin += i + 1


@summed
def _growths(
    covariance: Floats, along: Floats, shrink: float, priors: Floats, keep: float, factors: Floats
) -> None:
    """How deviations grow as all counts `keep` times as much, but not beyond the prior's."""
    for i in range(along.size):
        variance = covariance[i * (i + 3) // 2] - shrink * (along[i] * along[i])
        least = keep * priors[i]
        variance = variance if variance > least else least
        variance = variance if variance < priors[i] else priors[i]
        factors[i] = math.sqrt(priors[i] / variance)


@summed
def _take_off_and_grow(covariance: Floats, along: Floats, shrink: float, factors: Floats) -> None:
    """`_take_off`, then multiply entry (i, j) by both factors."""
    begin = 0
    for i in range(along.size):
        row, taken, factor = covariance[begin : begin + i + 1], shrink * along[i], factors[i]
        for j in range(i + 1):
            row[j] = (row[j] - taken * along[j]) * (factor * factors[j])
        begin += i + 1
