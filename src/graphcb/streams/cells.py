"""The cells of a column as numbers or as words."""

import math
from typing import Any

import numpy as np

from graphcb.checks import LARGEST
from graphcb.contexts.values import MISSING, NAN, as_text, is_missing, ungrouped
from graphcb.graphs.structure import Floats
from graphcb.streams.tables import Cells


def as_words(cells: Cells) -> list[Any]:
    """Cells as text without blanks around it, or as lists of texts; "" where one is missing."""
    if isinstance(cells, np.ndarray):
        return [as_text("", cell) if cell == cell else "" for cell in cells.tolist()]
    return [
        cell.strip() if type(cell) is str else cell if isinstance(cell, list) else as_text("", cell)
        for cell in cells
    ]


def as_labels(cells: Cells) -> list[str]:
    """Cells as the names of actions."""
    return [str(cell) for cell in as_words(cells)]


def is_number(text: str) -> bool:
    """Whether a text is a number, NaN included."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def as_numbers(cells: Cells) -> tuple[Floats, dict[int, str]]:
    """Cells as numbers, NaN where there is none, and the text of each that is neither.

    >>> as_numbers(["1.5", "n/a", "", "12kB"])
    (array([1.5, nan, nan, nan]), {3: '12kB'})
    """
    if isinstance(cells, np.ndarray):
        return cells, {}
    try:
        return np.fromiter(map(float, cells), np.float64, len(cells)), {}
    except (ValueError, TypeError, OverflowError):
        pass
    try:
        return np.array([NAN if cell in MISSING else float(cell) for cell in cells]), {}
    except (ValueError, TypeError, OverflowError):
        pass
    numbers = np.full(len(cells), NAN)
    odd: dict[int, str] = {}
    for row, cell in enumerate(cells):
        if not is_missing(cell):
            try:
                numbers[row] = float(ungrouped(cell) if isinstance(cell, str) else cell)
            except (ValueError, TypeError, OverflowError):
                odd[row] = str(cell)
    return numbers, odd


def why_not_finite(cells: Cells) -> tuple[Floats, dict[int, str]]:
    """Cells that must all be numbers, and what is wrong with each row that has none."""
    numbers, odd = as_numbers(cells)
    wrong = {}
    for row in np.flatnonzero(~(np.abs(numbers) <= LARGEST)).tolist():
        missing = np.isnan(numbers[row]) and row not in odd
        wrong[row] = "is missing" if missing else not_finite(cells[row])
    return numbers, wrong


def not_finite(cell: Any) -> str:
    """What is wrong with a cell."""
    try:
        is_large = math.isfinite(float(cell))
    except (ValueError, TypeError, OverflowError):
        is_large = False
    expected = f"at most {LARGEST:g} in size" if is_large else "a finite number"
    return f"must be {expected}, got {str(cell)!r}"
