"""CSV, Parquet and JSON lines, read as columns a few thousand rows at a time.

CSV lines without a quote are split and converted to numbers by numpy's `loadtxt`. A batch with a
quote in it, or with anything that `loadtxt` cannot split, goes through the standard library's
csv, which knows the line on which each row starts. Parquet files are read by pyarrow.
"""

import csv
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import first_twice
from graphcb.contexts.values import with_point
from graphcb.streams import json_lines
from graphcb.streams.source import Source, order_of

TABLES = ("csv", "parquet", "jsonl")
# Numbers if the reader knows them to be, else text; JSON may hold other values as well.
Cells = Sequence[Any] | NDArray[np.float64]


class ColumnBatch(NamedTuple):
    """Some rows of a table.

    `columns` are those asked for, `lines` the place of each row in the file, and `broken` the
    lines that hold no row, each with what is wrong with it. `keys` are the names in each row, in
    its own order, where a row has one: in JSON that is not shuffled.
    """

    columns: tuple[Cells, ...]
    lines: Sequence[int]
    broken: dict[int, str]
    keys: Sequence[Iterable[str]] | None = None


def column_names(source: Source) -> tuple[str, ...]:
    """The names in the first line, the schema or the first rows; "1", "2", ... without a header."""
    if source.format == "parquet":
        with _open_parquet(source) as file:
            return tuple(file.schema_arrow.names)
    if source.format == "jsonl":
        return json_lines.names_in(source)[0]
    try:
        first = next(_csv_reader(source.lines(first_look=True), source), None)
    except csv.Error as reason:
        raise ValueError(f"{source.name}, line 1: {reason}") from None
    if not first:
        raise ValueError(f"{source.name}: must start with the names of its columns, got nothing")
    if not source.header:
        return tuple(str(i + 1) for i in range(len(first)))
    names = tuple(name.strip() for name in first)
    twice = first_twice(names)
    if twice is not None:
        raise ValueError(f"{source.name}, line 1: must name each column once, got {twice!r} again")
    return names


def read_batches(
    source: Source,
    columns: Sequence[str],
    n_rows: int,
    *,
    numbers: Collection[str] = (),
    lists: Collection[str] = (),
    first_look: bool = False,
) -> Iterator[ColumnBatch]:
    """The columns of about `n_rows` rows at a time.

    Cells of CSV are text, except in the columns named in `numbers` if all of them in a batch are
    numbers. Parquet and JSON know the types of their cells and ignore `numbers`; Parquet can
    always be read again and ignores `first_look`. Only columns named in `lists` may hold lists
    in Parquet.
    """
    if source.format == "parquet":
        batches = _read_parquet(source, columns, n_rows, lists)
    elif source.format == "jsonl":
        pieces = json_lines.read_rows(source, n_rows, first_look=first_look)
        batches = (
            ColumnBatch(tuple(json_lines.as_cells(rows, c) for c in columns), lines, broken, rows)
            for rows, lines, broken in pieces
        )
    else:
        batches = _read_csv(source, columns, n_rows, numbers, first_look)
    if source.shuffle_seed is None or first_look:
        return batches
    return _shuffle(list(batches), n_rows, source.shuffle_seed)


def _shuffle(batches: list[ColumnBatch], n_rows: int, seed: int) -> Iterator[ColumnBatch]:
    """The rows of all batches in a random order; broken lines are reported first."""
    if not batches:
        return
    lines = np.concatenate([np.asarray(batch.lines, dtype=np.int64) for batch in batches])
    order = order_of(lines.size, seed)
    cells: list[Any] = []
    for pieces in zip(*(batch.columns for batch in batches), strict=True):
        if all(isinstance(piece, np.ndarray) for piece in pieces):
            cells.append(np.concatenate(pieces)[order])
        else:
            lists = (p.tolist() if isinstance(p, np.ndarray) else p for p in pieces)
            every = list(chain.from_iterable(lists))
            cells.append([every[i] for i in order.tolist()])
    lines = lines[order]
    broken = {line: text for batch in batches for line, text in batch.broken.items()}
    for begin in range(0, max(lines.size, 1), n_rows):
        part = slice(begin, begin + n_rows)
        columns = tuple(column[part] for column in cells)
        yield ColumnBatch(columns, lines[part].tolist(), broken if begin == 0 else {})


def _read_csv(
    source: Source, columns: Sequence[str], n_rows: int, numbers: Collection[str], first_look: bool
) -> Iterator[ColumnBatch]:
    names = column_names(source)
    text = source.lines(first_look=first_look)
    done = 0  # lines
    numbers = () if source.decimal == "," else numbers  # numpy would take "1.234" for 1.234
    if source.header:
        header = _csv_reader(text, source)
        next(header)
        done = header.line_num
    while lines := list(islice(text, n_rows)):
        cells = _read_plain(lines, columns, names, numbers, source.delimiter)
        if cells is not None:
            cells = _with_points(cells, source)
            yield ColumnBatch(cells, range(done + 1, done + 1 + len(lines)), {})
            done += len(lines)
        else:
            reader = _csv_reader(chain(lines, text), source)
            rows, starts, broken = _read_quoted(reader, len(lines), done, len(names))
            picked = [names.index(column) for column in columns]
            cells = tuple([row[i] for row in rows] for i in picked)
            yield ColumnBatch(_with_points(cells, source), starts, broken)
            done += reader.line_num


