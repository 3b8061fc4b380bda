"""The role of an agent."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from graphcb.graphs import FeedbackGraph


class Agent(Protocol):
    """Chooses a distribution over the actions of a round and learns from what is revealed.

    An agent never draws: whoever runs it samples from the distribution, so that sampling and
    seeding live in one place.
    """

    def act(self, context: Any, graph: FeedbackGraph, actions: Any = None) -> NDArray[np.float64]:
        """Probabilities (n_actions,) for this round; each call begins a new round.

        `actions` are today's identifiers in the oracle's terms, in the graph's order; None
        stands for all actions of the oracle.
        """
        ...

    def learn(self, context: Any, actions: Any, losses: Any) -> None:
        """Learn the losses revealed for these identifiers; there may be none."""
        ...
