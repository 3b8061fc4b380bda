"""The edges of a graph in the form compiled code reads: by a rule, by a matrix, or by a list.

A family with a rule is never written out: rows, columns and products with a few chosen actions
take O(n_actions) from the rule alone.
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
def entry(edges: Edges, i: int, j: int) -> float:
    """How likely playing i reveals j."""
    form = edges.form
    if form == MATRIX:
        return edges.matrix[i, j]
    if form == COPS:
        return 1.0 if i != j else 0.0
    if form == APPLE:
        return 1.0 if i == edges.special else 0.0
    if form == LEVELS:
        return 1.0 if j <= i else 0.0
    if form == PRICES:
        return 1.0 if j >= i else 0.0
    if form == GROUPS:
        return 1.0 if edges.groups[i] == edges.groups[j] else 0.0
    low, high = edges.row_start[i], edges.row_start[i + 1]
    while low < high:
        middle = (low + high) // 2
        if edges.row_action[middle] < j:
            low = middle + 1
        else:
            high = middle
    found = low < edges.row_start[i + 1] and edges.row_action[low] == j
    return edges.row_chance[low] if found else 0.0


@compiled
def add_row(edges: Edges, i: int, weight: float, out: Floats) -> None:
    """out[j] += weight * G[i, j] for all j."""
    if edges.form == MATRIX:
        row = edges.matrix[i]
        for j in range(out.size):
            out[j] += weight * row[j]
    elif edges.form == LIST:
        for k in range(edges.row_start[i], edges.row_start[i + 1]):
            out[edges.row_action[k]] += weight * edges.row_chance[k]
    else:
        for j in range(out.size):
            out[j] += weight * entry(edges, i, j)


@compiled
def add_columns(edges: Edges, chosen: Indices, weights: Floats, out: Floats) -> None:
    """out[i] += sum_k G[i, chosen[k]] * weights[k] for all i."""
    if edges.form == MATRIX:
        for i in range(out.size):
            row = edges.matrix[i]
            total = 0.0
            for k in range(chosen.size):
                total += row[chosen[k]] * weights[k]
            out[i] += total
    elif edges.form == LIST:
        for k in range(chosen.size):
            column = chosen[k]
            for e in range(edges.column_start[column], edges.column_start[column + 1]):
                out[edges.column_action[e]] += edges.column_chance[e] * weights[k]
    else:
        for i in range(out.size):
            for k in range(chosen.size):
                out[i] += entry(edges, i, chosen[k]) * weights[k]
