"""Rules whose rows are runs of ones, and finding the runs in a matrix that is written out."""

import dataclasses
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from graphcb.compilation import compiled
from graphcb.graphs.structure import Flags, Floats, Indices, Structure


class RunStructure(Structure):
    """A structure whose rows are runs of ones: derive a frozen dataclass and write `runs`.

    All other answers follow from the runs. Override those that the family knows more quickly.
    """

    @abstractmethod
    def runs(self) -> Indices:
        """The rows as runs of ones."""

    @classmethod
    def candidate(cls, runs: Indices) -> Self | None:
        """For a family that is given by its number of actions alone."""
        return cls(runs.shape[1])  # type: ignore[call-arg]

    def arguments(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}  # type: ignore[arg-type]

    def dense(self) -> Floats:
        runs, matrix = self.runs(), np.empty((self.n_actions, self.n_actions))
        for action in range(self.n_actions):
            matrix[action] = _row(runs, action)
        return matrix

    def row(self, action: int) -> Floats:
        return _row(self.runs(), action)

    def reveal_probabilities(self, probabilities: Floats) -> Floats:
        """A sum over the edges; nothing is subtracted, as that would lose small probabilities."""
        return _reveal(self.runs(), probabilities)

    def sums_revealed(self, values: Floats) -> Floats:
        """Differences of running sums."""
        return _sums(self.runs(), values)

    def self_loops(self) -> Flags:
        """Whether each run has a one in its own row's column."""
        return _self_loops(self.runs())

    def in_degrees(self) -> Indices:
        return _in_degrees(self.runs())

    def is_deterministic(self) -> bool:
        return True

    def is_symmetric(self) -> bool:
        """Checked edge by edge, up to the first that has no mirror image."""
        return _is_symmetric(self.runs())


@compiled
def straight_runs(n: int, low: int, low_step: int, high: int, high_step: int) -> Indices:
    """Row i has ones from low + i * low_step to high + i * high_step - 1."""
    runs = np.empty((2, n), dtype=np.intp)
    for i in range(n):
        runs[0, i], runs[1, i] = low + i * low_step, high + i * high_step
    return runs


@compiled
def _has(low: int, high: int, column: int) -> bool:
    """Whether a run has a one in this column: it has started, or not ended, or both."""
    return (low <= column) + (column < high) + (high < low) >= 2


@compiled
def _row(runs: Indices, action: int) -> Floats:
    row = np.empty(runs.shape[1])
    for j in range(row.size):
        row[j] = _has(runs[0, action], runs[1, action], j)
    return row


@compiled
def _sums(runs: Indices, values: Floats) -> Floats:
    n = values.size
    sums, found = np.zeros(n + 1), np.empty(n)
    for j in range(n):
        sums[j + 1] = sums[j] + values[j]
    for i in range(n):
        low, high = runs[0, i], runs[1, i]
        found[i] = sums[high] - sums[low] + (sums[n] if high < low else 0.0)
    return found


@compiled
def _self_loops(runs: Indices) -> Flags:
    loops = np.empty(runs.shape[1], dtype=np.bool_)
    for i in range(loops.size):
        loops[i] = _has(runs[0, i], runs[1, i], i)
    return loops


@compiled
def _in_degrees(runs: Indices) -> Indices:
    """Runs that have started minus runs that have ended, from the first column on."""
    steps = np.zeros(runs.shape[1] + 1, dtype=np.intp)
    for low, high in runs.T:
        steps[low] += 1
        steps[high] -= 1
        steps[0] += high < low
    return np.cumsum(steps[:-1])


@compiled
def _length(low: int, high: int, n: int) -> int:
    return high - low if low <= high else high - low + n


@compiled
def _reveal(runs: Indices, p: Floats) -> Floats:
    revealed = np.zeros(p.size)
    for i in range(p.size):
        low, high = runs[0, i], runs[1, i]
        for k in range(low, low + _length(low, high, p.size)):
            revealed[k % p.size] += p[i]
    return revealed


@compiled
def _is_symmetric(runs: Indices) -> bool:
    n = runs.shape[1]
    for i in range(n):
        low, high = runs[0, i], runs[1, i]
        for k in range(low, low + _length(low, high, n)):
            if not _has(runs[0, k % n], runs[1, k % n], i):
                return False
    return True


@compiled
def find_runs(matrix: Floats, runs: Indices) -> bool:
    """Fill in the runs of a dense matrix; False at the first row that is none."""
    n = len(matrix)
    low, high = runs[0], runs[1]
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
    start: NDArray[Any], column: NDArray[Any], chance: Floats, runs: Indices
) -> bool:
    """The same for a sparse matrix, whose row i lists its columns from `start[i]` on, in order."""
    n = start.size - 1
    low, high = runs[0], runs[1]
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
def find_runs_of_each(stack: Floats, n: int) -> tuple[Indices, Indices]:
    """The rows of `stack`, each a flattened matrix, that have runs; and their runs."""
    rows, runs = np.empty(len(stack), np.intp), np.empty((len(stack), 2, n), np.intp)
    found = 0
    for row in range(len(stack)):
        if find_runs(stack[row].reshape(n, n), runs[found]):
            rows[found] = row
            found += 1
    return rows[:found], runs[:found]
