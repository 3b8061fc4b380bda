"""Decisions of a log with what their problem knows without feedback."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from graphcb.decisions import LoggedDecision, LoggedFeedback
from graphcb.decisions.encoding import FLOAT, WHOLE
from graphcb.estimates.terms import Floats
from graphcb.rounds.identifiers import pick


def revealing_only(
    row: LoggedDecision, seen: LoggedFeedback, indices: NDArray[np.int64], losses: Floats
) -> LoggedFeedback:
    """A feedback that reveals these losses of a decision, by index, and no others."""
    return seen._replace(actions=pick(row.actions, indices), action_indices=indices, losses=losses)


def awaits_feedback(row: LoggedDecision) -> bool:
    """Whether what was played may reveal something that only feedback can tell."""
    shown = row.graph.row(row.action_index)
    if row.known is not None:
        shown[list(row.known)] = 0.0
    return bool(shown.any())


def knowing(row: LoggedDecision) -> LoggedDecision:
    """The decision with what is known: revealed by every action, and part of its feedback.

    One that awaits no feedback gets what is known as its feedback; one whose feedback is
    missing stays without. The log itself has the graph of what feedback reveals, and `row.known`
    what the problem of its version knows.
    """
    if row.known is None:
        return row
    known, seen = row.known, row.feedback
    if seen is None and not awaits_feedback(row):
        nothing = np.zeros(0, dtype=WHOLE), np.zeros(0, dtype=FLOAT)
        seen = LoggedFeedback(row.position, row.made_at, None, *nothing)
    if seen is not None:
        parts = tuple(_with_known(row, part, known) for part in seen.parts[:1])
        seen = _with_known(row, seen, known)._replace(parts=parts + seen.parts[1:])
    return row._replace(graph=row.graph.with_revealed(sorted(known)), feedback=seen)


def _with_known(
    row: LoggedDecision, seen: LoggedFeedback, known: Mapping[int, float]
) -> LoggedFeedback:
    by_index = dict(zip(seen.action_indices.tolist(), seen.losses.tolist(), strict=True))
    by_index.update(known)
    indices = np.array(sorted(by_index), dtype=WHOLE)
    losses = np.array([by_index[index] for index in indices.tolist()], dtype=FLOAT)
    return revealing_only(row, seen, indices, losses)
