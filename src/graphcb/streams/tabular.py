"""Columns of a table as examples: numbers standardised, words hashed, labels turned to losses."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import listed
from graphcb.contexts import Encoder
from graphcb.graphs import FeedbackGraph
from graphcb.streams.examples import BadRows, Examples
from graphcb.streams.source import Source
from graphcb.streams.tables import Cells, ColumnBatch, column_names, read_batches
from graphcb.streams.targets import Targets, parse_edges

Floats = NDArray[np.float64]

MISSING = frozenset({"", "NA", "N/A", "nan", "NaN", "null", "NULL", "?"})


@dataclass(frozen=True)
class Columns:
    """What each column is for; either `label` or `losses` is given."""

    numbers: tuple[str, ...]
    words: tuple[str, ...]
    label: str | None = None
    losses: tuple[str, ...] = ()
    edges: str | None = None

    def used(self) -> tuple[str, ...]:
        """All columns that are read, in a fixed order."""
        target = self.losses if self.label is None else (self.label,)
        edges = () if self.edges is None else (self.edges,)
        return (*self.numbers, *self.words, *target, *edges)


class TableExamples:
    """Reads tables as examples, and keeps the mean and the deviation of each column.

    Each column has about the same weight: a number is in standard deviations from the mean so
    far, and the words of a cell together have norm 1. With a constant added, rows are divided to
    have a norm of about 1.
    """

    def __init__(self, columns: Columns, targets: Targets, *, bits: int) -> None:
        self.columns = columns
        self.targets = targets
        kinds = dict.fromkeys(columns.numbers, "number") | dict.fromkeys(columns.words, "text")
        self.encoder = Encoder(kinds, bits=bits)

    @property
    def n_features(self) -> int:
        """How many features a context has."""
        return self.encoder.n_features or 0

    def read(self, source: Source, bad_rows: BadRows) -> Iterator[Examples]:
        """The examples of the source, some rows at a time."""
        names, used = column_names(source), self.columns.used()
        missing = [name for name in used if name not in names]
        if missing:
            raise ValueError(
                f"{source.name}: must have the columns {listed(used)}; {missing[0]!r} is not "
                f"among {listed(names)}"
            )
        width = max(len(self.targets.actions), len(used))
        n_rows = max(16, min(4096, 2**21 // width))
        numbers = {*self.columns.numbers, *self.columns.losses}
        for batch in read_batches(source, used, n_rows, numbers=numbers):
            yield self._examples(batch, bad_rows)

    def _examples(self, batch: ColumnBatch, bad_rows: BadRows) -> Examples:
        columns, lines = self.columns, batch.lines
        cells = dict(zip(columns.used(), batch.columns, strict=True))
        wrong: dict[int, str] = {}
        numbers = _numbers(columns.numbers, cells, len(lines), wrong)
        words = {name: as_texts(cells[name]) for name in columns.words}
        for name, texts in words.items():
            _note(wrong, name, {row: "is missing" for row, text in enumerate(texts) if not text})
        losses = self._losses(cells, len(lines), wrong)
        graphs = self._graphs(cells, wrong)
        bad_rows.report_all(batch.broken | {lines[row]: text for row, text in wrong.items()})
        if wrong:
            kept = [row for row in range(len(lines)) if row not in wrong]
            numbers, losses, lines = numbers[kept], losses[kept], [lines[i] for i in kept]
            words = {name: [texts[i] for i in kept] for name, texts in words.items()}
            graphs = graphs if graphs is None else [graphs[i] for i in kept]
        seen = None if graphs is None else [graph for graph in graphs if graph is not None]
        contexts = self.encoder.encode_columns(numbers, list(words.values()))
        return Examples(contexts, losses, lines, seen)

    def _losses(self, cells: dict[str, Cells], n_rows: int, wrong: dict[int, str]) -> Floats:
        if self.columns.label is None:
            losses = _numbers(self.columns.losses, cells, n_rows, wrong)
            bad = self.targets.check_range(losses)
        else:
            losses, bad = self.targets.of_label(as_texts(cells[self.columns.label]))
        for row, text in bad.items():
            wrong.setdefault(row, text)
        return losses

    def _graphs(
        self, cells: dict[str, Cells], wrong: dict[int, str]
    ) -> list[FeedbackGraph | None] | None:
        column = self.columns.edges
        if column is None:
            return None
        graphs: list[FeedbackGraph | None] = []
        for row, text in enumerate(as_texts(cells[column])):
            try:
                graphs.append(parse_edges(text, self.targets.actions))
            except (ValueError, IndexError, TypeError) as reason:
                graphs.append(None)
                wrong.setdefault(row, f"in the column {column!r} {reason}")
        return graphs


def _numbers(
    names: Sequence[str], cells: dict[str, Cells], n_rows: int, wrong: dict[int, str]
) -> Floats:
    """The named columns side by side (n, d); rows without a number are added to `wrong`."""
    numbers = np.empty((n_rows, len(names)))
    for j, name in enumerate(names):
        numbers[:, j], texts = as_numbers(cells[name])
        _note(wrong, name, texts)
    return numbers


def _note(wrong: dict[int, str], name: str, texts: dict[int, str]) -> None:
    for row, text in texts.items():
        more = "; name columns of words in --categorical" if "must be" in text else ""
        wrong.setdefault(row, f"the value of {name!r} {text}{more}")


def as_texts(cells: Cells) -> list[str]:
    """Cells as text without blanks around it; a missing number is an empty text."""
    if isinstance(cells, np.ndarray):
        return [_as_text(cell) for cell in cells.tolist()]
    return [cell.strip() for cell in cells]


def _as_text(cell: float) -> str:
    """Whole numbers without a decimal point, as they are written in CSV files."""
    if cell != cell:
        return ""
    return str(int(cell)) if cell.is_integer() else str(cell)


def as_numbers(cells: Cells) -> tuple[Floats, dict[int, str]]:
    """Cells as numbers, and what is wrong with each row that has none."""
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
