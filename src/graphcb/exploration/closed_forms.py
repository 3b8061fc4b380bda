"""Distributions the paper writes down: predicted losses and gamma in, probabilities out.

Each is a formula for one family and trusts its input; `exploration.choice` checks and chooses.
`f` are predicted losses (K,), the paper's f-hat; gaps are taken from the best action.
"""

import numpy as np
from numpy.typing import NDArray

from graphcb.compilation import compiled
from graphcb.exploration.solver.exact import solve_bandit, solve_full_information
from graphcb.graphs import FeedbackGraph

Floats = NDArray[np.float64]


@compiled
def inverse_gap_weighting(f: Floats, gamma: float) -> Floats:
    """Bandit: p_a = 1 / (K + gamma (f_a - f_best)), the rest on the best action.

    This is the exploration of SquareCB; gamma * DEC is at most 2 (K - 1), twice the optimum.
    """
    best = np.argmin(f)
    p: Floats = 1.0 / (f.size + gamma * (f - f[best]))
    p[best] = 0.0
    p[best] = 1.0 - p.sum()
    return p


@compiled
def _scaled_gaps(f: Floats, gamma: float) -> Floats:
    """gamma * (f - min f), cut where it would overflow."""
    best = f.min()
    gaps = np.empty(f.size)
    for a in range(f.size):
        gaps[a] = min(2.0 * gamma * (0.5 * f[a] - 0.5 * best), 1e140)
    return gaps


@compiled
def exact_inverse_gap_weighting(f: Floats, gamma: float) -> Floats:
    """Bandit, exactly: p_a = 1 / (x + gamma (f_a - f_best)) with the x that makes it sum to 1.

    The optimum of the convex program; gamma * DEC is K - 1.
    """
    p = np.empty(f.size)
    solve_bandit(_scaled_gaps(f, gamma), p)
    return p


@compiled
def water_filling(f: Floats, gamma: float) -> Floats:
    """Full information, exactly: p_a = max(0, x - gamma (f_a - f_best)) / 2, summing to 1.

    The optimum of the convex program: all on the best action once it leads by gamma * gap >= 2.
    """
    p = np.empty(f.size)
    solve_full_information(_scaled_gaps(f, gamma), p)
    return p


@compiled
def follow_the_best(f: Floats, gamma: float) -> Floats:
    """Play the best action; `gamma` does not matter. What a greedy agent does.

    Under full information gamma * DEC is at most 2.
    """
    p = np.zeros(f.size)
    p[np.argmin(f)] = 1.0
    return p


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


@compiled
def taste(f: Floats, gamma: float, revealing_action: int) -> Floats:
    """Apple tasting, two actions: reveal if that looks best, else with 2 / (4 + gamma * gap)."""
    other = 1 - revealing_action
    gap = f[revealing_action] - f[other]
    p = np.zeros(2)
    p[revealing_action] = 1.0 if gap <= 0.0 else 2.0 / (4.0 + gamma * gap)
    p[other] = 1.0 - p[revealing_action]
    return p


@compiled
def cover_levels(f: Floats, gamma: float) -> Floats:
    """Inventory: each level is seen with probability at least 1 / (1 + gamma * gap).

    p_j = max(1 / (1 + gamma * gap_j) - sum_{i > j} p_i, 0): the steps of a running maximum
    taken from the top level down, so O(K).
    """
    best = f.min()
    p = np.empty(f.size)
    seen = 0.0
    for j in range(f.size - 1, -1, -1):
        wanted = max(seen, 1.0 / (1.0 + gamma * (f[j] - best)))
        p[j] = wanted - seen
        seen = wanted
    return p


@compiled
def cover_prices(f: Floats, gamma: float) -> Floats:
    """Posted price: `cover_levels` on the levels in reverse."""
    return cover_levels(f[::-1].copy(), gamma)[::-1].copy()


def independent_set(f: Floats, gamma: float, graph: FeedbackGraph) -> Floats:
    """Undirected self-aware: weight on actions that see everybody but not each other.

    Take the best action, drop what it reveals, take the best of the rest, and so on: a set I.
    Its members get 1 / (|I| + gamma * gap), the best of all the rest. The paper has the
    independence number in place of |I|; its proof holds with |I|, which needs no search.
    """
    seen = np.zeros(f.size, dtype=np.bool_)
    chosen: list[int] = []
    for a in np.argsort(f, kind="stable").tolist():
        if not seen[a]:
            chosen.append(a)
            seen |= graph.structure.row(a) > 0.0
    p = np.zeros(f.size)
    best, *others = chosen
    p[others] = 1.0 / (len(chosen) + gamma * (f[others] - f[best]))
    p[best] = 1.0 - p.sum()
    return p
