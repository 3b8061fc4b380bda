"""Logistic edges by online Newton steps: the kernels.

The score of edge (i, j) is m = x @ w_ij, and the edge is there with probability g sigmoid(m), where
g is the probability of a known graph, or 1. All edges of a played row i meet the same contexts, so
they share the inverse P_i of r I + sum x x^T; how curved the loss of edge (i, j) is on average is a
single number h_ij. Together they stand for the inverse Hessian P_i / h_ij of each edge, for d^2
numbers per row instead of per edge.

A step is implicit: the new score m' solves

    m' = m + V slope(m'),        V = x^T P_i x / h_ij,

which is the Newton step where V is small, and stays near log V where it is large and a Newton step
would overshoot.
"""

import math
from typing import Any

import numpy as np

from graphcb.compilation import compiled, inner
from graphcb.oracles.rows import Columns, Floats, SparseRow, as_row, check_finite

FULL_UP_TO = 192  # features up to which it is learned how they go together
RIDGE = 4.0  # of more features, whose rows are sparse; else 1 + features / 3: measured, 0032
LARGEST_WEIGHT = 1e120  # in a file
LONGEST = 1e6  # of a row: the inverse of sum x x^T loses its digits beyond 1e8
ROUNDED = 1e-6  # relative error of x^T P x that rounding explains
PRIOR = 4.0  # observations that the curvature of an edge at 1/2 counts for
CLOSE = 1e-7  # precision of a new score, relative to 1 + its size
ITERATIONS = 60  # halvings of an interval of any length that occurs


def read_features(context: Any, n_features: int) -> SparseRow:
    """A checked row; one longer than LONGEST counts as if it had that length."""
    indices, values = as_row(context, n_features)
    check_finite(indices, values)
    length = math.sqrt(values @ values)
    return indices, values if length <= LONGEST else values * (LONGEST / length)


def fresh_inverse(n_rows: int, n_features: int) -> Floats:
    """P before any context: (rows, d, d), or the diagonals (rows, 1, d) of many features."""
    if n_features > FULL_UP_TO:
        return np.full((n_rows, 1, n_features), 1.0 / RIDGE)
    return np.repeat(np.eye(n_features)[None] / (1.0 + n_features / 3.0), n_rows, axis=0)


def shape_of_inverse(n_rows: int, n_features: int) -> tuple[int, int, int]:
    """The shape of `fresh_inverse`."""
    return n_rows, n_features if n_features <= FULL_UP_TO else 1, n_features


@compiled
def predict_edges(
    weights: Floats, indices: Columns, values: Floats, columns: Columns, looked: Floats
) -> Floats:
    """sigmoid(x @ w_ij) within the margins for each edge among `columns`: (n, n)."""
    n, n_actions = columns.size, weights.shape[2]
    rates, scores = np.empty((n, n)), np.empty(n_actions)
    for r in range(n):
        i = columns[r]
        scores[:] = 0.0
        for k in range(indices.size):
            row, value = weights[i, indices[k]], values[k]
            for j in range(n_actions):
                scores[j] += value * row[j]
        for c in range(n):
            j = columns[c]
            margin = 0.5 / (looked[i, j] + 1.0)
            rates[r, c] = min(max(_sigmoid(scores[j]), margin), 1.0 - margin)
    return rates


