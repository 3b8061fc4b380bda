"""Groups of actions that reveal each other and nobody outside."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from graphcb.checks import as_count
from graphcb.graphs.graph import FeedbackGraph
from graphcb.graphs.structure import Flags, Floats, Indices, Numbers


def disjoint_cliques(sizes: Sequence[int]) -> FeedbackGraph:
    """Actions in consecutive groups of these sizes; playing i reveals its whole group.

    >>> disjoint_cliques([2, 1]).matrix
    array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 1.]])
    """
    checked = tuple(as_count(f"sizes[{i}]", size) for i, size in enumerate(sizes))
    if not checked:
        raise ValueError("`sizes` must name at least one group, got an empty list")
    return FeedbackGraph.from_structure(DisjointCliques(checked))


@dataclass(frozen=True, slots=True)
class DisjointCliques:
    """Structure of disjoint cliques."""

    sizes: tuple[int, ...]
    family: ClassVar[str] = "disjoint_cliques"

    @property
    def n_actions(self) -> int:
        """Number of actions."""
        return sum(self.sizes)

    @property
    def groups(self) -> Indices:
        """The group of each action."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def arguments(self) -> dict[str, Any]:
        """How to build it again."""
        return {"sizes": list(self.sizes)}

    def dense(self) -> Floats:
        """Blocks of ones along the diagonal."""
        groups = self.groups
        return np.equal.outer(groups, groups).astype(np.float64)

    def row(self, action: int) -> Floats:
        """Ones on the group of `action`."""
        groups = self.groups
        return np.array(groups == groups[action], dtype=np.float64)

    def reveal_probabilities(self, probabilities: Floats) -> Floats:
        """An action is seen when any of its group is played."""
        starts = np.cumsum((0, *self.sizes[:-1]))
        return np.repeat(np.add.reduceat(probabilities, starts), self.sizes)

    def self_loops(self) -> Flags:
        """All."""
        return np.ones(self.n_actions, dtype=np.bool_)

    def in_degrees(self) -> Indices:
        """The size of the group."""
        return np.repeat(np.array(self.sizes, dtype=np.intp), self.sizes)

    def is_deterministic(self) -> bool:
        """Yes."""
        return True

    def is_symmetric(self) -> bool:
        """Yes."""
        return True

    def subgraph(self, actions: Indices) -> "DisjointCliques | None":
        """Smaller groups, as long as each stays in one piece."""
        groups = self.groups[actions]
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        if np.unique(groups).size != starts.size:
            return None
        return DisjointCliques(tuple(np.diff(starts, append=groups.size).tolist()))

    def numbers(self) -> Numbers:
        """One action a group."""
        return Numbers(len(self.sizes), 0, len(self.sizes))
