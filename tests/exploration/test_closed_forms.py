"""Closed forms: distributions with the constants that were measured, at every gamma."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import graphcb
from graphcb import FeedbackGraph, graphs
from graphcb.exploration import closed_form_for, closed_form_probabilities
from graphcb.exploration.closed_forms import independent_set, inverse_gap_weighting

losses = st.lists(
    st.sampled_from([0.0, 1e-12, 1e-3, 0.1, 0.5, 0.9, 1.0, -1.0]), min_size=2, max_size=8
)
gammas = st.floats(1e-3, 1e8)


def unrecognised(graph):
    """The same matrix up to one rounding, so that the convex program is solved."""
    matrix = graph.matrix.copy()
    matrix[matrix > 0.0] = 1.0 - 2.0**-53
    return FeedbackGraph(matrix)


def scaled_dec(f, graph, gamma):
    p = closed_form_probabilities(f, graph, gamma)
    assert (p >= 0.0).all()
    assert abs(p.sum() - 1.0) <= 1e-12
    return gamma * graphcb.dec(p, f, graph, gamma)


@given(losses, gammas)
def test_bandit_is_at_its_optimum_and_squarecb_within_twice_of_it(f, gamma):
    size, graph = len(f), graphs.bandit(len(f))  # the optimum is K - 1
    assert scaled_dec(f, graph, gamma) == pytest.approx(size - 1, rel=1e-6)
    p = inverse_gap_weighting(np.array(f), gamma)
    assert gamma * graphcb.dec(p, f, graph, gamma) <= 2.0 * (size - 1) * (1 + 1e-6)


@given(losses, gammas)
def test_full_information_is_at_its_optimum(f, gamma):
    graph = graphs.full_information(len(f))
    solution = graphcb.solve_dec(f, unrecognised(graph), gamma)
    assert scaled_dec(f, graph, gamma) <= gamma * solution.value + 1e-6
    assert scaled_dec(f, graph, gamma) <= 1.0 + 1e-9


@given(losses, gammas)
def test_the_constant_of_cops_and_robbers_does_not_grow_with_k(f, gamma):
    rounding = 1e-15 * gamma  # differences of numbers as large as gamma
    assert scaled_dec(f, graphs.cops_and_robbers(len(f)), gamma) <= 2.0 + 1e-9 + rounding


@given(st.tuples(st.floats(-1, 1), st.floats(-1, 1)), gammas, st.integers(0, 1))
def test_apple_tasting_constant(f, gamma, revealing_action):
    graph = graphs.apple_tasting(revealing_action=revealing_action)
    assert scaled_dec(f, graph, gamma) <= 2.0 * (1 + 1e-9)


@given(losses, gammas, st.randoms(use_true_random=False))
def test_undirected_self_aware_is_within_twice_the_greedy_set(f, gamma, random):
    size = len(f)
    edges = [(i, j) for i in range(size) for j in range(i) if random.random() < 0.4]
    graph = graphs.undirected_self_aware(size, edges)
    assume(closed_form_for(graph).name == "independent_set")
    p = closed_form_probabilities(f, graph, gamma)
    chosen = np.flatnonzero(p)
    assert graph.subgraph(chosen) == graphs.bandit(chosen.size)  # independent
    assert (graph.reveal_probabilities(p) > 0).all()  # and every action is seen
    assert scaled_dec(f, graph, gamma) <= 2.0 * chosen.size * (1 + 1e-9)


@given(losses, gammas, st.randoms(use_true_random=False))
def test_the_form_of_cliques_is_that_of_undirected_graphs(f, gamma, random):
    sizes = [1]
    for _ in f[1:]:
        sizes = [*sizes, 1] if random.random() < 0.5 else [*sizes[:-1], sizes[-1] + 1]
    graph = graphs.disjoint_cliques(sizes)
    np.testing.assert_allclose(
        closed_form_probabilities(f, graph, gamma),
        independent_set(np.array(f), gamma, graph),
        rtol=0.0,
        atol=1e-15,
    )


def test_disjoint_cliques_need_no_matrix():
    graph = graphs.disjoint_cliques([2, 3])
    p = closed_form_probabilities([0.5, 0.0, 0.3, 0.2, 0.9], graph, gamma=10.0)
    np.testing.assert_allclose(p, [0, 0.75, 0, 0.25, 0])


@pytest.mark.parametrize(
    ("n", "expected"), [(4, 2.52), (8, 4.41), (12, 6.40), (16, 8.40), (20, 10.40)]
)
def test_inventory_on_doubling_gaps_grows_with_their_number(n, expected):
    """Half the logarithm of gamma, and not the constant that Proposition 3 claims."""
    f = np.array([0.0, *(2.0**i for i in range(n))])
    assert scaled_dec(f, graphs.inventory(n + 1), 1.0) == pytest.approx(expected, abs=0.005)


@given(losses, gammas)
def test_inventory_is_the_formula_of_the_paper(f, gamma):
    p = closed_form_probabilities(f, graphs.inventory(len(f)), gamma)
    for j in reversed(range(len(f))):
        above = p[j + 1 :].sum()
        wanted = 1.0 / (1.0 + gamma * (f[j] - min(f)))
        assert p[j] == pytest.approx(max(wanted - above, 0.0), abs=1e-12)


@given(losses, gammas)
def test_posted_price_is_the_mirror_of_inventory(f, gamma):
    p = closed_form_probabilities(f, graphs.posted_price(len(f)), gamma)
    mirror = closed_form_probabilities(f[::-1], graphs.inventory(len(f)), gamma)
    np.testing.assert_array_equal(p, mirror[::-1])


def test_values_by_hand():
    f = [0.5, 0.0, 0.25]
    np.testing.assert_allclose(
        inverse_gap_weighting(np.array(f), 4.0), [1 / 5, 1 - 1 / 5 - 1 / 4, 1 / 4]
    )
    x = 1 / closed_form_probabilities(f, graphs.bandit(3), 4.0) - [2.0, 0.0, 1.0]
    np.testing.assert_allclose(x, x[0])  # the same root for all
    np.testing.assert_allclose(
        closed_form_probabilities(f, graphs.full_information(3), 1.0),
        [0.5 * (2.75 / 3 - 0.5), 0.5 * 2.75 / 3, 0.5 * (2.75 / 3 - 0.25)],
    )
    np.testing.assert_allclose(
        closed_form_probabilities(f, graphs.cops_and_robbers(3), 4.0), [0, 1 - 1 / 3, 1 / 3]
    )
    np.testing.assert_array_equal(
        closed_form_probabilities(f, graphs.full_information(3), 8.0), [0, 1, 0]
    )
    np.testing.assert_allclose(
        closed_form_probabilities([0.5, 0.0], graphs.apple_tasting(), 4.0), [1 / 3, 2 / 3]
    )
    np.testing.assert_allclose(
        closed_form_probabilities([0.0, 0.5], graphs.apple_tasting(revealing_action=1), 4.0),
        [2 / 3, 1 / 3],
    )
    np.testing.assert_allclose(
        closed_form_probabilities(f, graphs.inventory(3), 4.0), [0, 1 / 2, 1 / 2]
    )


def test_which_form_a_graph_has():
    names = {
        "exact_inverse_gap_weighting": graphs.bandit(3),
        "water_filling": graphs.full_information(3),
        "two_best": graphs.cops_and_robbers(3),
        "taste": graphs.apple_tasting(),
        "cover_levels": graphs.inventory(3),
        "cover_prices": graphs.posted_price(3),
        "best_of_groups": graphs.disjoint_cliques([2, 1]),
        "independent_set": graphs.undirected_self_aware(3, [(0, 1), (1, 2)]),
    }
    for name, graph in names.items():
        assert closed_form_for(graph).name == name
        assert closed_form_for(FeedbackGraph(graph.matrix)).name == name  # recognised
    assert closed_form_for(graphs.apple_tasting(3)) is None
    assert closed_form_for(FeedbackGraph([[1, 0.5], [0.5, 1]])) is None  # proven for certain edges
    assert closed_form_for(FeedbackGraph([[1, 1, 0], [0, 1, 0], [0, 0, 1]])) is None


@pytest.mark.parametrize("size", [1, 4])
def test_one_action_and_huge_losses(size):
    for family in (graphs.bandit, graphs.full_information, graphs.inventory, graphs.posted_price):
        f = np.linspace(-1e300, 1e300, size)
        p = closed_form_probabilities(f, family(size), 1e8)
        assert p[0] == pytest.approx(1.0)


def test_rows_at_once():
    rows = np.random.default_rng(0).random((5, 3))
    path = graphs.undirected_self_aware(3, [(0, 1), (1, 2)])
    for graph in (graphs.bandit(3), graphs.inventory(3), path):
        together = closed_form_probabilities(rows, graph, 7.0)
        assert together.shape == (5, 3)
        for row, p in zip(rows, together, strict=True):
            np.testing.assert_array_equal(p, closed_form_probabilities(row, graph, 7.0))
    assert closed_form_probabilities(np.empty((0, 3)), graphs.bandit(3), 7.0).shape == (0, 3)
    with pytest.raises(ValueError, match=r"`predicted_losses` must have shape \(3,\)"):
        closed_form_probabilities(np.empty((2, 4)), graphs.bandit(3), 7.0)


def test_bad_input():
    graph = graphs.bandit(2)
    with pytest.raises(ValueError, match=r"`predicted_losses` must have shape \(2,\)"):
        closed_form_probabilities([0.0], graph, 1.0)
    with pytest.raises(ValueError, match="`predicted_losses` must be finite, got nan at index 1"):
        closed_form_probabilities([0.0, float("nan")], graph, 1.0)
    for gamma in (0.0, -1.0, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="`gamma` must be a positive finite number, got"):
            closed_form_probabilities([0.0, 1.0], graph, gamma)
    with pytest.raises(ValueError, match=r"`graph` must have a closed form, got apple_tasting"):
        closed_form_probabilities([0.0, 1.0, 2.0], graphs.apple_tasting(3), 1.0)
