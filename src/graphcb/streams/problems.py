"""Rows that cannot be used: the first one stops the run, or all are counted and skipped."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

SHOWN = 3


class Problems:
    """Says where a row is wrong; with `skip` it counts, and keeps the first texts to show.

    >>> problems = Problems("mail.csv", skip=True)
    >>> problems.keep({1: "the cell is empty"}, [2, 3, 4])
    array([0, 2])
    >>> problems.count, problems.shown
    (1, ['mail.csv, line 3: the cell is empty'])
    """

    def __init__(self, name: str, *, place: str = "line", skip: bool = False) -> None:
        self.name = name
        self.place = place
        self.skip = skip
        self.count = 0
        self.shown: list[str] = []

    def report(self, line: int, text: str) -> None:
        """One row that is wrong."""
        where = f"{self.name}, {self.place} {line}: {text}"
        if not self.skip:
            raise ValueError(f"{where} (--on-error skip leaves such rows out)")
        self.count += 1
        if self.count <= SHOWN:
            self.shown.append(where)

    def keep(self, found: Mapping[int, str], lines: Sequence[int]) -> NDArray[np.intp]:
        """Positions of the rows that are fine; `found` has a text for each of the others."""
        for row in sorted(found):
            self.report(lines[row], found[row])
        return np.array([i for i in range(len(lines)) if i not in found], dtype=np.intp)
