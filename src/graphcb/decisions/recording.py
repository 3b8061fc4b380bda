"""A new log from decisions that were made elsewhere."""

import secrets
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.agents import Agent
from graphcb.contexts.values import features_of
from graphcb.decisions import records
from graphcb.decisions.changing import change
from graphcb.decisions.encoding import FLOAT, WHOLE, decode, encode
from graphcb.decisions.forgetting import hash_of, note_subjects
from graphcb.decisions.storage import Storage, new_storage, transaction, without_password
from graphcb.decisions.stored_graphs import StoredGraphs
from graphcb.decisions.tables import (
    FORMAT,
    CheckpointRow,
    DecisionRow,
    FeedbackRow,
    LogStart,
    create_tables,
    insert,
    new_token,
)
from graphcb.decisions.transition import PolicyState
from graphcb.decisions.versions import Change, Versions
from graphcb.decisions.writer import Pending
from graphcb.graphs import FeedbackGraph
from graphcb.problems import Problem, Recorded
from graphcb.saving import to_bytes

AT_A_TIME = 1000


class PastDecision(NamedTuple):
    """A decision as it goes into a log; `losses` are by index, None where none are known."""

    made_at: float
    context: Any
    graph: FeedbackGraph
    actions: Any
    action_index: int
    probabilities: NDArray[np.float64]
    losses: dict[int, float] | None
    received_at: float


class Continued(NamedTuple):
    """What goes on deciding after the decisions of a log: a learner for the problem."""

    problem: Problem
    agent: Agent | None = None
    note: str = ""


def record(
    location: str,
    agent: Recorded,
    decisions: Iterable[PastDecision],
    continued: Continued | None = None,
) -> Change | None:
    """Create a log with these decisions, all or nothing.

    `agent` says where they come from. With `continued`, the log has a second version, which has
    learned from them and decides from there on. A log that exists is refused.
    """
    shown = without_password(location)
    is_file = "://" not in location
    if is_file and Path(location).exists():
        raise FileExistsError(f"{shown}: must not exist yet; an import writes a new log")
    storage = new_storage(location, writes=True, durability="power-loss")
    done = False
    try:
        storage.open(None)
        if storage.has_log():
            raise FileExistsError(f"{shown}: must hold no log yet; an import writes a new one")
        with transaction(storage):
            changed = _write(storage, agent, decisions, continued)
        done = True
    finally:
        storage.close()
        if is_file and not done:
            for beside in ("", "-wal", "-shm", "-writer", "-end"):
                Path(f"{location}{beside}").unlink(missing_ok=True)
    return changed


def _write(
    storage: Storage,
    agent: Recorded,
    decisions: Iterable[PastDecision],
    continued: Continued | None,
) -> Change | None:
    from graphcb import __version__  # the package imports this room

    create_tables(storage, secrets.token_hex(8))
    name, seed = secrets.token_hex(4), secrets.randbits(63)
    start = LogStart(FORMAT, __version__, name, seed, time.time(), to_bytes(agent))
    insert(storage, [start])
    graphs = StoredGraphs(storage)
    rows = _rows(decisions, graphs)
    while some := list(islice(rows, AT_A_TIME)):
        insert(storage, [decision for decision, _ in some])
        if continued is not None and continued.problem.subject:
            _note_subjects(storage, [row for row, _ in some], start, continued.problem.subject)
        feedbacks = [feedback for _, feedback in some if feedback is not None]
        if feedbacks:
            insert(storage, feedbacks)
    if continued is None:
        return None
    return _continue(storage, start, agent, graphs, continued)


def _note_subjects(
    storage: Storage, rows: Iterable[DecisionRow], start: LogStart, feature: str
) -> None:
    """Whom imported decisions are about, where they say it."""
    said = ((row, features_of(decode(row.context)).get(feature)) for row in rows)
    about = [(hash_of(who, start), one.token, one.position) for one, who in said if who is not None]
    note_subjects(storage, about)


def _continue(
    storage: Storage, start: LogStart, agent: Recorded, graphs: StoredGraphs, continued: Continued
) -> Change:
    """Write the version that has learned from what is in the log, and where it starts from."""
    until = records.last_position(storage)
    counts = records.count_parts(storage, until)
    n_feedbacks = records.count(storage, FeedbackRow, until)
    state = PolicyState(agent, until, n_feedbacks)
    pending = Pending(storage, graphs, counts, state, Versions.read(storage, start), start)
    problem, learner, note = continued
    changed = change(pending, problem, learner, note, ())
    now = pending.state
    content = to_bytes(now.agent)
    insert(storage, [CheckpointRow(now.position, now.n_feedbacks, content, counts.to_bytes())])
    return changed


def _rows(
    decisions: Iterable[PastDecision], graphs: StoredGraphs
) -> Iterator[tuple[DecisionRow, FeedbackRow | None]]:
    """The rows of each decision, its feedback being the next event."""
    position = n_feedbacks = 0
    for past in decisions:
        position += 1
        number, _ = graphs.write(past.graph)
        row = DecisionRow(
            position,
            past.made_at,
            number,
            encode(past.context, "context"),
            encode(past.actions, "actions"),
            past.action_index,
            past.probabilities.astype(FLOAT).tobytes(),
            None,
            n_feedbacks,
            new_token(),
        )
        feedback = None
        if past.losses is not None:
            indices = np.array(sorted(past.losses), dtype=WHOLE)
            losses = np.array([past.losses[int(index)] for index in indices], dtype=FLOAT)
            content = position, indices.tobytes(), losses.tobytes()
            feedback = FeedbackRow(position + 1, past.received_at, *content)
            position += 1
            n_feedbacks += 1
        yield row, feedback
