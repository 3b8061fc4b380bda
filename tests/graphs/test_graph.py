import networkx
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from graphcb import FeedbackGraph, graphs
from graphcb.graphs import Bounds

APPLE = [[1, 1], [0, 0]]  # action 0 reveals both, action 1 nothing

matrices = st.integers(1, 6).flatmap(
    lambda n: st_numpy.arrays(
        np.float64, (n, n), elements=st.sampled_from([0.0, 1.0, 0.5, 1e-6, 0.3])
    )
)


# Orientation: row = played, column = revealed ------------------------------------------------


def test_rows_are_played_and_columns_revealed():
    graph = FeedbackGraph(APPLE)
    np.testing.assert_array_equal(graph.reveal_probabilities([1.0, 0.0]), [1.0, 1.0])
    np.testing.assert_array_equal(graph.reveal_probabilities([0.0, 1.0]), [0.0, 0.0])
    rng = np.random.default_rng(0)
    assert graph.draw_revealed(0, rng).tolist() == [0, 1]
    assert graph.draw_revealed(1, rng).tolist() == []


def test_a_stock_level_reveals_the_lower_ones_and_a_price_the_higher_ones():
    rng = np.random.default_rng(0)
    assert graphs.inventory(4).draw_revealed(2, rng).tolist() == [0, 1, 2]
    assert graphs.posted_price(4).draw_revealed(2, rng).tolist() == [2, 3]


def test_edges_and_networkx_point_from_played_to_revealed():
    expected = [[0, 1, 0.5], [0, 0, 0], [0, 0, 0]]
    assert FeedbackGraph.from_edges(3, [(0, 1), (0, 2, 0.5)]) == FeedbackGraph(expected)
    network = networkx.DiGraph()
    network.add_nodes_from("abc")
    network.add_edge("a", "b")
    network.add_edge("a", "c", probability=0.5)
    assert FeedbackGraph.from_networkx(network) == FeedbackGraph(expected)


def test_numbered_networkx_nodes_keep_their_numbers():
    network = networkx.DiGraph([(2, 0), (1, 1)])  # nodes come in the order 2, 0, 1
    assert FeedbackGraph.from_networkx(network) == FeedbackGraph.from_edges(3, [(2, 0), (1, 1)])


def test_an_undirected_networkx_edge_counts_both_ways():
    assert FeedbackGraph.from_networkx(networkx.path_graph(3)) == FeedbackGraph(
        [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    )


def test_many_edges_are_kept_sparse():
    graph = FeedbackGraph.from_edges(100_000, [(i, (i + 1) % 100_000) for i in range(100_000)])
    p = np.zeros(100_000)
    p[3] = 1.0
    assert np.flatnonzero(graph.reveal_probabilities(p)).tolist() == [4]
    assert graph.observability == "weak"
    assert graph.draw_revealed(99_999, np.random.default_rng(0)).tolist() == [0]
    with pytest.raises(MemoryError, match=r"100,000 actions would take 80 GB; .*take a subgraph"):
        graph.independence_number()


# Observability -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("matrix", "kind", "weak", "unseen"),
    [
        (np.eye(3), "strong", [], []),
        (1 - np.eye(3), "strong", [], []),
        (APPLE, "strong", [], []),
        ([[1, 1, 1], [0, 0, 0], [0, 0, 0]], "weak", [1, 2], []),
        ([[0, 1, 0], [0, 0, 1], [1, 0, 0]], "weak", [0, 1, 2], []),
        ([[1, 0], [1, 0]], "unobservable", [], [1]),
        ([[0]], "unobservable", [], [0]),
        ([[1]], "strong", [], []),
        ([[0, 1e-6], [1e-6, 0]], "strong", [], []),
        (
            [[0, 0.5, 0.5, 0], [0, 1, 1, 0], [0.1, 0, 0, 0], [0, 0, 0, 0]],
            "unobservable",
            [0, 2],
            [3],
        ),
    ],
)
def test_observability_and_the_actions_that_are_the_reason(matrix, kind, weak, unseen):
    for graph in (FeedbackGraph(matrix), FeedbackGraph(scipy.sparse.csr_array(np.array(matrix)))):
        assert graph.observability == kind
        assert graph.weakly_observable_actions.tolist() == weak
        assert graph.unobservable_actions.tolist() == unseen


