"""Rows without labels as contexts, one by one; nothing is counted or learned from them."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from graphcb.checks import listed
from graphcb.contexts.scaling import shrink
from graphcb.graphs import FeedbackGraph
from graphcb.hashing import place_of
from graphcb.streams.cells import as_numbers, as_words
from graphcb.streams.examples import BadRows
from graphcb.streams.lines import PARSERS, TextLine, name_of
from graphcb.streams.source import Source
from graphcb.streams.sparse import HALF, SparseExamples
from graphcb.streams.tables import column_names, read_batches
from graphcb.streams.tabular import TableExamples
from graphcb.streams.targets import parse_edges

ROWS = 4096  # at a time


class Unlabelled(NamedTuple):
    """The place of a row in the file, its context, and its graph if each row has one."""

    line: int
    context: Any
    graph: FeedbackGraph | None = None


def read_unlabelled(
    reading: TableExamples | SparseExamples, source: Source, bad_rows: BadRows
) -> Iterator[Unlabelled]:
    """The rows of the source as `reading` would read them; labels, if there are any, are ignored.

    A context of named features is a mapping, as an encoder takes it. One that is sparse is the
    pair that `reading` would make of it if it came next.
    """
    if isinstance(reading, TableExamples):
        columns = reading.columns
        used = (*columns.numbers, *columns.words, *([columns.edges] if columns.edges else []))
        names = column_names(source)
        missing = [name for name in used if name not in names]
        if missing and source.format != "jsonl":  # where a value may always be absent
            raise ValueError(
                f"{source.name}: must have the columns {listed(used)}; {missing[0]!r} is not "
                f"among {listed(names)}"
            )
        return _read_table(reading, used, source, bad_rows)
    if source.format != reading.format:
        raise ValueError(f"{source.name}: must be {reading.format}, got {source.format}")
    return _read_lines(reading, source, bad_rows)


def _read_table(
    reading: TableExamples, used: Sequence[str], source: Source, bad_rows: BadRows
) -> Iterator[Unlabelled]:
    columns = reading.columns
    features = [*columns.numbers, *columns.words]
    for batch in read_batches(source, used, ROWS, numbers=set(columns.numbers)):
        bad_rows.report_all(batch.broken)
        cells = dict(zip(used, batch.columns, strict=True))
        values: list[Any] = [as_numbers(cells[name])[0].tolist() for name in columns.numbers]
        values += [as_words(cells[name]) for name in columns.words]
        graphs = as_words(cells[columns.edges]) if columns.edges else [None] * len(batch.lines)
        rows = zip(*values, strict=True) if values else iter([()] * len(batch.lines))
        for line, row, edges in zip(batch.lines, rows, graphs, strict=True):
            try:
                context = dict(zip(features, row, strict=True))
                reading.encoder.encode(context)  # refuses infinity
                graph = None if edges is None else parse_edges(edges, reading.targets.actions)
            except (ValueError, IndexError, TypeError) as reason:
                bad_rows.report(line, str(reason))
                continue
            yield Unlabelled(line, context, graph)


def _read_lines(reading: SparseExamples, source: Source, bad_rows: BadRows) -> Iterator[Unlabelled]:
    parse = PARSERS[reading.format]
    numbered = enumerate(source.lines(), start=1)
    while piece := list(islice(numbered, ROWS)):
        for number, line in piece:
            try:
                row = parse(line)
                if row is None:
                    continue
                if not np.isfinite(row.values).all():
                    raise ValueError("each value must be a finite number")
            except ValueError as reason:
                bad_rows.report(number, str(reason))
                continue
            context = _sparse(reading, row) if reading.encoder is None else _named(reading, row)
            yield Unlabelled(number, context)


def _named(reading: SparseExamples, row: TextLine) -> dict[str, float]:
    """Numbers by the names of their features, 0 where the line leaves one out."""
    numbers = dict.fromkeys(map(name_of, reading.features), 0.0)
    for feature, value in zip(row.features, row.values, strict=True):
        name = name_of(feature)
        if name in numbers:
            numbers[name] += value
    return numbers


def _sparse(reading: SparseExamples, row: TextLine) -> Any:
    """The pair that comes next, while the largest values stay as they are."""
    if reading.format == "libsvm":
        found = [index % reading.n_places for index in row.features]
    else:
        found = [place_of(name, reading.n_places) for name in row.features]
    places, values = np.array(found, dtype=np.int64), np.array(row.values, dtype=np.float64)
    own, at = np.unique(places, return_inverse=True)
    largest = reading.largest[own]
    shrink(np.array([0, places.size]), at.astype(np.int64), values, largest)
    return np.append(places, reading.n_places), np.append(HALF * values, HALF)
