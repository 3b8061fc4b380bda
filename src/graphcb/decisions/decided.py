"""A round that is to be decided on, and the decision that was made on it."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.decisions.encoding import Encoded
from graphcb.decisions.tables import DecisionRow
from graphcb.graphs import FeedbackGraph
from graphcb.rounds.identifiers import Identifiers


class NewRound(NamedTuple):
    """What is decided on: the arguments of `Policy.decide`; context and actions may be `Encoded`.

    Encoded actions are a list of names, or names with features that are plain.
    """

    context: Any
    graph: FeedbackGraph | None = None
    actions: Any = None
    subject: str | int | None = None

    @property
    def n_own(self) -> int:
        """How many actions come with it; 0 if they are those of the problem."""
        actions = self.actions.value if isinstance(self.actions, Encoded) else self.actions
        return 0 if actions is None else len(actions)


class Decided(NamedTuple):
    """A decision as it was made: its name, its row, and the actions of its round."""

    decision_id: str
    row: DecisionRow
    identifiers: Identifiers
    probabilities: NDArray[np.float64]