@given(matrices)
def test_observability_follows_the_definition(matrix):
    n = len(matrix)
    graph = FeedbackGraph(matrix)
    strong, seen = [], []
    for j in range(n):
        revealing = {i for i in range(n) if matrix[i, j] > 0}
        seen.append(bool(revealing))
        strong.append(bool(revealing) and (j in revealing or revealing == set(range(n)) - {j}))
    expected = "unobservable" if not all(seen) else "strong" if all(strong) else "weak"
    assert graph.observability == expected


# What is seen --------------------------------------------------------------------------------


def test_chances_are_tossed_each_time_and_at_their_rate():
    graph = FeedbackGraph([[1.0, 0.25, 0.0], [0, 1, 0], [0, 0, 1]])
    rng = np.random.default_rng(4)
    draws = [graph.draw_revealed(0, rng).tolist() for _ in range(4000)]
    assert {tuple(d) for d in draws} == {(0,), (0, 1)}
    assert abs(sum(len(d) == 2 for d in draws) / 4000 - 0.25) < 0.03


def test_dense_and_sparse_storage_toss_the_same_coins():
    matrix = np.random.default_rng(0).random((5, 5))
    dense, sparse = FeedbackGraph(matrix), FeedbackGraph(scipy.sparse.csr_array(matrix))
    one, two = np.random.default_rng(9), np.random.default_rng(9)
    for action in [0, 3, 3, 1] * 5:
        np.testing.assert_array_equal(
            dense.draw_revealed(action, one), sparse.draw_revealed(action, two)
        )


def test_certain_edges_use_no_randomness():
    rng = np.random.default_rng(0)
    graphs.full_information(3).draw_revealed(1, rng)
    assert rng.random() == np.random.default_rng(0).random()


def test_reveal_probabilities_keep_their_digits_next_to_one():
    p = np.array([1.0 - 1e-13, 1e-13, 0.0])
    np.testing.assert_array_equal(
        graphs.cops_and_robbers(3).reveal_probabilities(p), [1e-13, 1.0 - 1e-13, 1.0]
    )


def test_a_million_actions_need_no_matrix():
    p = np.full(1_000_000, 1e-6)
    for graph in (
        graphs.inventory(1_000_000),
        graphs.posted_price(1_000_000),
        graphs.bandit(1_000_000),
        graphs.full_information(1_000_000),
        graphs.cops_and_robbers(1_000_000),
        graphs.apple_tasting(1_000_000),
        graphs.disjoint_cliques([500_000, 500_000]),
    ):
        assert graph.reveal_probabilities(p).shape == (1_000_000,)
        assert graph.observability in ("strong", "weak")
        assert graph.independence_number() >= 1
        assert FeedbackGraph.from_json(graph.to_json()) == graph
        with pytest.raises(MemoryError, match=r"1,000,000 actions would take 8,000 GB; use"):
            _ = graph.matrix


# Value semantics -----------------------------------------------------------------------------


def test_the_caller_keeps_its_array_and_cannot_change_ours():
    mine = np.eye(2)
    graph = FeedbackGraph(mine)
    mine[0, 1] = 0.5
    assert graph.matrix[0, 1] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        graph.matrix[0, 1] = 0.5
    mine = scipy.sparse.csr_array(np.eye(2))
    graph = FeedbackGraph(mine)
    mine.data[:] = 0.5
    assert graph.matrix[0, 0] == 1.0


def test_cannot_be_changed():
    graph = graphs.bandit(2)
    with pytest.raises(AttributeError, match="immutable: `n_actions` cannot be set"):
        graph.n_actions = 3
    with pytest.raises(AttributeError, match="immutable: `_structure` cannot be deleted"):
        del graph._structure


