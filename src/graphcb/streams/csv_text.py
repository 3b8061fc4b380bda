"""Comma- or tab-separated text, split by the standard library's csv."""

import csv
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from graphcb.streams.source import Source
from graphcb.streams.table import Table


def column_names(source: Source) -> tuple[str, ...]:
    """The first line; "1", "2", ... for a file without a header."""
    try:
        first = next(_rows(source, first_look=True), None)
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
    source: Source, columns: Sequence[str], n_rows: int, *, first_look: bool = False
) -> Iterator[Table]:
    """The columns of `n_rows` rows at a time, cells as text."""
    names = column_names(source)
    picked = [names.index(column) for column in columns]
    reader = _rows(source, first_look=first_look)
    if source.header:
        next(reader)
    while True:
        before = reader.line_num
        rows: list[list[str]] = []
        broken: dict[int, str] = {}
        try:
            rows.extend(islice(reader, n_rows))
        except csv.Error as reason:
            broken[_lines([*rows, []], before)[-1]] = f"must be CSV: {reason}"
        if not rows and not broken:
            return
        lines: Sequence[int] = range(before + 1, before + 1 + len(rows))
        if reader.line_num - before != len(rows):
            lines = _lines(rows, before)
        if set(map(len, rows)) - {len(names)}:
            rows, lines = _split(rows, lines, len(names), broken)
        yield Table(_pick(rows, picked), lines, broken)


def _rows(source: Source, *, first_look: bool) -> Any:
    return csv.reader(source.lines(first_look=first_look), delimiter=source.delimiter, strict=True)


def _pick(rows: list[list[str]], columns: list[int]) -> tuple[Sequence[str], ...]:
    """The cells of these columns; turning all rows over is faster once there are several."""
    if len(columns) <= 2:
        return tuple([row[i] for row in rows] for i in columns)
    cells = list(zip(*rows, strict=True))
    return tuple(cells[i] if rows else () for i in columns)


def _lines(rows: list[list[str]], before: int) -> list[int]:
    """The line at which each row begins, where quoted cells go over several."""
    lines = []
    line = before + 1
    for row in rows:
        lines.append(line)
        line += 1 + sum(cell.count("\n") for cell in row)
    return lines


def _split(
    rows: list[list[str]], lines: Sequence[int], width: int, broken: dict[int, str]
) -> tuple[list[list[str]], list[int]]:
    """The rows of the right width; empty lines are no rows, and others are broken."""
    fine = []
    for row, line in zip(rows, lines, strict=True):
        if len(row) == width:
            fine.append((row, line))
        elif row:
            broken[line] = f"must have {width} cells as the first line, got {len(row)}"
    return [row for row, _ in fine], [line for _, line in fine]
