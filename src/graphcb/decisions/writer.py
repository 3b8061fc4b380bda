"""The one writer of a log: opens or creates it, commits to it, and keeps the state beside it."""

import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from graphcb.agents import Agent
from graphcb.checks import as_count
from graphcb.decisions import records
from graphcb.decisions.replaying import rebuild
from graphcb.decisions.storage import (
    Durability,
    LogError,
    Storage,
    open_storage,
    transaction,
    without_password,
)
from graphcb.decisions.stored_graphs import StoredGraphs
from graphcb.decisions.tables import FORMAT, CheckpointRow, LogStart, create_tables, insert
from graphcb.decisions.transition import PolicyState
from graphcb.saving import to_bytes


@dataclass
class Pending:
    """A transaction in progress; `state` becomes the writer's once it is committed."""

    storage: Storage
    state: PolicyState


class LogWriter:
    """A log that is open for writing, and the state that it leads to.

    The log comes first: the state in memory is dropped when a transaction begins and set again
    after its commit. If anything goes wrong in between, also if it is unknown whether the commit
    succeeded, the next call rebuilds the state from the log.
    """

    def __init__(
        self,
        location: str,
        agent: Agent | None,
        seed: int | None,
        *,
        durability: Durability,
        checkpoint_every: int,
        classes: tuple[type, ...],
        check_replay: bool,
    ) -> None:
        self.location, self.shown = location, without_password(location)
        self._durability, self._classes, self._check = durability, classes, check_replay
        self._checkpoint_every = as_count("checkpoint_every", checkpoint_every)
        self._process, self._closed = os.getpid(), False
        self._state: PolicyState | None = None
        self._checkpointed = 0
        content = None if agent is None else to_bytes(agent)
        if seed is not None and not 0 <= as_count("seed", seed, at_least=0) < 2**63:
            raise ValueError(f"`seed` must be below 2**63, got {seed}")
        if content is None and "://" not in location and not Path(location).exists():
            raise self._no_agent()
        self._connect()
        try:
            self.start = self._create_or_continue(content, seed)
            self.state()
        except BaseException:
            self.storage.close()
            raise

    def state(self) -> PolicyState:
        """The state that the log leads to, rebuilt from the log if it is not in memory."""
        if self._closed:
            raise LogError(f"{self.shown}: this policy is closed; open another")
        if self._process != os.getpid():
            raise LogError(
                f"{self.shown}: this policy belongs to process {self._process}, not to this "
                f"one, {os.getpid()}; a log has one writer: open it after the fork"
            )
        if not self.storage.is_usable():
            self.storage.close()
            self._state = None
            self._connect()
        if self._state is None:
            checkpoints = records.read_checkpoints(self.storage)
            self._checkpointed = checkpoints[0].position if checkpoints else 0
            self._state = rebuild(
                self.storage, self.start, self.graphs, classes=self._classes, check=self._check
            )
        return self._state

    @contextmanager
    def transaction(self) -> Iterator[Pending]:
        """Write events and the state that follows from them, all or nothing."""
        state = self.state()  # first, as it may reconnect
        pending = Pending(self.storage, state)
        self._state = None
        try:
            with transaction(self.storage):
                yield pending
        except BaseException:
            self.graphs.forget()
            raise
        self._state = pending.state
        if pending.state.position - self._checkpointed >= self._checkpoint_every:
            self._checkpoint(pending.state)

    def close(self) -> None:
        """Store a checkpoint and release the log to the next writer."""
        if not self._closed and self._process == os.getpid():
            if self._state is not None and self._state.position != self._checkpointed:
                self._checkpoint(self._state)
            self.storage.close()
        self._closed, self._state = True, None

    def _connect(self) -> None:
        self.storage = open_storage(self.location, writes=True, durability=self._durability)
        self.graphs = StoredGraphs(self.storage)

    def _create_or_continue(self, agent: bytes | None, seed: int | None) -> LogStart:
        if not self.storage.has_log():
            self._create(agent, seed)
        start = records.read_start(self.storage)
        if agent is not None and agent != start.agent:
            raise ValueError(
                f"{self.shown}: `agent` must be as it was when the log was created, or left out, "
                "got one that differs; create a new log for a new agent"
            )
        if seed is not None and seed != start.seed:
            raise ValueError(
                f"{self.shown}: `seed` must be {start.seed}, with which the log was created, or "
                f"left out, got {seed}"
            )
        return start

    def _create(self, agent: bytes | None, seed: int | None) -> None:
        if agent is None:
            raise self._no_agent()
        from graphcb import __version__  # the package imports this room

        seed = secrets.randbits(63) if seed is None else seed
        name = secrets.token_hex(4)
        with transaction(self.storage):
            create_tables(self.storage)
            insert(self.storage, [LogStart(FORMAT, __version__, name, seed, time.time(), agent)])

    def _no_agent(self) -> ValueError:
        return ValueError(
            f"{self.shown}: `agent` must be given to create a log; "
            "check the name if the log should exist"
        )

    def _checkpoint(self, state: PolicyState) -> None:
        """Store the agent. If the database refuses, the next start takes longer, no more."""
        self._checkpointed = state.position
        row = CheckpointRow(state.position, state.n_feedbacks, to_bytes(state.agent))
        with suppress(LogError), transaction(self.storage):
            self.storage.execute("DELETE FROM graphcb_checkpoints")
            insert(self.storage, [row])
