"""Seeing that a plain matrix is one of the named families."""

from collections.abc import Callable

import numpy as np

from graphcb.compilation import compiled
from graphcb.graphs.families import (
    apple_tasting,
    bandit,
    cops_and_robbers,
    disjoint_cliques,
    full_information,
    inventory,
    posted_price,
)
from graphcb.graphs.graph import FeedbackGraph
from graphcb.graphs.matrices import DenseMatrix
from graphcb.graphs.structure import Floats

EDGES_UP_TO = 10_000_000  # a sparse graph with more is taken as it is

_NONE, _BANDIT, _FULL, _COPS, _INVENTORY, _PRICE, _APPLE = range(7)
_BUILD: dict[int, Callable[[int], FeedbackGraph]] = {
    _BANDIT: bandit,
    _FULL: full_information,
    _COPS: cops_and_robbers,
    _INVENTORY: inventory,
    _PRICE: posted_price,
}


def recognise(graph: FeedbackGraph) -> FeedbackGraph | None:
    """The named family with exactly these entries, or None; a named family is itself.

    >>> recognise(FeedbackGraph([[1, 0, 0], [1, 1, 0], [1, 1, 1]]))
    inventory(n_actions=3)
    """
    if graph.family != "edges":
        return graph
    if isinstance(graph.structure, DenseMatrix):
        family, revealing_action = _spot(graph.structure.matrix)
        if family == _APPLE:
            return apple_tasting(graph.n_actions, revealing_action=revealing_action)
        if family != _NONE:
            return _BUILD[family](graph.n_actions)
        sizes = _runs(graph.structure.in_degrees().tolist())
        if sizes is None:
            return None
        cliques = disjoint_cliques(sizes)
        return cliques if cliques == graph else None
    return _recognise_by_degrees(graph) if graph.n_edges <= EDGES_UP_TO else None


def _recognise_by_degrees(graph: FeedbackGraph) -> FeedbackGraph | None:
    """Compared with the few families that could have these in-degrees, without a matrix."""
    size, degrees = graph.n_actions, graph.structure.in_degrees()
    looped = np.flatnonzero(graph.structure.self_loops())
    candidates = [bandit(size), full_information(size), inventory(size), posted_price(size)]
    if size > 1:
        candidates.append(cops_and_robbers(size))
    if looped.size == 1:
        candidates.append(apple_tasting(size, revealing_action=int(looped[0])))
    sizes = _runs(degrees.tolist())
    if sizes is not None:
        candidates.append(disjoint_cliques(sizes))
    return next((family for family in candidates if family == graph), None)


@compiled
def _spot(matrix: Floats) -> tuple[int, int]:
    """Which family of one rule this is, and the revealing action if it has one; one early pass."""
    n = len(matrix)
    bandit = full = lower = upper = True
    cops = n > 1
    revealing, apple = -1, True
    for i in range(n):
        row = matrix[i]
        if row[(i + 1) % n] == 1.0 and revealing < 0:
            revealing = i
        for j in range(n):
            entry = row[j]
            if entry != 0.0 and entry != 1.0:
                return _NONE, -1
            seen = entry == 1.0
            bandit &= seen == (i == j)
            full &= seen
            cops &= seen == (i != j)
            lower &= seen == (j <= i)
            upper &= seen == (j >= i)
            apple &= seen == (i == revealing)
        if not (bandit or full or cops or lower or upper or apple):
            return _NONE, -1
    for kind, holds in (
        (_BANDIT, bandit),
        (_FULL, full),
        (_COPS, cops),
        (_INVENTORY, lower),
        (_PRICE, upper),
        (_APPLE, apple and revealing >= 0),
    ):
        if holds:
            return kind, revealing
    return _NONE, -1


def _runs(degrees: list[int]) -> list[int] | None:
    """Sizes of consecutive groups in which every degree is the size of its group."""
    sizes = []
    start = 0
    while start < len(degrees):
        size = degrees[start]
        if size == 0 or degrees[start : start + size] != [size] * size:
            return None
        sizes.append(size)
        start += size
    return sizes
