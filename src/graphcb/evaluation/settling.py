"""Which decisions of a log count in an estimate, and with which losses."""

from typing import NamedTuple

import numpy as np

from graphcb.decisions import LoggedDecision, LoggedFeedback
from graphcb.estimates.terms import Flags, Floats
from graphcb.evaluation.knowing import awaits_feedback
from graphcb.graphs import FeedbackGraph
from graphcb.rounds.identifiers import pick

MOST_SILENT = 1000  # decisions that wait for the next one that reveals something


class Settled(NamedTuple):
    """A decision whose feedback is complete; losses are scaled to [0, 1]."""

    graph: FeedbackGraph
    names: tuple[str, ...]
    probabilities: Floats
    revealed: Flags
    losses: Floats


def is_complete(shown: Floats, revealed: Flags) -> bool:
    """Whether all that is certainly revealed is known; `shown` is the row of what was played."""
    return not ((shown == 1.0) & ~revealed).any()


class Settling:
    """Decisions of a log, added in their order; those that count come back.

    A decision is settled by the first parts of its feedback that bring all that its action
    certainly reveals. A default after waiting is such a part, and a loss that comes later takes
    its place. What else comes later was revealed by chance, and is not counted.

    One that can reveal nothing is settled together with the next one that can. Were it settled
    at once, decisions that wait for feedback would be missing more often than it, and every
    estimate would lean to what reveals nothing. Feedback that never comes then does no harm if it
    is missing at random.
    """

    def __init__(self) -> None:
        self.n = self.n_used = self.n_without_feedback = self.n_incomplete = 0
        self._silent: list[LoggedDecision] = []

    def add(self, given: LoggedDecision, weighed: LoggedDecision) -> list[LoggedDecision]:
        """The decisions that are settled by now, with the feedback that settled them.

        `weighed` is the decision with the graph by which it is weighed.
        """
        self.n += 1
        if not awaits_feedback(given):
            self._silent.append(weighed if given.known else weighed._replace(feedback=None))
            return self._settled([]) if len(self._silent) > MOST_SILENT else []
        if weighed.feedback is None:
            self.n_without_feedback += 1
        else:
            seen = _first_complete(weighed, weighed.feedback)
            if seen is not None:
                return self._settled([weighed._replace(feedback=seen)])
            self.n_incomplete += 1
        self._silent = []
        return []

    @property
    def n_silent(self) -> int:
        """Decisions that reveal nothing and wait for another one, or are left out with it."""
        return self.n - self.n_used - self.n_without_feedback - self.n_incomplete

    def _settled(self, last: list[LoggedDecision]) -> list[LoggedDecision]:
        found, self._silent = [*self._silent, *last], []
        self.n_used += len(found)
        return found


def _first_complete(row: LoggedDecision, feedback: LoggedFeedback) -> LoggedFeedback | None:
    """What the first parts that make a feedback complete bring; None if all of them do not."""
    shown = row.graph.row(row.action_index)
    revealed = np.zeros(row.graph.n_actions, dtype=bool)
    if len(feedback.parts) < 2:
        revealed[feedback.action_indices] = True
        return feedback if is_complete(shown, revealed) else None
    losses, complete = np.zeros(row.graph.n_actions), False
    for part in feedback.parts:
        kept = (revealed if complete else shown > 0.0)[part.action_indices]
        revealed[part.action_indices[kept]] = True
        losses[part.action_indices[kept]] = part.losses[kept]
        complete = is_complete(shown, revealed)
    if not complete:
        return None
    places = np.flatnonzero(revealed)
    actions = pick(row.actions, places)
    return feedback._replace(actions=actions, action_indices=places, losses=losses[places])