def test_named_families_equal_their_plain_matrix_and_work_as_keys():
    names = {graphs.bandit(3): "bandit", graphs.inventory(3): "inventory"}
    assert names[FeedbackGraph(np.eye(3))] == "bandit"
    assert names[FeedbackGraph(np.tri(3))] == "inventory"
    assert FeedbackGraph(np.tri(3).T) not in names
    assert graphs.bandit(3) != graphs.bandit(4)
    assert graphs.bandit(3) != "bandit"
    assert FeedbackGraph([[-0.0, 1.0], [1.0, 0.0]]) == graphs.cops_and_robbers(2)
    assert hash(FeedbackGraph([[-0.0, 1.0], [1.0, 0.0]])) == hash(graphs.cops_and_robbers(2))


@given(matrices)
def test_json_keeps_every_bit(matrix):
    graph = FeedbackGraph(matrix)
    np.testing.assert_array_equal(FeedbackGraph.from_json(graph.to_json()).matrix, matrix)


# Numbers -------------------------------------------------------------------------------------


def test_numbers_count_positive_chances_as_edges():
    graph = FeedbackGraph([[1, 1e-6, 0], [0, 1, 0], [0, 0, 0.5]])
    assert graph.independence_number() == 2
    assert graph.weak_domination_number() == 0


def test_numbers_of_a_graph_with_some_self_loops():
    # 0 and 1 reveal themselves and are not connected; 2 and 3 are revealed by 0 and 1.
    graph = FeedbackGraph([[1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0]])
    assert graph.independence_number() == 2
    assert graph.self_looped_independence_number() == 2
    assert graph.weak_domination_number() == 2
    assert graph.self_looped_independence_bounds() == Bounds(2, 2)


def test_no_self_loop_no_self_looped_independence():
    graph = FeedbackGraph(1.0 - np.eye(3))
    assert graph.self_looped_independence_number() == 0
    assert graph.self_looped_independence_bounds() == Bounds(0, 0)


def test_a_time_limit_brings_an_int_or_honest_bounds():
    graph = graphs.random_self_aware(120, 0.05, np.random.default_rng(0))
    answer = graph.independence_number(time_limit=0.05)
    assert isinstance(answer, int | Bounds)
    if isinstance(answer, Bounds):
        assert 1 <= answer.lower < answer.upper <= 120
    assert graphs.bandit(7).independence_number(time_limit=0.001) == 7


# Bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("matrix", "text"),
    [
        (np.ones((2, 3)), r"`matrix` must be square .*got shape \(2, 3\)"),
        (np.ones(3), r"`matrix` must be square .*got shape \(3,\)"),
        (np.ones((0, 0)), r"`matrix` must be square with at least one action"),
        ([[1, 0], [0, 1.5]], r"entries in \[0, 1\], got 1.5 at \[1, 1\]; entry \[i, j\] is the"),
        ([[1, -0.1], [0, 1]], r"got -0.1 at \[0, 1\]"),
        ([[1, 0], [float("nan"), 1]], r"got nan at \[1, 0\]"),
        ([[1, 0], [0, float("inf")]], r"got inf at \[1, 1\]"),
    ],
)
def test_a_matrix_that_is_no_graph(matrix, text):
    with pytest.raises(ValueError, match=text):
        FeedbackGraph(matrix)
    if np.ndim(matrix) == 2 and np.size(matrix):
        with pytest.raises(ValueError, match=text):
            FeedbackGraph(scipy.sparse.csr_array(np.array(matrix)))


@pytest.mark.parametrize("matrix", [[["a", "b"], ["c", "d"]], [[1, 0], [1]], None, [[1j]]])
def test_a_matrix_that_is_no_array_of_numbers(matrix):
    with pytest.raises((TypeError, ValueError), match="`matrix` must be"):
        FeedbackGraph(matrix)


@pytest.mark.parametrize("action", [3, -1])
def test_an_action_out_of_range(action):
    graph = graphs.bandit(3)
    text = rf"`action` must be between 0 and 2 \(the graph has 3 actions.*got {action}"
    with pytest.raises(IndexError, match=text):
        graph.row(action)
    with pytest.raises(IndexError, match=text):
        graph.draw_revealed(action, np.random.default_rng(0))


