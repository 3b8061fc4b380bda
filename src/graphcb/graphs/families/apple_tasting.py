"""One action reveals everything, the others nothing: review, taste, inspect."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Self

import numpy as np

from graphcb.checks import as_action, as_count
from graphcb.compilation import compiled
from graphcb.graphs.families.apple_tasting_optimum import solve_rows
from graphcb.graphs.formulas import ClosedForm, ExactSolution
from graphcb.graphs.graph import FeedbackGraph
from graphcb.graphs.registry import Family
from graphcb.graphs.runs import RunStructure
from graphcb.graphs.structure import Floats, Indices, Numbers


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


@dataclass(frozen=True)
class AppleTasting(RunStructure):
    """Structure of the apple tasting graph."""

    n_actions: int
    revealing_action: int
    family: ClassVar[str] = "apple_tasting"

    def runs(self) -> Indices:
        """Everything for the revealing action, nothing for the others."""
        runs = np.zeros((2, self.n_actions), dtype=np.intp)
        runs[1, self.revealing_action] = self.n_actions
        return runs

    @classmethod
    def candidate(cls, runs: Indices) -> Self:
        """The revealing action is the one with the longest run."""
        return cls(runs.shape[1], int(np.argmax(runs[1] - runs[0])))

    def reveal_probabilities(self, probabilities: Floats) -> Floats:
        """Every action is seen when the revealing one is played."""
        return np.full(self.n_actions, probabilities[self.revealing_action])

    def subgraph(self, actions: Indices) -> "AppleTasting | None":
        """Of the family as long as the revealing action is there."""
        position = np.flatnonzero(actions == self.revealing_action)
        return AppleTasting(actions.size, int(position[0])) if position.size else None

    def numbers(self) -> Numbers:
        """The others are not connected to each other; the revealing action reveals them all."""
        return Numbers(max(1, self.n_actions - 1), int(self.n_actions > 1), 1)

    def closed_form(self) -> ClosedForm | None:
        """The paper's, which is for two actions."""
        if self.n_actions != 2:
            return None
        formula = (taste_first, taste_second)[self.revealing_action]
        return ClosedForm("taste", "one of two actions reveals both", formula, within=2.0)

    def exact_solution(self) -> ExactSolution:
        solve = partial(solve_rows, self.revealing_action)
        return ExactSolution("one action reveals everything", solve)


@compiled
def taste_first(f: Floats, gamma: float) -> Floats:
    """Two actions: play the revealing one, 0, if it looks best, else with 2 / (4 + gamma * gap)."""
    gap = f[0] - f[1]
    p = np.empty(2)
    p[0] = 1.0 if gap <= 0.0 else 2.0 / (4.0 + gamma * gap)
    p[1] = 1.0 - p[0]
    return p


@compiled
def taste_second(f: Floats, gamma: float) -> Floats:
    """The same where action 1 reveals both."""
    return taste_first(f[::-1].copy(), gamma)[::-1].copy()


FAMILY = Family(apple_tasting, "K", lambda size="2": apple_tasting(int(size)), AppleTasting)
