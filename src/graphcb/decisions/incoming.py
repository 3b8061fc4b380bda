"""Feedback on its way into a log: whether it is for this log, and what of it is new."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import listed
from graphcb.contexts.frames import rows_of
from graphcb.contexts.values import is_missing
from graphcb.decisions import records
from graphcb.decisions.decision import Acknowledgement, check_decision_id, read_decision_id
from graphcb.decisions.encoding import decode, read_identifiers
from graphcb.decisions.inbox import find_decisions, find_parts, find_waiting
from graphcb.decisions.parts import check_whole, event, final, merge, what_is_new
from graphcb.decisions.revealed import read_losses, words_of
from graphcb.decisions.storage import Storage
from graphcb.decisions.tables import DecisionRow, FeedbackRow
from graphcb.decisions.writer import Pending
from graphcb.problems import Learner, Problem

Losses = Mapping[Any, float]


def by_decision(losses: Any) -> Mapping[str, Losses]:
    """Feedback for many decisions by their identifiers, also from a data frame."""
    rows = rows_of(losses)
    if rows is None:
        if isinstance(losses, Mapping):
            return losses
        raise TypeError(
            "`losses` must be a mapping {decision_id: {action: loss, ...}, ...} or a data frame "
            f"with a column decision_id, got {type(losses).__name__}"
        )
    found: dict[str, Losses] = {}
    for row in rows:
        name = row.pop("decision_id", None)
        if name is None:
            raise ValueError(
                f"`losses` as a data frame must have a column decision_id, got {listed(row)}"
            )
        if name in found:
            raise ValueError(f"`losses` must have each decision once, got {name!r} twice")
        found[name] = {action: loss for action, loss in row.items() if not is_missing(loss)}
    return found


class Asked(NamedTuple):
    """A decision that somebody names: its row, if the log holds one, and its feedback so far."""

    token: str
    row: DecisionRow | None
    parts: list[FeedbackRow]


class Found(NamedTuple):
    """A decision that the log holds, and its feedback so far."""

    row: DecisionRow
    parts: list[FeedbackRow]


class NewFeedback(NamedTuple):
    """What a feedback adds to the log.

    `parts` are those that the decision has; the new one is appended once it is learned. `known`
    are the losses that they revealed, by index; None if there was none but a default.
    `received_at` is the present if None.
    """

    row: DecisionRow
    parts: list[FeedbackRow]
    indices: NDArray[np.int64]
    losses: NDArray[np.float64]
    known: dict[int, float] | None = None
    source: str | None = None
    received_at: float | None = None


def read_asked(pending: Pending, log_name: str, names: Iterable[str]) -> dict[str, Asked]:
    """The decisions with these names, all read at once. Call it inside a transaction."""
    location = pending.storage.location
    places = {name: read_decision_id(name, log_name, location) for name in names}
    if pending.has_deciders:
        tokens = {name: token for name, (_, token) in places.items()}
        return _read_by_token(pending.storage, tokens)
    return _read_by_position(pending, places)


def _read_by_token(storage: Storage, tokens: dict[str, str]) -> dict[str, Asked]:
    """Those that may not have a number yet."""
    wanted = list(tokens.values())
    rows, parts = find_decisions(storage, wanted), find_parts(storage, wanted)
    return {
        name: Asked(token, rows.get(token), parts.get(token, [])) for name, token in tokens.items()
    }


def _read_by_position(pending: Pending, places: dict[str, tuple[int, str]]) -> dict[str, Asked]:
    positions = [position for position, _ in places.values()]
    rows = {row.position: row for row in _read_lightly(pending, positions)}
    parts = records.read_parts(pending.storage, positions)
    waiting: dict[str, list[FeedbackRow]] = {}
    if pending.is_beside:
        waiting = find_waiting(pending.storage, [token for _, token in places.values()])
    else:
        for position in [one for one in rows if one > pending.start.cut]:
            records.check_count(pending.storage, position, pending.counts, parts.get(position, []))
    return {
        name: Asked(token, rows.get(position), parts.get(position, []) + waiting.get(token, []))
        for name, (position, token) in places.items()
    }


def check_asked(pending: Pending, name: str, asked: Asked) -> Found:
    """The decision with a name; one that this log does not hold is refused."""
    row, start = asked.row, pending.start
    if row is not None and 0 < row.position <= start.cut:
        row = None
    where = pending.state.position, pending.storage.location, start.position
    return Found(check_decision_id(name, asked.token, row, *where), asked.parts)


def check_feedback(
    pending: Pending, name: str, found: Found, losses: Losses
) -> tuple[Acknowledgement, NewFeedback | None]:
    """The receipt for a feedback, and what is new in it, if anything; nothing has changed yet."""
    row, parts = found
    graph = pending.graphs.read(row.graph)
    identifiers = read_identifiers(row.actions, graph.n_actions)
    problem = pending.versions.of(row).problem

    def context() -> Any:
        return decode(read_whole(pending, row).context)

    indices, values = read_losses(losses, identifiers, graph, row.action, problem, context)
    if problem is not None and pending.versions.of(row).number == pending.versions.last.number:
        _check_range(pending.state.agent, problem, values, [identifiers.values[i] for i in indices])
    if not parts:
        return Acknowledgement(name, True, "counted"), NewFeedback(row, parts, indices, values)
    known = merge(parts, graph, pending.storage.location)
    new, new_values = what_is_new(indices, values, known, identifiers, name, problem)
    if not getattr(pending.state.agent, "informed", True):
        check_whole(indices, known, identifiers, name, parts[0].position, problem)
    several = words_of(problem)[0]
    n_known = indices.size - new.size
    message = f"counted, except for {n_known} {several} that were known" if n_known else "counted"
    if any(known[index].is_default for index in new.tolist() if index in known):
        message += ", in place of the default after waiting"
    if new.size == 0:
        message = (
            f"decision {name} already has its feedback ({event(parts[-1].position)}), with the "
            f"same {several}; this one changes nothing"
        )
        return Acknowledgement(name, False, message), None
    receipt = Acknowledgement(name, True, message)
    return receipt, NewFeedback(row, parts, new, new_values, final(known))


def _check_range(agent: Any, problem: Problem, values: Any, names: Sequence[Any]) -> None:
    """Refuse here and now what the agent could not learn where the problem says no range."""
    if problem.range is None and isinstance(agent, Learner):
        problem.check_values(values, names, agent.needs_range)


def read_whole(pending: Pending, row: DecisionRow) -> DecisionRow:
    """The row with its context, which may have been too large to keep."""
    if row.context:
        return row
    return next(records.read_decisions(pending.storage, [row.position]))


def _read_lightly(pending: Pending, positions: list[int]) -> Iterator[DecisionRow]:
    """The decisions, without their contexts once these are many megabytes."""
    total = 0
    for row in records.read_decisions(pending.storage, positions):
        total += len(row.context)
        yield row if total <= records.BYTES_AT_ONCE else row._replace(context=b"")
