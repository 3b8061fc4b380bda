"""Closed forms that belong to no family: predicted losses and gamma in, probabilities out.

Those of a family are in its file in `graphs.families`. `f` are predicted losses (K,), the
paper's f-hat; gaps are taken from the best action. Formulas trust their input; `choice` checks.
"""

import numpy as np
from numpy.typing import NDArray

from graphcb.compilation import compiled
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
def follow_the_best(f: Floats, gamma: float) -> Floats:
    """Play the best action; `gamma` does not matter. What a greedy agent does.

    Under full information gamma * DEC is at most 2.
    """
    p = np.zeros(f.size)
    p[np.argmin(f)] = 1.0
    return p


def independent_set(f: Floats, gamma: float, graph: FeedbackGraph) -> Floats:
    """Undirected self-aware: weight on actions that see all others but not each other.

    Take the best action, drop what it reveals, take the best of the rest, and so on: a set I.
    Its members get 1 / (|I| + gamma * gap), the best of all the rest. The paper has the
    independence number in place of |I|; its proof holds with |I|, which needs no search.

    gamma * DEC is at most 2 |I|, but the optimum can be far below: one action that reveals
    all others may be worth more than the whole set.
    """
    seen = np.zeros(f.size, dtype=np.bool_)
    chosen: list[int] = []
    for a in np.argsort(f, kind="stable").tolist():
        if not seen[a]:
            chosen.append(a)
            seen |= graph.structure.row(a) > 0.0
    p = np.zeros(f.size)
    best, *others = chosen
    with np.errstate(over="ignore"):  # 1 / inf is the right answer
        p[others] = 1.0 / (len(chosen) + gamma * (f[others] - f[best]))
    p[best] = 1.0 - p.sum()
    return p
