"""Every structure, found by reflection, says the same as its own dense matrix."""

import importlib
import pickle
import pkgutil

import numpy as np
import pytest
import scipy.sparse

import graphcb.graphs
from graphcb import FeedbackGraph, graphs
from graphcb.graphs.structure import Structure


def structure_classes() -> list[type]:
    found = {}
    for info in pkgutil.walk_packages(graphcb.graphs.__path__, "graphcb.graphs."):
        module = importlib.import_module(info.name)
        for value in vars(module).values():
            if isinstance(value, type) and Structure in value.__mro__ and hasattr(value, "family"):
                found[value.__name__] = value
    return list(found.values())


rng = np.random.default_rng(7)
stochastic = rng.random((6, 6)) * (rng.random((6, 6)) < 0.6)
EXAMPLES = {
    "AppleTasting": [
        graphs.apple_tasting(),
        graphs.apple_tasting(5, revealing_action=3),
        graphs.apple_tasting(1),
    ],
    "Bandit": [graphs.bandit(1), graphs.bandit(5)],
    "CopsAndRobbers": [graphs.cops_and_robbers(2), graphs.cops_and_robbers(6)],
    "DenseMatrix": [
        FeedbackGraph(stochastic),
        graphs.random_self_aware(6, 0.4, np.random.default_rng(1)),
        graphs.undirected_self_aware(5, [(0, 1), (3, 1)]),
        FeedbackGraph([[0.0]]),
    ],
    "DisjointCliques": [graphs.disjoint_cliques([1, 3, 2]), graphs.disjoint_cliques([4])],
    "FullInformation": [graphs.full_information(1), graphs.full_information(5)],
    "Inventory": [graphs.inventory(1), graphs.inventory(6)],
    "PostedPrice": [graphs.posted_price(1), graphs.posted_price(6)],
    "SparseMatrix": [
        FeedbackGraph(scipy.sparse.csr_array(stochastic)),
        FeedbackGraph(scipy.sparse.coo_array(np.tri(5))),
    ],
    "Threshold": [
        graphs.threshold([0.9, 0.6, 0.5, 0.1], np.ones(4)),
        graphs.threshold(np.ones(5), [0.0, 0.1, 0.5, 0.5, 1.0]),
        graphs.threshold([0.75, 0.5, 0.25], [0.25, 0.5, 0.75]),
        graphs.threshold([1.0, 0.0, 1.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0, 0.0, 1.0]),
        graphs.threshold([0.0, 0.5, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.5, 0.0]),
        graphs.threshold(np.zeros(4), np.zeros(4)),
        graphs.threshold([0.5], [0.25]),
        graphs.threshold([0.0, 0.5], [0.5, 0.0]),
    ],
}
CASES = [
    pytest.param(graph, id=f"{name}-{i}")
    for name, examples in EXAMPLES.items()
    for i, graph in enumerate(examples)
]


def test_every_structure_has_examples_here():
    assert {c.__name__ for c in structure_classes()} == set(EXAMPLES)
    for name, examples in EXAMPLES.items():
        assert {type(graph.structure).__name__ for graph in examples} == {name}


@pytest.mark.parametrize("graph", CASES)
def test_answers_agree_with_the_dense_matrix(graph):
    dense, n = graph.structure.dense(), graph.n_actions
    assert isinstance(graph.structure, Structure)
    assert dense.shape == (n, n)
    np.testing.assert_array_equal(graph.matrix, dense)
    for action in range(n):
        np.testing.assert_array_equal(graph.row(action), dense[action])
    np.testing.assert_array_equal(graph.structure.self_loops(), dense.diagonal() > 0)
    np.testing.assert_array_equal(graph.structure.in_degrees(), (dense > 0).sum(axis=0))
    assert graph.is_deterministic == bool(np.isin(dense, (0.0, 1.0)).all())
    assert graph.is_undirected == bool((dense == dense.T).all())
    assert graph.is_self_aware == bool((dense.diagonal() > 0).all())
    assert graph.n_edges == np.count_nonzero(dense)


@pytest.mark.parametrize("graph", CASES)
def test_reveal_probabilities_are_the_transposed_product(graph):
    p = np.random.default_rng(3).dirichlet(np.ones(graph.n_actions))
    kept = p.copy()
    np.testing.assert_allclose(
        graph.reveal_probabilities(p), graph.matrix.T @ p, rtol=1e-14, atol=1e-300
    )
    np.testing.assert_array_equal(p, kept)
    corner = np.zeros(graph.n_actions)
    corner[-1] = 1.0
    np.testing.assert_array_equal(graph.reveal_probabilities(corner), graph.matrix[-1])


@pytest.mark.parametrize("graph", CASES)
def test_subgraphs_agree_with_the_dense_matrix(graph):
    order = np.random.default_rng(5)
    for _ in range(20):
        size = order.integers(1, graph.n_actions + 1)
        chosen = order.permutation(graph.n_actions)[:size]
        for actions in (chosen, np.sort(chosen), np.sort(chosen)[::-1]):
            part = graph.subgraph(actions)
            np.testing.assert_array_equal(part.matrix, graph.matrix[np.ix_(actions, actions)])


@pytest.mark.parametrize("graph", CASES)
def test_numbers_known_from_structure_are_those_of_the_plain_matrix(graph):
    plain = FeedbackGraph(graph.matrix)
    assert graph.independence_number() == plain.independence_number()
    assert graph.self_looped_independence_number() == plain.self_looped_independence_number()
    assert graph.independence_bounds().lower <= graph.independence_number()
    assert graph.independence_bounds().upper >= graph.independence_number()
    if graph.observability != "unobservable":
        assert graph.weak_domination_number() == plain.weak_domination_number()
        bounds = graph.weak_domination_bounds()
        assert bounds.lower <= graph.weak_domination_number() <= bounds.upper


@pytest.mark.parametrize("graph", CASES)
def test_is_a_value(graph):
    plain = FeedbackGraph(graph.matrix)
    sparse = FeedbackGraph(scipy.sparse.csr_array(graph.matrix))
    pickled = pickle.loads(pickle.dumps(graph))
    read = FeedbackGraph.from_json(graph.to_json())
    for other in (plain, sparse, pickled, read):
        assert other == graph
        assert graph == other
        assert hash(other) == hash(graph)
        assert not other.matrix.flags.writeable
    assert pickled.family == graph.family
    assert repr(pickled) == repr(graph)


@pytest.mark.parametrize("graph", CASES)
def test_differs_from_a_graph_with_one_entry_changed(graph):
    for i in range(graph.n_actions):
        for j in range(graph.n_actions):
            changed = graph.matrix.copy()
            changed[i, j] = 0.5 if changed[i, j] != 0.5 else 0.25
            assert FeedbackGraph(changed) != graph
