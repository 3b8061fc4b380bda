"""Where examples come from: a file or standard input, and its format."""

import codecs
import gzip
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import IO, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import as_one_of, listed

Format = Literal["csv", "parquet", "libsvm", "vw", "jsonl"]

FIRST_LOOK = 10_000  # rows
_SUFFIXES: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".libsvm": "libsvm",
    ".svm": "libsvm",
    ".svmlight": "libsvm",
    ".vw": "vw",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}


class Source:
    """A file by its name, or "-" for standard input; text may be gzipped (.gz).

    Unless given, the format follows from the name; standard input is CSV. A file can be read
    again from the start. Standard input cannot: its first rows are kept, and a first look sees
    only those. With `shuffle_seed` the rows of a file come in a random order, except in a first
    look. Text is UTF-8 unless `encoding` says otherwise; `decimal` "," reads the cells of CSV with
    decimal commas.
    """

    def __init__(
        self,
        path: str,
        *,
        format: str | None = None,
        delimiter: str | None = None,
        header: bool = True,
        encoding: str | None = None,
        decimal: str | None = None,
        shuffle_seed: int | None = None,
        stdin: IO[str] | None = None,
    ) -> None:
        self.path = Path(path)
        self.is_stdin = path == "-"
        self.name = "standard input" if self.is_stdin else path
        self.format = self._format(format)
        self.delimiter = _delimiter(delimiter, self.path)
        self.header = header
        self.encoding = _encoding(encoding)
        self.decimal = as_one_of("--decimal", decimal or ".", (".", ","))
        self.shuffle_seed = shuffle_seed
        self._stdin = (stdin or sys.stdin) if self.is_stdin else None
        self._head: list[str] | None = None
        if self.is_stdin and shuffle_seed is not None:
            raise ValueError(
                "`--shuffle` must be given with a file: a first look at all rows comes before the "
                "run, and standard input can be read only once"
            )
        if not self.is_stdin and not self.path.is_file():
            raise FileNotFoundError(f"`DATA` must be an existing file, got {path!r}")

    @property
    def place(self) -> str:
        """What rows are counted in: the lines of a text, the rows of a Parquet file."""
        return "row" if self.format == "parquet" else "line"

    def lines(self, *, first_look: bool = False) -> Iterator[str]:
        """The lines of the text; in a first look, only those that can be read again."""
        if self._stdin is not None:
            if self._head is None:
                self._head = list(islice(self._stdin, FIRST_LOOK))
            yield from self._head if first_look else chain(self._head, self._stdin)
            return
        with self._open() as text:
            yield from text

    def numbered_lines(self) -> Iterator[tuple[int, str]]:
        """The lines with their numbers from 1, in a random order if that is wanted."""
        numbered = enumerate(self.lines(), start=1)
        if self.shuffle_seed is None:
            return numbered
        everything = list(numbered)
        return (everything[i] for i in order_of(len(everything), self.shuffle_seed).tolist())

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn the error of a file that cannot be read at all into one that says why."""
        try:
            yield
        except UnicodeDecodeError as reason:
            known = "UTF-8" if self.encoding == "utf-8-sig" else self.encoding
            raise ValueError(
                f"{self.name}: must be text in {known}: {reason}; another encoding is named with "
                "--encoding, such as cp1252 or utf-16"
            ) from None
        except (EOFError, gzip.BadGzipFile, zlib.error) as reason:
            raise ValueError(f"{self.name}: must be a whole gzip file: {reason}") from None

    def _open(self) -> IO[str]:
        if self.path.suffix == ".gz":
            return cast(IO[str], gzip.open(self.path, "rt", encoding=self.encoding, newline=""))
        return self.path.open(encoding=self.encoding, newline="")

    def _format(self, asked: str | None) -> Format:
        if asked is not None:
            return cast(Format, as_one_of("--format", asked, get_args(Format)))
        if self.is_stdin:
            return "csv"
        suffixes = [suffix for suffix in self.path.suffixes if suffix != ".gz"]
        suffix = suffixes[-1].lower() if suffixes else ""
        if suffix not in _SUFFIXES:
            raise ValueError(
                f"`DATA` must end in {listed(_SUFFIXES)} (text may be gzipped: .csv.gz), "
                f"got {str(self.path)!r}; or name its format with --format"
            )
        return _SUFFIXES[suffix]


def order_of(n_rows: int, seed: int) -> NDArray[np.intp]:
    """A random order, from the first of the two streams of a seed: the second is for draws."""
    world = np.random.SeedSequence(seed).spawn(2)[0]
    return np.random.default_rng(world).permutation(n_rows)


def _encoding(asked: str | None) -> str:
    if asked is None:
        return "utf-8-sig"
    try:
        return codecs.lookup(asked).name
    except LookupError:
        raise ValueError(
            f"`--encoding` must be one that Python knows, such as cp1252 or utf-16, got {asked!r}"
        ) from None


def _delimiter(asked: str | None, path: Path) -> str:
    if asked is None:
        return "\t" if ".tsv" in path.suffixes else ","
    delimiter = "\t" if asked == "\\t" else asked
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise ValueError(f"`--delimiter` must be one character (\\t for a tab), got {asked!r}")
    return delimiter
