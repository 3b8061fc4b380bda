"""A table as pieces that are read apart: row groups of Parquet files, files, slices of a frame."""

import glob
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from graphcb.checks import first_twice, listed
from graphcb.files import FileError

Kind = Literal["parquet", "csv", "jsonl", "frame"]
SUFFIXES: dict[str, Kind] = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".csv.gz": "csv",
    ".jsonl": "jsonl",
    ".jsonl.gz": "jsonl",
    ".ndjson": "jsonl",
}
ROWS_AT_LEAST = 1_000_000  # of a piece, if there are that many: pieces are read in parallel
ROWS_OF_A_SLICE = 250_000
BYTES_OF_SAMPLE = 1 << 20  # of CSV and JSON lines, from which kinds of columns are taken


class Piece(NamedTuple):
    """Rows that are read together; `first` is how many rows of the file come before them.

    `stamp` is the size of the file and when it was changed, so that a file which is another one
    by now is not taken for what it was.
    """

    kind: Kind
    path: str
    first: int
    n_rows: int | None
    groups: tuple[int, ...] = ()
    stamp: tuple[int, int] = (0, 0)
    frame: Any = None


class OpenedTable(NamedTuple):
    """The pieces of a table, and the type of each column that all of its files have."""

    pieces: tuple[Piece, ...]
    types: dict[str, Any]
    name: str

    @property
    def n_rows(self) -> int | None:
        """How many rows there are; None where only reading tells."""
        counts = [piece.n_rows for piece in self.pieces]
        return None if None in counts else sum(count or 0 for count in counts)


def kind_of(path: str) -> Kind | None:
    """The kind of a file by its name."""
    name = Path(path).name.lower()
    return next((kind for end, kind in SUFFIXES.items() if name.endswith(end)), None)


def open_table(source: Any) -> OpenedTable:
    """A table in memory, or a file, a folder or a pattern of files."""
    try:
        import pyarrow  # noqa: F401
    except ModuleNotFoundError:
        raise ValueError("reading a table needs pyarrow: pip install 'graphcb[parquet]'") from None
    if not isinstance(source, str | os.PathLike):
        return _from_frame(source)
    text = os.fspath(source)
    found = [_open_file(path) for path in _paths(text)]
    pieces = tuple(piece for part, _ in found for piece in part)
    if not any(piece.n_rows is None or piece.n_rows for piece in pieces):
        raise ValueError(f"{text}: must have rows, got an empty table")
    return OpenedTable(pieces, _common([types for _, types in found]), text)


def _paths(text: str) -> list[str]:
    if Path(text).is_dir():
        found = sorted(str(path) for path in Path(text).rglob("*") if _is_part(path))
        return found or _nothing(text, f"a folder without {listed(SUFFIXES)}")
    if Path(text).is_file():
        return [text]
    found = sorted(glob.glob(text, recursive=True))  # noqa: PTH207  # also of absolute patterns
    return found or _nothing(text, "no file")


def _is_part(path: Path) -> bool:
    """Whether a file in a folder is part of the table; writers hide what is not complete."""
    return path.is_file() and not path.name.startswith((".", "_")) and bool(kind_of(path.name))


def _nothing(text: str, what: str) -> list[str]:
    raise FileNotFoundError(f"{text}: must be a file, a folder or a pattern of files, got {what}")


def _open_file(path: str) -> tuple[list[Piece], dict[str, Any]]:
    kind, status = kind_of(path), Path(path).stat()
    stamp = status.st_size, status.st_mtime_ns
    if kind == "parquet":
        return _row_groups(path, stamp)
    if kind is None:
        raise ValueError(f"{path}: must end in {listed(SUFFIXES)}")
    from graphcb.tables.reading import first_types  # which reads pieces

    return [Piece(kind, path, 0, None, (), stamp)], first_types(kind, path)


def _row_groups(path: str, stamp: tuple[int, int]) -> tuple[list[Piece], dict[str, Any]]:
    """Row groups that follow each other, a million rows together."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            schema, about = file.schema_arrow, file.metadata
    except (pa.ArrowException, OSError) as reason:
        raise FileError(
            f"{path}: must be a whole Parquet file; it cannot be read, and may have been cut "
            f"short: {one_line(reason)}"
        ) from None
    pieces, groups, begin, first = [], [], 0, 0
    for group in range(about.num_row_groups):
        groups.append(group)
        begin += about.row_group(group).num_rows
        if begin - first >= ROWS_AT_LEAST or group == about.num_row_groups - 1:
            pieces.append(Piece("parquet", path, first, begin - first, tuple(groups), stamp))
            groups, first = [], begin
    return pieces, dict(zip(schema.names, schema.types, strict=True))


def _from_frame(frame: Any) -> OpenedTable:
    table = _without_views(_as_arrow(frame))
    if table.num_rows == 0:
        raise ValueError("the table must have rows, got an empty one")
    twice = first_twice(table.column_names)
    if twice is not None:
        raise ValueError(f"the table must have each column once, got {twice!r} again")
    pieces = tuple(
        Piece("frame", "", first, len(part), frame=part)
        for first in range(0, table.num_rows, ROWS_OF_A_SLICE)
        for part in [table.slice(first, ROWS_OF_A_SLICE)]
    )
    types = dict(zip(table.column_names, table.schema.types, strict=True))
    return OpenedTable(pieces, types, "the table")


def _as_arrow(frame: Any) -> Any:
    """A pyarrow table of a frame of pandas, polars or pyarrow, or of columns by name."""
    import pyarrow as pa

    if isinstance(frame, pa.Table):
        return frame
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame])
    try:
        if type(frame).__module__.partition(".")[0] == "pandas":
            return pa.Table.from_pandas(frame, preserve_index=False)
        if hasattr(frame, "__arrow_c_stream__"):
            return pa.table(frame)
        if hasattr(frame, "to_arrow"):
            return frame.to_arrow()
        if isinstance(frame, dict):
            return pa.table(frame)
    except (pa.ArrowException, TypeError, ValueError) as reason:
        raise ValueError(
            f"each column of the table must have values of one type: {one_line(reason)}"
        ) from None
    raise TypeError(
        "`table` must be a path, a frame of pandas, polars or pyarrow, or a dict of columns; "
        f"got {type(frame).__name__}"
    )


def _without_views(table: Any) -> Any:
    """Texts as pyarrow can work with them: polars hands them over as views."""
    import pyarrow as pa

    def plain(kind: Any) -> Any:
        if pa.types.is_dictionary(kind):
            return pa.dictionary(kind.index_type, plain(kind.value_type))
        return pa.string() if str(kind) == "string_view" else kind

    names, kinds = table.schema.names, [plain(kind) for kind in table.schema.types]
    if kinds == table.schema.types:
        return table
    return table.cast(pa.schema(list(zip(names, kinds, strict=True))))


def _common(schemas: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The columns of the first file that all others have; text where files disagree."""
    import pyarrow as pa

    found = {}
    for name, first in schemas[0].items():
        types = {str(one[name]): one[name] for one in schemas if name in one}
        known = {text: one for text, one in types.items() if not pa.types.is_null(one)}
        if all(name in one for one in schemas):
            found[name] = _joint(list(known.values()) or [first])
    return found


def _joint(types: Sequence[Any]) -> Any:
    import pyarrow as pa

    if len(types) == 1:
        return types[0]
    numbers = all(pa.types.is_integer(one) or pa.types.is_floating(one) for one in types)
    return pa.float64() if numbers else pa.string()


def one_line(reason: BaseException) -> str:
    """The first line of an error's text."""
    return str(reason).strip().partition("\n")[0] or type(reason).__name__
