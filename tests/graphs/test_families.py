import numpy as np
import pytest

from graphcb import graphs


def test_apple_tasting_can_have_its_revealing_action_anywhere():
    expected = np.zeros((3, 3))
    expected[2] = 1.0
    np.testing.assert_array_equal(graphs.apple_tasting(3, revealing_action=2).matrix, expected)
    assert graphs.apple_tasting(2).observability == "strong"
    assert graphs.apple_tasting(3).observability == "weak"
    assert graphs.apple_tasting(3, revealing_action=2).weakly_observable_actions.tolist() == [0, 1]


def test_subgraphs_keep_what_they_know():
    assert graphs.inventory(9).subgraph([1, 4, 8]).family == "inventory"
    assert graphs.inventory(9).subgraph([8, 4, 1]).family == "posted_price"
    assert graphs.inventory(9).subgraph([4, 1, 8]).family == "edges"
    assert graphs.cops_and_robbers(9).subgraph([4, 1]).family == "cops_and_robbers"
    assert graphs.cops_and_robbers(9).subgraph([4]).observability == "unobservable"
    assert graphs.apple_tasting(4).subgraph([2, 0]).family == "apple_tasting"
    assert graphs.apple_tasting(4).subgraph([2, 3]).observability == "unobservable"
    assert graphs.disjoint_cliques([2, 3]).subgraph([4, 3, 0]).structure.sizes == (2, 1)
    assert graphs.disjoint_cliques([2, 3]).subgraph([0, 4, 1]).family == "edges"


def test_undirected_self_aware_takes_a_pair_in_either_order_and_twice():
    graph = graphs.undirected_self_aware(3, [(2, 0), (0, 2)])
    np.testing.assert_array_equal(graph.matrix, [[1, 0, 1], [0, 1, 0], [1, 0, 1]])
    assert graph.is_undirected
    assert graph.is_self_aware


def test_random_self_aware_has_its_density_and_its_seed():
    graph = graphs.random_self_aware(200, 0.75, np.random.default_rng(0))
    off_diagonal = graph.matrix[~np.eye(200, dtype=bool)]
    assert abs(off_diagonal.mean() - 0.75) < 0.01
    assert graph == graphs.random_self_aware(200, 0.75, np.random.default_rng(0))
    assert graph != graphs.random_self_aware(200, 0.75, np.random.default_rng(1))
    assert not graph.is_undirected


def test_random_self_aware_at_the_ends():
    rng = np.random.default_rng(0)
    assert graphs.random_self_aware(4, 0.0, rng) == graphs.bandit(4)
    assert graphs.random_self_aware(4, 1.0, rng) == graphs.full_information(4)


@pytest.mark.parametrize(
    "family",
    [graphs.bandit, graphs.full_information, graphs.inventory, graphs.posted_price],
)
def test_sizes_that_are_none(family):
    with pytest.raises(ValueError, match="`n_actions` must be at least 1, got 0"):
        family(0)
    with pytest.raises(TypeError, match=r"`n_actions` must be a whole number, got 2\.0"):
        family(2.0)


def test_other_impossible_arguments():
    with pytest.raises(ValueError, match="`n_actions` must be at least 2, got 1"):
        graphs.cops_and_robbers(1)
    with pytest.raises(IndexError, match="`revealing_action` must be between 0 and 1"):
        graphs.apple_tasting(revealing_action=2)
    with pytest.raises(ValueError, match="`sizes` must name at least one group"):
        graphs.disjoint_cliques([])
    with pytest.raises(ValueError, match=r"`sizes\[1\]` must be at least 1, got 0"):
        graphs.disjoint_cliques([1, 0])
    with pytest.raises(ValueError, match=r"`density` must be a probability in \[0, 1\], got 1.5"):
        graphs.random_self_aware(3, 1.5, np.random.default_rng(0))
    with pytest.raises(IndexError, match=r"`edges\[0\]\[1\]` must be between 0 and 2"):
        graphs.undirected_self_aware(3, [(0, 3)])
