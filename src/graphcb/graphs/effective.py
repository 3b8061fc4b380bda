"""Graph numbers for edges that are there only sometimes.

The independence and weak domination numbers count an edge of any probability as if it were certain.
Let G_e be the edges with a probability of at least e, taken as certain. Under any p, an action is
revealed by G at least e times as often as by G_e, so

    DEC of G at gamma <= DEC of G_e at e * gamma,

and alpha(G_e) / e and d(G_e) / e take the places of alpha and d in the paper's theorems.
"""

from collections.abc import Callable

import numpy as np

from graphcb.graphs.numbers import greedy_independence, greedy_weak_domination
from graphcb.graphs.structure import Flags, Floats

MOST_THRESHOLDS = 64


def effective_independence(matrix: Floats) -> float:
    """The least alpha(G_e) / e found over e with G_e strongly observable, as an upper bound.

    >>> effective_independence(np.full((5, 5), 0.01))
    100.0
    """
    return _least(matrix, _is_strongly_observable, lambda e: greedy_independence(e).upper)


def effective_weak_domination(matrix: Floats) -> float:
    """The least d(G_e) / e found over e with G_e observable, as an upper bound.

    >>> effective_weak_domination(np.array([[1.0, 0.2, 0.1], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    10.0
    """
    return _least(matrix, lambda e: e.any(axis=0).all(), lambda e: greedy_weak_domination(e).upper)


def _least(
    matrix: Floats, is_usable: Callable[[Flags], np.bool_], number: Callable[[Flags], int]
) -> float:
    """The least number / e; any set of thresholds gives an upper bound, so not all are tried."""
    thresholds = np.unique(matrix[matrix > 0.0])
    if thresholds.size > MOST_THRESHOLDS:
        thresholds = np.quantile(thresholds, np.linspace(0, 1, MOST_THRESHOLDS), method="lower")
    least = np.inf
    for threshold in thresholds:
        edges = matrix >= threshold
        if not is_usable(edges):
            break  # fewer edges are left at the next one
        least = min(least, number(edges) / float(threshold))
    return float(least)


def _is_strongly_observable(edges: Flags) -> np.bool_:
    others = edges | np.eye(len(edges), dtype=bool)
    return (edges.diagonal() | (others.all(axis=0) & (len(edges) > 1))).all()
