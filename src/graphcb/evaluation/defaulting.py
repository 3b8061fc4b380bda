"""Decisions that get a default where no feedback comes: what can be known of them for sure.

Feedback that does not come is then missing for what it would have said. Of such a decision the
loss of the action that was played is known, by feedback or by default, once the waiting time is
over. What else it would have revealed is known only if feedback came, which depends on the
losses: no estimate may use it.
"""

import math

import numpy as np

from graphcb.decisions import LoggedDecision, LoggedFeedback
from graphcb.evaluation.knowing import revealing_only
from graphcb.graphs import FeedbackGraph


def own_alone(row: LoggedDecision) -> LoggedDecision:
    """The decision without what it reveals of other actions, if its problem has a default."""
    if row.waiting is None:
        return row
    graph = row.graph.remember("own", _own)
    if graph is row.graph:
        return row
    seen = row.feedback
    if seen is not None:
        parts = tuple(_of_played(row, part) for part in seen.parts)
        seen = _of_played(row, seen)._replace(parts=parts)
    return row._replace(graph=graph, feedback=seen)


class Clock:
    """How far a log has waited: decisions made up to then have their feedback or their default.

    A default shows that all that were due before it have theirs. As long as there is none, it is
    the time of the last event.
    """

    def __init__(self) -> None:
        self._last = self._filled = -math.inf

    def event(self, at: float) -> None:
        """Something happened at this time."""
        self._last = max(self._last, at)

    def default(self, due: float) -> None:
        """A decision that was due at this time got its default."""
        self._filled = max(self._filled, due)

    def decision(self, row: LoggedDecision) -> None:
        """A decision with its feedback."""
        seen = row.feedback
        self.event(row.made_at)
        for part in () if seen is None else seen.parts or (seen,):
            self.event(part.received_at)
            if part.is_default:
                self.default(row.made_at + (row.waiting or 0.0))

    def has_reached(self, due: float) -> bool:
        """Whether a decision that was due at this time has what it will get."""
        return due <= (self._last if self._filled == -math.inf else self._filled)


def _own(graph: FeedbackGraph) -> FeedbackGraph:
    """The edges from each action to itself that are certain."""
    own = np.diag((graph.matrix.diagonal() == 1.0).astype(np.float64))
    return graph if np.array_equal(own, graph.matrix) else FeedbackGraph(own)


def _of_played(row: LoggedDecision, seen: LoggedFeedback) -> LoggedFeedback:
    kept = seen.action_indices == row.action_index
    return revealing_only(row, seen, seen.action_indices[kept], seen.losses[kept])
