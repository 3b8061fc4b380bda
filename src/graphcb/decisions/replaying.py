"""From a log to the state that it leads to, checking every decision on the way."""

from collections.abc import Iterable

import numpy as np

from graphcb.decisions import records
from graphcb.decisions.encoding import FLOAT, WHOLE, decode, numbers
from graphcb.decisions.log import DecisionLog
from graphcb.decisions.storage import Storage
from graphcb.decisions.stored_graphs import StoredGraphs
from graphcb.decisions.tables import DecisionRow, LogStart
from graphcb.decisions.transition import Drawn, PolicyState, draw, learn
from graphcb.saving import from_bytes


class ReplayError(ValueError):
    """A decision of the log is different when it is replayed."""


def replay(
    log: DecisionLog, *, classes: Iterable[type] = (), from_checkpoint: bool = False
) -> PolicyState:
    """The state that a log leads to, from its first event or from its checkpoint.

    Every decision on the way is made again and must equal the logged one bit for bit.
    `classes` are those of your own that the agent contains, as in `graphcb.load`.
    """
    graphs = StoredGraphs(log.storage)
    return rebuild(log.storage, log.start, graphs, classes=classes, from_checkpoint=from_checkpoint)


def rebuild(
    storage: Storage,
    start: LogStart,
    graphs: StoredGraphs,
    *,
    classes: Iterable[type] = (),
    from_checkpoint: bool = True,
    check: bool = True,
) -> PolicyState:
    """`replay` on an open storage; without `check`, decisions may come out differently."""
    until = records.last_position(storage)
    state = _first_state(storage, start, tuple(classes), until if from_checkpoint else 0)
    for row in records.read_events(storage, state.position, until):
        if isinstance(row, DecisionRow):
            graph = graphs.read(row.graph)
            drawn = draw(state, start.seed, decode(row.context), graph, decode(row.actions))
            if check:
                _check(drawn, row, start, storage.location)
            state = drawn.after
            continue
        decision = records.read_decisions(storage, [row.decision]).get(row.decision)
        if decision is None:
            raise ValueError(
                f"{storage.location}: damaged: event {row.position} is the feedback for "
                f"decision {row.decision}, which is missing"
            )
        indices, losses = numbers(row.actions, WHOLE), numbers(row.losses, FLOAT)
        state = learn(state, decision, indices, losses)
    return state


def _first_state(
    storage: Storage, start: LogStart, classes: tuple[type, ...], until: int
) -> PolicyState:
    """The newest checkpoint that is not beyond event `until`, or the start of the log."""
    for row in records.read_checkpoints(storage):
        if 0 < row.position <= until:
            where = f"{storage.location}, checkpoint {row.position}"
            agent = from_bytes(row.agent, where=where, classes=classes)
            return PolicyState(agent, row.position, row.n_feedbacks)
    return PolicyState(from_bytes(start.agent, where=storage.location, classes=classes))


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
