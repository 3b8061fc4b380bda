"""The edges of a graph in the form compiled code reads: by a rule, by a matrix, or by a list.

A family with a rule is never written out: the rows and columns of the few actions that matter
come from the rule alone.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.compilation import compiled
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.families import (
    CopsAndRobbers,
    DisjointCliques,
    Inventory,
    PostedPrice,
)
from graphcb.graphs.matrices import DenseMatrix, SparseMatrix

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

MATRIX, LIST, COPS, LEVELS, PRICES, GROUPS = range(6)


class Edges(NamedTuple):
    """Which of the forms, and what it needs; arrays it does not need are empty."""

    form: int
    flat: Floats  # the matrix, row after row; of many programs one a row
    start: Indices  # (2, n + 1) first edge of each played action, and of each revealed one
    action: Indices  # (2, edges) the other end
    chance: Floats  # (2, edges)


def _frozen(array: Any) -> Any:
    array.setflags(write=False)
    return array


_NO_MATRIX = _frozen(np.empty((1, 0)))
_NO_INDICES = _frozen(np.empty((2, 0), dtype=np.int64))
_NO_LIST = (_NO_INDICES, _NO_INDICES, _frozen(np.empty((2, 0))))
_RULES = {CopsAndRobbers: COPS, Inventory: LEVELS, PostedPrice: PRICES}


def edges_of(graph: FeedbackGraph) -> Edges:
    """The edges of any graph; a rule that is not known here is written out as a matrix."""
    structure = graph.structure
    if isinstance(structure, DenseMatrix):
        return Edges(MATRIX, structure.matrix.reshape(1, -1), *_NO_LIST)
    rule = _RULES.get(type(structure))
    if rule is not None:
        return Edges(rule, _NO_MATRIX, *_NO_LIST)
    if isinstance(structure, DisjointCliques):
        first = np.repeat(np.cumsum((0, *structure.sizes[:-1])), structure.sizes)
        bounds = _frozen(np.stack([first, first + np.repeat(structure.sizes, structure.sizes)]))
        return Edges(GROUPS, _NO_MATRIX, bounds, *_NO_LIST[1:])
    if isinstance(structure, SparseMatrix):
        return Edges(LIST, _NO_MATRIX, *_lists(structure.matrix))
    return Edges(MATRIX, graph.matrix.reshape(1, -1), *_NO_LIST)


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
        return
    # Every rule is a run of ones; cops and robbers the opposite of one.
    low, high, run, rest = 0, 0, 1.0, 0.0
    if edges.form == COPS:
        low, high, run, rest = action, action + 1, 0.0, 1.0
    elif edges.form == GROUPS:
        low, high = edges.start[0, action], edges.start[1, action]
    elif edges.form == LEVELS or edges.form == PRICES:
        if (edges.form == LEVELS) == as_column:
            low, high = action, n
        else:
            high = action + 1
    for j in range(n):
        out[j] = run if low <= j < high else rest
    if edges.form == LIST:
        side = 1 if as_column else 0
        for e in range(edges.start[side, action], edges.start[side, action + 1]):
            out[edges.action[side, e]] = edges.chance[side, e]
