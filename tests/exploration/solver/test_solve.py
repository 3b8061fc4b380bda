import dataclasses
import re

import numpy as np
import pytest
import scipy.sparse

import graphcb
from graphcb import FeedbackGraph, Status, graphs
from graphcb.exploration import closed_form_probabilities


def relative_gap(solution, gamma):
    return solution.gap * gamma / (1.0 + solution.value * gamma)


@pytest.mark.parametrize("gamma", [1e-3, 1.0, 1e3, 1e8])
@pytest.mark.parametrize(
    "graph",
    [
        graphs.bandit(6),
        graphs.full_information(6),
        graphs.cops_and_robbers(6),
        graphs.apple_tasting(6, revealing_action=3),
        graphs.inventory(6),
        graphs.posted_price(6),
        graphs.disjoint_cliques([2, 1, 3]),
    ],
    ids=repr,
)
def test_a_family_and_its_matrix_have_the_same_optimum(graph, gamma):
    losses = np.array([0.3, 0.1, 0.9, 0.4, 0.1 + 1e-9, 0.7])
    by_rule = graphcb.solve_dec(losses, graph, gamma)
    by_matrix = graphcb.solve_dec(losses, FeedbackGraph(graph.matrix), gamma)
    by_list = graphcb.solve_dec(losses, FeedbackGraph(scipy.sparse.csr_array(graph.matrix)), gamma)
    for solution in (by_rule, by_matrix, by_list):
        assert solution.is_certified
        assert relative_gap(solution, gamma) <= 1e-6
        assert solution.probabilities.min() >= 0.0
        assert solution.probabilities.sum() == pytest.approx(1.0, abs=1e-14)
        assert solution.value == pytest.approx(by_rule.value, rel=3e-6, abs=3e-6 / gamma)
        assert solution.value == pytest.approx(
            graphcb.dec(solution.probabilities, losses, graph, gamma), rel=1e-7, abs=1e-7 / gamma
        )


def test_one_action():
    solution = graphcb.solve_dec([3.0], FeedbackGraph([[0.5]]), gamma=7.0)
    assert (solution.value, solution.gap, solution.steps) == (0.0, 0.0, 0)
    assert solution.probabilities.tolist() == [1.0]


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1.0, 1e12, 1e90])
def test_losses_of_any_scale(scale):
    graph = graphs.random_self_aware(20, 0.5, np.random.default_rng(0))
    losses = scale * np.random.default_rng(1).normal(size=20)
    solution = graphcb.solve_dec(losses, graph, gamma=100.0)
    assert solution.is_certified


@pytest.mark.parametrize(
    "graph", [graphs.bandit(4), graphs.inventory(4), graphs.cops_and_robbers(4)]
)
def test_losses_at_the_end_of_the_number_range_give_a_distribution(graph):
    losses = [1e308, -1e308, 0.0, 1e307]
    solution = graphcb.solve_dec(losses, graph, gamma=1e8)
    assert solution.probabilities.sum() == pytest.approx(1.0)
    assert solution.gap >= 0.0


def test_a_large_family_needs_no_matrix():
    losses = np.random.default_rng(0).random(200_000)
    for graph in (graphs.inventory(losses.size), graphs.cops_and_robbers(losses.size)):
        assert graphcb.solve_dec(losses, graph, gamma=1e4).is_certified


def test_too_few_steps_are_admitted():
    graph = graphs.random_self_aware(30, 0.2, np.random.default_rng(3))
    losses = np.random.default_rng(4).random(30)
    short = graphcb.solve_dec(losses, graph, gamma=1e4, max_steps=2)
    proper = graphcb.solve_dec(losses, graph, gamma=1e4)
    assert short.status is Status.NOT_CERTIFIED
    assert not short.is_certified
    assert short.steps <= 2
    assert short.probabilities.sum() == pytest.approx(1.0)
    assert short.value - short.gap <= proper.value


def test_a_smaller_tolerance_is_met():
    graph = graphs.random_self_aware(10, 0.5, np.random.default_rng(5))
    solution = graphcb.solve_dec(np.random.default_rng(6).random(10), graph, 50.0, tolerance=1e-9)
    assert relative_gap(solution, 50.0) <= 1e-9


def test_inputs_are_not_changed_and_the_answer_is_frozen():
    losses = np.array([0.5, 0.2, 0.9])
    graph = graphs.random_self_aware(3, 0.5, np.random.default_rng(0))
    solution = graphcb.solve_dec(losses, graph, gamma=10.0)
    assert losses.tolist() == [0.5, 0.2, 0.9]
    with pytest.raises(dataclasses.FrozenInstanceError):
        solution.value = 0.0
    losses.setflags(write=False)
    again = graphcb.solve_dec(losses, graph, gamma=10.0)
    assert again.probabilities.tolist() == solution.probabilities.tolist()


