"""Two rows with one identifier: found by sorting hashes that were written to files.

Memory does not grow with the table: hashes are read back a range at a time.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.tables.columns import CellPlace, as_name
from graphcb.tables.sampling import Hashes, row_hashes
from graphcb.tables.source import Piece

AT_ONCE = 4_000_000  # hashes in memory


def identifier_hashes(batch: Any, column: str, place: CellPlace) -> Hashes:
    """Hashes of the identifiers of a batch."""
    array = batch.column(column)
    if array.null_count:
        row = int(np.asarray(array.is_null()).argmax())
        place.wrong(row, column, "must name the row, got nothing")
    return row_hashes(batch, (column,), place)


def check_identifiers(
    files: Sequence[Path],
    pieces: Sequence[Piece],
    reread: Callable[[Piece], Iterator[tuple[CellPlace, Any]]],
    column: str,
) -> None:
    """Refuse the table if an identifier comes twice; `reread` gives the batches of a piece."""
    files = [file for file in files if file.exists()]  # pieces without rows have none
    n = sum(file.stat().st_size // 8 for file in files)
    n_ranges = max(1, -(-n // AT_ONCE))
    for number in range(n_ranges):
        hashes = np.sort(np.concatenate([_in_range(file, number, n_ranges) for file in files]))
        twice = np.unique(hashes[1:][hashes[1:] == hashes[:-1]])
        if twice.size:
            _name_rows(twice, pieces, reread, column)


def _in_range(file: Path, number: int, n_ranges: int) -> Hashes:
    """The hashes of a file that belong to one of the ranges."""
    found = [np.empty(0, dtype=np.uint64)]
    with file.open("rb") as stream:
        while (part := np.fromfile(stream, dtype=np.uint64, count=AT_ONCE)).size:
            mine: NDArray[np.bool_] = part % np.uint64(n_ranges) == number
            found.append(part[mine])
    return np.concatenate(found)


def _name_rows(
    twice: Hashes,
    pieces: Sequence[Piece],
    reread: Callable[[Piece], Iterator[tuple[CellPlace, Any]]],
    column: str,
) -> None:
    """Raise the error with both rows; nothing if the identifiers differ and share a hash."""
    earlier: dict[str, tuple[CellPlace, int]] = {}
    for piece in pieces:
        for place, batch in reread(piece):
            hashes = identifier_hashes(batch, column, place)
            for row in np.flatnonzero(np.isin(hashes, twice)).tolist():
                name = as_name(batch.column(column)[row].as_py())
                if name in earlier:
                    where, first = earlier[name]
                    file = f" of {where.path}" if where.path != place.path else ""
                    there = f"row {where.first + first + 1:,}{file}"
                    place.wrong(row, column, f"must be there once, got {name!r} as in {there}")
                earlier[name] = place, row
