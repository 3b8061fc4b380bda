"""Graphs without a rule: the edges are written out, densely or sparsely."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from graphcb.compilation import compiled
from graphcb.graphs.runs import find_runs, find_runs_of_list
from graphcb.graphs.structure import Flags, Floats, Indices, Structure

# A dense matrix beyond this (3.2 GB) would take more memory than many machines have.
DENSE_LIMIT = 20_000


@dataclass(frozen=True, eq=False)
class DenseMatrix(Structure):
    """Every entry stored: `matrix[i, j]` is the probability that playing i reveals j."""

    matrix: Floats
    family: ClassVar[str] = "edges"

    def __post_init__(self) -> None:
        self.matrix.setflags(write=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return DenseMatrix, (self.matrix,)  # through the constructor, which freezes the array

    @property
    def n_actions(self) -> int:  # type: ignore[override]
        return len(self.matrix)

    def arguments(self) -> dict[str, Any]:
        played, revealed = np.nonzero(self.matrix)
        return _edge_arguments(self.n_actions, played, revealed, self.matrix[played, revealed])

    def dense(self) -> Floats:
        return self.matrix.copy()

    def row(self, action: int) -> Floats:
        return np.array(self.matrix[action])

    def reveal_probabilities(self, probabilities: Floats) -> Floats:
        revealed: Floats = probabilities @ self.matrix
        return revealed

    def sums_revealed(self, values: Floats) -> Floats:
        """One product."""
        return self.matrix @ values

    def self_loops(self) -> Flags:
        return self.matrix.diagonal() > 0.0

    def in_degrees(self) -> Indices:
        degrees: Indices = np.count_nonzero(self.matrix, axis=0)
        return degrees

    def is_deterministic(self) -> bool:
        return _all_zero_or_one(self.matrix)

    def is_symmetric(self) -> bool:
        return np.array_equal(self.matrix, self.matrix.T)

    def subgraph(self, actions: Indices) -> "DenseMatrix":
        return DenseMatrix(self.matrix[np.ix_(actions, actions)])

    def runs(self) -> Indices | None:
        runs = np.empty((2, self.n_actions), dtype=np.intp)
        return runs if find_runs(self.matrix, runs) else None


@dataclass(frozen=True, eq=False)
class SparseMatrix(Structure):
    """Only the edges stored, as a scipy CSR array with sorted indices and no stored zero."""

    matrix: Any
    family: ClassVar[str] = "edges"

    def __post_init__(self) -> None:
        for array in (self.matrix.data, self.matrix.indices, self.matrix.indptr):
            array.setflags(write=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return SparseMatrix, (self.matrix,)  # through the constructor, which freezes the arrays

    @property
    def n_actions(self) -> int:  # type: ignore[override]
        return int(self.matrix.shape[0])

    def arguments(self) -> dict[str, Any]:
        edges = self.matrix.tocoo()
        return _edge_arguments(self.n_actions, edges.row, edges.col, edges.data)

    def dense(self) -> Floats:
        dense: Floats = self.matrix.toarray()
        return dense

    def row(self, action: int) -> Floats:
        begin, end = self.matrix.indptr[action : action + 2]
        row = np.zeros(self.n_actions)
        row[self.matrix.indices[begin:end]] = self.matrix.data[begin:end]
        return row

    def reveal_probabilities(self, probabilities: Floats) -> Floats:
        """`matrix.T @ probabilities`, in time proportional to the edges."""
        revealed: Floats = self.matrix.T @ probabilities
        return revealed

    def sums_revealed(self, values: Floats) -> Floats:
        """One product."""
        return np.asarray(self.matrix @ values)

    def self_loops(self) -> Flags:
        loops: Flags = self.matrix.diagonal() > 0.0
        return loops

    def in_degrees(self) -> Indices:
        return np.bincount(self.matrix.indices, minlength=self.n_actions).astype(np.intp)

    def is_deterministic(self) -> bool:
        return bool((self.matrix.data == 1.0).all())

    def is_symmetric(self) -> bool:
        return bool((self.matrix != self.matrix.T).nnz == 0)

    def subgraph(self, actions: Indices) -> "SparseMatrix":
        chosen = self.matrix[actions][:, actions]
        chosen.sort_indices()
        return SparseMatrix(chosen)

    def runs(self) -> Indices | None:
        runs, m = np.empty((2, self.n_actions), dtype=np.intp), self.matrix
        return runs if find_runs_of_list(m.indptr, m.indices, m.data, runs) else None


def build_dense(structure: Structure) -> Floats:
    """The square array of any structure, read-only; refused where it would not fit."""
    size = structure.n_actions
    if size > DENSE_LIMIT:
        raise MemoryError(
            f"a matrix of {size:,} actions would take {8e-9 * size**2:,.0f} GB; "
            "use reveal_probabilities or row, which do not build it, or take a subgraph first"
        )
    dense = structure.dense()
    dense.setflags(write=False)
    return dense


def _edge_arguments(n_actions: int, played: Any, revealed: Any, probability: Any) -> dict[str, Any]:
    """Edges in JSON's terms; a probability of 1 is left out, as it is the default."""
    edges = [
        [i, j] if p == 1.0 else [i, j, p]
        for i, j, p in zip(played.tolist(), revealed.tolist(), probability.tolist(), strict=True)
    ]
    return {"n_actions": n_actions, "edges": edges}


@compiled
def possible_columns(row: Floats) -> tuple[Indices, bool]:
    """Where a row is positive, and whether it is 1 in all these places."""
    columns = np.empty(row.size, dtype=np.intp)
    count = 0
    certain = True
    for j in range(row.size):
        if row[j] > 0.0:
            columns[count] = j
            count += 1
            certain &= row[j] == 1.0
    return columns[:count].copy(), certain


@compiled
def _all_zero_or_one(matrix: Floats) -> bool:
    for row in matrix:
        for entry in row:
            if entry != 0.0 and entry != 1.0:
                return False
    return True
