"""The edges of a graph in the form compiled code reads: a matrix, a list, runs of ones, or sides.

A rule with runs or sides is never written out: the rows and columns of the few actions that matter
come from these alone.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.compilation import compiled
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.families.threshold import Threshold
from graphcb.graphs.matrices import DenseMatrix, SparseMatrix
from graphcb.graphs.structure import Floats

Indices = NDArray[np.int64]

# BOTH_RUNS: runs of the rows, and of the columns. SIDES: the chance on each side of an action.
MATRIX, LIST, RUNS, BOTH_RUNS, SIDES = range(5)
LARGE = 100  # actions from which it pays to have the runs of the columns


class Edges(NamedTuple):
    """Which of the forms, and what it needs; arrays it does not need are empty."""

    form: int
    flat: Floats  # the matrix, row after row; of many programs one per row
    start: Indices  # (2, n + 1) first edge of each played and of each revealed action; or runs
    action: Indices  # (2, edges) the other end
    chance: Floats  # (2, edges); or (2, n) left and right


def _frozen(array: Any) -> Any:
    array.setflags(write=False)
    return array


_NO_MATRIX = _frozen(np.empty((1, 0)))
_NO_INDICES = _frozen(np.empty((2, 0), dtype=np.int64))
_NO_LIST = (_NO_INDICES, _NO_INDICES, _frozen(np.empty((2, 0))))


def edges_of(graph: FeedbackGraph) -> Edges:
    """The edges of any graph; a rule without runs is written out as a matrix."""
    structure = graph.structure
    if isinstance(structure, DenseMatrix):
        return Edges(MATRIX, structure.matrix.reshape(1, -1), *_NO_LIST)
    if isinstance(structure, SparseMatrix):
        return Edges(LIST, _NO_MATRIX, *_lists(structure.matrix))
    if isinstance(structure, Threshold):
        sides = _frozen(np.stack((structure.left, structure.right)))
        return Edges(SIDES, _NO_MATRIX, *_NO_LIST[:2], sides)
    runs = structure.runs()
    if runs is None:
        return Edges(MATRIX, graph.matrix.reshape(1, -1), *_NO_LIST)
    columns = structure.column_runs() if structure.n_actions >= LARGE else None
    if columns is None:
        return Edges(RUNS, _NO_MATRIX, _frozen(runs), *_NO_LIST[1:])
    return Edges(BOTH_RUNS, _NO_MATRIX, _frozen(np.concatenate((runs, columns))), *_NO_LIST[1:])


def _lists(matrix: Any) -> tuple[Any, Any, Any]:
    both = (matrix, matrix.tocsc())
    return (
        _frozen(np.stack([one.indptr for one in both]).astype(np.int64)),
        _frozen(np.stack([one.indices for one in both]).astype(np.int64)),
        _frozen(np.stack([one.data for one in both]).astype(np.float64)),
    )


@compiled
def fetch(edges: Edges, action: int, as_column: bool, out: Floats) -> None:
    """out[j] = G[action, j] for all j, or as a column out[i] = G[i, action]."""
    n = out.size
    if edges.form == MATRIX:
        first, stride = (action, n) if as_column else (action * n, 1)
        for j in range(n):
            out[j] = edges.flat[first + j * stride]
    elif edges.form == LIST:
        out[:] = 0.0
        side = 1 if as_column else 0
        for e in range(edges.start[side, action], edges.start[side, action + 1]):
            out[edges.action[side, e]] = edges.chance[side, e]
    elif edges.form == SIDES:
        left, right = edges.chance[0], edges.chance[1]
        for j in range(n):
            if as_column:
                out[j] = right[j] if j < action else left[j]
            else:
                out[j] = left[action] if j < action else right[action]
        out[action] = 1.0
    elif as_column and edges.form == RUNS:
        lows, highs = edges.start[0], edges.start[1]
        for i in range(n):
            # It has begun and not ended; or, if it goes around the end, one of the two.
            inside = (lows[i] <= action) ^ (action < highs[i]) ^ (lows[i] <= highs[i])
            out[i] = 1.0 if inside else 0.0
    else:
        first = 2 if as_column else 0
        low, high, run, rest = edges.start[first, action], edges.start[first + 1, action], 1.0, 0.0
        if high < low:
            low, high, run, rest = high, low, 0.0, 1.0
        for j in range(n):
            out[j] = run if low <= j < high else rest
