import numpy as np
import pytest

from graphcb import FeedbackGraph, graphs
from graphcb.graphs.recognition import recognise


@pytest.mark.parametrize(
    "graph",
    [
        graphs.bandit(4),
        graphs.full_information(4),
        graphs.cops_and_robbers(4),
        graphs.inventory(4),
        graphs.posted_price(4),
        graphs.apple_tasting(4, revealing_action=2),
        graphs.disjoint_cliques([2, 1, 3]),
    ],
)
def test_a_plain_matrix_is_recognised_and_a_changed_one_is_not(graph):
    assert recognise(graph) is graph
    assert repr(recognise(FeedbackGraph(graph.matrix))) == repr(graph)
    changed = graph.matrix.copy()
    changed[0, 1] = 0.5
    assert recognise(FeedbackGraph(changed)) is None


def test_a_graph_without_edges_is_none_of_them():
    assert recognise(FeedbackGraph(np.zeros((3, 3)))) is None
