"""From a log to the state that it leads to, checking every decision on the way."""

import zlib
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

import numpy as np

from graphcb.agents import Agent, Played
from graphcb.decisions import records
from graphcb.decisions.encoding import FLOAT, numbers
from graphcb.decisions.inbox import has_inbox, newest_snapshot
from graphcb.decisions.log import DecisionLog
from graphcb.decisions.part_counts import PartCounts
from graphcb.decisions.parts import final, merge, read_decision, read_part
from graphcb.decisions.reading_ahead import read_with_decisions
from graphcb.decisions.snapshots import Snapshots
from graphcb.decisions.storage import Storage
from graphcb.decisions.stored_graphs import StoredGraphs
from graphcb.decisions.tables import (
    CheckpointRow,
    DecisionRow,
    FeedbackRow,
    LogStart,
    SnapshotRow,
    VersionRow,
)
from graphcb.decisions.transition import (
    Drawn,
    Passed,
    PolicyState,
    after_feedback,
    draw,
    learn,
    pass_by,
    uniform_at,
    uniform_of,
)
from graphcb.decisions.versions import Versions, learn_earlier
from graphcb.files import FileError
from graphcb.graphs import FeedbackGraph
from graphcb.problems import Recorded
from graphcb.saving import from_bytes


class ReplayError(FileError):
    """A decision of the log is different when it is replayed."""


class Step(NamedTuple):
    """An event of a log, and the states before and after it; its agent may learn in place.

    `agent` is the one that made the decision: that of a snapshot if a decider did, None if that
    was taken before the first event that is replayed.
    """

    position: int
    before: PolicyState
    after: PolicyState
    agent: Agent | None


def replay(
    log: DecisionLog, *, classes: Iterable[type] = (), from_checkpoint: bool = False
) -> PolicyState:
    """The state that a log leads to, from its first event or from its checkpoint.

    The first event is the one after those that were removed, if any were.

    Every decision on the way is replayed and must equal the logged one bit for bit, except those
    that were imported: the version that continues them starts from the agent in the log.
    `classes` are those of your own that the agent contains, as in `graphcb.load`.
    """
    log.refresh()
    graphs = StoredGraphs(log.storage)
    return rebuild(
        log.storage,
        log.start,
        graphs,
        log.versions,
        classes=classes,
        from_checkpoint=from_checkpoint,
    )[0]


def state_for(
    log: DecisionLog,
    row: DecisionRow,
    *,
    classes: Iterable[type] = (),
    at_most: int | None = None,
) -> PolicyState:
    """The state from which a decision of the log was made.

    It is replayed from the checkpoint before it, or from the start of its version, whichever is
    closer; with `at_most`, unless that means more events.
    """
    position = row.position - 1 if row.snapshot is None else row.snapshot
    source = _source(log, classes)
    first = _nearest(source, position)
    n_events = position - first[0].position
    if at_most is not None and n_events > at_most:
        raise ValueError(
            f"decision {row.position} is {n_events:,} events after the last state that is stored "
            f"before it, and at most {at_most:,} are replayed here; graphcb log explain has no "
            "such bound"
        )
    return _run(source, first, position, check=True)


def steps(log: DecisionLog, *, classes: Iterable[type] = (), after: int = 0) -> Iterator[Step]:
    """The events of a log after an event, each with its states, as in `replay`."""
    source = _source(log, classes)
    until = records.read_end(log.storage)
    for step in _steps(source, _nearest(source, after), until, check=True):
        if step.position > after:
            yield step


def rehearse(log: DecisionLog, n_events: int, *, classes: Iterable[type] = ()) -> bool:
    """Learn the last events of a log with deciders on a copy, which is dropped; False without any.

    So a trainer that waits for another one has its machine code in memory when it takes over.
    """
    source, until = _source(log, classes), records.read_end(log.storage)
    state = _newest_snapshot(source)
    begin = max(until - n_events, log.start.position)
    if state is None or begin >= until:
        return False
    _run(source, (state._replace(position=begin), None), until, check=False)
    return True


