"""One weight vector per action: what the linear oracles share.

Weights are stored (n_features, n_actions), so that a sparse context touches few contiguous rows.
"""

import numpy as np

from graphcb.checks import LARGEST, DivergenceError
from graphcb.compilation import compiled, summed
from graphcb.oracles.rows import Columns, Floats, SparseRow, check_finite

LARGEST_STEP = 1e100  # of a weight, which then stays finite for longer than anyone counts


def explain_not_finite(row: SparseRow, learning_rate: float) -> Exception:
    """Why predictions or steps are not finite: the context, or steps that diverged."""
    check_finite(*row)
    return DivergenceError(
        "the predictions are no longer finite: the steps diverge; "
        f"lower learning_rate (now {learning_rate}) or scale the contexts down"
    )


@compiled
def scores(weights: Floats, indices: Columns, values: Floats, columns: Columns) -> Floats:
    """context @ weights[:, columns]: (n,) for n columns."""
    n, n_actions = columns.size, weights.shape[1]
    if is_most(n, n_actions):
        total = np.zeros(n_actions)
        add_rows(weights, indices, values, total)
        return total if _is_all(columns, n_actions) else total[columns]
    total = np.zeros(n)
    for k in range(indices.size):
        row, value = weights[indices[k]], values[k]
        for c in range(n):
            total[c] += value * row[columns[c]]
    return total


@summed
def add_rows(weights: Floats, indices: Columns, values: Floats, total: Floats) -> None:
    """total += context @ weights, four features at once."""
    fours = indices.size // 4 * 4
    for k in range(0, fours, 4):
        a, b = weights[indices[k]], weights[indices[k + 1]]
        c, d = weights[indices[k + 2]], weights[indices[k + 3]]
        x_a, x_b, x_c, x_d = values[k], values[k + 1], values[k + 2], values[k + 3]
        for i in range(total.size):
            total[i] += (x_a * a[i] + x_b * b[i]) + (x_c * c[i] + x_d * d[i])
    for k in range(fours, indices.size):
        row, value = weights[indices[k]], values[k]
        for i in range(total.size):
            total[i] += value * row[i]


@compiled
def step(
    weights: Floats,
    indices: Columns,
    values: Floats,
    columns: Columns,
    slopes: Floats,
    rate: float,
) -> None:
    """weights[:, columns] -= rate * context * slopes, in place."""
    n, n_actions = columns.size, weights.shape[1]
    if is_most(n, n_actions):
        spread = np.zeros(n_actions)
        for c in range(n):
            spread[columns[c]] = slopes[c]
        for k in range(indices.size):
            row, value = weights[indices[k]], rate * values[k]
            for c in range(n_actions):
                row[c] -= value * spread[c]
        return
    for k in range(indices.size):
        row, value = weights[indices[k]], rate * values[k]
        for c in range(n):
            row[columns[c]] -= value * slopes[c]


@compiled
def step_fits(values: Floats, slopes: Floats, rate: float) -> bool:
    """Whether `step` moves no weight too far to calculate with; false for NaN."""
    widest = steepest = 0.0
    for k in range(values.size):
        if not abs(values[k]) <= LARGEST:
            return False
        widest = max(widest, abs(values[k]))
    for c in range(slopes.size):
        if not abs(slopes[c]) <= LARGEST_STEP:
            return False
        steepest = max(steepest, abs(slopes[c]))
    return rate * widest * steepest <= LARGEST_STEP


@compiled
def is_most(n: int, n_actions: int) -> bool:
    """Whether running over all actions, which is vectorised, beats picking the columns."""
    return 4 * n >= n_actions


@compiled
def _is_all(columns: Columns, n_actions: int) -> bool:
    for c in range(columns.size):
        if columns[c] != c:
            return False
    return columns.size == n_actions
