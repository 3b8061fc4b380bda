"""A connection that writes to a log beside its one writer."""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, NamedTuple

from graphcb.decisions.inbox import lock_graphs
from graphcb.decisions.storage import (
    Durability,
    LogError,
    Storage,
    another_process,
    interruption,
    new_storage,
    without_password,
)
from graphcb.decisions.stored_graphs import StoredGraphs
from graphcb.files import FileError


class Begun(NamedTuple):
    """A transaction that has begun, with the answer to what was asked in it."""

    storage: Storage
    graphs: StoredGraphs
    answer: list[Any]


class Beside:
    """Transactions of one process, one thread at a time; connects again after an error.

    `kind` is what messages call it. `check` is called with each new connection, and refuses a log
    that it may not write to. A call refused with one of `refusals` leaves the connection as it is.
    """

    def __init__(
        self,
        location: str,
        kind: str,
        durability: Durability,
        check: Callable[[Storage], None],
        refusals: tuple[type[Exception], ...] = (),
    ) -> None:
        self.location, self.shown = location, without_password(location)
        self._kind, self._durability, self._check = kind, durability, check
        self._refusals: tuple[type[Exception], ...] = (
            ValueError,
            TypeError,
            LookupError,
            *refusals,
        )
        self._guard, self._process, self._closed = threading.RLock(), os.getpid(), False
        self._opened: tuple[Storage, StoredGraphs] | None = None

    @contextmanager
    def transaction(self, question: str = "") -> Iterator[Begun]:
        """All or nothing: durable when the block has ended."""
        if self._process != os.getpid():
            raise another_process(self._process, self.shown)
        with self._guard:
            storage, graphs = self._open()
            before = sys.exception()
            try:
                yield Begun(storage, graphs, storage.begin(question) or [])
                storage.execute("COMMIT")
            except BaseException as problem:
                self._give_up(storage, graphs, problem)
                if (interrupt := interruption(problem, before)) is not None:
                    raise interrupt from None
                raise

    def close(self) -> None:
        """Close the connection; may be called again."""
        self._closed = True
        opened, self._opened = self._opened, None
        if opened is not None:
            opened[0].close()

    def _open(self) -> tuple[Storage, StoredGraphs]:
        """The connection; a new one at first and after an error."""
        if self._closed:
            raise LogError(f"{self.shown}: this {self._kind} is closed; open another")
        if self._opened is None:
            storage = new_storage(
                self.location, writes=True, durability=self._durability, shares=True
            )
            try:
                storage.open()
                self._check(storage)
            except BaseException:
                storage.close()
                raise
            self._opened = storage, StoredGraphs(storage, partial(lock_graphs, storage))
        return self._opened

    def _give_up(self, storage: Storage, graphs: StoredGraphs, problem: BaseException) -> None:
        """Roll back what was refused; after anything else, connect again the next time."""
        if isinstance(problem, self._refusals) and not isinstance(problem, FileError):
            with suppress(LogError):
                storage.execute("ROLLBACK")
                graphs.forget()
                return
        storage.close()
        self._opened = None
