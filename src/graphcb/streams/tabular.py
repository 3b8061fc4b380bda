"""From the columns of a table to examples: numbers standardised, words hashed, losses by label."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.graphs import FeedbackGraph
from graphcb.streams.edges import parse_edges
from graphcb.streams.examples import Examples
from graphcb.streams.problems import Problems
from graphcb.streams.scaling import standardise
from graphcb.streams.source import Source
from graphcb.streams.table import Cells, Table, as_numbers, as_texts, reader_of
from graphcb.streams.targets import Targets
from graphcb.streams.words import word_places

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Columns:
    """What each column is for; either `label` or `losses` is given."""

    numbers: tuple[str, ...]
    words: tuple[str, ...]
    label: str | None = None
    losses: tuple[str, ...] = ()
    edges: str | None = None


class TableExamples:
    """Reads tables as examples, and keeps what it has learned of the columns' sizes.

    Each column weighs about the same: a number in standard deviations from the mean so far, the
    words of a cell together 1, and a constant, all divided so that a row has a norm of about 1.
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

    def read(self, source: Source, problems: Problems) -> Iterator[Examples]:
        """The examples of the source, some rows at a time."""
        columns = self.columns
        names = reader_of(source).names(source)
        used = _used(columns)
        missing = [name for name in used if name not in names]
        if missing:
            raise ValueError(
                f"{source.name}: must have the columns {', '.join(used)}; {missing[0]!r} is not "
                f"among {', '.join(names)}"
            )
        width = max(len(self.targets.actions), len(used))
        n_rows = max(16, min(4096, 2**21 // width))
        numbers = {*columns.numbers, *columns.losses}
        for table in reader_of(source).tables(source, used, n_rows, numbers=numbers):
            yield self._examples(columns, table, problems)

    def _examples(self, columns: Columns, table: Table, problems: Problems) -> Examples:
        cells = dict(zip(_used(columns), table.columns, strict=True))
        wrong: dict[int, str] = {}
        numbers = _numbers(columns.numbers, cells, len(table.lines), wrong)
        words = {name: as_texts(cells[name]) for name in columns.words}
        for name, texts in words.items():
            _note(wrong, name, {row: "is missing" for row, text in enumerate(texts) if not text})
        losses = self._losses(columns, cells, len(table.lines), wrong)
        graphs = self._graphs(columns, cells, wrong)
        lines = table.lines
        problems.report_all(table.broken | {lines[row]: text for row, text in wrong.items()})
        if wrong:
            kept = [row for row in range(len(lines)) if row not in wrong]
            numbers, losses, lines = numbers[kept], losses[kept], [lines[i] for i in kept]
            words = {name: [texts[i] for i in kept] for name, texts in words.items()}
            graphs = graphs if graphs is None else [graphs[i] for i in kept]
        seen = [graph for graph in graphs or [] if graph is not None]
        return Examples(
            self._contexts(numbers, words), losses, lines, None if graphs is None else seen
        )

    def _losses(
        self, columns: Columns, cells: dict[str, Cells], n_rows: int, wrong: dict[int, str]
    ) -> Floats:
        if columns.label is None:
            losses = _numbers(columns.losses, cells, n_rows, wrong)
            for row, text in self.targets.check_range(losses).items():
                wrong.setdefault(row, text)
            return losses
        losses, unknown = self.targets.of_label(as_texts(cells[columns.label]))
        for row, text in unknown.items():
            wrong.setdefault(row, text)
        return losses

    def _graphs(
        self, columns: Columns, cells: dict[str, Cells], wrong: dict[int, str]
    ) -> list[FeedbackGraph | None] | None:
        if columns.edges is None:
            return None
        graphs: list[FeedbackGraph | None] = []
        for row, text in enumerate(as_texts(cells[columns.edges])):
            try:
                graphs.append(parse_edges(text, self.targets.actions))
            except (ValueError, IndexError, TypeError) as reason:
                graphs.append(None)
                wrong.setdefault(row, f"in the column {columns.edges!r} {reason}")
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
                found = word_places(cell, column, self.n_places)
                places += found
                values += [self.weight / len(found) ** 0.5] * len(found)
            counts.append(len(places) - before)
        return _join(dense, np.array(counts), places, values)


def _join(dense: Floats, counts: Any, places: list[int], values: list[float]) -> list[Any]:
    """A pair (indices, values) a row: its numbers first, then its words, which follow them."""
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


def _used(columns: Columns) -> tuple[str, ...]:
    target = columns.losses if columns.label is None else (columns.label,)
    edges = () if columns.edges is None else (columns.edges,)
    return (*columns.numbers, *columns.words, *target, *edges)


def _numbers(
    names: Sequence[str], cells: dict[str, Cells], n_rows: int, wrong: dict[int, str]
) -> Floats:
    """The named columns side by side (n, d); `wrong` gets the rows that have no number."""
    numbers = np.empty((n_rows, len(names)))
    for j, name in enumerate(names):
        numbers[:, j], texts = as_numbers(cells[name])
        _note(wrong, name, texts)
    return numbers


def _note(wrong: dict[int, str], name: str, texts: dict[int, str]) -> None:
    for row, text in texts.items():
        more = "; a column of words is named in --categorical" if "must be" in text else ""
        wrong.setdefault(row, f"the value of {name!r} {text}{more}")
