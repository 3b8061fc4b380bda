"""Every action reveals every loss."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from graphcb.checks import as_count
from graphcb.graphs.graph import FeedbackGraph
from graphcb.graphs.structure import Flags, Floats, Indices, Numbers


def full_information(n_actions: int) -> FeedbackGraph:
    """The matrix of ones: whatever is played, all losses are seen.

    >>> full_information(3).independence_number()
    1
    """
    return FeedbackGraph.from_structure(FullInformation(as_count("n_actions", n_actions)))


@dataclass(frozen=True, slots=True)
class FullInformation:
    """Structure of the full-information graph."""

    n_actions: int
    family: ClassVar[str] = "full_information"

    def arguments(self) -> dict[str, Any]:
        """How to build it again."""
        return {"n_actions": self.n_actions}

    def dense(self) -> Floats:
        """All ones."""
        return np.ones((self.n_actions, self.n_actions))

    def row(self, action: int) -> Floats:
        """All ones, whatever the action."""
        return np.ones(self.n_actions)

    def reveal_probabilities(self, probabilities: Floats) -> Floats:
        """Every action is always seen."""
        return np.full(self.n_actions, probabilities.sum())

    def self_loops(self) -> Flags:
        """All."""
        return np.ones(self.n_actions, dtype=np.bool_)

    def in_degrees(self) -> Indices:
        """Everybody sees everybody."""
        return np.full(self.n_actions, self.n_actions, dtype=np.intp)

    def is_deterministic(self) -> bool:
        """Yes."""
        return True

    def is_symmetric(self) -> bool:
        """Yes."""
        return True

    def subgraph(self, actions: Indices) -> "FullInformation":
        """Still full information."""
        return FullInformation(actions.size)

    def numbers(self) -> Numbers:
        """All actions are connected."""
        return Numbers(1, 0, 1)
