"""Faults planted in graphcb, to show that the campaign finds such faults.

Each changes the package in the process that calls it, which is a child of a part.
"""

import itertools
import os
import random
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from graphcb import saving
from graphcb.decisions import LogError, records, storage, tables, together, writer
from graphcb.decisions.part_counts import PartCounts
from graphcb.decisions.storage import Storage
from graphcb.files import FileError


def replace(owner: Any, **new: Any) -> None:
    """Give a module or a class other functions, in place of those it has."""
    for name, value in new.items():
        getattr(owner, name)  # an error if there is nothing to replace
        setattr(owner, name, value)


def storages() -> list[Any]:
    """The classes that speak to a database."""
    from graphcb.decisions.sqlite import SQLiteStorage

    kinds: list[Any] = [SQLiteStorage]
    try:
        from graphcb.decisions.postgresql import PostgreSQLStorage

        kinds.append(PostgreSQLStorage)
    except ImportError:
        pass
    return kinds


def _replace_execute(change: Any) -> None:
    """`change(run, sql, storage)` instead of `execute`; `run` executes any statement."""
    for kind in storages():
        plain = kind.execute

        def execute(self: Storage, sql: str, parameters: Any = (), *, plain: Any = plain) -> Any:
            return change(lambda text: plain(self, text, parameters), sql, self)

        replace(kind, execute=execute)


def drop_commits() -> None:
    """Every third transaction is rolled back, and nobody hears of it."""
    commits = itertools.count(1)

    def change(run: Any, sql: str, _: Storage) -> Any:
        return run("ROLLBACK" if sql == "COMMIT" and next(commits) % 3 == 0 else sql)

    _replace_execute(change)


def commit_late() -> None:
    """Receipts are given before the commit, which comes with the next transaction."""
    waiting: set[int] = set()

    def change(run: Any, sql: str, at: Storage) -> Any:
        if sql == "COMMIT":
            waiting.add(id(at))
            return []
        if sql.startswith("BEGIN") and id(at) in waiting:
            waiting.discard(id(at))
            run("COMMIT")
        return run(sql)

    _replace_execute(change)


def count_twice() -> None:
    """What is known of a decision is forgotten, so that its feedback is counted again."""
    replace(records, read_parts=lambda *_: {})
    replace(PartCounts, of=lambda *_: 0)


def draw_at_random() -> None:
    """The action comes from a generator whose state is in no log."""
    replace(together, uniform_at=lambda *_: random.SystemRandom().random())


def carry_on() -> None:
    """After an interrupt the transaction stays open, with what was written so far."""
    keep_connection()

    def change(run: Any, sql: str, _: Storage) -> Any:
        if sql == "ROLLBACK":
            return []
        try:
            return run(sql)
        except LogError:
            if sql.startswith("BEGIN"):  # there is one already
                return []
            raise

    _replace_execute(change)


def keep_storages() -> None:
    """What was opened stays open, with its lock, until the process ends."""
    kept: list[Any] = []
    for kind in storages():
        plain = kind.__init__

        def begin(self: Any, *arguments: Any, plain: Any = plain, **more: Any) -> None:
            kept.append(self)
            plain(self, *arguments, **more)

        replace(kind, __init__=begin, close=lambda self: None)


def believe_memory() -> None:
    """What is known of a decision is remembered from the moment at which it was written."""
    seen: dict[int, list[Any]] = {}
    insert = tables.insert

    def remember(storage: Storage, rows: Any) -> None:
        for row in rows:
            if hasattr(row, "decision"):
                seen.setdefault(row.decision, []).append(row)
        insert(storage, rows)

    replace(together, insert=remember)
    replace(
        records, read_parts=lambda _, decisions: {made: seen.get(made, []) for made in decisions}
    )
    replace(PartCounts, of=lambda _, made: len(seen.get(made, [])))


def swallow_errors() -> None:
    """A statement that fails is passed over."""

    def change(run: Any, sql: str, _: Storage) -> Any:
        try:
            return run(sql)
        except LogError:
            if sql == "COMMIT":
                return []
            raise

    _replace_execute(change)


def write_in_place() -> None:
    """`graphcb.save` writes to the file itself."""

    @contextmanager
    def write(path: Any) -> Iterator[Any]:
        with Path(path).open("wb") as file:
            yield file

    replace(saving, atomic_write=write)


def believe_rows() -> None:
    """The checksum of a row that is read is right, whatever it is."""
    plain = tables.checksum
    replace(tables, checksum=lambda row: row.checksum or plain(row))


def believe_zips() -> None:
    """The checksums in a zip file are not compared."""
    replace(zipfile.ZipExtFile, _update_crc=lambda *_: None)


def ignore_gaps() -> None:
    """A log that lacks events is read as if it had never had them."""

    def until_an_error(plain: Any) -> Any:
        def read(*arguments: Any) -> Any:
            with suppress(FileError):
                yield from plain(*arguments)

        return read

    pairs, events = map(until_an_error, (records.read_pairs, records.read_events))
    replace(records, read_pairs=pairs, read_events=events, read_end=records.last_position)


def ignore_ends() -> None:
    """Nobody reads how far a log went."""
    for kind in storages():
        replace(kind, noted_end=lambda _: None)


def forget_spending() -> None:
    """A changed problem begins with nothing spent."""
    from graphcb.problems import succession

    replace(succession, _accounts=lambda _: [])


def keep_connection() -> None:
    """A connection is believed to work, whatever happened to it."""
    kept: dict[str, Any] = {}

    def same(location: str, **more: Any) -> Any:
        if location not in kept:
            kept[location] = storage.new_storage(location, **more)
            kept[location].open()
            kept[location].open = kept[location].close = lambda *_: None
        return kept[location]

    replace(writer, new_storage=same)


def reuse_names() -> None:
    """Nothing in the name of a decision is random."""
    replace(together, new_token=lambda: "0" * 16)


def ignore_forks() -> None:
    """A process takes its parent's number for its own, and the parent's events as well."""
    ignore_other_writers()
    number = os.getpid()
    replace(os, getpid=lambda: number)


def ignore_other_writers() -> None:
    """A transaction begins without a look at where the log is."""

    for kind in storages():
        plain = kind.begin

        def begin(self: Any, question: str = "", *, plain: Any = plain, **_: Any) -> None:
            plain(self)

        replace(kind, begin=begin)


def believe_files() -> None:
    """What a model file says of its own shapes and sizes is not checked."""

    def build(kind: type, attributes: dict[str, Any]) -> Any:
        thing: Any = object.__new__(kind)
        for name, value in attributes.items():
            object.__setattr__(thing, name, value)
        return thing

    replace(saving, _build=build)


def trust_few() -> None:
    """A normal interval is as wide as what was seen happens to vary: not at all."""
    from graphcb.estimates import estimators
    from graphcb.evaluation import Interval

    replace(estimators, normal_around=lambda middle, *_: Interval(middle, middle))
