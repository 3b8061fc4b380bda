"""One weight vector per action: what the linear oracles share.

Weights are stored (n_features, n_actions), so that a sparse context touches few contiguous rows.
"""

from typing import Any

import numpy as np

from graphcb.checks import LARGEST, DivergenceError, as_numbers, first_too_large, too_large
from graphcb.compilation import compiled
from graphcb.oracles.rows import INT64, Columns, Floats, SparseRow, check_finite, every_index

LARGEST_STEP = 1e200  # of a weight, which then stays finite for longer than anyone counts


def as_columns(actions: Any, n_actions: int) -> Columns:
    """The columns of these actions, all of them for None; distinct and in range."""
    columns = read_columns(actions, n_actions)
    check_columns(columns, n_actions)
    return columns


def read_columns(actions: Any, n_actions: int) -> Columns:
    """The columns of these actions, not yet checked against `n_actions`."""
    if actions is None:
        return every_index(n_actions)
    columns = np.asarray(actions)
    if columns.dtype == INT64 and columns.ndim == 1 and columns.flags.c_contiguous:
        return columns
    if columns.ndim != 1:
        raise ValueError(f"`actions` must be a list of action numbers, got shape {columns.shape}")
    if columns.dtype.kind not in "iu":
        if columns.size:
            raise TypeError(f"`actions` must be whole numbers, got {columns.dtype}")
        return np.empty(0, dtype=np.int64)
    return np.ascontiguousarray(columns, dtype=np.int64)


def check_columns(columns: Columns, n_actions: int) -> None:
    """Refuse a column that does not exist or comes twice."""
    wrong = first_impossible(columns, n_actions)
    if wrong >= 0:
        action = columns[wrong]
        if 0 <= action < n_actions:
            raise ValueError(
                f"`actions` must be distinct, got {action} again at index {wrong}; "
                "give each revealed action once"
            )
        raise IndexError(
            f"`actions` must be between 0 and {n_actions - 1} (the oracle has {n_actions} "
            f"actions), got {action} at index {wrong}"
        )


def as_seen(actions: Any, losses: Any, n_actions: int) -> tuple[Columns, Floats]:
    """The columns of the revealed actions, and one finite loss for each."""
    columns, seen = read_seen(actions, losses, n_actions)
    check_columns(columns, n_actions)
    check_losses(seen, columns)
    return columns, seen


def read_seen(actions: Any, losses: Any, n_actions: int) -> tuple[Columns, Floats]:
    """Columns and losses of the same length, their content not yet checked."""
    columns, seen = read_columns(actions, n_actions), as_numbers("losses", losses)
    if seen.shape != columns.shape:
        raise ValueError(
            f"`losses` must have shape {columns.shape}, one per revealed action, got {seen.shape}"
        )
    return columns, seen


def check_losses(seen: Floats, columns: Columns) -> None:
    """Refuse a loss that is not finite, or too large."""
    wrong = first_too_large(seen)
    if wrong >= 0:
        raise too_large("losses", seen[wrong], f"index {wrong} (action {columns[wrong]})")


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
    if _is_most(n, n_actions):
        total = np.zeros(n_actions)
        for k in range(indices.size):
            row, value = weights[indices[k]], values[k]
            for c in range(n_actions):
                total[c] += value * row[c]
        return total if _is_all(columns, n_actions) else total[columns]
    total = np.zeros(n)
    for k in range(indices.size):
        row, value = weights[indices[k]], values[k]
        for c in range(n):
            total[c] += value * row[columns[c]]
    return total


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
    if _is_most(n, n_actions):
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
def _is_most(n: int, n_actions: int) -> bool:
    """Whether running over all actions, which is vectorised, beats picking the columns."""
    return 4 * n >= n_actions


@compiled
def _is_all(columns: Columns, n_actions: int) -> bool:
    for c in range(columns.size):
        if columns[c] != c:
            return False
    return columns.size == n_actions


@compiled
def first_impossible(columns: Columns, n_actions: int) -> int:
    """Position of the first column out of range or met before, or -1."""
    met = np.zeros(n_actions, dtype=np.bool_)
    for c in range(columns.size):
        if columns[c] < 0 or columns[c] >= n_actions or met[columns[c]]:
            return c
        met[columns[c]] = True
    return -1
