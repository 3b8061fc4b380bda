"""The one writer of a log: opens or creates it, commits to it, and keeps the state beside it."""

import os
import secrets
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from graphcb.agents import Agent
from graphcb.checks import as_count
from graphcb.decisions import records
from graphcb.decisions.inbox import count_waiting, has_feedbacks, has_inbox
from graphcb.decisions.part_counts import PartCounts
from graphcb.decisions.replaying import rebuild
from graphcb.decisions.start import check_same_problem, first_agent
from graphcb.decisions.storage import (
    Durability,
    LogError,
    Storage,
    another_process,
    interruption,
    new_storage,
    transaction,
    without_password,
)
from graphcb.decisions.stored_graphs import StoredGraphs
from graphcb.decisions.tables import (
    FORMAT,
    AskerRow,
    CheckpointRow,
    LogStart,
    create_tables,
    insert,
)
from graphcb.decisions.transition import PolicyState
from graphcb.decisions.versions import Versions
from graphcb.files import FileError
from graphcb.problems import Problem
from graphcb.saving import to_bytes

KEPT, KEPT_BYTES = 16, 64_000_000  # checkpoints, and how large they may be together


@dataclass
class Pending:
    """A transaction in progress; `state` becomes the writer's once it is committed.

    `answered` are the decisions that feedback was added for. `asked` is set before the agent is
    called, `learned` once it has learned, `changed` once there is another version or start. All
    decisions up to `waited` have feedback, or get no default. If the log `has_deciders`, nobody
    else decides. If it `is_beside`, another process is the writer, which takes in what is written
    here. There may be something to take in if it `has_mail`; `set_aside` are the numbers of what
    the agent refused. `asker` asks for the decisions that follow, `last_asker` asked for the last
    one, `runs` say from which events on who did. Once it `is_over`, nothing more would be written;
    nothing is if it `is_spoilt`, as the agent may have changed by what it refused.
    """

    storage: Storage
    graphs: StoredGraphs
    counts: PartCounts
    state: PolicyState
    versions: Versions
    start: LogStart
    waited: int = 0
    answered: list[int] = field(default_factory=list)
    asked: bool = False
    learned: bool = False
    changed: bool = False
    has_deciders: bool = False
    is_beside: bool = False
    has_mail: bool = False
    set_aside: set[int] = field(default_factory=set)
    asker: int = 0
    last_asker: int = 0
    runs: list[AskerRow] = field(default_factory=list)
    is_over: bool = False
    is_spoilt: bool = False

    def begin_run(self, position: int, asker: int) -> None:
        """From this event on, somebody else asks; decisions that began a run may be given up."""
        if self.runs and self.runs[-1].position == position:
            self.runs.pop()
        self.runs.append(AskerRow(position, asker))
        self.last_asker = asker


class Took(NamedTuple):
    """When something was done last, in seconds since 1970, and how many seconds it took."""

    at: float
    seconds: float