def test_status_explains_itself():
    assert str(graphcb.solve_dec([0.0, 1.0], graphs.bandit(2), 1.0).status) == (
        "the optimum in closed form, exact to rounding"
    )
    assert all(len(str(status)) > 20 for status in Status)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (([0.0, np.nan], graphs.bandit(2), 1.0), "`predicted_losses` must be finite, got nan"),
        (([np.inf, 0.0], graphs.bandit(2), 1.0), "`predicted_losses` must be finite, got inf"),
        (([0.0], graphs.bandit(2), 1.0), "must have shape (2,) to match the graph, got (1,)"),
        (
            ([[0.0, 1.0]], graphs.bandit(2), 1.0),
            "must have shape (2,) to match the graph, got (1, 2)",
        ),
        (([0.0, 1.0], graphs.bandit(2), 0.0), "`gamma` must be a positive finite number, got 0.0"),
        (([0.0, 1.0], graphs.bandit(2), -1.0), "`gamma` must be a positive finite number"),
        (([0.0, 1.0], graphs.bandit(2), np.inf), "`gamma` must be a positive finite number"),
        (
            ([0.0, 1.0], FeedbackGraph([[1, 0], [1, 0]]), 1.0),
            "`graph` must be observable to solve for the DEC, but no action reveals action 1",
        ),
    ],
)
def test_bad_input_gets_a_clear_error(arguments, text):
    with pytest.raises(ValueError, match=re.escape(text)):
        graphcb.solve_dec(*arguments)


def test_bad_options_get_a_clear_error():
    with pytest.raises(ValueError, match="`tolerance` must be between 0 and 1, got 0"):
        graphcb.solve_dec([0.0, 1.0], graphs.bandit(2), 1.0, tolerance=0.0)
    with pytest.raises(ValueError, match="`max_steps` must be at least 1, got 0"):
        graphcb.solve_dec([0.0, 1.0], graphs.bandit(2), 1.0, max_steps=0)


@pytest.mark.parametrize("size", [60, 150])
@pytest.mark.parametrize("kind", ["cycle", "weak"])
def test_sparse_graphs_with_gaps_of_every_size(size, kind):
    # Held-out programs of this kind once stalled where the system was built from the edges.
    for seed in range(6):
        rng = np.random.default_rng([size, seed])
        matrix = np.roll(np.eye(size), 1, axis=1)
        if kind == "weak":
            matrix = (rng.random((size, size)) < 0.1).astype(float)
            matrix[rng.integers(0, size // 4, size), np.arange(size)] = 1.0
        losses = 2.0 ** -rng.permutation(60)[np.arange(size) % 60]
        solution = graphcb.solve_dec(losses, FeedbackGraph(matrix), 10.0 ** rng.uniform(4, 8))
        assert solution.is_certified
        assert solution.steps <= 100


@pytest.mark.parametrize(
    "graph",
    [graphs.bandit(5), graphs.full_information(5), graphs.apple_tasting(5, revealing_action=3)],
    ids=repr,
)
def test_a_plain_matrix_of_a_family_is_solved_exactly_too(graph):
    losses = np.random.default_rng(0).random(5)
    known = graphcb.solve_dec(losses, graph, 20.0)
    plain = graphcb.solve_dec(losses, FeedbackGraph(graph.matrix), 20.0)
    assert known.status is plain.status is Status.EXACT
    np.testing.assert_array_equal(known.probabilities, plain.probabilities)
    assert (known.value, known.gap, known.steps) == (plain.value, plain.gap, plain.steps)


@pytest.mark.parametrize("array", [np.eye(3), np.eye(3).tolist()], ids=["array", "list"])
def test_an_array_is_no_graph(array):
    what = r"an array of shape \(3, 3\); use graphcb.FeedbackGraph\(array\)"
    text = f"`graph` must be a FeedbackGraph, got {what if hasattr(array, 'shape') else 'list'}"
    with pytest.raises(TypeError, match=text):
        graphcb.solve_dec([0.0, 0.1, 0.2], array, 1.0)
    with pytest.raises(TypeError, match=text):
        graphcb.dec([0.0, 0.1, 0.9], [0.0, 0.1, 0.2], array, 1.0)
    with pytest.raises(TypeError, match=text):
        closed_form_probabilities([0.0, 0.1, 0.2], array, 1.0)
