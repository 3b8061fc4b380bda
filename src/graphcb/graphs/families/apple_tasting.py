"""One action reveals everything, the others nothing: review, taste, inspect."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from graphcb.checks import as_action, as_count
from graphcb.graphs.graph import FeedbackGraph
from graphcb.graphs.structure import Flags, Floats, Indices, Numbers


def apple_tasting(n_actions: int = 2, *, revealing_action: int = 0) -> FeedbackGraph:
    """Playing `revealing_action` shows all losses; any other action shows nothing.

    With two actions this is the paper's apple tasting graph and strongly observable; with
    more it is weakly observable, because the others are seen by one action only.

    >>> apple_tasting().matrix
    array([[1., 1.],
           [0., 0.]])
    """
    size = as_count("n_actions", n_actions)
    revealing = as_action(revealing_action, size, name="revealing_action")
    return FeedbackGraph.from_structure(AppleTasting(size, revealing))


@dataclass(frozen=True, slots=True)
class AppleTasting:
    """Structure of the apple tasting graph."""

    n_actions: int
    revealing_action: int
    family: ClassVar[str] = "apple_tasting"

    def arguments(self) -> dict[str, Any]:
        """How to build it again."""
        return {"n_actions": self.n_actions, "revealing_action": self.revealing_action}

    def dense(self) -> Floats:
        """One row of ones."""
        matrix = np.zeros((self.n_actions, self.n_actions))
        matrix[self.revealing_action] = 1.0
        return matrix

    def row(self, action: int) -> Floats:
        """Everything or nothing."""
        return np.full(self.n_actions, float(action == self.revealing_action))

    def reveal_probabilities(self, probabilities: Floats) -> Floats:
        """Every action is seen when the revealing one is played."""
        return np.full(self.n_actions, probabilities[self.revealing_action])

    def self_loops(self) -> Flags:
        """The revealing action alone."""
        loops = np.zeros(self.n_actions, dtype=np.bool_)
        loops[self.revealing_action] = True
        return loops

    def in_degrees(self) -> Indices:
        """One each."""
        return np.ones(self.n_actions, dtype=np.intp)

    def is_deterministic(self) -> bool:
        """Yes."""
        return True

    def is_symmetric(self) -> bool:
        """Only a single action mirrors itself."""
        return self.n_actions == 1

    def subgraph(self, actions: Indices) -> "AppleTasting | None":
        """Of the family as long as the revealing action is there."""
        position = np.flatnonzero(actions == self.revealing_action)
        return AppleTasting(actions.size, int(position[0])) if position.size else None

    def numbers(self) -> Numbers:
        """The others are not connected to each other; the revealing action reveals them all."""
        return Numbers(max(1, self.n_actions - 1), int(self.n_actions > 1), 1)
