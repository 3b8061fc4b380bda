"""Seeing that a plain matrix is one of the named families."""

from collections.abc import Iterator

import numpy as np

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


def recognise(graph: FeedbackGraph) -> FeedbackGraph | None:
    """The named family with exactly these entries, or None; a named family is itself.

    >>> recognise(FeedbackGraph([[1, 0, 0], [1, 1, 0], [1, 1, 1]]))
    inventory(n_actions=3)
    """
    if graph.family != "edges":
        return graph
    return next((family for family in _candidates(graph) if family == graph), None)


def _candidates(graph: FeedbackGraph) -> Iterator[FeedbackGraph]:
    size = graph.n_actions
    yield from (bandit(size), full_information(size), inventory(size), posted_price(size))
    if size > 1:
        yield cops_and_robbers(size)
    degrees = graph.structure.in_degrees()
    looped = np.flatnonzero(graph.structure.self_loops())
    if looped.size == 1:
        yield apple_tasting(size, revealing_action=int(looped[0]))
    sizes = _runs(degrees.tolist())
    if sizes is not None:
        yield disjoint_cliques(sizes)


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
