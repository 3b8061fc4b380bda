"""From a log to the state that it leads to, checking every decision on the way."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from graphcb.agents import Played
from graphcb.decisions import records
from graphcb.decisions.encoding import FLOAT, numbers
from graphcb.decisions.log import DecisionLog
from graphcb.decisions.part_counts import PartCounts
from graphcb.decisions.parts import merge, read_decision, read_part
from graphcb.decisions.storage import Storage
from graphcb.decisions.stored_graphs import StoredGraphs
from graphcb.decisions.tables import DecisionRow, FeedbackRow, LogStart
from graphcb.decisions.transition import Drawn, PolicyState, draw, learn
from graphcb.files import FileError
from graphcb.graphs import FeedbackGraph
from graphcb.saving import from_bytes


class ReplayError(FileError):
    """A decision of the log is different when it is replayed."""


class Step(NamedTuple):
    """An event of a log, and the states before and after it; its agent may learn in place."""

    position: int
    before: PolicyState
    after: PolicyState


def replay(
    log: DecisionLog, *, classes: Iterable[type] = (), from_checkpoint: bool = False
) -> PolicyState:
    """The state that a log leads to, from its first event or from its checkpoint.

    Every decision on the way is made again and must equal the logged one bit for bit.
    `classes` are those of your own that the agent contains, as in `graphcb.load`.
    """
    log.refresh()
    graphs = StoredGraphs(log.storage)
    return rebuild(
        log.storage, log.start, graphs, classes=classes, from_checkpoint=from_checkpoint
    )[0]


def steps(log: DecisionLog, *, classes: Iterable[type] = ()) -> Iterator[Step]:
    """The events of a log from the first on, each with its states, as in `replay`."""
    log.refresh()
    until = records.read_end(log.storage)
    first = _first_state(log.storage, log.start, tuple(classes), 0)
    return _steps(log.storage, log.start, StoredGraphs(log.storage), first, until, check=True)


def rebuild(
    storage: Storage,
    start: LogStart,
    graphs: StoredGraphs,
    *,
    classes: Iterable[type] = (),
    from_checkpoint: bool = True,
    check: bool = True,
) -> tuple[PolicyState, PartCounts]:
    """`replay` on an open storage, and the numbers of feedbacks that decisions have.

    Without `check`, decisions may come out differently.
    """
    until = records.read_end(storage)
    first = _first_state(storage, start, tuple(classes), until if from_checkpoint else 0)
    state, counts = first
    for step in _steps(storage, start, graphs, first, until, check=check):
        state = step.after
    return state, counts


def _steps(
    storage: Storage,
    start: LogStart,
    graphs: StoredGraphs,
    first: tuple[PolicyState, PartCounts],
    until: int,
    *,
    check: bool,
) -> Iterator[Step]:
    """The events after the first state; the counts of feedbacks are kept up to date."""
    state, counts = first
    for row in records.read_events(storage, state.position, until):
        before = state
        if isinstance(row, DecisionRow):
            graph = graphs.read(row.graph)
            played = _read_played(row, graph, storage.location)
            logged = played.probabilities, played.action
            drawn = draw(state, start.seed, row.made_at, *played[:3], logged=logged)
            if check:
                _check(drawn, row, start, storage.location)
            state = drawn.after
        else:
            state = _learn(state, row, storage, graphs, counts)
        yield Step(row.position, before, state)


def _learn(
    state: PolicyState,
    row: FeedbackRow,
    storage: Storage,
    graphs: StoredGraphs,
    counts: PartCounts,
) -> PolicyState:
    decision = next(records.read_decisions(storage, [row.decision]), None)
    if decision is None or decision.position > row.position:
        raise FileError(
            f"{storage.location}: damaged: event {row.position} is the feedback for "
            f"decision {row.decision}, which is missing"
        )
    graph = graphs.read(decision.graph)
    known: dict[int, float] | None = None
    if counts.of(row.decision):
        parts = records.read_parts(storage, [row.decision]).get(row.decision, [])
        sofar = [part for part in parts if part.position <= row.position]
        found = merge(sofar, graph, storage.location)
        known = {index: one.loss for index, one in found.items() if one.event < row.position}
    counts.add(row.decision)
    played = _read_played(decision, graph, storage.location)._replace(known=known)
    return learn(state, played, *read_part(row, graph, storage.location))


def _read_played(row: DecisionRow, graph: FeedbackGraph, location: str) -> Played:
    context, actions = read_decision(row, graph, location)
    return Played(context, graph, actions, numbers(row.probabilities, FLOAT), row.action)


def _first_state(
    storage: Storage, start: LogStart, classes: tuple[type, ...], until: int
) -> tuple[PolicyState, PartCounts]:
    """The newest checkpoint that is not beyond event `until`, or the start of the log.

    A checkpoint that cannot be read for any reason is passed over.
    """
    for row in records.read_checkpoints(storage) if until else []:
        if not 0 <= row.n_feedbacks <= row.position <= until:
            continue
        try:
            where = f"{storage.location}, checkpoint {row.position}"
            agent = from_bytes(row.agent, where=where, classes=classes)
            if row.n_parts is None:  # written by an earlier version
                counts = records.count_parts(storage, row.position)
            else:
                counts = PartCounts.from_bytes(row.n_parts, row.position)
        except Exception:
            continue
        return PolicyState(agent, row.position, row.n_feedbacks), counts
    agent = from_bytes(start.agent, where=storage.location, classes=classes)
    return PolicyState(agent), PartCounts()


def _check(drawn: Drawn, row: DecisionRow, start: LogStart, location: str) -> None:
    same = drawn.probabilities.astype(FLOAT).tobytes() == row.probabilities
    if same and drawn.action_index == row.action:
        return
    logged = numbers(row.probabilities, FLOAT)
    difference = 0.0 if same else np.abs(drawn.probabilities - logged).max()
    raise ReplayError(
        f"{location}: decision {row.position} differs from the log when replayed "
        f"(probabilities differ by up to {difference:.3g}); the log was written with graphcb "
        f"{start.version}: use the versions and the kind of machine it was written with, or "
        "continue from here with Policy(..., check_replay=False)"
    )