@compiled
def learn_edges(
    weights: Floats,
    inverse: Floats,
    curvature: Floats,
    looked: Floats,
    rounds: Floats,
    indices: Columns,
    values: Floats,
    columns: Columns,
    played: int,
    labels: Floats,
    promised: Floats,
    squared: bool,
) -> None:
    """One step for each edge from column `played` to `columns`, where `promised` is positive.

    `labels` are 1 for an edge that was seen and 0 for one that was not. The row of `inverse` is a
    (d, d) matrix, or its diagonal (1, d).
    """
    w, p = weights[played], inverse[played]
    d = w.shape[0]
    px = np.zeros(d)
    if len(p) == d:
        for k in range(indices.size):
            row, value = p[indices[k]], values[k]
            for f in range(d):
                px[f] += value * row[f]
    else:
        for k in range(indices.size):
            px[indices[k]] += values[k] * p[0, indices[k]]
    spread = 0.0
    for k in range(indices.size):
        spread += values[k] * px[indices[k]]
    if not _is_sound(p, px, spread):
        px[:] = 0.0
        spread = 0.0
    scores, steps = np.zeros(w.shape[1]), np.zeros(w.shape[1])
    for k in range(indices.size):
        row, value = w[indices[k]], values[k]
        for j in range(row.size):
            scores[j] += value * row[j]
    for c in range(columns.size):
        g, j = promised[c], columns[c]
        if g > 0.0:
            total = rounds[played] + PRIOR
            trust = total / (curvature[played, j] + PRIOR * (0.0625 if squared else 0.25))
            score = _new_score(scores[j], spread * trust, labels[c], g, squared)
            steps[j] = trust * _slope(score, labels[c], g, squared)
            curvature[played, j] += _curvature(score, g, squared)
            looked[played, j] += g
    _add_outer(w, px, steps)
    _shrink(p, px, spread, indices, values)
    rounds[played] += 1.0


@inner
def _sigmoid(score: float) -> float:
    return 1.0 / (1.0 + math.exp(-score))


@inner
def _slope(m: float, y: float, g: float, squared: bool) -> float:
    """Minus the derivative of the loss of one observation by the score."""
    s = _sigmoid(m)
    if squared:
        return (y - g * s) * g * s * (1.0 - s)
    if g == 1.0:
        return y - s
    return y * (1.0 - s) - (1.0 - y) * g * s * (1.0 - s) / (1.0 - g * s)


@inner
def _curvature(m: float, g: float, squared: bool) -> float:
    """The expected second derivative."""
    s = _sigmoid(m)
    if squared:
        return (g * s * (1.0 - s)) ** 2
    return g * s * (1.0 - s) if g == 1.0 else g * s * (1.0 - s) ** 2 / (1.0 - g * s)


@inner
def _new_score(m: float, v: float, y: float, g: float, squared: bool) -> float:
    """The m' = m + v slope(m') between m and m + v slope: Newton steps inside a bracket."""
    slope = _slope(m, y, g, squared)
    if slope == 0.0 or v == 0.0:
        return m
    # No slope is larger than 1: the root lies between m and m +- v.
    low, high = (m, m + v) if slope > 0.0 else (m - v, m)
    new = m + v * slope / (1.0 + v * _curvature(m, g, squared))
    for _ in range(ITERATIONS):
        error = new - m - v * _slope(new, y, g, squared)
        if abs(error) <= CLOSE * (1.0 + abs(new)):
            break
        if error > 0.0:
            high = new
        else:
            low = new
        new -= error / (1.0 + v * _curvature(new, g, squared))
        if not low < new < high:
            new = 0.5 * (low + high)
    return new


@inner
def _is_sound(p: Floats, px: Floats, spread: float) -> bool:
    """Whether P x and x^T P x may come from an inverse: (P x)_f^2 <= P_ff x^T P x.

    It fails where rounding has eaten the digits of P, or a file has lied. Such a step is left out,
    so that P never grows.
    """
    if len(p) < px.size:
        return spread >= 0.0
    for f in range(px.size):
        if not px[f] * px[f] <= (1.0 + ROUNDED) * p[f, f] * spread:
            return False
    return True


@inner
def _add_outer(w: Floats, px: Floats, steps: Floats) -> None:
    for f in range(w.shape[0]):
        row, value = w[f], px[f]
        if value != 0.0:
            for j in range(row.size):
                row[j] += value * steps[j]


@inner
def _shrink(p: Floats, px: Floats, spread: float, indices: Columns, values: Floats) -> None:
    """P after one more context: (P^-1 + x x^T)^-1, or its diagonal."""
    if len(p) < px.size:
        for k in range(indices.size):
            f = indices[k]
            p[0, f] /= 1.0 + values[k] * values[k] * p[0, f]
        return
    share = 1.0 / (1.0 + spread)
    for f in range(px.size):
        row, value = p[f], px[f] * share
        if value != 0.0:
            for e in range(px.size):
                row[e] -= value * px[e]
