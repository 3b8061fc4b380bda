"""Every action reveals all losses but its own: the loopless clique."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from graphcb.checks import as_count
from graphcb.compilation import compiled
from graphcb.graphs.formulas import ClosedForm
from graphcb.graphs.graph import FeedbackGraph
from graphcb.graphs.registry import Family
from graphcb.graphs.runs import RunStructure, straight_runs
from graphcb.graphs.structure import Floats, Indices, Numbers


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


@dataclass(frozen=True)
class CopsAndRobbers(RunStructure):
    """Structure of the cops-and-robbers graph."""

    n_actions: int
    family: ClassVar[str] = "cops_and_robbers"

    def runs(self) -> Indices:
        """From the next action around to the one before."""
        runs = straight_runs(self.n_actions, 1, 1, 0, 1)
        runs[0, -1], runs[1, 0] = 0, self.n_actions
        return runs

    def column_runs(self) -> Indices:
        """The same: the graph is undirected."""
        return self.runs()

    def in_degrees(self) -> Indices:
        return np.full(self.n_actions, self.n_actions - 1)

    def reveal_probabilities(self, probabilities: Floats) -> Floats:
        """The sum over the others, added up from both sides: `1 - p` would cancel near p = 1."""
        revealed = np.zeros(self.n_actions)
        revealed[1:] = np.cumsum(probabilities[:-1])
        revealed[:-1] += np.cumsum(probabilities[:0:-1])[::-1]
        return revealed

    def is_symmetric(self) -> bool:
        return True

    def subgraph(self, actions: Indices) -> "CopsAndRobbers | None":
        """A smaller one; one action alone is no longer of the family."""
        return CopsAndRobbers(actions.size) if actions.size > 1 else None

    def numbers(self) -> Numbers:
        """All are connected; two actions reveal all; no action reveals itself."""
        return Numbers(1, 2, 0)

    def closed_form(self) -> ClosedForm:
        return ClosedForm("two_best", "any two actions reveal everything", two_best, within=2.0)


@compiled
def two_best(f: Floats, gamma: float) -> Floats:
    """Cops-and-robbers: the runner-up gets 1 / (2 + gamma * gap), the best the rest."""
    best = np.argmin(f)
    second = 1 if best == 0 else 0
    for a in range(f.size):
        if a != best and f[a] < f[second]:
            second = a
    p = np.zeros(f.size)
    p[second] = 1.0 / (2.0 + gamma * (f[second] - f[best]))
    p[best] = 1.0 - p[second]
    return p


FAMILY = Family(cops_and_robbers, "K", lambda size: cops_and_robbers(int(size)), CopsAndRobbers)
