"""Feedback on its way into a log: whether it is for this log, and what of it is new."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.decisions import records
from graphcb.decisions.decision import Acknowledgement, check_decision_id, read_decision_id
from graphcb.decisions.identifiers import read_identifiers
from graphcb.decisions.parts import check_whole, merge, what_is_new
from graphcb.decisions.revealed import read_losses, words_of
from graphcb.decisions.tables import DecisionRow, FeedbackRow
from graphcb.decisions.writer import Pending
from graphcb.problems import problem_of

Losses = Mapping[Any, float]


class NewFeedback(NamedTuple):
    """What a feedback adds to the log, and its receipt; nothing is added if it is not counted.

    `known` are the losses that earlier parts revealed, by index; None if there was no part.
    """

    decision: DecisionRow
    indices: NDArray[np.int64]
    losses: NDArray[np.float64]
    receipt: Acknowledgement
    known: dict[int, float] | None = None


def check_feedbacks(
    pending: Pending, log_name: str, losses: Mapping[str, Losses]
) -> list[NewFeedback]:
    """What is new in each feedback; nothing has changed yet. Call it inside a transaction."""
    location, until = pending.storage.location, pending.state.position
    names = {text: read_decision_id(text, log_name, location) for text in losses}
    positions = [position for position, _ in names.values()]
    rows = {row.position: row for row in _read_lightly(pending, positions)}
    parts = records.read_parts(pending.storage, positions)
    found = []
    for text, (position, token) in names.items():
        row = rows.get(position)
        check_decision_id(text, token, row, until, location)
        if row is not None:
            known = parts.get(position, [])
            records.check_count(pending.storage, position, pending.counts, known)
            found.append(_check(pending, text, row, known, losses[text]))
    return found


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


def _check(
    pending: Pending, text: str, row: DecisionRow, parts: list[FeedbackRow], losses: Losses
) -> NewFeedback:
    graph = pending.graphs.read(row.graph)
    identifiers = read_identifiers(row.actions, graph.n_actions)
    problem = problem_of(pending.state.agent)
    indices, values = read_losses(losses, identifiers, graph, row.action, problem)
    if not parts:
        return NewFeedback(row, indices, values, Acknowledgement(text, True, "counted"))
    known = merge(parts, graph, pending.storage.location)
    earlier = {index: one.loss for index, one in known.items()}
    new, new_values = what_is_new(indices, values, known, identifiers, text, problem)
    if not getattr(pending.state.agent, "informed", True):
        check_whole(indices, known, identifiers, text, parts[0].position, problem)
    if new.size == 0:
        message = (
            f"decision {text} already has its feedback (event {parts[-1].position}), with the "
            f"same {words_of(problem)[0]}; this one changes nothing"
        )
        return NewFeedback(row, new, new_values, Acknowledgement(text, False, message), earlier)
    n_known = indices.size - new.size
    several = words_of(problem)[0]
    message = f"counted, except for {n_known} {several} that were known" if n_known else "counted"
    return NewFeedback(row, new, new_values, Acknowledgement(text, True, message), earlier)
