"""Columns of a table as examples: numbers standardised, words hashed, labels turned to losses."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import listed
from graphcb.graphs import FeedbackGraph
from graphcb.hashing import word_places
from graphcb.loaded import check_array, check_counts, check_kind, check_numbers
from graphcb.streams.examples import BadRows, Examples
from graphcb.streams.scaling import standardise
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

    def check_loaded(self) -> None:
        """Raise an error unless the attributes fit together, as those of a file may not."""
        named = (self.numbers, self.words, self.losses)
        names = (name for part in (*named, (self.label or "", self.edges or "")) for name in part)
        if not all(type(part) is tuple for part in named) or not all(
            isinstance(name, str) for name in names
        ):
            raise ValueError("the columns must be given by their names")


class TableExamples:
    """Reads tables as examples, and keeps the mean and the deviation of each column.

    Each column has about the same weight: a number is in standard deviations from the mean so
    far, and the words of a cell together have norm 1. With a constant added, rows are divided to
    have a norm of about 1.
    """

    def __init__(self, columns: Columns, targets: Targets, *, bits: int) -> None:
        n_numbers = len(columns.numbers)
        self.columns = columns
        self.targets = targets
        self.n_places = 2**bits if columns.words else 0
        self.n_features = n_numbers + 1 + self.n_places
        self.weight = 1.0 / np.sqrt(n_numbers + len(columns.words) + 1.0)
        self.means = np.zeros(n_numbers)
        self.squares = np.zeros(n_numbers)
        self.count = 0

    def check_loaded(self) -> None:
        """Raise an error unless the attributes fit together, as those of a file may not."""
        check_kind(self, "columns", Columns)
        check_kind(self, "targets", Targets)
        columns, n_actions = self.columns, len(self.targets.actions)
        if columns.label is None and len(columns.losses) != n_actions:
            raise ValueError(f"there must be {n_actions} columns of losses")
        n_numbers = len(columns.numbers)
        check_counts(self, n_places=min(1, len(columns.words)), n_features=1, count=0)
        if self.n_features != n_numbers + 1 + self.n_places:
            raise ValueError(
                f"`n_features` must be {n_numbers + 1 + self.n_places}, got {self.n_features}"
            )
        check_numbers(self, "weight", least=0.0, most=1.0)
        check_array(self, "means", (n_numbers,), least=-np.inf, most=np.inf)
        check_array(self, "squares", (n_numbers,), least=0.0, most=np.inf)

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
        return Examples(self._contexts(numbers, words), losses, lines, seen)

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

    def _contexts(self, numbers: Floats, words: dict[str, list[str]]) -> Any:
        standardise(numbers, self.means, self.squares, self.count, float(self.weight))
        self.count += len(numbers)
        dense = np.column_stack((numbers, np.full(len(numbers), self.weight)))
        if not words:
            return dense
        places: list[int] = []
        values: list[float] = []
        counts = []
        for cells in zip(*words.values(), strict=True):
            before = len(places)
            for column, cell in zip(words, cells, strict=True):
                found = word_places(cell, self.n_places, prefix=f"{column}=")
                places += found
                values += [self.weight / len(found) ** 0.5] * len(found)
            counts.append(len(places) - before)
        return _join(dense, np.array(counts), places, values)


def _join(dense: Floats, counts: Any, places: list[int], values: list[float]) -> list[Any]:
    """A pair (indices, values) for each row: its numbers, followed by its words."""
    width = dense.shape[1]
    starts = np.append(0, np.cumsum(width + counts)).astype(np.intp)
    numbers = (starts[:-1, None] + np.arange(width)).ravel()
    are_words = np.ones(starts[-1], dtype=bool)
    are_words[numbers] = False
    all_places = np.empty(starts[-1], dtype=np.int64)
    all_places[numbers] = np.tile(np.arange(width), len(dense))
    all_places[are_words] = np.array(places, dtype=np.int64) + width
    all_values = np.empty(starts[-1])
    all_values[numbers] = dense.ravel()
    all_values[are_words] = values
    return [
        (all_places[begin:end], all_values[begin:end]) for begin, end in pairwise(starts.tolist())
    ]


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
