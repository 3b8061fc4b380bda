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
    for kind in storages():
        plain = kind.execute

        def execute(self: Storage, sql: str, parameters: Any = (), *, plain: Any = plain) -> Any:
            return change(lambda text: plain(self, text, parameters), sql)

        kind.execute = execute


def drop_every_seventh_commit() -> None:
    """The transaction is rolled back, and nobody hears of it."""
    commits = itertools.count(1)

    def change(run: Any, sql: str) -> Any:
        return run("ROLLBACK" if sql == "COMMIT" and next(commits) % 7 == 0 else sql)

    _replace_execute(change)


def commit_late() -> None:
    """Receipts are given before the commit, which comes with the next statement."""
    waiting = []

    def change(run: Any, sql: str) -> Any:
        if waiting and sql != "ROLLBACK":
            waiting.clear()
            run("COMMIT")
        if sql == "COMMIT":
            waiting.append(sql)
            return []
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
