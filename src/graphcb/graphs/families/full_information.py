"""Every action reveals every loss."""

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

MAX_PASSES = 1000  # each drops gaps above the mean, so that gaps of every size take many
BECAUSE = "every action reveals everything"


def full_information(n_actions: int) -> FeedbackGraph:
    """The matrix of ones: whatever is played, all losses are seen.

    >>> full_information(3).independence_number()
    1
    """
    return FeedbackGraph.from_structure(FullInformation(as_count("n_actions", n_actions)))


@dataclass(frozen=True)
class FullInformation(RunStructure):
    """Structure of the full-information graph."""

    n_actions: int
    family: ClassVar[str] = "full_information"

    def runs(self) -> Indices:
        return straight_runs(self.n_actions, 0, 0, self.n_actions, 0)

    def in_degrees(self) -> Indices:
        return np.full(self.n_actions, self.n_actions)

    def reveal_probabilities(self, probabilities: Floats) -> Floats:
        return np.full(self.n_actions, probabilities.sum())

    def is_symmetric(self) -> bool:
        return True

    def subgraph(self, actions: Indices) -> "FullInformation":
        return FullInformation(actions.size)

    def numbers(self) -> Numbers:
        return Numbers(1, 0, 1)

    def closed_form(self) -> ClosedForm:
        return ClosedForm("water_filling", BECAUSE, water_filling, within=1.0)

    def exact_solution(self) -> ExactSolution:
        return ExactSolution(BECAUSE, _solve_rows)


@compiled
def water_filling(f: Floats, gamma: float) -> Floats:
    """Full information, exactly: p_a = max(0, x - gamma (f_a - f_best)) / 2, summing to 1.

    The optimum of the convex program: all on the best action once it leads by gamma * gap >= 2.
    """
    ft, p = f.copy(), np.empty(f.size)
    scale(ft, gamma, ANY_GAP)
    solve_full_information(ft, p)
    return p


@compiled
def _solve_rows(
    losses: Floats, gammas: Floats, first: int, stop: int, p: Floats, numbers: Floats
) -> None:
    for row in range(first, stop):
        scale(losses[row], gammas[row], ANY_GAP)  # a gap above 2 does not matter, cut or not
        record(solve_full_information(losses[row], p[row]), False, numbers[row])


@compiled
def solve_full_information(ft: Floats, p: Floats) -> Outcome:
    """p_a = max(0, x - ft_a) / 2 with x the root that makes it a distribution.

    W = 1, so the constraint 1 - 2 p_a - ft_a is 1 - x on the support and lower elsewhere. With q
    uniform on the support the gradient ft_i + 2 (p_i - q_i) - sum_j N_j is the same there and
    higher elsewhere, which proves it.
    """
    n = ft.size
    passes = 1
    # The support is those below the root: shrink it until none in it is above.
    x = np.inf
    while passes < MAX_PASSES:
        passes += 1
        total, size = 0.0, 0
        for a in range(n):
            if ft[a] < x:
                total += ft[a]
                size += 1
        root = (2.0 + total) / size
        if root >= x:
            break
        x = root
    support = 0
    mass = 0.0
    for a in range(n):
        p[a] = 0.5 * max(0.0, x - ft[a])
        mass += p[a]
        support += p[a] > 0.0
    error = (n + OPERATIONS) * ROUNDING
    play = squares = spread = price = 0.0
    worst = -np.inf
    for a in range(n):
        p[a] /= mass
        q = 1.0 / support if p[a] > 0.0 else 0.0
        play += p[a] * ft[a]
        squares += p[a] * p[a]
        worst = max(worst, 1.0 - 2.0 * p[a] - ft[a])
        spread += (p[a] - q) * (p[a] - q) + q * (1.0 - q)
        price += 2.0 * q * (1.0 - p[a]) - q * ft[a]
    least = np.inf
    for a in range(n):
        q = 1.0 / support if p[a] > 0.0 else 0.0
        tilt = 2.0 * (p[a] - q)
        least = min(least, ft[a] + tilt - error * (ft[a] + abs(tilt)))
    value = play + squares + worst
    lower = price + least - spread - error * (6.0 + play + 2.0 * x)
    return Outcome(value, value + error * (2.0 + play + squares), lower, passes, False, support)


FAMILY = Family(full_information, "K", lambda size: full_information(int(size)), FullInformation)