def test_an_action_that_is_no_whole_number():
    with pytest.raises(TypeError, match=r"`action` must be a whole number, got 1.5"):
        graphs.bandit(3).row(1.5)


@pytest.mark.parametrize(
    ("probabilities", "text"),
    [
        ([0.5, 0.4], r"must sum to 1 \(within 1e-06\), got a sum of 0.9; divide by the sum"),
        ([0.5, 0.5, 0.0], r"must have shape \(2,\) to match the graph, got \(3,\)"),
        ([1.5, -0.5], r"must be non-negative numbers, got -0.5 at index 1"),
        ([float("nan"), 1.0], r"must be non-negative numbers, got nan at index 0"),
        ([float("inf"), 0.0], r"must sum to 1 .*got a sum of inf"),
    ],
)
def test_probabilities_that_are_no_distribution(probabilities, text):
    with pytest.raises(ValueError, match="`probabilities` " + text):
        graphs.bandit(2).reveal_probabilities(probabilities)


@pytest.mark.parametrize(
    ("actions", "error", "text"),
    [
        ([0, 3], IndexError, r"`actions` must be between 0 and 2, got 3 at position 1"),
        ([0, -1], IndexError, r"got -1 at position 1"),
        ([2, 0, 2], ValueError, r"must be distinct, got 2 again at position 2 \(first at 0\)"),
        ([], ValueError, r"must be a non-empty list of action indices, got shape \(0,\)"),
        ([True, False, True], TypeError, r"turn a mask into indices with np.flatnonzero"),
    ],
)
def test_a_subgraph_of_impossible_actions(actions, error, text):
    with pytest.raises(error, match=text):
        graphs.inventory(3).subgraph(actions)


def test_an_unobservable_graph_has_no_weak_domination_number():
    graph = FeedbackGraph([[1, 0, 0], [1, 0, 0], [0, 1, 0]])
    text = (
        r"`graph` must be observable to have a weak domination number, but no action reveals "
        r"action 2 \(1 such of 3\); give column 2 of the matrix a positive entry"
    )
    with pytest.raises(ValueError, match=text):
        graph.weak_domination_number()
    with pytest.raises(ValueError, match=text):
        graph.weak_domination_bounds()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "`text` must be JSON"),
        ("[[0, 1]]", "must be a JSON object such as .* got a list"),
        ('{"family": "star"}', "\"family\" must be one of edges, apple_tasting, .*got 'star'"),
        ('{"family": "bandit"}', "the arguments of 'bandit' do not fit"),
        ('{"family": "bandit", "n_actions": 0}', "`n_actions` must be at least 1, got 0"),
        ('{"n_actions": 2, "edges": [[0]]}', r"got \[0\] at position 0"),
    ],
)
def test_json_that_is_no_graph(text, problem):
    with pytest.raises(ValueError, match=problem):
        FeedbackGraph.from_json(text)


@pytest.mark.parametrize(
    ("edges", "error", "text"),
    [
        ([(0, 1), (0, 2)], IndexError, r"`edges\[1\]\[1\]` must be between 0 and 1"),
        ([(-1, 1)], IndexError, r"`edges\[0\]\[0\]` must be between 0 and 1"),
        ([(0, 1), (0, 1)], ValueError, r"each pair once, got \(0, 1\) again at position 1"),
        ([(0, 1, 2.0)], ValueError, r"`edges\[0\]` must have a probability in \[0, 1\], got 2.0"),
        ([(0, 1, "x")], ValueError, r"`edges\[0\]` must have a probability in \[0, 1\], got 'x'"),
        ([(0, 1, 1, 1)], ValueError, r"must hold \(played, revealed\) or"),
        ([7], ValueError, r"must hold \(played, revealed\) or .*got 7 at position 0"),
    ],
)
def test_edges_that_are_none(edges, error, text):
    with pytest.raises(error, match=text):
        FeedbackGraph.from_edges(2, edges)


def test_networkx_multigraphs_are_refused():
    with pytest.raises(TypeError, match="at most one edge per pair"):
        FeedbackGraph.from_networkx(networkx.MultiDiGraph([(0, 1), (0, 1)]))
