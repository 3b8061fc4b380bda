"""A log as a folder of Parquet files that grows with it.

Each decision stands in one file, once. A file holds decisions that follow each other, at most
`ROWS_PER_FILE`, of one day. Its name has the day and the event of its first decision. A file
that gains rows, or feedback for its rows, is written anew and takes the place of the old one at
once, so that a reader finds either. So is a file with decisions about people whom the log has
forgotten since: their rows are left out. `_export.json` says up to which event all is there, and
how many were forgotten; it is written last, and what a killed export did is done again.
"""

import json
import os
import re
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from graphcb.decisions import records
from graphcb.decisions.export import ROWS_AT_A_TIME, ExportColumns, batches
from graphcb.decisions.log import DecisionLog, LoggedDecision
from graphcb.decisions.storage import LogError
from graphcb.files import FileError, atomic_write

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None  # type: ignore[assignment]

ROWS_PER_FILE = 100_000
MANIFEST = "_export.json"  # readers of folders pass over names that begin with _
_NAME = re.compile(r"decisions-(\d{4}-\d\d-\d\d)-(\d{15})\.parquet")


class FolderExport(NamedTuple):
    """What an export added: decisions, and feedback for earlier ones, up to the event `position`.

    If old decisions were removed from the log before they, or their last feedback, were
    exported, `removed` is the last event that may be missing, else 0. `n_forgotten` rows were about
    people who were forgotten, and are gone.
    """

    n_new: int
    n_updated: int
    n_files: int
    position: int
    removed: int = 0
    n_forgotten: int = 0


class _Done(NamedTuple):
    """How far a folder is: up to which event, for how many receipts, and what was removed then."""

    event: int = 0
    forgotten: int = 0
    cut: int = 0


class _Part(NamedTuple):
    """A file: its day, the event of its first decision, and its path."""

    day: date
    first: int
    path: Path


def export_folder(log: DecisionLog, folder: str | os.PathLike[str]) -> FolderExport:
    """Bring a folder of Parquet files up to date with a log; needs pyarrow.

    Only what is new since the last export to this folder is read from the log. Nothing is removed
    from either, except rows about people whom the log has forgotten. The columns are those of
    `export_parquet`. A kill at any moment leaves whole files, and the next export goes on from
    there.
    """
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise FileExistsError(f"an export must go to a folder, got the file {str(path)!r}")
    path.mkdir(parents=True, exist_ok=True)
    with _alone(path):
        log.refresh()
        until = records.read_end(log.storage)
        done = _read_manifest(path, log, until)
        receipts = log.receipts
        is_new = done.forgotten != len(receipts)
        n_rows = _leave_out(path, {one.subject for one in receipts}) if is_new else 0
        found = _Export(log, path, done, until).run()
        _write_manifest(path, log, _Done(until, len(receipts), log.start.cut))
        return found._replace(n_forgotten=n_rows)


class _Export:
    """One export, from the event after `done` to the event `until`."""

    def __init__(self, log: DecisionLog, folder: Path, done: _Done, until: int) -> None:
        self.log, self.folder, self.done, self.until = log, folder, done, until
        self.columns = ExportColumns.of(log.versions.until(until), log.storage)
        self.schema = self.columns.schema()
        self.parts = _parts_in(folder)
        self.n_files = self.n_new = 0

    def run(self) -> FolderExport:
        last = self.parts[-1] if self.parts else None
        decided = 0 if last is None else self._last_decision(last)
        late = records.late_feedback(self.log.storage, self.done.event, self.until, decided)
        by_part: dict[int, list[int]] = {}
        firsts = [part.first for part in self.parts]
        for position in late:
            by_part.setdefault(bisect_right(firsts, position) - 1, []).append(position)
        news = _Ahead(self.log.between(decided, self.until))
        for number, part in enumerate(self.parts):
            grows = part is last and self._can_grow(part, news)
            if number in by_part or grows:
                self._write(part, by_part.get(number, []), news if grows else None)
        while news.first is not None:
            day = max(_day(news.first), date.min if last is None else last.day)
            first = news.first.position
            last = _Part(day, first, self.folder / f"decisions-{day}-{first:015}.parquet")
            self._write(last, None, news)
        start, done = self.log.start, self.done
        lost = start.position if start.cut > done.cut and start.position > done.event else 0
        return FolderExport(self.n_new, len(late), self.n_files, self.until, lost)

    def _last_decision(self, part: _Part) -> int:
        """The position of the last decision in the folder, which must be that of the log."""
        with _opened(part.path) as file:
            group = file.read_row_group(file.num_row_groups - 1, ["position", "decision_id"])
        position, name = group["position"][-1].as_py(), group["decision_id"][-1].as_py()
        found = next(self.log.at([position], self.until), None)
        if position > self.until or (found is not None and found.decision_id != name):
            raise FileError(
                f"{part.path}: holds decision {name}, which {self.log.storage.location} does not: "
                "the log was restored from a copy; export it to a new folder"
            )
        return int(position)

    def _can_grow(self, part: _Part, news: "_Ahead") -> bool:
        if news.first is None or _day(news.first) > part.day:
            return False
        with _opened(part.path) as file:
            schema = file.schema_arrow
            same = (schema.names, schema.metadata) == (self.schema.names, self.schema.metadata)
            return same and file.metadata.num_rows < ROWS_PER_FILE

    def _write(self, part: _Part, late: list[int] | None, news: "_Ahead | None") -> None:
        """Write a file: its rows so far, late feedback in them, and new rows that belong to it."""
        import pyarrow.parquet as pq

        count, schema = 0, self.schema
        old = None if late is None else _opened(part.path)
        try:
            if old is not None:
                schema = old.schema_arrow
            with atomic_write(part.path) as file, pq.ParquetWriter(file, schema) as writer:
                for batch in () if old is None else old.iter_batches(batch_size=ROWS_AT_A_TIME):
                    writer.write_table(self._with_feedback(batch, late or []))
                    count += batch.num_rows
                room = ROWS_PER_FILE - count
                for rows in batches(() if news is None else news.take(part.day, room)):
                    writer.write_table(self.columns.table(rows, schema))
                    self.n_new += len(rows)
        finally:
            if old is not None:
                old.close()
        self.n_files += 1

    def _with_feedback(self, batch: Any, late: list[int]) -> Any:
        """Rows of a file, those with late feedback as the log has them now."""
        import pyarrow as pa

        table = pa.Table.from_batches([batch])
        positions = table["position"].to_numpy()
        again = np.isin(positions, late)
        if not again.any():
            return table
        fresh = [*self.log.at(positions[again].tolist(), self.until)]
        again = np.isin(positions, [row.position for row in fresh])
        kept = table.filter(pa.array(~again))
        whole = pa.concat_tables([kept, self.columns.table(fresh, table.schema)])
        return whole.take(pa.array(np.argsort(whole["position"].to_numpy(), kind="stable")))


