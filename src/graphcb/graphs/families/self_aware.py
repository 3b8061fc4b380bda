"""Graphs in which every action reveals at least itself, drawn or given by their edges."""

from collections.abc import Iterable

import numpy as np

from graphcb.checks import as_action, as_count
from graphcb.graphs.graph import FeedbackGraph
from graphcb.graphs.registry import Family


def undirected_self_aware(n_actions: int, edges: Iterable[tuple[int, int]]) -> FeedbackGraph:
    """Each pair in `edges` reveals each other, and every action reveals itself.

    A pair may be named in either order, once or twice; self-loops need not be named.

    >>> undirected_self_aware(3, [(0, 1)]).matrix
    array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 1.]])
    """
    size = as_count("n_actions", n_actions)
    both = {(i, i) for i in range(size)}
    for position, (first, second) in enumerate(edges):
        i = as_action(first, size, name=f"edges[{position}][0]")
        j = as_action(second, size, name=f"edges[{position}][1]")
        both |= {(i, j), (j, i)}
    return FeedbackGraph.from_edges(size, both)


def random_self_aware(n_actions: int, density: float, rng: np.random.Generator) -> FeedbackGraph:
    """Every action reveals itself, and each other action independently with chance `density`.

    The coins are tossed here, once: the graph is deterministic and directed. The paper's
    experiment has `density` 3/4.

    >>> graph = random_self_aware(4, 0.75, np.random.default_rng(0))
    >>> bool(graph.matrix.diagonal().all()), graph.is_deterministic
    (True, True)
    """
    size = as_count("n_actions", n_actions)
    if not 0.0 <= density <= 1.0:
        raise ValueError(f"`density` must be a probability in [0, 1], got {density}")
    matrix = (rng.random((size, size)) < density).astype(np.float64)
    np.fill_diagonal(matrix, 1.0)
    return FeedbackGraph(matrix)


def _from_text(size: str, density: str, seed: str = "0") -> FeedbackGraph:
    return random_self_aware(int(size), float(density), np.random.default_rng(int(seed)))


RANDOM = Family(random_self_aware, "K,DENSITY[,SEED]", _from_text)
