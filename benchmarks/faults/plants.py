"""Faults planted in graphcb, to show that the campaign finds such faults.

Each changes the package in the process that calls it, which is a child of a part.
"""

import itertools
import random
from typing import Any

from graphcb.decisions import transition
from graphcb.decisions.storage import Storage


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

        kind.execute = execute


def drop_commits() -> None:
    """Every third transaction is rolled back, and nobody hears of it."""
    commits = itertools.count(1)

    def change(run: Any, sql: str, _: Storage) -> Any:
        return run("ROLLBACK" if sql == "COMMIT" and next(commits) % 3 == 0 else sql)

    _replace_execute(change)


def commit_late() -> None:
    """Receipts are given before the commit, which comes with the next transaction."""
    waiting: set[int] = set()

    def change(run: Any, sql: str, storage: Storage) -> Any:
        if sql == "COMMIT":
            waiting.add(id(storage))
            return []
        if sql == storage.begin and id(storage) in waiting:
            waiting.discard(id(storage))
            run("COMMIT")
        return run(sql)

    _replace_execute(change)


def count_twice() -> None:
    """A decision's feedback is forgotten, so that a second one is counted, too."""
    from graphcb.decisions import records

    records.read_feedbacks = lambda *_: {}  # type: ignore[assignment,misc]
    for kind in storages():
        plain = kind.execute

        def execute(self: Any, sql: str, parameters: Any = (), *, plain: Any = plain) -> Any:
            return plain(self, sql.replace("NOT NULL UNIQUE", "NOT NULL"), parameters)

        kind.execute = execute


def draw_at_random() -> None:
    """The action comes from a generator whose state is in no log."""
    transition.uniform_at = lambda *_: random.SystemRandom().random()


def forget_rollbacks() -> None:
    """A transaction that was interrupted stays open."""
    _replace_execute(lambda run, sql, _: [] if sql == "ROLLBACK" else run(sql))


def keep_storages() -> None:
    """What was opened stays open, with its lock, until the process ends."""
    kept: list[Any] = []
    for kind in storages():
        plain = kind.__init__

        def begin(self: Any, *arguments: Any, plain: Any = plain, **more: Any) -> None:
            kept.append(self)
            plain(self, *arguments, **more)

        kind.__init__ = begin
        kind.close = lambda self: None


def believe_memory() -> None:
    """Whether a decision has its feedback is remembered from the moment it was written."""
    from graphcb.decisions import policy, records

    seen: dict[int, Any] = {}
    insert, plain = policy.insert, records.read_feedbacks

    def remember(storage: Storage, rows: Any) -> None:
        for row in rows:
            if hasattr(row, "decision"):
                seen[row.decision] = row
        insert(storage, rows)

    def read(storage: Storage, decisions: Any) -> Any:
        known = {made: seen[made] for made in decisions if made in seen}
        return {**plain(storage, decisions), **known}

    policy.insert, records.read_feedbacks = remember, read


def swallow_errors() -> None:
    """A statement that fails is passed over."""
    from graphcb.decisions import LogError

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
    from graphcb import saving

    saving.atomic_write = lambda path: open(path, "wb")  # noqa: PTH123, SIM115


def believe_rows() -> None:
    """The checksum of a row that is read is right, whatever it is."""
    from graphcb.decisions import tables

    plain = tables.checksum
    tables.checksum = lambda row: row.checksum or plain(row)


def believe_zips() -> None:
    """The checksums in a zip file are not compared."""
    import zipfile

    zipfile.ZipExtFile._update_crc = lambda *_: None  # type: ignore[attr-defined]


def ignore_gaps() -> None:
    """A log with missing events is read as if it had never had them."""
    from graphcb.decisions import records

    plain = records.read_events

    def read(*arguments: Any) -> Any:
        try:
            yield from plain(*arguments)
        except ValueError:
            return

    records.read_events = read


def keep_connection() -> None:
    """A connection is believed to work, whatever happened to it."""
    for kind in storages():
        kind.is_usable = lambda self: True


def reuse_names() -> None:
    """Nothing in the name of a decision is random."""
    import secrets

    secrets.token_hex = lambda size=32: "0" * 2 * size  # type: ignore[assignment,misc]


def ignore_forks() -> None:
    """A process takes its parent's number for its own."""
    import os

    number = os.getpid()
    os.getpid = lambda: number


def ignore_other_writers() -> None:
    """The check that nobody else has written is not made."""


def believe_files() -> None:
    """What a file says of its own shapes and sizes is not checked."""
