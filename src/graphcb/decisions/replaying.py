"""From events to the model: the log is the truth, and this is how it is read."""

import copy
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.agents import Agent, gamma_of
from graphcb.checks import as_numbers
from graphcb.decisions import records
from graphcb.decisions.encoding import FLOAT, decode, numbers
from graphcb.decisions.log import DecisionLog, Graphs, read_feedback
from graphcb.decisions.storage import Storage
from graphcb.graphs import FeedbackGraph
from graphcb.sampling import action_at
from graphcb.saving import from_bytes


class ReplayError(ValueError):
    """A decision of the log does not come out as it was logged."""


@dataclass(frozen=True)
class Model:
    """The agent after so many events of a log."""

    agent: Agent
    position: int = 0
    n_feedbacks: int = 0


class Answer(NamedTuple):
    """The probabilities of a round, the gamma behind them, and the agent after it."""

    probabilities: NDArray[np.float64]
    gamma: float | None
    after: Agent


class Drawn(NamedTuple):
    """A decision: probabilities, the action drawn from them, and the model after it."""

    probabilities: NDArray[np.float64]
    action: int
    gamma: float | None
    after: Model


def draw(model: Model, seed: int, context: Any, graph: FeedbackGraph, actions: Any) -> Drawn:
    """The next decision of a model, which itself stays as it is.

    The uniform number behind the draw is a hash of the log's seed and the event's number, so the
    same decision is drawn again after a restart, without a generator's state to keep.
    """
    answered = answer(model.agent, context, graph, actions)
    position = model.position + 1
    action = action_at(uniform_at(seed, position), answered.probabilities, graph.n_actions)
    after = Model(answered.after, position, model.n_feedbacks)
    return Drawn(answered.probabilities, action, answered.gamma, after)


def answer(agent: Agent, context: Any, graph: FeedbackGraph, actions: Any) -> Answer:
    """What an agent answers in a round, while it stays as it is.

    A round changes an agent's counters and its schedule; the oracle, which is large, it only asks.
    """
    after = copy.copy(agent)
    probabilities = as_numbers("probabilities", after.act(context, graph, actions))
    return Answer(probabilities, gamma_of(after), after)


def uniform_at(seed: int, position: int) -> float:
    """A number in [0, 1) that belongs to one event of one log: 53 bits of a keyed BLAKE2b."""
    key = seed.to_bytes(8, "little")
    digest = hashlib.blake2b(position.to_bytes(8, "little"), key=key, digest_size=8).digest()
    return (int.from_bytes(digest, "little") >> 11) * 2.0**-53


def learn(
    model: Model, decision: records.DecisionRow, actions: Any, losses: NDArray[np.float64]
) -> Model:
    """The model with one more feedback; its agent learns in place."""
    chosen = pick(decode(decision.actions), actions)
    model.agent.learn(decode(decision.context), chosen, losses)
    return Model(model.agent, model.position + 1, model.n_feedbacks + 1)


def pick(identifiers: Any, places: NDArray[np.int64]) -> Any:
    """The identifiers at some places of a round's actions; the places where there are none."""
    if identifiers is None:
        return places
    if isinstance(identifiers, np.ndarray):
        return identifiers[places]
    return [identifiers[place] for place in places]


def replay(
    location: DecisionLog, *, classes: Iterable[type] = (), from_checkpoint: bool = False
) -> Model:
    """The model that a log leads to, from its first event or from its checkpoint on.

    Every decision on the way is made again and has to come out bit for bit as it was logged.
    `classes` are those of your own that the agent holds, as in `graphcb.load`.
    """
    return rebuild(
        location.storage,
        location.start,
        Graphs(location.storage),
        classes=classes,
        from_checkpoint=from_checkpoint,
    )


def rebuild(
    storage: Storage,
    start: records.Start,
    graphs: Graphs,
    *,
    classes: Iterable[type] = (),
    from_checkpoint: bool = True,
    check: bool = True,
) -> Model:
    """`replay` on an open storage; without `check`, other probabilities are let through."""
    until = records.last_position(storage)
    model = _begin(storage, start, tuple(classes), until if from_checkpoint else 0)
    for row in records.read_events(storage, model.position, until):
        if isinstance(row, records.DecisionRow):
            model = _decide_again(model, start, row, graphs, storage, check)
        else:
            decision = records.read_decision(storage, row.decision)
            if decision is None:
                raise ValueError(
                    f"{storage.location}: damaged: event {row.position} is the feedback for "
                    f"decision {row.decision}, which is missing"
                )
            seen = read_feedback(row)
            model = learn(model, decision, seen.actions, seen.losses)
    return model


def _begin(storage: Storage, start: records.Start, classes: tuple[type, ...], until: int) -> Model:
    """The newest checkpoint that is not beyond the log, or the beginning."""
    for row in records.read_checkpoints(storage):
        if 0 < row.position <= until:
            where = f"{storage.location}, checkpoint {row.position}"
            agent = from_bytes(row.agent, where=where, classes=classes)
            return Model(agent, row.position, row.n_feedbacks)
    return Model(from_bytes(start.agent, where=storage.location, classes=classes))


def _decide_again(
    model: Model,
    start: records.Start,
    row: records.DecisionRow,
    graphs: Graphs,
    storage: Storage,
    check: bool,
) -> Model:
    drawn = draw(
        model, start.seed, decode(row.context), graphs.read(row.graph), decode(row.actions)
    )
    same = drawn.probabilities.astype(FLOAT).tobytes() == row.probabilities
    if check and not (same and drawn.action == row.action):
        before = numbers(row.probabilities, FLOAT)
        apart = np.abs(drawn.probabilities - before).max() if not same else 0.0
        raise ReplayError(
            f"{storage.location}: decision {row.position} does not come out as it was logged "
            f"(probabilities differ by up to {apart:.3g}); the log was written with graphcb "
            f"{start.version}: use the versions and the kind of machine it was written with, or "
            "go on from here with Policy(..., check_replay=False)"
        )
    return drawn.after