def rebuild(
    storage: Storage,
    start: LogStart,
    graphs: StoredGraphs,
    versions: Versions,
    *,
    classes: Iterable[type] = (),
    from_checkpoint: bool = True,
    check: bool = True,
) -> tuple[PolicyState, PartCounts]:
    """`replay` on an open storage, and the numbers of feedbacks that decisions have.

    Without `check`, decisions may come out differently.
    """
    until = records.read_end(storage)
    source = ReplaySource(storage, start, graphs, versions, tuple(classes))
    first = _first_state(source, until if from_checkpoint else 0)
    if from_checkpoint:
        first = _published(source, *first, until)
    return _run(source, first, until, check=check), first[1]


def state_at(
    storage: Storage,
    start: LogStart,
    graphs: StoredGraphs,
    versions: Versions,
    position: int,
    *,
    classes: Iterable[type] = (),
    check: bool = True,
) -> PolicyState:
    """The state after an event of the past, from the last version before it."""
    source = ReplaySource(storage, start, graphs, versions, tuple(classes))
    return _run(source, _state_of_version(source, position), position, check=check)


class _Log(Protocol):
    """A log that is open."""

    storage: Storage
    start: LogStart
    graphs: StoredGraphs
    versions: Versions


def state_near(
    log: _Log, position: int, at_most: int, *, classes: tuple[type, ...], check: bool
) -> Generator[None, None, PolicyState | None]:
    """The state after an event, if it is at most so many events after one that is stored.

    Otherwise the next one that is stored, None if there is none. Yields after each event that is
    replayed. Events may be added to the log in between.
    """
    source = ReplaySource(log.storage, log.start, log.graphs, log.versions, classes)
    checkpoints = records.checkpoint_positions(log.storage)  # newest first
    for begin in (*checkpoints, log.start.position):
        if position - at_most <= begin <= position:
            state = _stored(source, begin)
            if state is not None:
                for step in _steps(source, (state, None), position, check=check):
                    state = step.after
                    yield
                return state
    later = (_stored(source, begin) for begin in reversed(checkpoints) if begin >= position)
    return next((state for state in later if state is not None), None)


def state_without(
    source: "ReplaySource", positions: Iterable[int], *, so_far: PolicyState | None = None
) -> PolicyState:
    """The state at the end as it were without some decisions and their feedback.

    All others are as they were made. It goes on from a state `so_far` without them. A ValueError if
    nothing is stored from before the first.
    """
    left_out = frozenset(positions)
    until = records.last_position(source.storage)
    if so_far is not None:
        return _run(source, (so_far, None), until, check=False, left_out=left_out)
    first = _state_of_version(source, until)
    begin = first[0].position
    if min(left_out) < begin or (begin == source.start.position > 0):
        raise ValueError(
            f"{source.storage.location}: nothing can be unlearned, as the agent of event {begin}, "
            "from which the log is replayed, may have learned from this person; leave out "
            "`unlearn`, or start a new agent with Policy.change"
        )
    return _run(source, first, until, check=False, left_out=left_out)


class ReplaySource(NamedTuple):
    """A log that is read, and the classes that its agents may contain."""

    storage: Storage
    start: LogStart
    graphs: StoredGraphs
    versions: Versions
    classes: tuple[type, ...]


def _source(log: DecisionLog, classes: Iterable[type]) -> ReplaySource:
    log.refresh()
    graphs = StoredGraphs(log.storage)
    return ReplaySource(log.storage, log.start, graphs, log.versions, tuple(classes))


def _nearest(source: ReplaySource, position: int) -> tuple[PolicyState, PartCounts]:
    """The last state that is stored up to an event: a checkpoint, or the start of its version."""
    first = _first_state(source, position)
    if first[0].position < source.versions.at(position).position:
        return _state_of_version(source, position)
    return first


def _run(
    source: ReplaySource,
    first: tuple[PolicyState, PartCounts | None],
    until: int,
    *,
    check: bool,
    left_out: frozenset[int] = frozenset(),
) -> PolicyState:
    state = first[0]
    for step in _steps(source, first, until, check=check, left_out=left_out):
        state = step.after
    return state


