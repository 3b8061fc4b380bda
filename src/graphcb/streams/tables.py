"""Comma- or tab-separated text.

Lines without a quote are split and turned into numbers by numpy's `loadtxt`, many at a time. A
piece with a quote in it, or with anything that `loadtxt` refuses, goes through the standard
library's csv, which knows where each row begins.
"""

import csv
from collections.abc import Collection, Iterator, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np

from graphcb.streams.source import Source
from graphcb.streams.table import Cells, Table


def column_names(source: Source) -> tuple[str, ...]:
    """The first line; "1", "2", ... for a file without a header."""
    try:
        first = next(_reader(source.lines(first_look=True), source), None)
    except csv.Error as reason:
        raise ValueError(f"{source.name}, line 1: {reason}") from None
    if not first:
        raise ValueError(f"{source.name}: must begin with the names of its columns, got nothing")
    if not source.header:
        return tuple(str(i + 1) for i in range(len(first)))
    names = tuple(name.strip() for name in first)
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise ValueError(
            f"{source.name}, line 1: must name each column once, got {twice[0]!r} again"
        )
    return names


def read_tables(
    source: Source,
    columns: Sequence[str],
    n_rows: int,
    *,
    numbers: Collection[str] = (),
    first_look: bool = False,
) -> Iterator[Table]:
    """The columns of about `n_rows` rows at a time.

    Cells are text; those of the columns in `numbers` are numbers where all of them are.
    """
    names = column_names(source)
    text = source.lines(first_look=first_look)
    done = 0  # lines
    if source.header:
        header = _reader(text, source)
        next(header)
        done = header.line_num
    while lines := list(islice(text, n_rows)):
        cells = _read_plain(lines, columns, names, numbers, source.delimiter)
        if cells is not None:
            yield Table(cells, range(done + 1, done + 1 + len(lines)), {})
            done += len(lines)
        else:
            reader = _reader(chain(lines, text), source)
            rows, starts, broken = _read_quoted(reader, len(lines), done, len(names))
            picked = [names.index(column) for column in columns]
            yield Table(tuple([row[i] for row in rows] for i in picked), starts, broken)
            done += reader.line_num


def _read_plain(
    lines: list[str],
    columns: Sequence[str],
    names: tuple[str, ...],
    numbers: Collection[str],
    delimiter: str,
) -> tuple[Cells, ...] | None:
    """The columns of lines that have no quote, one row a line; None if it is not that simple."""
    if {line.count(delimiter) for line in lines} != {len(names) - 1} or '"' in "".join(lines):
        return None
    cells: dict[str, Cells] = {}
    for wanted, kind in (
        ([c for c in columns if c in numbers], np.float64),
        ([c for c in columns if c not in numbers], object),
    ):
        if not wanted:
            continue
        try:
            block = np.loadtxt(
                lines,
                dtype=kind,
                delimiter=delimiter,
                usecols=[names.index(column) for column in wanted],
                comments=None,
                ndmin=2,
            )
        except ValueError:
            return None
        if len(block) != len(lines):  # an empty line
            return None
        for column, values in zip(wanted, block.T, strict=True):
            cells[column] = values if kind is np.float64 else values.tolist()
    return tuple(cells[column] for column in columns)


def _read_quoted(
    reader: Any, n_lines: int, done: int, width: int
) -> tuple[list[list[str]], list[int], dict[int, str]]:
    """Rows, the line at which each begins, and what is wrong with the others."""
    rows: list[list[str]] = []
    starts: list[int] = []
    broken: dict[int, str] = {}
    while reader.line_num < n_lines:
        start = done + reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error as reason:
            broken[start] = f"must be CSV: {reason}"
            continue
        if row is None:
            break
        if len(row) == width:
            rows.append(row)
            starts.append(start)
        elif row:  # an empty line is no row
            broken[start] = f"must have {width} cells as the first line, got {len(row)}"
    return rows, starts, broken


def _reader(lines: Iterator[str], source: Source) -> Any:
    return csv.reader(lines, delimiter=source.delimiter, strict=True)
