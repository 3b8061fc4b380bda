"""The rows of a piece, as record batches of the columns that are used."""

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from graphcb.checks import first_twice
from graphcb.files import FileError
from graphcb.tables.source import BYTES_OF_SAMPLE, Kind, Piece, one_line

ROWS_OF_A_BATCH = 131_072
BYTES_OF_A_CHUNK = 8 << 20  # of JSON lines
NULLS = ["", "NA", "N/A", "NaN", "nan", "null", "NULL", "None"]  # in columns of numbers


def read(
    piece: Piece, columns: Sequence[str], types: Mapping[str, Any], words: Sequence[str]
) -> Iterator[tuple[int, Any]]:
    """Batches with these columns, each with the number of rows before it in its file.

    `types` are those of numbers and features in CSV and JSON lines, which have none of their
    own; `words` are columns that are read as dictionaries, which is faster where few differ.
    """
    readers: dict[Kind, Callable[..., Iterator[Any]]] = {
        "parquet": _parquet, "csv": _csv, "jsonl": _json_lines, "frame": _frame,
    }  # fmt: skip
    first = piece.first
    for batch in readers[piece.kind](piece, list(columns), types, words):
        if batch.num_rows:
            yield first, batch
        first += batch.num_rows


def first_types(kind: Kind, path: str) -> dict[str, Any]:
    """The types that the first rows of a text file suggest."""
    import pyarrow.csv as pc

    if kind == "csv":
        with _explained(path, []):
            options = pc.ReadOptions(use_threads=False, block_size=BYTES_OF_SAMPLE)
            schema = pc.open_csv(path, options, None, _csv_values({})).schema
    else:
        with _open_lines(path) as stream:
            lines = b"".join(stream.readlines(BYTES_OF_SAMPLE))
        if not lines.strip():
            raise ValueError(f"{path}: must have rows, got an empty file")
        with _explained(path, []):
            schema = _parse_lines(lines, {}).schema
    twice = first_twice(schema.names)
    if twice is not None:
        raise ValueError(f"{path}: must have each column once, got {twice!r} again")
    return dict(zip(schema.names, schema.types, strict=True))


def _parquet(piece: Piece, columns: list[str], types: Any, words: Sequence[str]) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # Pages are read as they are needed: a row group may be larger than memory.
        with pq.ParquetFile(
            piece.path, read_dictionary=list(words), pre_buffer=False, buffer_size=1 << 20
        ) as file:
            groups = list(piece.groups)
            yield from file.iter_batches(ROWS_OF_A_BATCH, groups, columns, use_threads=False)
    except (pa.ArrowException, OSError) as reason:
        raise FileError(
            f"{piece.path}: must be a whole Parquet file; rows after row {piece.first:,} cannot "
            f"be read: {one_line(reason)}"
        ) from None


def _frame(piece: Piece, columns: list[str], types: Any, words: Any) -> Iterator[Any]:
    yield from piece.frame.select(columns).to_batches(max_chunksize=ROWS_OF_A_BATCH)


def _csv(piece: Piece, columns: list[str], types: Mapping[str, Any], words: Any) -> Iterator[Any]:
    import pyarrow.csv as pc

    # One thread, so that errors have the number of the row.
    options = pc.ReadOptions(use_threads=False, block_size=4 << 20)
    with _explained(piece.path, list(first_types("csv", piece.path))):
        wanted = {name: types[name] for name in columns}
        yield from pc.open_csv(piece.path, options, None, _csv_values(wanted))


def _csv_values(types: Mapping[str, Any]) -> Any:
    import pyarrow.csv as pc

    chosen = {"include_columns": list(types)} if types else {}
    return pc.ConvertOptions(null_values=NULLS, column_types=dict(types), **chosen)


def _json_lines(
    piece: Piece, columns: list[str], types: Mapping[str, Any], words: Any
) -> Iterator[Any]:
    import pyarrow as pa

    floats = {name: types[name] for name in columns if pa.types.is_floating(types[name])}
    done = 0
    with _open_lines(piece.path) as stream:
        while lines := b"".join(stream.readlines(BYTES_OF_A_CHUNK)):
            if not lines.strip():
                continue
            with _explained(piece.path, columns, done):
                table = _parse_lines(lines, floats)
            for name in columns:
                if name not in table.column_names:  # missing in all of these rows
                    table = table.append_column(name, pa.nulls(table.num_rows, types[name]))
            yield from table.select(columns).combine_chunks().to_batches()
            done += table.num_rows


def _open_lines(path: str) -> io.BufferedReader:
    """A text whose lines can be read some at a time, gzipped or not."""
    import pyarrow as pa

    return io.BufferedReader(pa.input_stream(path), 1 << 20)


def _parse_lines(lines: bytes, types: Mapping[str, Any]) -> Any:
    import pyarrow as pa
    import pyarrow.json as pj

    return pj.read_json(
        io.BytesIO(lines),
        pj.ReadOptions(use_threads=False, block_size=len(lines) + 1),
        pj.ParseOptions(explicit_schema=pa.schema(types)),
    )


@contextmanager
def _explained(path: str, columns: Sequence[str], done: int = 0) -> Iterator[None]:
    """Errors of pyarrow's readers with the row, counted from 1 without a header."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as reason:
        _raise(path, columns, one_line(reason), done)


def _raise(path: str, columns: Sequence[str], text: str, done: int) -> NoReturn:
    place = path
    if found := re.search(r"Row #(\d+)", text):  # of CSV, whose header is row 1
        place += f", row {int(found[1]) - 1:,}"
    elif found := re.search(r"in row (\d+)", text):  # of JSON lines, counted from 0
        place += f", row {done + int(found[1]) + 1:,}"
    if (found := re.search(r"CSV column #(\d+)", text)) and int(found[1]) < len(columns):
        place += f", column {columns[int(found[1])]!r}"
    elif found := re.search(r"Column\(/([^)]*)\)", text):
        place += f", column {found[1]!r}"
    if "to double" in text and (found := re.search(r"invalid value '(.*)'", text)):
        raise ValueError(f"{place}: must be a number, got {found[1]!r}")
    raise ValueError(f"{place}: {text}")
