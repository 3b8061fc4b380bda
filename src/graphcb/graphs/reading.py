"""From what a user has (an array, a sparse array, edges, a networkx graph) to checked edges."""

import json
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from graphcb.checks import as_action, as_count, as_numbers
from graphcb.compilation import compiled
from graphcb.graphs.matrices import DenseMatrix, SparseMatrix
from graphcb.graphs.structure import Floats

# Up to this size a square array takes 2 MB at most and is faster than a sparse one.
DENSE_UP_TO = 512

# Of a graph from a file or a log: a round over more takes gigabytes.
MOST_ACTIONS = 2**24

MEANING = "entry [i, j] is the probability that playing i reveals j"


def read_matrix(matrix: Any) -> DenseMatrix | SparseMatrix:
    """A square array of probabilities, kept dense or sparse as it comes."""
    sparse = sys.modules.get("scipy.sparse")  # a caller with a sparse array has imported it
    if sparse is not None and sparse.issparse(matrix):
        return _read_sparse(matrix)
    return _read_dense(matrix)


def _read_dense(matrix: Any) -> DenseMatrix:
    dense = as_numbers("matrix", matrix)
    _check_square(dense.shape)
    dense = dense.copy()  # ours alone from here on
    wrong = _first_outside_unit_interval(dense)
    if wrong >= 0:
        played, revealed = divmod(wrong, dense.shape[1])
        raise _not_a_probability(dense[played, revealed], played, revealed)
    return DenseMatrix(dense)


def _read_sparse(matrix: Any) -> SparseMatrix:
    from scipy.sparse import csr_array

    _check_square(matrix.shape)
    if matrix.dtype.kind not in "fiub":
        raise TypeError(f"`matrix` must be an array of real numbers, got {matrix.dtype}")
    _check_indices(matrix)
    rows = csr_array(matrix, dtype=np.float64, copy=True)
    _check_indices(rows)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    rows.sort_indices()
    wrong = np.flatnonzero(~((rows.data >= 0.0) & (rows.data <= 1.0)))
    if wrong.size:
        played = int(np.searchsorted(rows.indptr, wrong[0], side="right")) - 1
        raise _not_a_probability(rows.data[wrong[0]], played, int(rows.indices[wrong[0]]))
    return SparseMatrix(rows)


def _check_indices(matrix: Any) -> None:
    """Refuse indices outside a sparse array: scipy's own routines believe them."""
    try:
        if matrix.format in ("csr", "csc", "bsr"):
            matrix.copy().check_format(full_check=True)
        elif matrix.format == "coo" and matrix.nnz:
            for axis, indices in enumerate(matrix.coords):
                if indices.min() < 0 or indices.max() >= matrix.shape[axis]:
                    raise ValueError(f"indices of axis {axis} outside of its size")
            if {indices.size for indices in matrix.coords} != {matrix.data.size}:
                raise ValueError("indices and data of different lengths")
    except (ValueError, IndexError) as reason:
        raise ValueError(f"`matrix` must have indices that exist: {reason}") from None


def read_edges(n_actions: int, edges: Iterable[Any]) -> DenseMatrix | SparseMatrix:
    """Edges (played, revealed) or (played, revealed, probability), each pair at most once."""
    size = as_count("n_actions", n_actions)
    entries: dict[tuple[int, int], float] = {}
    for position, edge in enumerate(edges):
        pair, probability = _read_edge(edge, position, size)
        if pair in entries:
            raise ValueError(
                f"`edges` must name each pair once, got {pair} again at position {position}; "
                "add the probabilities up if that is what you mean"
            )
        entries[pair] = probability
    played = np.array([i for i, _ in entries], dtype=np.intp)
    revealed = np.array([j for _, j in entries], dtype=np.intp)
    values = np.array(list(entries.values()), dtype=np.float64)
    if size <= DENSE_UP_TO:
        dense = np.zeros((size, size))
        dense[played, revealed] = values
        return DenseMatrix(dense)
    from scipy.sparse import csr_array

    return _read_sparse(csr_array((values, (played, revealed)), shape=(size, size)))


def _read_edge(edge: Any, position: int, n_actions: int) -> tuple[tuple[int, int], float]:
    try:
        played, revealed, *rest = edge
        (probability,) = rest or (1.0,)
    except (TypeError, ValueError):
        raise ValueError(
            "`edges` must hold (played, revealed) or (played, revealed, probability), "
            f"got {edge!r} at position {position}"
        ) from None
    i = as_action(played, n_actions, name=f"edges[{position}][0]")
    j = as_action(revealed, n_actions, name=f"edges[{position}][1]")
    try:
        value = float(probability)
    except (TypeError, ValueError):
        value = float("nan")
    if not 0.0 <= value <= 1.0:
        raise ValueError(
            f"`edges[{position}]` must have a probability in [0, 1], got {probability!r}"
        )
    return (i, j), value


def read_networkx(graph: Any) -> DenseMatrix | SparseMatrix:
    """Nodes 0 to K - 1 as they are, others in the order of `graph.nodes`; undirected: both ways."""
    size = graph.number_of_nodes()
    numbered = set(graph.nodes) == set(range(size))
    position = {node: node if numbered else i for i, node in enumerate(graph.nodes)}
    if graph.is_multigraph():
        raise TypeError(
            "`graph` must have at most one edge per pair, got a networkx multigraph; "
            "turn it into networkx.DiGraph(graph) first"
        )
    edges = [
        (position[played], position[revealed], data.get("probability", 1.0))
        for played, revealed, data in graph.to_directed(as_view=True).edges(data=True)
    ]
    return read_edges(as_count("number of nodes", size), edges)


def read_object(text: str) -> dict[str, Any]:
    """The one JSON object in `text`."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as reason:
        raise ValueError(f"`text` must be JSON: {reason}") from None
    if not isinstance(content, dict):
        raise ValueError(
            "`text` must be a JSON object such as "
            f'{{"n_actions": 2, "edges": [[0, 1]]}}, got a {type(content).__name__}'
        )
    return content


def check_few_actions(n_actions: Any, most: int) -> None:
    """Refuse a number of actions beyond `most`."""
    if isinstance(n_actions, int) and n_actions > most:
        raise ValueError(
            f"`n_actions` must be at most {most:,}, got {n_actions:,}; "
            "if that is what you mean, give a larger max_actions"
        )


def _check_square(shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] == 0:
        raise ValueError(
            "`matrix` must be square with at least one action "
            f"(row = played, column = revealed), got shape {shape}"
        )


def _not_a_probability(value: float, played: int, revealed: int) -> ValueError:
    return ValueError(
        f"`matrix` must have entries in [0, 1], got {value} at [{played}, {revealed}]; {MEANING}"
    )


@compiled
def _first_outside_unit_interval(matrix: Floats) -> int:
    """Position in reading order of the first entry that is no probability, or -1.

    Turns -0.0 into 0.0 on the way, so that equal graphs have equal bits.
    """
    size = len(matrix)
    for i in range(size):
        for j in range(size):
            if not (matrix[i, j] >= 0.0 and matrix[i, j] <= 1.0):  # also true for NaN
                return i * size + j
            matrix[i, j] += 0.0
    return -1
