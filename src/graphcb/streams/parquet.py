"""Parquet files, read by pyarrow a few rows at a time."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np

from graphcb.streams.source import Source
from graphcb.streams.table import Cells, Table


def column_names(source: Source) -> tuple[str, ...]:
    """The names in the file's schema."""
    with _open(source) as file:
        return tuple(file.schema_arrow.names)


def read_tables(
    source: Source,
    columns: Sequence[str],
    n_rows: int,
    *,
    numbers: Collection[str] = (),
    first_look: bool = False,
) -> Iterator[Table]:
    """The columns of `n_rows` rows at a time; numbers as numbers, all else as text."""
    del numbers, first_look  # the file knows its types, and can always be read again
    done = 0
    with _open(source) as file:
        for batch in file.iter_batches(batch_size=n_rows, columns=list(dict.fromkeys(columns))):
            lines = range(done + 1, done + 1 + batch.num_rows)
            done += batch.num_rows
            yield Table(tuple(_cells(batch.column(name), name) for name in columns), lines, {})


def _open(source: Source) -> Any:
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


def _cells(column: Any, name: str) -> Cells:
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
        "leave it out: --features takes the names of the others"
    )
