"""Columns of a table as examples: contexts by an encoder, labels turned to losses."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphcb.checks import LARGEST, listed
from graphcb.contexts import Encoder
from graphcb.contexts.times import numbers_of, time_parts
from graphcb.contexts.values import is_missing
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.structure import Floats
from graphcb.streams.cells import as_labels, as_numbers, as_words, not_finite, why_not_finite
from graphcb.streams.examples import BadRows, Examples
from graphcb.streams.report import Report
from graphcb.streams.source import Source
from graphcb.streams.tables import Cells, ColumnBatch, column_names, read_batches
from graphcb.streams.targets import Targets, parse_edges


@dataclass(frozen=True)
class Columns:
    """What each column is for; either `label` or `losses` is given.

    Rewards are in `losses` as well: the targets know which they are.
    """

    numbers: tuple[str, ...]
    words: tuple[str, ...]
    label: str | None = None
    losses: tuple[str, ...] = ()
    edges: str | None = None

    def __post_init__(self) -> None:
        single = [name for name in (self.label, self.edges) if name is not None]
        parts = (self.numbers, self.words, self.losses, tuple(single))
        if not all(type(part) is tuple and all(type(x) is str for x in part) for part in parts):
            raise ValueError("the columns must be given by their names")

    def used(self) -> tuple[str, ...]:
        """All columns that are read, in a fixed order."""
        target = self.losses if self.label is None else (self.label,)
        edges = () if self.edges is None else (self.edges,)
        return (*self.numbers, *self.words, *target, *edges)

    def kinds(self) -> dict[str, str]:
        """The kinds of the features if nothing more is known of them, numbers first."""
        return dict.fromkeys(self.numbers, "number") | dict.fromkeys(self.words, "text")


class TableExamples:
    """Reads tables as examples; an encoder makes the contexts and keeps their scale.

    `kinds` says more of the features, as an `Encoder` takes it. A missing value is no reason to
    leave out a row; a word in a column of numbers counts as missing. `report` counts both.
    Rows that lack most of many numbers are `sparse`: each is a dict without what it lacks, for an
    encoder to which nothing is declared.
    """

    def __init__(
        self,
        columns: Columns,
        targets: Targets,
        *,
        bits: int,
        kinds: Mapping[str, str] | None = None,
        report: Report | None = None,
        sparse: bool = False,
    ) -> None:
        if columns.label is None and len(columns.losses) != len(targets.actions):
            raise ValueError(f"there must be {len(targets.actions)} columns of losses")
        self.columns = columns
        self.targets = targets
        kinds = {name: (kinds or {}).get(name, kind) for name, kind in columns.kinds().items()}
        self.encoder = Encoder(None if sparse else kinds, bits=bits)
        self.times = [n for n, kind in self.encoder.kinds.items() if kind.startswith("time")]
        self.report = report or Report.of(kinds)

    @property
    def n_features(self) -> int:
        """How many features a context has."""
        n_words = len(self.columns.words) * (1 + len(numbers_of("")))  # each may turn out a time
        most = 2**self.encoder.bits + 1 + len(self.columns.numbers) + n_words
        return self.encoder.n_features or most

    def read(self, source: Source, bad_rows: BadRows) -> Iterator[Examples]:
        """The examples of the source, some rows at a time."""
        numbers = {*self.columns.numbers, *self.columns.losses}
        for batch in self._batches(source, self.columns.used(), numbers):
            yield self._examples(batch, bad_rows)

    def contexts(
        self, source: Source, bad_rows: BadRows
    ) -> Iterator[tuple[list[Any], Sequence[int]]]:
        """Contexts of rows that need no labels, with their lines; nothing is learned of them."""
        names = (*self.columns.numbers, *self.columns.words)
        for batch in self._batches(source, names, set(self.columns.numbers)):
            wrong: dict[int, str] = {}
            cells = dict(zip(names, batch.columns, strict=True))
            numbers, words = self._features(cells, batch.lines, wrong)
            bad_rows.report_all(batch.broken | {batch.lines[i]: wrong[i] for i in wrong})
            kept = [row for row in range(len(batch.lines)) if row not in wrong]
            rows = self._rows(numbers, words, batch.keys, kept)
            found = [self.encoder.encode(row) for row in rows]
            self.report.n_rows += len(kept)
            yield found, [batch.lines[row] for row in kept]

    def _batches(
        self, source: Source, used: tuple[str, ...], numbers: set[str]
    ) -> Iterator[ColumnBatch]:
        if source.format != "jsonl":  # where a value may always be absent
            names = column_names(source)
            missing = [name for name in used if name not in names]
            if missing:
                raise ValueError(
                    f"{source.name}: must have the columns {listed(used)}; {missing[0]!r} is not "
                    f"among {listed(names)}"
                )
        self.report.name, self.report.place = source.name, source.place
        self.report.restart()
        n_rows = max(16, min(4096, 2**21 // max(len(self.targets.actions), len(used))))
        return read_batches(source, used, n_rows, numbers=numbers)

    def _examples(self, batch: ColumnBatch, bad_rows: BadRows) -> Examples:
        lines = batch.lines
        cells = dict(zip(self.columns.used(), batch.columns, strict=True))
        wrong: dict[int, str] = {}
        losses = self._losses(cells, len(lines), wrong)
        graphs = self._graphs(cells, wrong)
        numbers, words = self._features(cells, lines, wrong)
        bad_rows.report_all(batch.broken | {lines[row]: text for row, text in wrong.items()})
        kept = [row for row in range(len(lines)) if row not in wrong]
        if self.encoder.features is None:
            contexts = self._sparse(self._rows(numbers, words, batch.keys, kept))
        else:
            if wrong:
                numbers, words = numbers[kept], [[texts[i] for i in kept] for texts in words]
            contexts = self._contexts(numbers, words)
        self.report.n_rows += len(kept)
        if wrong:
            losses, lines = losses[kept], [lines[i] for i in kept]
            graphs = graphs if graphs is None else [graphs[i] for i in kept]
        seen = None if graphs is None else [graph for graph in graphs if graph is not None]
        return Examples(contexts, losses, lines, seen)

    def _rows(
        self,
        numbers: Floats,
        words: list[list[Any]],
        keys: Sequence[Iterable[str]] | None,
        kept: Iterable[int],
    ) -> Iterator[dict[str, Any]]:
        """Rows as dicts; sparse ones without what they lack, where a number is 0, not missing."""
        names = (*self.columns.numbers, *self.columns.words)
        sparse = self.encoder.features is None
        for i in kept:
            values = (*numbers[i].tolist(), *(column[i] for column in words))
            row = dict(zip(names, values, strict=True))
            for name in self.columns.words if sparse else names:
                self.report.columns[name].missing += is_missing(row[name])
            if sparse:
                order = names if keys is None else (name for name in keys[i] if name in row)
                row = {name: row[name] for name in order if not is_missing(row[name])}
            yield row

    def _sparse(self, rows: Iterable[dict[str, Any]]) -> list[Any]:
        """Encode and learn rows, one after the other."""
        contexts = []
        for row in rows:
            context, count = self.encoder.taken(row)
            contexts.append(context)
            count()
        return contexts

    def _features(
        self, cells: Mapping[str, Cells], lines: Sequence[int], wrong: dict[int, str]
    ) -> tuple[Floats, list[list[Any]]]:
        """Numbers (n, d) and columns of words; odd cells of rows that are used are reported."""
        names = self.columns.numbers
        numbers = np.empty((len(lines), len(names)))
        odd = []
        for j, name in enumerate(names):
            numbers[:, j], texts = as_numbers(cells[name])
            odd += [(self.report.columns[name], row, text) for row, text in texts.items()]
        for row, j in np.argwhere(np.abs(numbers) > LARGEST).tolist():
            what = not_finite(cells[names[j]][row])
            wrong.setdefault(row, f"the value of {names[j]!r} {what}")
        for column, row, text in odd:
            if row not in wrong:
                column.add_odd(text, lines[row])
        words = {name: as_words(cells[name]) for name in self.columns.words}
        for name in self.times:
            for row, cell in enumerate(words[name]):
                if time_parts(cell) is None and not is_missing(cell):
                    words[name][row] = ""
                    if row not in wrong:
                        self.report.columns[name].add_odd(cell, lines[row])
        return numbers, list(words.values())

    def _contexts(self, numbers: Floats, words: list[list[Any]]) -> Any:
        before = self.encoder.missing
        contexts = self.encoder.encode_columns(numbers, words)
        for name, count in self.encoder.missing.items():
            self.report.columns[name].missing += count - before.get(name, 0)
        return contexts

    def _losses(self, cells: dict[str, Cells], n_rows: int, wrong: dict[int, str]) -> Floats:
        if self.columns.label is not None:
            losses, bad = self.targets.of_label(as_labels(cells[self.columns.label]))
        else:
            values = np.empty((n_rows, len(self.columns.losses)))
            for j, name in enumerate(self.columns.losses):
                values[:, j], texts = why_not_finite(cells[name])
                for row, text in texts.items():
                    wrong.setdefault(row, f"the value of {name!r} {text}")
            losses, bad = self.targets.as_losses(values), self.targets.check_range(values)
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
        for row, text in enumerate(as_words(cells[column])):
            try:
                graphs.append(parse_edges(text, self.targets.actions))
            except (ValueError, IndexError, TypeError) as reason:
                graphs.append(None)
                wrong.setdefault(row, f"in the column {column!r} {reason}")
        return graphs
