"""Gzipped CSV files, in which some of the data comes."""

import csv
import gzip
import hashlib
import io
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from graphcb.checks import listed

Row = Sequence[str]


class Table(NamedTuple):
    """A file as it is: the names of its columns, its cells, and a fingerprint of both."""

    names: tuple[str, ...]
    rows: tuple[Row, ...]
    fingerprint: str


def read_csv(path: Path) -> Table:
    """A gzipped CSV file with a header, its cells as text."""
    data = path.read_bytes()
    try:
        names, *rows = csv.reader(io.StringIO(gzip.decompress(data).decode(), newline=""))
    except (OSError, EOFError, ValueError) as reason:
        raise ValueError(f"{path}: must be a gzipped CSV with a header: {reason}") from None
    short = [number for number, row in enumerate(rows, start=1) if len(row) != len(names)]
    if short or not rows:
        got = f"{len(rows[short[0] - 1])} in row {short[0]}" if short else "no row"
        raise ValueError(f"{path}: each row must have {listed(names)}, got {got}")
    return Table(tuple(names), tuple(rows), hashlib.sha256(data).hexdigest()[:16])
