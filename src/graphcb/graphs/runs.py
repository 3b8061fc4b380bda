"""Rules whose rows are runs of ones, and finding the runs in a matrix that is written out."""

import dataclasses
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from graphcb.compilation import compiled
from graphcb.graphs.structure import Flags, Floats, Indices, Runs, Structure


class RunStructure(Structure, Protocol):
    """A structure whose rows are runs of ones: derive a frozen dataclass and write `runs`.

    All other answers follow from the runs. Override those that the family knows more quickly.
    """

    def _runs(self) -> Runs:
        runs = self.runs()
        if runs is None:
            raise NotImplementedError(f"{type(self).__name__} must have runs()")
        return runs

    def arguments(self) -> dict[str, Any]:
        """The fields of the dataclass."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}  # type: ignore[arg-type]

    def dense(self) -> Floats:
        """Row by row."""
        return _dense(*self._runs())

    def row(self, action: int) -> Floats:
        """One run of ones."""
        runs = self._runs()
        return _row(runs.low[action], runs.high[action], self.n_actions)

    def reveal_probabilities(self, probabilities: Floats) -> Floats:
        """A sum over the edges; nothing is subtracted, as that would lose small probabilities."""
        return _reveal(*self._runs(), probabilities)

    def self_loops(self) -> Flags:
        """Whether each run has its own row's column."""
        low, high = self._runs()
        own = np.arange(self.n_actions)
        return np.where(low <= high, (low <= own) & (own < high), (low <= own) | (own < high))

    def in_degrees(self) -> Indices:
        """Runs that have begun less runs that have ended, from the first column on."""
        low, high = self._runs()
        steps = np.bincount(low, minlength=self.n_actions + 1)
        steps -= np.bincount(high, minlength=self.n_actions + 1)
        steps[0] += np.count_nonzero(high < low)
        return np.cumsum(steps[:-1]).astype(np.intp)

    def is_deterministic(self) -> bool:
        """Yes."""
        return True

    def is_symmetric(self) -> bool:
        """Checked edge by edge, up to the first that has no mirror image."""
        return _is_symmetric(*self._runs())


@compiled
def _has(low: int, high: int, column: int) -> bool:
    """Whether a run has a one in this column."""
    if low <= high:
        return low <= column < high
    return low <= column or column < high


@compiled
def _row(low: int, high: int, n: int) -> Floats:
    row = np.zeros(n)
    for j in range(n):
        row[j] = _has(low, high, j)
    return row


@compiled
def _dense(low: Indices, high: Indices) -> Floats:
    n = low.size
    matrix = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            matrix[i, j] = _has(low[i], high[i], j)
    return matrix


@compiled
def _reveal(low: Indices, high: Indices, p: Floats) -> Floats:
    n = low.size
    revealed = np.zeros(n)
    for i in range(n):
        length = (high[i] - low[i]) if low[i] <= high[i] else (high[i] - low[i] + n)
        for k in range(low[i], low[i] + length):
            revealed[k if k < n else k - n] += p[i]
    return revealed


@compiled
def _is_symmetric(low: Indices, high: Indices) -> bool:
    n = low.size
    for i in range(n):
        length = (high[i] - low[i]) if low[i] <= high[i] else (high[i] - low[i] + n)
        for k in range(low[i], low[i] + length):
            j = k if k < n else k - n
            if not _has(low[j], high[j], i):
                return False
    return True


@compiled
def find_runs(matrix: Floats, low: Indices, high: Indices) -> bool:
    """Fill in the runs of a dense matrix; False at the first row that is none."""
    n = len(matrix)
    for i in range(n):
        begins = 0
        low[i], high[i] = 0, n  # kept if the row is full
        for j in range(n):
            entry, before = matrix[i, j], matrix[i, j - 1 if j > 0 else n - 1]
            if entry != 0.0 and entry != 1.0:
                return False
            if entry > before:
                begins += 1
                low[i] = j
            elif entry < before:
                high[i] = j if j > 0 else n
            if begins > 1:
                return False
        if begins == 0 and matrix[i, 0] == 0.0:
            high[i] = 0
    return True


@compiled
def find_runs_of_list(
    start: NDArray[Any], column: NDArray[Any], chance: Floats, low: Indices, high: Indices
) -> bool:
    """The same for a sparse matrix, whose row i lists its columns from `start[i]` on, in order."""
    n = start.size - 1
    for i in range(n):
        first, stop = start[i], start[i + 1]
        low[i] = high[i] = 0
        breaks = 0
        for e in range(first, stop):
            if chance[e] != 1.0:
                return False
            # Where the run begins: after a gap, or in the first column of all.
            after = column[e - 1] + 1 if e > first else column[stop - 1] + 1 - n
            if column[e] != after:
                breaks += 1
                low[i] = column[e]
            follows = column[e + 1] - 1 if e + 1 < stop else column[first] - 1 + n
            if column[e] != follows:
                high[i] = column[e] + 1
        if breaks > 1:
            return False
        if breaks == 0 and stop > first:
            high[i] = n
    return True


@compiled
def next_with_runs(stack: Floats, first: int) -> int:
    """The next matrix, one flattened per row of `stack`, that has runs; or their number."""
    n = int(np.sqrt(stack.shape[1]) + 0.5)
    low, high = np.empty(n, dtype=np.intp), np.empty(n, dtype=np.intp)
    for row in range(first, len(stack)):
        if find_runs(stack[row].reshape(n, n), low, high):
            return row
    return len(stack)
