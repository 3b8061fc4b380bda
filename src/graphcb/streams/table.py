"""Tables in pieces: what a CSV file and a Parquet file have in common."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.streams.source import Source

Floats = NDArray[np.float64]
Cells = Sequence[str] | Floats  # numbers where the reader knows them to be, else text

MISSING = frozenset({"", "NA", "N/A", "nan", "NaN", "null", "NULL", "?"})


class Table(NamedTuple):
    """Some rows of a file: the asked columns, where each row stands, rows that are none."""

    columns: tuple[Cells, ...]
    lines: Sequence[int]
    broken: dict[int, str]  # line: what is wrong with it


class Reader(NamedTuple):
    """How a format is read: the names of its columns, and its rows in pieces."""

    names: Callable[[Source], tuple[str, ...]]
    tables: Callable[..., Iterator[Table]]  # source, columns, n_rows, numbers=, first_look=


def reader_of(source: Source) -> Reader:
    """The reader of this source's format; pyarrow is imported for Parquet alone."""
    if source.format == "parquet":
        from graphcb.streams import parquet

        return Reader(parquet.column_names, parquet.read_tables)
    from graphcb.streams import csv_text

    return Reader(csv_text.column_names, csv_text.read_tables)


def as_texts(cells: Cells) -> list[str]:
    """Cells as text without blanks around it; a missing number is an empty text."""
    if isinstance(cells, np.ndarray):
        return [_as_text(cell) for cell in cells.tolist()]
    return [cell.strip() for cell in cells]


def as_numbers(cells: Cells) -> tuple[Floats, dict[int, str]]:
    """Cells as numbers, and for each row that has none what is wrong with it."""
    try:
        numbers = (
            cells
            if isinstance(cells, np.ndarray)
            else np.fromiter(map(float, cells), np.float64, len(cells))
        )
    except ValueError:
        numbers = np.fromiter(map(_as_number, cells), np.float64, len(cells))
    wrong = {}
    for row in np.flatnonzero(~np.isfinite(numbers)).tolist():
        cell = cells[row]
        missing = cell in MISSING if isinstance(cell, str) else cell != cell
        wrong[row] = "is missing" if missing else f"must be a finite number, got {cell!r}"
    return numbers, wrong


def _as_number(cell: str | float) -> float:
    try:
        return float(cell)
    except ValueError:
        return float("nan")


def _as_text(cell: float) -> str:
    """Whole numbers without a point, as they are written in a CSV file."""
    if cell != cell:
        return ""
    return str(int(cell)) if cell.is_integer() else str(cell)
