"""Groups of actions that reveal each other and no others."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from graphcb.checks import as_count
from graphcb.compilation import compiled
from graphcb.graphs.formulas import ClosedForm
from graphcb.graphs.graph import FeedbackGraph
from graphcb.graphs.registry import Family
from graphcb.graphs.runs import RunStructure
from graphcb.graphs.structure import Floats, Indices, Numbers


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


@dataclass(frozen=True)
class DisjointCliques(RunStructure):
    """Structure of disjoint cliques."""

    sizes: tuple[int, ...]
    n_actions: int = field(init=False, repr=False)
    family: ClassVar[str] = "disjoint_cliques"

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_actions", sum(self.sizes))

    def arguments(self) -> dict[str, Any]:
        return {"sizes": list(self.sizes)}

    def _starts(self) -> Indices:
        """The first action of each group."""
        return np.cumsum((0, *self.sizes[:-1]))

    def runs(self) -> Indices:
        starts = self._starts()
        return np.repeat([starts, starts + self.sizes], self.sizes, axis=1)

    def column_runs(self) -> Indices:
        """The same: the graph is undirected."""
        return self.runs()

    @classmethod
    def candidate(cls, runs: Indices) -> Self:
        """A group wherever a new run begins."""
        starts = np.flatnonzero(np.diff(runs[0], prepend=-1))
        return cls(tuple(np.diff(starts, append=runs.shape[1]).tolist()))

    def reveal_probabilities(self, probabilities: Floats) -> Floats:
        """An action is seen when any of its group is played."""
        return np.repeat(np.add.reduceat(probabilities, self._starts()), self.sizes)

    def is_symmetric(self) -> bool:
        return True

    def subgraph(self, actions: Indices) -> "DisjointCliques | None":
        """Smaller groups, as long as each stays in one piece."""
        groups = np.repeat(np.arange(len(self.sizes)), self.sizes)[actions]
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        if np.unique(groups).size != starts.size:
            return None
        return DisjointCliques(tuple(np.diff(starts, append=groups.size).tolist()))

    def numbers(self) -> Numbers:
        return Numbers(len(self.sizes), 0, len(self.sizes))

    def closed_form(self) -> ClosedForm:
        """The paper's form for undirected graphs, whose independent set is known here."""
        formula = partial(best_of_groups, self._starts())
        return ClosedForm("best_of_groups", "one action per group sees all", formula, within=4.0)


@compiled
def best_of_groups(starts: Indices, f: Floats, gamma: float) -> Floats:
    """The best of each of m groups gets 1 / (m + gamma * gap), the best of all the rest."""
    p = np.zeros(f.size)
    best, rest = np.argmin(f), 0.0
    for g in range(starts.size):
        stop = starts[g + 1] if g + 1 < starts.size else f.size
        a = starts[g] + np.argmin(f[starts[g] : stop])
        if not starts[g] <= best < stop:
            p[a] = 1.0 / (starts.size + gamma * (f[a] - f[best]))
            rest += p[a]
    p[best] = 1.0 - rest
    return p


def _from_text(first: str, *more: str) -> FeedbackGraph:
    return disjoint_cliques([int(size) for size in (first, *more)])


FAMILY = Family(disjoint_cliques, "SIZE,SIZE,...", _from_text, DisjointCliques)