def _steps(
    source: ReplaySource,
    first: tuple[PolicyState, PartCounts | None],
    until: int,
    *,
    check: bool,
    left_out: frozenset[int] = frozenset(),
) -> Iterator[Step]:
    """The events after the first state; the counts of feedbacks are kept up to date.

    Without counts, it is looked up for each feedback whether there were others before it.
    Decisions that are `left_out`, and their feedback, change nothing.
    """
    state, counts = first
    snapshots = Snapshots(source.storage, state, until, source.classes)
    for row, decision in read_with_decisions(source.storage, state.position, until):
        before, agent = state, state.agent
        if row.position in left_out:
            state = state._replace(position=row.position)
        elif isinstance(row, FeedbackRow) and row.decision in left_out:
            state = after_feedback(state)
        elif isinstance(row, DecisionRow):
            state, agent = _decide(state, row, source, snapshots, check=check)
        elif isinstance(row, VersionRow):
            new = _agent_of(row, source)
            state = PolicyState(new, row.position, state.n_feedbacks, state.version + 1)
        else:
            state = _learn(state, row, decision, source, counts)
        snapshots.pass_by(state)
        yield Step(row.position, before, state, agent)


def _decide(
    state: PolicyState, row: DecisionRow, source: ReplaySource, snapshots: Snapshots, *, check: bool
) -> tuple[PolicyState, Any]:
    """The state after a decision, and the agent that made it."""
    storage, start = source.storage, source.start
    played = _read_played(row, source.graphs.read(row.graph), storage.location)
    if isinstance(state.agent, Recorded):  # it was imported: nobody can make it again
        return state._replace(position=row.position), state.agent
    round_ = row.made_at, played.context, played.graph, played.actions
    if row.snapshot is None:
        drawn = draw(state, uniform_at(start.seed, row.position), *round_, logged=played)
        if check:
            _check(drawn, row, start, storage.location)
        return drawn.after, state.agent
    then = snapshots.of(row)
    if check and then is not None:
        drawn = draw(then, uniform_of(start.seed, row.token), *round_)
        _check(drawn, row, start, storage.location)
    version = source.versions.of(row).number
    after = pass_by(state, [Passed(row.made_at, version, played)])
    return after, None if then is None else then.agent


def _agent_of(row: VersionRow, source: ReplaySource) -> Agent:
    where = f"{source.storage.location}, version at event {row.position}"
    agent: Agent = from_bytes(row.agent, where=where, classes=source.classes)
    return agent


def _learn(
    state: PolicyState,
    row: FeedbackRow,
    decision: DecisionRow | None,
    source: ReplaySource,
    counts: PartCounts | None,
) -> PolicyState:
    storage, graphs = source.storage, source.graphs
    if decision is None or decision.position > row.position:
        raise FileError(
            f"{storage.location}: damaged: event {row.position} is the feedback for "
            f"decision {row.decision}, which is missing"
        )
    graph = graphs.read(decision.graph)
    known: dict[int, float] | None = None
    if counts is None or counts.of(row.decision):
        parts = records.read_parts(storage, [row.decision]).get(row.decision, [])
        sofar = [part for part in parts if part.position <= row.position]
        merge(sofar, graph, storage.location)  # an error if they do not fit together
        earlier = [part for part in sofar if part.position < row.position]
        known = final(merge(earlier, graph, storage.location)) if earlier else None
    if counts is not None:
        counts.add(row.decision)
    played = _read_played(decision, graph, storage.location)
    played = played._replace(known=known, by_default=row.source is not None)
    indices, losses = read_part(row, graph, storage.location)
    then, now = source.versions.of(decision), source.versions.numbered(state.version)
    if then.number != now.number:
        return learn_earlier(state, played, indices, losses, then=then.problem, now=now.problem)
    return learn(state, played, indices, losses)


def _read_played(row: DecisionRow, graph: FeedbackGraph, location: str) -> Played:
    context, actions = read_decision(row, graph, location)
    return Played(context, graph, actions, numbers(row.probabilities, FLOAT), row.action)


