"""What oracles are given, in the one form that their kernels take.

A context is a sparse row, actions are columns, and losses are as many numbers as there are columns.
"""

import sys
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import FLOAT64, as_numbers, first_too_large, too_large
from graphcb.compilation import compiled
from graphcb.contexts.encoded import EncodedRow

Floats = NDArray[np.float64]
Columns = NDArray[np.int64]

SparseRow = tuple[Columns, Floats]  # indices and values of the entries that are not zero

INT64 = np.dtype(np.int64)


def as_row(context: Any, n_features: int) -> SparseRow:
    """A dense row, an encoded one, a sparse one, or a pair (indices, values), checked for width.

    >>> as_row(([2, 5], [1.0, 0.5]), 6)
    (array([2, 5]), array([1. , 0.5]))
    """
    row = read_row(context, n_features)
    check_indices(row[0], n_features)
    return row


def read_row(context: Any, n_features: int) -> SparseRow:
    """The row, the indices of a pair not yet checked against `n_features`."""
    if is_sparse(context):
        if isinstance(context, EncodedRow):
            return context.pair()
        if isinstance(context, tuple):
            return _read_pair(context)
        return _read_sparse(context, n_features)
    values = as_numbers("context", context)
    if values.shape != (n_features,):
        raise _wrong_width(values.shape, n_features)
    return every_index(n_features), values


def is_sparse(context: Any) -> bool:
    """Whether a context is a pair (indices, values), an encoded row or a scipy sparse row."""
    if type(context) is np.ndarray:
        return False
    if isinstance(context, tuple):
        return True
    sparse = sys.modules.get("scipy.sparse")  # a caller with a sparse row has imported it
    return sparse is not None and bool(sparse.issparse(context))


@lru_cache(maxsize=16)
def every_index(size: int) -> Columns:
    """0, 1, ..., size - 1, made once for all rounds.

    It is never written to. It is not marked read-only: kernels would be compiled again for that.
    """
    return np.arange(size)


def as_dense(context: Any, n_features: int) -> Floats:
    """A dense row (n_features,), for the oracles that take no sparse ones."""
    if isinstance(context, EncodedRow):
        indices, values = as_row(context, n_features)
        dense = np.zeros(n_features)
        dense[indices] = values
        return dense
    x = as_numbers("context", context)
    if x.shape != (n_features,):
        raise ValueError(
            f"`context` must have shape ({n_features},) to match n_features, got {x.shape}"
        )
    return x


def dense_width(context: Any) -> int | None:
    """How many numbers a context has, None if it is sparse; refuses what is no row."""
    if is_sparse(context):
        return None
    if isinstance(context, str | dict) or context is None:
        raise TypeError(
            "`context` must be a row of numbers or a sparse row, got a "
            f"{type(context).__name__}; graphcb.Encoder turns it into one"
        )
    shape = np.shape(context)
    if len(shape) != 1 or shape[0] == 0:
        raise ValueError(f"`context` must be a row of numbers or a sparse row, got shape {shape}")
    return int(shape[0])


def check_finite(indices: Columns, values: Floats) -> None:
    """Refuse a context with NaN, infinity or a number that is too large."""
    wrong = first_too_large(values)
    if wrong >= 0:
        raise too_large("context", values[wrong], f"index {indices[wrong]}")


def check_indices(indices: Columns, n_features: int) -> None:
    """Refuse an index that does not exist."""
    wrong = first_outside(indices, n_features)
    if wrong >= 0:
        raise IndexError(
            f"`context` must have indices between 0 and {n_features - 1}, "
            f"got {indices[wrong]} at position {wrong}"
        )


def as_columns(actions: Any, n_actions: int) -> Columns:
    """The columns of these actions, all of them for None; distinct and in range."""
    columns = read_columns(actions, n_actions)
    if columns is not every_index(n_actions):
        check_columns(columns, n_actions)
    return columns


def read_columns(actions: Any, n_actions: int) -> Columns:
    """The columns of these actions, not yet checked against `n_actions`."""
    if actions is None:
        return every_index(n_actions)
    if _is_plain(actions, INT64):
        columns: Columns = actions
        return columns
    columns = np.asarray(actions)
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


def _read_pair(context: tuple[Any, ...]) -> SparseRow:
    if len(context) != 2:
        raise ValueError(
            f"`context` must be a pair (indices, values), got a tuple of {len(context)}"
        )
    indices, values = context
    if _is_plain(indices, INT64) and _is_plain(values, FLOAT64) and indices.size == values.size:
        return indices, values
    indices, values = np.asarray(indices), as_numbers("context[1]", values)
    if indices.shape != values.shape or indices.ndim != 1:
        raise ValueError(
            "`context` must have as many indices as values, "
            f"got shapes {indices.shape} and {values.shape}"
        )
    if indices.dtype != np.int64:
        if indices.size and indices.dtype.kind not in "iu":
            raise TypeError(f"`context[0]` must be whole numbers, got {indices.dtype}")
        indices = indices.astype(np.int64)
    return np.ascontiguousarray(indices), values


def _is_plain(array: Any, dtype: Any) -> bool:
    """Whether a kernel can take it as it is."""
    return (
        type(array) is np.ndarray
        and array.dtype == dtype
        and array.ndim == 1
        and array.flags.c_contiguous
    )


def _read_sparse(context: Any, n_features: int) -> SparseRow:
    if context.shape not in ((1, n_features), (n_features,)):
        raise _wrong_width(context.shape, n_features)
    row = context.tocsr()
    return row.indices.astype(np.int64), row.data.astype(np.float64)


@compiled
def first_outside(indices: Columns, n_features: int) -> int:
    """Position of the first index out of range, or -1."""
    for k in range(indices.size):
        if indices[k] < 0 or indices[k] >= n_features:
            return k
    return -1


@compiled
def first_impossible(columns: Columns, n_actions: int) -> int:
    """Position of the first column out of range or met before, or -1."""
    met = np.zeros(n_actions, dtype=np.bool_)
    for c in range(columns.size):
        if columns[c] < 0 or columns[c] >= n_actions or met[columns[c]]:
            return c
        met[columns[c]] = True
    return -1


def _wrong_width(shape: tuple[int, ...], n_features: int) -> ValueError:
    return ValueError(
        f"`context` must have shape ({n_features},) to match n_features, got {shape}; a sparse "
        f"row is a 1-by-{n_features} scipy array or a pair (indices, values)"
    )