def _leave_out(folder: Path, subjects: set[str]) -> int:
    """Write files without the rows about these people; how many rows there were."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    count, hashes = 0, pa.array(sorted(subjects), pa.string())
    for part in _parts_in(folder):
        with _opened(part.path) as file:
            if "subject" not in file.schema_arrow.names:
                continue
            theirs = pc.sum(pc.is_in(file.read(["subject"])["subject"], hashes)).as_py() or 0
            if 0 < theirs < file.metadata.num_rows:
                with (
                    atomic_write(part.path) as new,
                    pq.ParquetWriter(new, file.schema_arrow) as writer,
                ):
                    for batch in file.iter_batches(batch_size=ROWS_AT_A_TIME):
                        kept = pc.invert(pc.is_in(batch["subject"], hashes))
                        writer.write_batch(batch.filter(kept))
            elif theirs:
                part.path.unlink()
        count += theirs
    return count


class _Ahead:
    """New decisions, of which the next one can be looked at."""

    def __init__(self, rows: Iterator[LoggedDecision]) -> None:
        self._rows = rows
        self.first = next(rows, None)

    def take(self, day: date, room: int) -> Iterator[LoggedDecision]:
        """Those that come next, no later than this day and no more than there is room for."""
        while room > 0 and self.first is not None and _day(self.first) <= day:
            yield self.first
            self.first = next(self._rows, None)
            room -= 1


def _day(row: LoggedDecision) -> date:
    return datetime.fromtimestamp(row.made_at, UTC).date()


def _parts_in(folder: Path) -> list[_Part]:
    """The files of earlier exports in the order of their decisions."""
    found = []
    for path in folder.glob("*.parquet"):
        name = _NAME.fullmatch(path.name)
        if name is None:
            raise FileError(
                f"{path}: is no file of an export; a folder that decisions are exported to must "
                "hold nothing else"
            )
        found.append(_Part(date.fromisoformat(name[1]), int(name[2]), path))
    return sorted(found, key=lambda part: part.first)


def _opened(path: Path) -> Any:
    from pyarrow import ArrowInvalid
    from pyarrow.parquet import ParquetFile

    try:
        return ParquetFile(path)
    except (ArrowInvalid, OSError) as reason:
        raise FileError(f"{path}: must be a Parquet file of an export: {reason}") from None


def _read_manifest(folder: Path, log: DecisionLog, until: int) -> _Done:
    """What is in the folder; a new one gets a manifest at once."""
    path, name = folder / MANIFEST, log.start.name
    if not path.exists():
        if any(folder.glob("*.parquet")):
            raise FileError(
                f"{folder}: must be empty, or have the {MANIFEST} of an earlier export; it has "
                "Parquet files of other origin"
            )
        _write_manifest(folder, log, _Done())
    try:
        content = json.loads(path.read_text())
        found = str(content["log"])
        done = _Done(*(int(content[name]) for name in _Done._fields))
    except (ValueError, KeyError, TypeError):
        raise FileError(f"{path}: must say which log was exported, and how far") from None
    if found != name:
        raise FileError(
            f"{folder}: must be a new folder or one for this log, {name}, got one for {found}"
        )
    if done.event > until:
        raise FileError(
            f"{folder}: was exported up to event {done.event}, but the log ends at event {until}: "
            "it was restored from a copy; export it to a new folder"
        )
    return done


def _write_manifest(folder: Path, log: DecisionLog, done: _Done) -> None:
    with atomic_write(folder / MANIFEST, text=True) as file:
        file.write(json.dumps({"log": log.start.name, **done._asdict()}) + "\n")


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One export at a time; the lock ends with the process."""
    if os.name != "posix":
        yield
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise LogError(f"{folder}: another process is exporting to this folder") from None
        yield
    finally:
        os.close(number)
