"""Each action reveals itself alone: the classic bandit."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from graphcb.checks import as_count
from graphcb.compilation import compiled
from graphcb.graphs.formulas import (
    ANY_GAP,
    OPERATIONS,
    ROUNDING,
    ClosedForm,
    ExactSolution,
    Outcome,
    record,
    scale,
)
from graphcb.graphs.graph import FeedbackGraph
from graphcb.graphs.registry import Family
from graphcb.graphs.runs import RunStructure, straight_runs
from graphcb.graphs.structure import Floats, Indices, Numbers

MAX_PASSES = 100
LARGE = 1e4  # a gap so large that the value notices when p is off by some roundings
BECAUSE = "each action reveals itself alone"


def bandit(n_actions: int) -> FeedbackGraph:
    """The identity matrix: playing i reveals i and nothing else.

    >>> bandit(3).independence_number()
    3
    """
    return FeedbackGraph.from_structure(Bandit(as_count("n_actions", n_actions)))


@dataclass(frozen=True)
class Bandit(RunStructure):
    """Structure of the bandit graph."""

    n_actions: int
    family: ClassVar[str] = "bandit"

    def runs(self) -> Indices:
        return straight_runs(self.n_actions, 0, 1, 1, 1)

    def row(self, action: int) -> Floats:
        row = np.zeros(self.n_actions)
        row[action] = 1.0
        return row

    def in_degrees(self) -> Indices:
        return np.ones(self.n_actions, dtype=np.intp)

    def reveal_probabilities(self, probabilities: Floats) -> Floats:
        """An action is seen exactly when it is played."""
        return probabilities.copy()

    def subgraph(self, actions: Indices) -> "Bandit":
        return Bandit(actions.size)

    def numbers(self) -> Numbers:
        return Numbers(self.n_actions, 0, self.n_actions)

    def closed_form(self) -> ClosedForm:
        return ClosedForm(
            "exact_inverse_gap_weighting", BECAUSE, exact_inverse_gap_weighting, within=1.0
        )

    def exact_solution(self) -> ExactSolution:
        return ExactSolution(BECAUSE, _solve_rows)


@compiled
def exact_inverse_gap_weighting(f: Floats, gamma: float) -> Floats:
    """Bandit, exactly: p_a = 1 / (x + gamma (f_a - f_best)) with the x that makes it sum to 1.

    The optimum of the convex program; gamma * DEC is K - 1.
    """
    ft, p = f.copy(), np.empty(f.size)
    scale(ft, gamma, ANY_GAP)
    solve_bandit(ft, p)
    return p


@compiled
def _solve_rows(
    losses: Floats, gammas: Floats, first: int, stop: int, p: Floats, numbers: Floats
) -> None:
    for row in range(first, stop):
        cut = scale(losses[row], gammas[row], ANY_GAP)
        record(solve_bandit(losses[row], p[row]), cut, numbers[row])


@compiled
def solve_bandit(ft: Floats, p: Floats) -> Outcome:
    """p_a = 1 / (x + ft_a) with x the root that makes it a distribution; gamma * DEC is K - 1.

    Newton from x = 1, where the sum is at least 1: it is convex and falling, so the steps rise
    to the root. With q = p the constraints are 1 / p_a - 2 - ft_a = x - 2, all equal, and the
    gradient is ft_i + 1 - 1 / p_i = 1 - x, all equal: the bound K - 1 is met, whatever the
    gaps. The answer's own bound takes no difference of large numbers: every p but the head's is
    rounded up, so that 1 / p_a - ft_a is at most x, and the head has ft = 0. Where the gap is
    large, by as much as the sum of all p may be off.
    """
    n = ft.size
    x = 1.0
    passes = 0
    while passes < MAX_PASSES:
        passes += 1
        total = slope = 0.0
        for a in range(n):
            chance = 1.0 / (x + ft[a])
            total += chance
            slope += chance * chance
        # Newton on 1 / total, which is nearly linear: few steps whatever the gaps.
        step = (total - 1.0) * total / slope
        x += step
        if not step > 4.0 * ROUNDING * x:
            break
    head = 0
    error = float(n + OPERATIONS)
    rest = play = near = 0.0
    for a in range(n):
        if ft[a] < ft[head]:
            head = a
        if ft[a] < LARGE:
            near = max(near, ft[a])
    for a in range(n):
        if a != head:
            p[a] = (1.0 + (4.0 if ft[a] < LARGE else error) * ROUNDING) / (x + ft[a])
            rest += p[a]
            play += p[a] * ft[a]
    p[head] = 1.0 - rest
    # value = p @ ft + sum p + max_a (1 / p_a - 2 - ft_a)
    value = play + max(x, 1.0 / p[head]) - 1.0
    upper = value + error * ROUNDING * (n + value + near)
    return Outcome(value, upper, n - 1.0, passes, False, n)


FAMILY = Family(bandit, "K", lambda size: bandit(int(size)), Bandit)
