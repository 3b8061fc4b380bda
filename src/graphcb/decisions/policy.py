"""A policy: decides, takes feedback whenever it comes, and forgets nothing."""

import copy
import os
import re
import secrets
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.agents import Agent
from graphcb.checks import as_count
from graphcb.decisions import records
from graphcb.decisions.decision import Acknowledgement, Decision
from graphcb.decisions.encoding import FLOAT, decode, encode
from graphcb.decisions.log import Graphs, decision_id
from graphcb.decisions.replaying import Drawn, Model, draw, learn, rebuild
from graphcb.decisions.revealed import read_losses
from graphcb.decisions.storage import (
    Durability,
    LogError,
    Storage,
    open_storage,
    without_password,
)
from graphcb.graphs import FeedbackGraph
from graphcb.saving import to_bytes


class Policy:
    """An agent whose decisions and feedbacks are in a log before anybody hears of them.

    `log` is the path of a SQLite file or a URL postgresql://user@host/database. A new log begins
    with `agent` and `seed` (drawn by chance if left out); an old one goes on where it stopped,
    however it stopped, and `agent` may be left out. Whatever was returned is in the log for good:
    with `durability="power-loss"` even if the machine loses power at once, with the faster
    "process-kill" if only the process dies. One process writes a log; several threads may share
    one policy. Every `checkpoint_every` events the agent is stored too, which shortens the next
    start and nothing else.

    >>> import tempfile, pathlib, graphcb
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "decisions.db"
    >>> agent = graphcb.SquareCBG(graphcb.oracles.LinearOGD(3, 1))
    >>> with Policy(file, agent, seed=0) as policy:
    ...     decision = policy.decide([1.0], graphcb.graphs.full_information(3))
    >>> with Policy(file) as policy:  # another day
    ...     policy.feedback(decision.decision_id, {0: 0.2, 1: 0.5, 2: 0.9}).counted
    True
    """

    def __init__(
        self,
        log: str | os.PathLike[str],
        agent: Agent | None = None,
        *,
        seed: int | None = None,
        durability: Durability = "power-loss",
        checkpoint_every: int = 10_000,
        classes: Iterable[type] = (),
        check_replay: bool = True,
    ) -> None:
        self.location = os.fspath(log)
        self._shown = without_password(self.location)
        self._durability: Durability = durability
        self._checkpoint_every = as_count("checkpoint_every", checkpoint_every)
        self._classes = tuple(classes)
        self._check = check_replay
        self._guard = threading.RLock()
        self._process = os.getpid()
        self._closed = False
        self._model: Model | None = None
        self._checkpointed = 0
        begins_with = None if agent is None else to_bytes(agent)
        if seed is not None and not 0 <= as_count("seed", seed, at_least=0) < 2**63:
            raise ValueError(f"`seed` must be below 2**63, got {seed}")
        is_file = "://" not in self.location
        if begins_with is None and is_file and not Path(self.location).exists():
            raise self._no_agent()
        storage = self._open()
        self._storage: Storage | None = storage
        self._graphs = Graphs(storage)
        try:
            self._start = self._begin(storage, begins_with, seed)
            self._ready()
        except BaseException:
            storage.close()
            raise

    # What it does -------------------------------------------------------------------------

    def decide(self, context: Any, graph: FeedbackGraph, actions: Any = None) -> Decision:
        """Draw an action; the decision is in the log when it is returned.

        `actions` are today's identifiers in the oracle's terms, as in `agent.act`.
        """
        return self.decide_many([context], graph, actions)[0]

    def decide_many(
        self, contexts: Iterable[Any], graph: FeedbackGraph, actions: Any = None
    ) -> list[Decision]:
        """One decision a context, as by `decide` in turn, but made durable together."""
        if not isinstance(graph, FeedbackGraph):
            raise TypeError(f"`graph` must be a FeedbackGraph, got {type(graph).__name__}")
        identifiers = encode(actions, "actions")
        encoded = [encode(context, "context") for context in contexts]
        with self._guard:
            model, storage = self._ready()
            known = self._graphs.as_read(graph)
            drawn: list[Drawn] = []
            for context in encoded:
                before = drawn[-1].after if drawn else model
                one = draw(before, self._start.seed, decode(context), known, decode(identifiers))
                drawn.append(one)
            if not drawn:
                return []
            with self._in_log_first(storage):
                number = self._graphs.write(graph)
                both = zip(drawn, encoded, strict=True)
                rows = [_as_row(one, context, identifiers, number) for one, context in both]
                records.add_all(storage, rows)
            self._done(drawn[-1].after)
        return [self._as_decision(one) for one in drawn]

    def feedback(self, decision_id: str, losses: Mapping[int, float]) -> Acknowledgement:
        """Learn what a decision revealed: {action: loss, ...}, places in the graph.

        Durable when it returns. A second feedback for the same decision changes nothing, and the
        receipt says so. No action need be there: {} says that nothing was revealed.
        """
        return self.feedback_many({decision_id: losses})[0]

    def feedback_many(self, losses: Mapping[str, Mapping[int, float]]) -> list[Acknowledgement]:
        """Feedback for many decisions, as by `feedback` in turn, but made durable together."""
        with self._guard:
            model, storage = self._ready()
            prepared = self._prepare(storage, losses)
            new = [one for one in prepared if isinstance(one, _Prepared)]
            if new:
                with self._in_log_first(storage):
                    rows = []
                    for one in new:
                        model = learn(model, one.row, one.actions, one.losses)
                        rows.append(_as_feedback_row(one, model.position))
                    records.add_all(storage, rows)
                self._done(model)
        return [
            Acknowledgement(one.decision_id, True, "counted") if isinstance(one, _Prepared) else one
            for one in prepared
        ]

    @property
    def n_events(self) -> int:
        """Decisions and counted feedbacks so far: the number of the last event."""
        with self._guard:
            return self._ready()[0].position

    @property
    def model_version(self) -> int:
        """How many feedbacks the model has learned."""
        with self._guard:
            return self._ready()[0].n_feedbacks

    @property
    def agent(self) -> Agent:
        """A copy of the agent as it is now, to look at or to save."""
        with self._guard:
            agent: Agent = copy.deepcopy(self._ready()[0].agent)
            return agent

    def close(self) -> None:
        """Store a checkpoint and let the next writer in; a second call does nothing."""
        with self._guard:
            if self._closed:
                return
            if self._storage is not None and self._process == os.getpid():
                if self._model is not None and self._model.position != self._checkpointed:
                    self._checkpoint(self._model, self._storage)
                self._storage.close()
            self._closed = True
            self._model, self._storage = None, None

    def __enter__(self) -> "Policy":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # One event ----------------------------------------------------------------------------

    def _as_decision(self, one: Drawn) -> Decision:
        probabilities = tuple(one.probabilities.tolist())
        return Decision(
            decision_id(self._start.name, one.after.position),
            one.action,
            probabilities[one.action],
            probabilities,
            one.gamma,
            one.after.n_feedbacks,
        )

    def _prepare(
        self, storage: Storage, losses: Mapping[str, Mapping[int, float]]
    ) -> "list[_Prepared | Acknowledgement]":
        """Each feedback checked, or the receipt of one that came before."""
        positions = [self._position(name) for name in losses]
        rows = records.read_decisions(storage, positions)
        known = records.read_feedbacks(storage, positions)
        prepared: list[_Prepared | Acknowledgement] = []
        for position, (name, given) in zip(positions, losses.items(), strict=True):
            if position not in rows:
                raise LookupError(f"decision {name!r} is not in the log {self._shown}")
            row = rows[position]
            actions, values = read_losses(given, self._graphs.read(row.graph), row.action)
            if position not in known:
                prepared.append(_Prepared(name, row, actions, values))
                continue
            before = known[position]
            same = (actions.tobytes(), values.tobytes()) == (before.actions, before.losses)
            message = (
                f"decision {name} already has its feedback (event {before.position}), with "
                f"{'the same' if same else 'other'} losses; this one changes nothing"
            )
            prepared.append(Acknowledgement(name, False, message))
        return prepared

    def _position(self, name: str) -> int:
        """The event that an identifier names."""
        parts = re.fullmatch(r"([0-9a-f]{8})-([1-9][0-9]{0,17})", str(name))
        if parts is None:
            raise LookupError(
                f"`decision_id` must be what `decide` gave, such as "
                f"{decision_id(self._start.name, 7)!r}, got {name!r}"
            )
        if parts[1] != self._start.name:
            raise LookupError(
                f"decision {name!r} is of another log: those of {self._shown} begin with "
                f"{self._start.name!r}"
            )
        return int(parts[2])

    # Memory and log -----------------------------------------------------------------------

    def _open(self) -> Storage:
        return open_storage(self.location, writes=True, durability=self._durability)

    def _begin(self, storage: Storage, agent: bytes | None, seed: int | None) -> records.Start:
        """How the log began, which is now if it is new."""
        if not storage.has_log():
            return self._create(storage, agent, seed)
        start = records.read_start(storage)
        if agent is not None and agent != start.agent:
            raise ValueError(
                f"{self._shown}: `agent` must be as it was when the log began, or left out, "
                "got one that differs; begin a new log for a new agent"
            )
        if seed is not None and seed != start.seed:
            raise ValueError(
                f"{self._shown}: `seed` must be {start.seed} as the log began with it, or left "
                f"out, got {seed}"
            )
        return start

    def _create(self, storage: Storage, agent: bytes | None, seed: int | None) -> records.Start:
        if agent is None:
            raise self._no_agent()
        from graphcb import __version__  # the package imports this room

        chosen = secrets.randbits(63) if seed is None else seed
        name = secrets.token_hex(4)
        start = records.Start(records.FORMAT, __version__, name, chosen, time.time(), agent)
        with storage.transaction():
            records.create_tables(storage)
            records.add(storage, start)
        return records.read_start(storage)

    def _no_agent(self) -> ValueError:
        return ValueError(
            f"{self._shown}: `agent` must be given to begin a new log; "
            "check the name if there should be one"
        )

    def _ready(self) -> tuple[Model, Storage]:
        """The model in memory, built from the log where there is none."""
        if self._closed:
            raise LogError(f"{self._shown}: this policy is closed; open another")
        if self._process != os.getpid():
            raise LogError(
                f"{self._shown}: this policy belongs to process {self._process}, not to this "
                f"one, {os.getpid()}; a log has one writer: open it after the fork"
            )
        if self._storage is not None and not self._storage.is_usable():
            self._storage.close()
            self._storage, self._model = None, None
        if self._storage is None:
            self._storage = self._open()
            self._graphs = Graphs(self._storage)
        if self._model is None:
            checkpoints = records.read_checkpoints(self._storage)
            self._checkpointed = checkpoints[0].position if checkpoints else 0
            self._model = rebuild(
                self._storage,
                self._start,
                self._graphs,
                classes=self._classes,
                check=self._check,
            )
        return self._model, self._storage

    def _done(self, model: Model) -> None:
        """It is durable: the model in memory follows."""
        self._model = model
        if model.position - self._checkpointed >= self._checkpoint_every and self._storage:
            self._checkpoint(model, self._storage)

    @contextmanager
    def _in_log_first(self, storage: Storage) -> Iterator[None]:
        """A transaction, after which `_done` sets the model that goes with it.

        Until then there is none in memory: whatever goes wrong, and whether or not the commit
        came through, the next call builds it from the log.
        """
        self._model = None
        try:
            with storage.transaction():
                yield
        except BaseException:
            self._graphs.forget()
            raise

    def _checkpoint(self, model: Model, storage: Storage) -> None:
        """Store the agent. A refusal costs time at the next start and nothing else."""
        self._checkpointed = model.position
        row = records.CheckpointRow(model.position, model.n_feedbacks, to_bytes(model.agent))
        with suppress(LogError), storage.transaction():
            storage.execute("DELETE FROM graphcb_checkpoints")
            records.add(storage, row)


class _Prepared(NamedTuple):
    """A feedback that is in order and new."""

    decision_id: str
    row: records.DecisionRow
    actions: NDArray[np.int64]
    losses: NDArray[np.float64]


def _as_row(one: Drawn, context: bytes, actions: bytes, graph: int) -> records.DecisionRow:
    return records.DecisionRow(
        one.after.position,
        time.time(),
        graph,
        context,
        actions,
        one.action,
        one.probabilities.astype(FLOAT).tobytes(),
        one.gamma,
        one.after.n_feedbacks,
    )


def _as_feedback_row(one: _Prepared, position: int) -> records.FeedbackRow:
    actions, losses = one.actions.tobytes(), one.losses.tobytes()
    return records.FeedbackRow(position, time.time(), one.row.position, actions, losses)
