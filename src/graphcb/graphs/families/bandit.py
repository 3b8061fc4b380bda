"""Each action reveals itself alone: the classic bandit."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from graphcb.checks import as_count
from graphcb.graphs.graph import FeedbackGraph
from graphcb.graphs.structure import Flags, Floats, Indices, Numbers


def bandit(n_actions: int) -> FeedbackGraph:
    """The identity matrix: playing i reveals i and nothing else.

    >>> bandit(3).independence_number()
    3
    """
    return FeedbackGraph.from_structure(Bandit(as_count("n_actions", n_actions)))


@dataclass(frozen=True, slots=True)
class Bandit:
    """Structure of the bandit graph."""

    n_actions: int
    family: ClassVar[str] = "bandit"

    def arguments(self) -> dict[str, Any]:
        """How to build it again."""
        return {"n_actions": self.n_actions}

    def dense(self) -> Floats:
        """The identity."""
        return np.eye(self.n_actions)

    def row(self, action: int) -> Floats:
        """A one at `action`."""
        row = np.zeros(self.n_actions)
        row[action] = 1.0
        return row

    def reveal_probabilities(self, probabilities: Floats) -> Floats:
        """An action is seen exactly when it is played."""
        return probabilities.copy()

    def self_loops(self) -> Flags:
        """All."""
        return np.ones(self.n_actions, dtype=np.bool_)

    def in_degrees(self) -> Indices:
        """One each."""
        return np.ones(self.n_actions, dtype=np.intp)

    def is_deterministic(self) -> bool:
        """Yes."""
        return True

    def is_symmetric(self) -> bool:
        """Yes."""
        return True

    def subgraph(self, actions: Indices) -> "Bandit":
        """A smaller bandit."""
        return Bandit(actions.size)

    def numbers(self) -> Numbers:
        """No two actions are connected."""
        return Numbers(self.n_actions, 0, self.n_actions)
