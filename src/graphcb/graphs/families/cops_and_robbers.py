"""Every action reveals all losses but its own: the loopless clique."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from graphcb.checks import as_count
from graphcb.graphs.graph import FeedbackGraph
from graphcb.graphs.structure import Flags, Floats, Indices, Numbers


def cops_and_robbers(n_actions: int) -> FeedbackGraph:
    """Ones everywhere but on the diagonal: playing i reveals every j other than i.

    At least two actions: a single one would never be seen.

    >>> cops_and_robbers(3).matrix
    array([[0., 1., 1.],
           [1., 0., 1.],
           [1., 1., 0.]])
    """
    size = as_count("n_actions", n_actions, at_least=2)
    return FeedbackGraph.from_structure(CopsAndRobbers(size))


@dataclass(frozen=True, slots=True)
class CopsAndRobbers:
    """Structure of the cops-and-robbers graph."""

    n_actions: int
    family: ClassVar[str] = "cops_and_robbers"

    def arguments(self) -> dict[str, Any]:
        """How to build it again."""
        return {"n_actions": self.n_actions}

    def dense(self) -> Floats:
        """Ones less the identity."""
        return 1.0 - np.eye(self.n_actions)

    def row(self, action: int) -> Floats:
        """Ones but at `action`."""
        row = np.ones(self.n_actions)
        row[action] = 0.0
        return row

    def reveal_probabilities(self, probabilities: Floats) -> Floats:
        """The sum over the others, added up from both sides: `1 - p` would cancel near p = 1."""
        revealed = np.zeros(self.n_actions)
        revealed[1:] = np.cumsum(probabilities[:-1])
        revealed[:-1] += np.cumsum(probabilities[:0:-1])[::-1]
        return revealed

    def self_loops(self) -> Flags:
        """None."""
        return np.zeros(self.n_actions, dtype=np.bool_)

    def in_degrees(self) -> Indices:
        """All the others."""
        return np.full(self.n_actions, self.n_actions - 1, dtype=np.intp)

    def is_deterministic(self) -> bool:
        """Yes."""
        return True

    def is_symmetric(self) -> bool:
        """Yes."""
        return True

    def subgraph(self, actions: Indices) -> "CopsAndRobbers | None":
        """A smaller one; one action alone is no longer of the family."""
        return CopsAndRobbers(actions.size) if actions.size > 1 else None

    def numbers(self) -> Numbers:
        """All are connected; two actions reveal everybody; nobody reveals itself."""
        return Numbers(1, 2, 0)
