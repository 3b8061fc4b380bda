"""Seeing that a plain matrix is one of the families."""

from graphcb.graphs.graph import FeedbackGraph
from graphcb.graphs.registry import find_structure
from graphcb.graphs.structure import Structure


def recognise(graph: FeedbackGraph) -> Structure:
    """The structure of the family with exactly these entries, else the graph's own; remembered.

    Everything that depends on what is known of a graph asks here.

    >>> recognise(FeedbackGraph([[1, 0, 0], [1, 1, 0], [1, 1, 1]]))
    Inventory(n_actions=3)
    """
    return graph.remember("recognised", _recognise)


def _recognise(graph: FeedbackGraph) -> Structure:
    runs = graph.structure.runs() if graph.family == "edges" else None
    return (None if runs is None else find_structure(runs)) or graph.structure