def _first_state(source: ReplaySource, until: int) -> tuple[PolicyState, PartCounts]:
    """The newest checkpoint that is not beyond event `until`, or the start of the log.

    A checkpoint that cannot be read for any reason is passed over.
    """
    storage, removed = source.storage, source.start.position
    for row in records.read_checkpoints(storage) if until else ():
        state = _of_checkpoint(row, source) if removed <= row.position <= until else None
        if state is not None:
            with suppress(ValueError, zlib.error):
                return state, PartCounts.from_bytes(row.n_parts, row.position)
    counts = records.count_parts(storage, removed) if removed else PartCounts()
    return _start_state(source), counts


def _published(
    source: ReplaySource, state: PolicyState, counts: PartCounts, until: int
) -> tuple[PolicyState, PartCounts]:
    """The newest snapshot of a log with deciders, if it is further on than this state.

    It is a checkpoint of a moment ago: a trainer that takes over replays what came since then.
    """
    found = _newest_snapshot(source)
    if found is None or not state.position < found.position <= until:
        return state, counts
    return found, records.count_parts(source.storage, found.position, state.position, counts)


def _newest_snapshot(source: ReplaySource) -> PolicyState | None:
    """The state that was published last, None if there is none that can be read."""
    if has_inbox(source.storage):
        with suppress(FileError):
            found = newest_snapshot(source.storage)
            return None if found is None else _of_checkpoint(found, source)
    return None


def _start_state(source: ReplaySource) -> PolicyState:
    start = source.start
    agent = from_bytes(start.agent, where=source.storage.location, classes=source.classes)
    version = source.versions.at(start.position).number
    return PolicyState(agent, start.position, start.n_feedbacks, version)


def _of_checkpoint(row: CheckpointRow | SnapshotRow, source: ReplaySource) -> PolicyState | None:
    """The state of a checkpoint or snapshot, None if it cannot be read for any reason."""
    if not 0 <= row.n_feedbacks <= row.position:
        return None
    where = f"{source.storage.location}, agent of event {row.position}"
    try:
        agent = from_bytes(row.agent, where=where, classes=source.classes)
    except Exception:
        return None
    version = source.versions.at(row.position).number
    return PolicyState(agent, row.position, row.n_feedbacks, version)


def _stored(source: ReplaySource, position: int) -> PolicyState | None:
    """The state of the checkpoint at this event, or of the start."""
    for row in records.read_checkpoints(source.storage, position):
        return _of_checkpoint(row, source)
    return _start_state(source) if position == source.start.position else None


def _state_of_version(source: ReplaySource, position: int) -> tuple[PolicyState, PartCounts]:
    """The start of the version to which an event belongs, or of the log if that is later."""
    storage, removed = source.storage, source.start.position
    version = source.versions.at(position)
    if version.position <= removed:
        return _first_state(source, 0)
    row = next(row for row in records.read_versions(storage) if row.position == version.position)
    earlier = records.count(storage, FeedbackRow, removed)
    later = records.count(storage, FeedbackRow, row.position) - earlier
    n_feedbacks = source.start.n_feedbacks + later
    state = PolicyState(_agent_of(row, source), row.position, n_feedbacks, version.number)
    return state, records.count_parts(storage, row.position)


def _check(drawn: Drawn, row: DecisionRow, start: LogStart, location: str) -> None:
    probabilities = drawn.played.probabilities
    same = probabilities.astype(FLOAT).tobytes() == row.probabilities
    if same and drawn.played.action == row.action:
        return
    logged = numbers(row.probabilities, FLOAT)
    difference = 0.0 if same else np.abs(probabilities - logged).max()
    raise ReplayError(
        f"{location}: decision {row.position} differs from the log when replayed "
        f"(probabilities differ by up to {difference:.3g}); the log was written with graphcb "
        f"{start.version}: use the versions and the kind of machine it was written with, or "
        "continue from here with Policy(..., check_replay=False)"
    )