def _with_points(cells: tuple[Cells, ...], source: Source) -> tuple[Cells, ...]:
    """Columns of text whose numbers have decimal points."""
    if source.decimal == ".":
        return cells
    return tuple([with_point(cell) for cell in column] for column in cells)


def _read_plain(
    lines: list[str],
    columns: Sequence[str],
    names: tuple[str, ...],
    numbers: Collection[str],
    delimiter: str,
) -> tuple[Cells, ...] | None:
    """The columns of lines without quotes, one row per line; None if it is not that simple."""
    if {line.count(delimiter) for line in lines} != {len(names) - 1} or '"' in "".join(lines):
        return None
    texts = [column for column in columns if column not in numbers]
    cells: dict[str, Cells] = {}
    try:
        wanted = [column for column in columns if column in numbers]
        if wanted:
            cells |= _load(lines, wanted, names, delimiter, np.float64)
    except ValueError:
        texts = list(columns)  # some cell is missing, or no number
    try:
        if texts:
            cells |= _load(lines, texts, names, delimiter, object)
    except ValueError:
        return None
    if any(len(column) != len(lines) for column in cells.values()):  # an empty line
        return None
    return tuple(cells[column] for column in columns)


def _load(
    lines: list[str], columns: list[str], names: tuple[str, ...], delimiter: str, kind: Any
) -> dict[str, Cells]:
    places = [names.index(column) for column in columns]
    block = np.loadtxt(
        lines, dtype=kind, delimiter=delimiter, usecols=places, comments=None, ndmin=2
    )
    rows = block.T if kind is np.float64 else block.T.tolist()
    return dict(zip(columns, rows, strict=True))


def _read_quoted(
    reader: Any, n_lines: int, done: int, width: int
) -> tuple[list[list[str]], list[int], dict[int, str]]:
    """Rows, the line on which each starts, and what is wrong with the others."""
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
            broken[start] = f"must have {width} cells like the first line, got {len(row)}"
    return rows, starts, broken


def _csv_reader(lines: Iterator[str], source: Source) -> Any:
    return csv.reader(lines, delimiter=source.delimiter, strict=True)


def _read_parquet(
    source: Source, columns: Sequence[str], n_rows: int, lists: Collection[str]
) -> Iterator[ColumnBatch]:
    done = 0
    with _open_parquet(source) as file:
        for batch in _parquet_batches(source, file, columns, n_rows):
            lines = range(done + 1, done + 1 + batch.num_rows)
            done += batch.num_rows
            cells = tuple(
                batch.column(name).to_pylist()
                if name in lists and holds_lists(batch.column(name).type)
                else _parquet_cells(batch.column(name), name)
                for name in columns
            )
            yield ColumnBatch(cells, lines, {})


def _parquet_batches(
    source: Source, file: Any, columns: Sequence[str], n_rows: int
) -> Iterator[Any]:
    """Batches of a file; damage in its middle, which opening does not see, is explained."""
    from pyarrow import ArrowInvalid

    try:
        yield from file.iter_batches(batch_size=n_rows, columns=list(dict.fromkeys(columns)))
    except (ArrowInvalid, OSError) as reason:
        raise ValueError(f"{source.name}: must be a whole Parquet file: {reason}") from None


def holds_lists(kind: Any) -> bool:
    """Whether a column of this type of pyarrow has a list in each cell."""
    from pyarrow.types import is_fixed_size_list, is_large_list, is_list

    return bool(is_list(kind) or is_large_list(kind) or is_fixed_size_list(kind))


def _open_parquet(source: Source) -> Any:
    if source.is_stdin:
        raise ValueError("a Parquet file must be named: it cannot be read from standard input")
    try:
        from pyarrow import ArrowInvalid
        from pyarrow.parquet import ParquetFile
    except ModuleNotFoundError:
        raise ValueError(
            f"{source.name}: reading Parquet needs pyarrow: pip install 'graphcb[parquet]'"
        ) from None
    try:
        return ParquetFile(source.path)
    except (ArrowInvalid, OSError) as reason:
        raise ValueError(f"{source.name}: must be a Parquet file: {reason}") from None


def _parquet_cells(column: Any, name: str) -> Cells:
    """Missing numbers as NaN, missing texts as empty."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.dictionary_decode()
        kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind):
        return [cell or "" for cell in column.to_pylist()]
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return ["" if cell is None else str(cell) for cell in column.to_pylist()]
    raise ValueError(
        f"the column {name!r} must hold numbers or text, got {kind}; "
        "leave it out by naming the other columns in --features"
    )