class LogWriter:
    """A log that is open for writing, and the state that it leads to.

    The log comes first: the state in memory is dropped when a transaction begins and set again
    after its commit. Whatever happens in between, an interrupt included, and also if it is
    unknown whether the commit succeeded, the next call finds no state: it closes the log, opens
    it again and rebuilds the state from it.

    A writer leaves its mark in the log with the first transaction, its epoch. Every transaction
    checks that epoch and last event are those that this writer left or found.
    """

    def __init__(
        self,
        location: str,
        agent: Agent | None,
        seed: int | None,
        problem: Problem | None = None,
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
        self._agent = first_agent(agent, problem)
        self._compares_agent = agent is not None
        if seed is not None and not 0 <= as_count("seed", seed, at_least=0) < 2**63:
            raise ValueError(f"`seed` must be below 2**63, got {seed}")
        self._seed = seed
        if self._agent is None and "://" not in location and not Path(location).exists():
            raise self._no_agent()
        self._state: PolicyState | None = None
        self._start: LogStart | None = None
        self._counts = PartCounts()
        self.versions = Versions(())
        self._waited, self._has_deciders, self._has_mail = 0, False, False
        self._set_aside: set[int] = set()
        self._last_asker = 0
        self._found = self._mine = ""
        self._checkpointed = self._committed = 0
        self.last_checkpoint: Took | None = None
        self.storage = new_storage(location, writes=True, durability=durability)
        self.graphs = StoredGraphs(self.storage)

    @property
    def start(self) -> LogStart:
        """How the log began."""
        if self._start is None:
            raise LogError(f"{self.shown}: this log is not open")
        return self._start

    def check_process(self) -> None:
        """Refuse a forked child; this needs no lock, which another thread may have held."""
        if self._process != os.getpid():
            raise another_process(self._process, self.shown)

    def state(self) -> PolicyState:
        """The state that the log leads to, rebuilt from the log if it is not in memory."""
        self.check_process()
        if self._closed:
            raise LogError(f"{self.shown}: this policy is closed; open another")
        if self._state is None:
            self._state = self._open()
        return self._state

    @contextmanager
    def transaction(self) -> Iterator[Pending]:
        """Write events and the state that follows from them, all or nothing."""
        state = self.state()  # first, as it may open the log again
        pending = Pending(
            self.storage,
            self.graphs,
            self._counts,
            state,
            self.versions,
            self.start,
            self._waited,
            has_deciders=self._has_deciders,
            set_aside=self._set_aside,
            last_asker=self._last_asker,
        )
        self._state, before = None, sys.exception()
        try:
            self._begin(pending.storage, state.position)
            pending.has_mail = self._has_mail
            yield pending
            pending.storage.commit(pending.start.name, pending.state.position)
        except BaseException as problem:
            self._give_up(pending, state, problem)
            if (interrupt := interruption(problem, before)) is not None:
                raise interrupt from None
            raise
        self._found, self._committed = self._mine, pending.state.position
        self.versions, self._waited = pending.versions, pending.waited
        if pending.start is not self._start:
            pending.counts.drop(pending.start.cut)
        self._start, self._has_deciders = pending.start, pending.has_deciders
        self._has_mail, self._last_asker = pending.has_mail, pending.last_asker
        for decision in pending.answered:
            pending.counts.add(decision)
        since = pending.state.position - self._checkpointed
        due = pending.changed or since >= self._checkpoint_every
        if (not due or self._checkpoint(pending.state)) and self.storage is pending.storage:
            self._state = pending.state

    @property
    def has_waiting(self) -> bool:
        """Whether feedback from beside waits in the inbox, other than what was refused."""
        return count_waiting(self.storage) > len(self._set_aside)

    def close(self) -> None:
        """Store a checkpoint and release the log to the next writer."""
        if self._process == os.getpid():
            state, self._state = self._state, None
            try:
                if state is not None and state.position != self._checkpointed:
                    self._checkpoint(state)
            finally:
                self.storage.close()
        self._closed = True

    def _open(self) -> PolicyState:
        """Open the log, for the first time or after an error, and rebuild the state."""
        previous = self.storage
        previous.close()
        self._mine = secrets.token_hex(8)
        self.storage = new_storage(self.location, writes=True, durability=self._durability)
        try:
            self.storage.open(previous)
            self.graphs = StoredGraphs(self.storage)
            self._start = self._create_or_continue()
            self.versions, self._waited = Versions.read(self.storage, self._start), 0
            self._check_given(self._start)
            self._has_deciders = has_inbox(self.storage)
            self._last_asker = records.last_asker(self.storage)
            standing = records.as_standing(self.storage.execute(records.STANDING), self.shown)
            self._found = standing.epoch
            state, self._counts = rebuild(
                self.storage,
                self._start,
                self.graphs,
                self.versions,
                classes=self._classes,
                check=self._check,
            )
            if state.position < self._committed:
                raise FileError(
                    f"{self.shown}: the log ends at event {state.position}, but event "
                    f"{self._committed} was acknowledged: it has lost its tail; restore an intact "
                    "copy, or open another policy to continue without the lost events"
                )
            if not self._checkpointed:
                self._checkpointed = records.newest_checkpoint(self.storage)
        except BaseException:
            self.storage.close()
            raise
        return state

    def _begin(self, storage: Storage, position: int) -> None:
        """Begin a transaction on a log that is where this writer left it."""
        answer = storage.begin(records.STANDING, anyway=self._found != self._mine)
        if answer is None:
            return
        standing = records.as_standing(answer, self.shown)
        if standing != (self._found, position):
            raise LogError(
                f"{self.shown}: another policy has written to this log, which is at event "
                f"{standing.position} and not at {position}; a log has one writer: nothing was "
                "written, call again to continue from there once the other has stopped"
            )
        self._has_mail = self._has_mail or has_feedbacks(storage)  # others have written something
        if standing.epoch != self._mine:
            storage.execute("UPDATE graphcb_writer SET epoch = ?", (self._mine,))

    def _give_up(self, pending: Pending, state: PolicyState, problem: BaseException) -> None:
        """Roll back a call that was refused; after anything else, open the log again.

        A refused call changes nothing in an agent that consists of graphcb's own classes. Any
        other agent is rebuilt once it has been called.
        """
        refused = isinstance(problem, ValueError | TypeError | LookupError)
        unchanged = not pending.asked or not (
            self._classes or pending.learned or pending.changed or isinstance(problem, LookupError)
        )
        if refused and unchanged and not isinstance(problem, FileError):
            with suppress(LogError, FileError):
                pending.storage.execute("ROLLBACK")
                pending.graphs.forget()
                if self.storage is pending.storage:
                    self._state = state
                return
        pending.storage.close()

    def _create_or_continue(self) -> LogStart:
        if not self.storage.has_log():
            if self._start is not None:
                raise FileError(f"{self.shown}: the log is no longer there")
            self._create()
        start = records.read_start(self.storage)
        if self._start is not None and _identity(start) != _identity(self._start):
            raise FileError(f"{self.shown}: another log has taken the place of this one")
        return start

    def _check_given(self, start: LogStart) -> None:
        """Refuse arguments that are not those of the log; once it is open, nothing is compared."""
        changed = len(self.versions) > 1 or start.position > 0
        if self._agent is not None and (changed or self._agent != start.agent):
            check_same_problem(self._agent, self.versions.last.problem, self.shown)
        if self._compares_agent and changed:
            raise ValueError(
                f"{self.shown}: `agent` must be left out, as the log was changed since it was "
                "created; give another one to Policy.change"
            )
        if self._compares_agent and self._agent != start.agent:
            raise ValueError(
                f"{self.shown}: `agent` must be as it was when the log was created, or left out, "
                "got one that differs; create a new log for a new agent"
            )
        if self._seed is not None and self._seed != start.seed:
            raise ValueError(
                f"{self.shown}: `seed` must be {start.seed}, with which the log was created, or "
                f"left out, got {self._seed}"
            )
        self._agent, self._compares_agent, self._seed = None, False, None

    def _create(self) -> None:
        if self._agent is None:
            raise self._no_agent()
        from graphcb import __version__  # the package imports this room

        seed = secrets.randbits(63) if self._seed is None else self._seed
        name, now = secrets.token_hex(4), time.time()
        with transaction(self.storage):
            create_tables(self.storage, self._mine)
            insert(self.storage, [LogStart(FORMAT, __version__, name, seed, now, self._agent)])

    def _no_agent(self) -> ValueError:
        return ValueError(
            f"{self.shown}: `agent` must be given to create a log, or a problem; "
            "check the name if the log should exist"
        )

    def _checkpoint(self, state: PolicyState) -> bool:
        """Store the agent, and say whether the log is still as it was open.

        If that fails, the next start takes longer, no more.
        """
        self._checkpointed, began = state.position, time.monotonic()
        try:
            agent = to_bytes(state.agent)
        except Exception:
            return True
        row = CheckpointRow(state.position, state.n_feedbacks, agent, self._counts.to_bytes())
        try:
            self._begin(self.storage, state.position)
            there = records.checkpoint_positions(self.storage)[::-1]
            for one in to_drop(there, self.start.position, state.position, len(agent)):
                self.storage.execute("DELETE FROM graphcb_checkpoints WHERE position = ?", (one,))
            insert(self.storage, [row])
            self.storage.execute("COMMIT")
        except Exception:
            self.storage.close()
            return False
        self._found = self._mine
        self.last_checkpoint = Took(time.time(), time.monotonic() - began)
        return True


def to_drop(positions: Sequence[int], start: int, new: int, n_bytes: int) -> list[int]:
    """Which checkpoints, in order, need not stay beside a new one of so many bytes.

    Those that stay are spread evenly over the log: it may start from any of them once it is pruned.
    """
    apart = (new - start) / max(1, min(KEPT, KEPT_BYTES // n_bytes))
    dropped, last = [], start
    for position, following in zip(positions, [*positions, new][1:], strict=True):
        if position >= new or following - last < 2.0 * apart:  # what it leaves is not too wide
            dropped.append(position)
        else:
            last = position
    return dropped


def _identity(start: LogStart) -> tuple[str, int, float]:
    """What stays of a log's start when old decisions are removed."""
    return start.name, start.seed, start.created_at
