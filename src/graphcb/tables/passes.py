"""A pass over a table: piece by piece, on some cores or machines, continued after a kill."""

import hashlib
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.estimates.moments import Moments
from graphcb.experiments.sweep import Engine, sweep
from graphcb.files import atomic_write
from graphcb.saving import from_bytes, to_bytes
from graphcb.tables.columns import CellPlace, Vocabulary, as_name, codes_of
from graphcb.tables.reading import read
from graphcb.tables.rows import ReadRows, TableColumns
from graphcb.tables.sampling import Hashes, Sample, row_hashes
from graphcb.tables.source import OpenedTable, Piece
from graphcb.tables.tally import TOGETHER, TableTally
from graphcb.tables.weighing import Weighing

AT_ONCE = 4_000_000  # hashes in memory
MOST_CELLS = 1 << 21  # rows times actions that are worked on at once
Progress = Callable[[int], None]


class Running(NamedTuple):
    """Where a pass runs: on how many cores, by what, and what is told how many rows are done."""

    n_jobs: int = 1
    engine: Engine = "joblib"
    progress: Progress | None = None
    resume: Path | None = None


class Result(NamedTuple):
    """What a pass over a piece has found."""

    tally: TableTally
    sample: Sample | None = None


@dataclass(frozen=True)
class Pass:
    """What is done with each piece: count, and weigh or sample if asked to."""

    columns: TableColumns
    types: Mapping[str, Any]
    weighing: Weighing | None = None
    value_range: tuple[float, float] | None = None
    features: tuple[str, ...] = ()
    sampled: tuple[str, ...] = ()  # columns of the rows that are sampled; none if empty
    hashes_to: Path | None = None  # a folder for the hashes of identifiers

    @property
    def used(self) -> tuple[str, ...]:
        """All columns that are read."""
        targets = () if self.weighing is None else self.weighing.targets
        of_targets = [column for target in targets for column in target.columns]
        names = (*self.columns.used, *of_targets, *self.features, *self.sampled)
        return tuple(dict.fromkeys(names))

    def __call__(self, piece: Piece) -> Result:
        """Read a piece once."""
        vocabulary = Vocabulary(self.columns.actions)
        tally, sample = self.nothing_yet()
        if self.hashes_to is not None:
            self.hash_file(piece).unlink(missing_ok=True)
        for place, batch in self.batches(piece, vocabulary):
            rows = self.columns.rows(batch, place, vocabulary)
            self._check_range(rows)
            tally.count(rows)
            if sample is not None:
                part = batch.select(list(self.sampled))
                names = self.columns.action, self.columns.slot
                found = row_hashes(batch, self.sampled, place, names)
                sample.add(found, np.ones(rows.n, dtype=np.int64), part)
            if self.weighing is not None:
                self._weigh(rows, tally)
            if self.hashes_to is not None:
                with self.hash_file(piece).open("ab") as file:
                    file.write(self._identifier_hashes(batch, place).tobytes())
        return Result(tally, sample)

    def nothing_yet(self) -> Result:
        """What a pass over no rows finds."""
        n_targets = 0 if self.weighing is None else len(self.weighing.targets)
        tally = TableTally(n_targets, len(self.columns.reveals))
        return Result(tally, Sample() if self.sampled else None)

    def batches(self, piece: Piece, vocabulary: Vocabulary) -> Iterator[tuple[CellPlace, Any]]:
        """Batches with the columns that are used, fewer rows where there are many actions."""
        columns = self.used
        words = [name for name in self._words() if name in columns]
        at_once = max(1024, MOST_CELLS // max(1, len(self.columns.actions)))
        for first, batch in read(piece, columns, self.types, words):
            for begin in range(0, batch.num_rows, at_once):
                yield CellPlace(piece.path, first + begin), batch.slice(begin, at_once)

    def hash_file(self, piece: Piece) -> Path:
        """Where the hashes of a piece's identifiers are."""
        return (self.hashes_to or Path()) / hashlib.sha256(repr(piece[:4]).encode()).hexdigest()

    def check_identifiers(self, pieces: Sequence[Piece]) -> None:
        """Refuse the table if an identifier comes twice.

        It is found by sorting hashes that were written to files and are read back a range at a
        time, so that memory does not grow with the table.
        """
        files = [self.hash_file(piece) for piece in pieces]
        files = [file for file in files if file.exists()]  # pieces without rows have none
        n_ranges = max(1, -(-sum(file.stat().st_size // 8 for file in files) // AT_ONCE))
        for number in range(n_ranges):
            hashes = np.sort(np.concatenate([_in_range(file, number, n_ranges) for file in files]))
            twice = np.unique(hashes[1:][hashes[1:] == hashes[:-1]])
            if twice.size:
                self._name_rows(twice, pieces)

    def _name_rows(self, twice: Hashes, pieces: Sequence[Piece]) -> None:
        """Raise the error with both rows; nothing if the identifiers differ and share a hash."""
        earlier: dict[str, tuple[CellPlace, int]] = {}
        column = self.columns.identifier or ""
        for piece in pieces:
            for place, batch in self.batches(piece, Vocabulary()):
                hashes = self._identifier_hashes(batch, place)
                for row in np.flatnonzero(np.isin(hashes, twice)).tolist():
                    name = as_name(batch.column(column)[row].as_py())
                    if name in earlier:
                        where, first = earlier[name]
                        file = f" of {where.path}" if where.path != place.path else ""
                        there = f"row {where.first + first + 1:,}{file}"
                        place.wrong(row, column, f"must be there once, got {name!r} as in {there}")
                    earlier[name] = place, row

    def _identifier_hashes(self, batch: Any, place: CellPlace) -> Hashes:
        column = self.columns.identifier or ""
        array = batch.column(column)
        if array.null_count:
            row = int(np.asarray(array.is_null()).argmax())
            place.wrong(row, column, "must name the row, got nothing")
        return row_hashes(batch, (column,), place)

    def key(self, piece: Piece) -> str:
        """The name of what this pass finds in a piece; another question has another one."""
        about = (self.columns, self.weighing, self.value_range, self.features, self.used)
        with np.printoptions(threshold=2**31, precision=17, floatmode="unique"):
            text = repr((about, {name: str(kind) for name, kind in self.types.items()}, piece[:6]))
        return hashlib.sha256(text.encode()).hexdigest()

    def _weigh(self, rows: ReadRows, tally: TableTally) -> None:
        weighing = self.weighing
        if weighing is None:
            return
        slots: dict[str, Any] = {TOGETHER: None}
        if self.columns.slot is not None:
            names = Vocabulary()
            codes = codes_of(rows.batch.column(self.columns.slot), names)
            if codes.size and codes.min() < 0:
                rows.place.wrong(int(codes.argmin()), self.columns.slot, "must name a slot, got "
                                                                         "nothing")  # fmt: skip
            slots = {name: codes == code for code, name in enumerate(names.names)}
        tally.add(weighing.weigh(rows), slots)
        for target, plays in zip(weighing.targets, tally.plays, strict=True):
            for name, share in target.plays(rows).items():
                plays[name] = plays.get(name, 0) + share

    def _check_range(self, rows: ReadRows) -> None:
        if self.value_range is None:
            return
        low, high = self.value_range
        values = rows.values if rows.revealed is None else rows.revealed
        outside = (values < low) | (values > high)
        if rows.seen is not None and rows.revealed is None:
            outside &= rows.seen
        if outside.any():
            where = np.unravel_index(int(outside.argmax()), outside.shape)
            column = self.columns.value or self.columns.reveals[int(where[-1])]
            rows.place.wrong(int(where[0]), column, f"must lie in the range {low:g} to {high:g}, "
                                                    f"got {values[where]:.17g}")  # fmt: skip

    def _words(self) -> Iterator[str]:
        import pyarrow as pa

        for name, kind in self.types.items():
            if pa.types.is_string(kind) and name != self.columns.identifier:
                yield name


def run_pass(one: Pass, table: OpenedTable, running: Running) -> Result:
    """Read all pieces; what was found before a kill is read from `running.resume`."""
    total, left = one.nothing_yet(), []
    for piece in table.pieces:
        stored = _stored(one, piece, running)
        if stored is None:
            left.append(piece)
        else:
            total.tally.merge(stored)
            _tell(running, stored.n)
    n_jobs = min(running.n_jobs, max(1, len(left)))
    for number, found in sweep(one, left, n_jobs=n_jobs, engine=running.engine):
        total.tally.merge(found.tally)
        if total.sample is not None and found.sample is not None:
            total.sample.merge(found.sample)
        if running.resume is not None and one.weighing is not None:
            with atomic_write(running.resume / one.key(left[number])) as file:
                file.write(zlib.compress(to_bytes(found.tally), 1))
        _tell(running, found.tally.n)
    if one.hashes_to is not None:
        one.check_identifiers(left)
    return total


def _stored(one: Pass, piece: Piece, running: Running) -> TableTally | None:
    """What an earlier run found in a piece; passes that sample or look for twins start again."""
    if running.resume is None or one.weighing is None or one.hashes_to is not None:
        return None
    path = running.resume / one.key(piece)
    if not path.is_file():
        return None
    content = zlib.decompress(path.read_bytes())
    tally: TableTally = from_bytes(content, where=str(path), classes=(TableTally, Moments))
    return tally


def _in_range(file: Path, number: int, n_ranges: int) -> Hashes:
    """The hashes of a file that belong to one of the ranges."""
    found = [np.empty(0, dtype=np.uint64)]
    with file.open("rb") as stream:
        while (part := np.fromfile(stream, dtype=np.uint64, count=AT_ONCE)).size:
            mine: NDArray[np.bool_] = part % np.uint64(n_ranges) == number
            found.append(part[mine])
    return np.concatenate(found)


def _tell(running: Running, n_rows: int) -> None:
    if running.progress is not None:
        running.progress(n_rows)
