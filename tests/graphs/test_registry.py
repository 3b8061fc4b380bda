import numpy as np
import pytest
import scipy.sparse

from graphcb import FeedbackGraph, graphs
from graphcb.graphs.registry import recognise

FAMILIES = [
    graphs.bandit(1),
    graphs.bandit(4),
    graphs.full_information(4),
    graphs.cops_and_robbers(2),
    graphs.cops_and_robbers(4),
    graphs.inventory(4),
    graphs.posted_price(4),
    graphs.apple_tasting(2),
    graphs.apple_tasting(4, revealing_action=2),
    graphs.disjoint_cliques([2, 1, 3]),
    graphs.inventory(30),  # larger than what is kept
]


@pytest.mark.parametrize("graph", FAMILIES, ids=repr)
def test_a_plain_matrix_is_recognised_and_a_changed_one_is_not(graph):
    assert recognise(graph) is graph.structure
    assert recognise(FeedbackGraph(graph.matrix)) == graph.structure
    assert recognise(FeedbackGraph(scipy.sparse.csr_array(graph.matrix))) == graph.structure
    changed = graph.matrix.copy()
    changed[0, -1] = 0.5
    for other in (FeedbackGraph(changed), FeedbackGraph(scipy.sparse.csr_array(changed))):
        assert recognise(other) is other.structure


def test_a_graph_without_edges_is_none_of_them():
    assert recognise(FeedbackGraph(np.zeros((3, 3)))).family == "edges"


def test_large_sparse_graphs_are_recognised_without_a_matrix():
    identity = scipy.sparse.eye_array(50_000, format="csr")
    assert recognise(FeedbackGraph(identity)) == graphs.bandit(50_000).structure
    ring = FeedbackGraph.from_edges(50_000, [(i, (i + 1) % 50_000) for i in range(50_000)])
    assert recognise(ring) is ring.structure


def brute_force_run(row):
    """The run of a row as `Structure.runs` has it, or None."""
    n = len(row)
    if not row.any():
        return 0, 0
    if row.all():
        return 0, n
    starts = [j for j in range(n) if row[j] and not row[j - 1]]
    if len(starts) > 1:
        return None
    return starts[0], (starts[0] + int(row.sum()) - 1) % n + 1


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_runs_of_every_row_dense_and_sparse(n):
    for bits in range(2**n):
        row = np.array([bits >> j & 1 for j in range(n)], dtype=float)
        matrix = np.tile(row, (n, 1))
        expected = brute_force_run(row)
        for graph in (FeedbackGraph(matrix), FeedbackGraph(scipy.sparse.csr_array(matrix))):
            runs = graph.structure.runs()
            if expected is None:
                assert runs is None
            else:
                assert runs.tolist() == [[expected[0]] * n, [expected[1]] * n]


@pytest.mark.parametrize("graph", FAMILIES, ids=repr)
def test_a_family_gives_its_runs_as_they_are_found(graph):
    plain = FeedbackGraph(graph.matrix)
    np.testing.assert_array_equal(plain.structure.runs(), graph.structure.runs())


@pytest.mark.parametrize("graph", FAMILIES, ids=repr)
def test_runs_of_the_columns_are_those_of_the_transpose(graph):
    columns = graph.structure.column_runs()
    if columns is not None:
        transposed = FeedbackGraph(graph.matrix.T)
        np.testing.assert_array_equal(transposed.structure.runs(), columns)


def test_chances_are_no_runs():
    matrix = np.array([[1.0, 0.5], [0.0, 1.0]])
    assert FeedbackGraph(matrix).structure.runs() is None
    assert FeedbackGraph(scipy.sparse.csr_array(matrix)).structure.runs() is None
    assert FeedbackGraph(np.round(matrix)).structure.runs().shape == (2, 2)
