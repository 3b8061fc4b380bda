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
    AppleTasting,
    CopsAndRobbers,
    DisjointCliques,
    Inventory,
    PostedPrice,
)
from graphcb.graphs.matrices import DenseMatrix, SparseMatrix

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

MATRIX, LIST, COPS, APPLE, LEVELS, PRICES, GROUPS = range(7)


class Edges(NamedTuple):
    """Which of the forms, and what it needs; the other arrays are empty."""

    form: int
    special: int  # apple tasting: the revealing action
    matrix: Floats  # (n, n)
    groups: Indices  # (n,) disjoint cliques: the group of each action
    row_start: Indices  # edges by played action ...
    row_action: Indices
    row_chance: Floats
    column_start: Indices  # ... and by revealed action
    column_action: Indices
    column_chance: Floats


def _frozen(array: Any) -> Any:
    array.setflags(write=False)
    return array


_NO_MATRIX = _frozen(np.empty((0, 0)))
_NO_INDICES = _frozen(np.empty(0, dtype=np.int64))
_NO_CHANCES = _frozen(np.empty(0))
_NO_LIST = (_NO_INDICES, _NO_INDICES, _NO_CHANCES, _NO_INDICES, _NO_INDICES, _NO_CHANCES)
_RULES = {CopsAndRobbers: COPS, Inventory: LEVELS, PostedPrice: PRICES}


def edges_of(graph: FeedbackGraph) -> Edges:
    """The edges of any graph; a rule that is not known here is written out as a matrix."""
    structure = graph.structure
    if isinstance(structure, DenseMatrix):
        return Edges(MATRIX, 0, structure.matrix, _NO_INDICES, *_NO_LIST)
    rule = _RULES.get(type(structure))
    if rule is not None:
        return Edges(rule, 0, _NO_MATRIX, _NO_INDICES, *_NO_LIST)
    if isinstance(structure, AppleTasting):
        return Edges(APPLE, structure.revealing_action, _NO_MATRIX, _NO_INDICES, *_NO_LIST)
    if isinstance(structure, DisjointCliques):
        groups = _frozen(structure.groups.astype(np.int64))
        return Edges(GROUPS, 0, _NO_MATRIX, groups, *_NO_LIST)
    if isinstance(structure, SparseMatrix):
        return Edges(LIST, 0, _NO_MATRIX, _NO_INDICES, *_lists(structure.matrix))
    return Edges(MATRIX, 0, graph.matrix, _NO_INDICES, *_NO_LIST)


def _lists(matrix: Any) -> tuple[Any, ...]:
    by_column = matrix.tocsc()
    return tuple(
        _frozen(array)
        for compressed in (matrix, by_column)
        for array in (
            compressed.indptr.astype(np.int64),
            compressed.indices.astype(np.int64),
            compressed.data.astype(np.float64),
        )
    )


@compiled
def fetch(edges: Edges, action: int, as_column: bool, out: Floats) -> None:
    """out[j] = G[action, j] for all j, or as a column out[i] = G[i, action]."""
    form = edges.form
    if form == MATRIX:
        for j in range(out.size):
            out[j] = edges.matrix[j, action] if as_column else edges.matrix[action, j]
    elif form == LIST:
        out[:] = 0.0
        if as_column:
            for e in range(edges.column_start[action], edges.column_start[action + 1]):
                out[edges.column_action[e]] = edges.column_chance[e]
        else:
            for e in range(edges.row_start[action], edges.row_start[action + 1]):
                out[edges.row_action[e]] = edges.row_chance[e]
    elif form == COPS:
        out[:] = 1.0
        out[action] = 0.0
    elif form == APPLE:
        out[:] = 0.0
        if as_column:
            out[edges.special] = 1.0
        elif action == edges.special:
            out[:] = 1.0
    elif form == GROUPS:
        for j in range(out.size):
            out[j] = 1.0 if edges.groups[j] == edges.groups[action] else 0.0
    else:
        upwards = (form == LEVELS) == as_column
        for j in range(out.size):
            out[j] = 1.0 if j == action or (j > action) == upwards else 0.0
