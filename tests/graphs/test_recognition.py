import numpy as np
import pytest
import scipy.sparse

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
    assert repr(recognise(FeedbackGraph(scipy.sparse.csr_array(graph.matrix)))) == repr(graph)
    changed = graph.matrix.copy()
    changed[0, 1] = 0.5
    assert recognise(FeedbackGraph(changed)) is None
    assert recognise(FeedbackGraph(scipy.sparse.csr_array(changed))) is None


def test_a_graph_without_edges_is_none_of_them():
    assert recognise(FeedbackGraph(np.zeros((3, 3)))) is None


def test_large_sparse_graphs_are_recognised_without_a_matrix():
    identity = scipy.sparse.eye_array(50_000, format="csr")
    assert repr(recognise(FeedbackGraph(identity))) == "bandit(n_actions=50000)"
    ring = FeedbackGraph.from_edges(50_000, [(i, (i + 1) % 50_000) for i in range(50_000)])
    assert recognise(ring) is None
