import re

import numpy as np
import pytest

import graphcb
from graphcb import graphs
from graphcb.exploration import Status


@pytest.mark.parametrize("n_threads", [1, 2])
def test_same_answers_as_one_by_one(n_threads):
    rng = np.random.default_rng(0)
    losses = rng.random((200, 9))
    gammas = 10.0 ** rng.uniform(-2, 7, 200)
    graph = graphs.random_self_aware(9, 0.5, rng)
    batch = graphcb.solve_dec_batch(losses, graph, gammas, n_threads=n_threads)
    assert len(batch) == 200
    for row, solution in enumerate(batch):
        alone = graphcb.solve_dec(losses[row], graph, gammas[row])
        assert solution.probabilities.tolist() == alone.probabilities.tolist()
        assert (solution.value, solution.gap) == (alone.value, alone.gap)
        assert (solution.steps, solution.status) == (alone.steps, alone.status)


def test_one_graph_per_row():
    rng = np.random.default_rng(1)
    losses = rng.random((3, 4))
    different = [graphs.bandit(4), graphs.inventory(4), graphs.full_information(4)]
    batch = graphcb.solve_dec_batch(losses, different, 20.0)
    for row, graph in enumerate(different):
        alone = graphcb.solve_dec(losses[row], graph, 20.0)
        assert batch.probabilities[row].tolist() == alone.probabilities.tolist()
        assert batch.status[row] is alone.status


def test_no_rows():
    assert len(graphcb.solve_dec_batch(np.empty((0, 3)), graphs.bandit(3), 1.0)) == 0


@pytest.mark.parametrize(
    ("losses", "graph", "gamma", "text"),
    [
        (np.zeros(3), graphs.bandit(3), 1.0, "must have shape (rows, actions), got (3,)"),
        (
            np.zeros((2, 3)),
            graphs.bandit(4),
            1.0,
            "must have shape (2, 4) to match graph 0, got (2, 3)",
        ),
        (np.zeros((2, 3)), [graphs.bandit(3)], 1.0, "one graph or one for each of 2 rows, got 1"),
        (
            np.zeros((2, 3)),
            graphs.bandit(3),
            [1.0, 1.0, 1.0],
            "must be a number or have shape (2,), got (3,)",
        ),
        (
            np.zeros((2, 3)),
            graphs.bandit(3),
            [1.0, 0.0],
            "must be positive and finite, got 0.0 at row 1",
        ),
        (
            np.array([[0.0], [np.nan]]),
            graphs.bandit(1),
            1.0,
            "must be finite, got nan at row 1, action 0",
        ),
    ],
)
def test_bad_input_gets_a_clear_error(losses, graph, gamma, text):
    with pytest.raises(ValueError, match=re.escape(text)):
        graphcb.solve_dec_batch(losses, graph, gamma)


def test_one_dense_graph_per_row_gives_the_same_answers_on_any_number_of_threads():
    rng = np.random.default_rng(5)
    many = [graphs.random_self_aware(6, 0.4, rng) for _ in range(150)]
    losses, gamma = rng.random((150, 6)), 10.0 ** rng.uniform(0, 6, 150)
    for n_threads in (1, 2):
        batch = graphcb.solve_dec_batch(losses, many, gamma, n_threads=n_threads)
        for row, graph in enumerate(many):
            alone = graphcb.solve_dec(losses[row], graph, gamma[row])
            np.testing.assert_array_equal(batch[row].probabilities, alone.probabilities)
            assert (batch[row].value, batch[row].gap) == (alone.value, alone.gap)
            assert batch[row].status is alone.status


@pytest.mark.parametrize(
    "graph", [graphs.bandit(5), graphs.apple_tasting(5), graphs.inventory(5)], ids=repr
)
def test_same_answers_where_gaps_are_too_large_for_the_solver(graph):
    rng = np.random.default_rng(6)
    losses = rng.normal(size=(40, 5)) * 10.0 ** rng.uniform(80, 300, (40, 1))
    batch = graphcb.solve_dec_batch(losses, graph, 1e4)
    for row, solution in enumerate(batch):
        alone = graphcb.solve_dec(losses[row], graph, 1e4)
        assert solution.probabilities.tolist() == alone.probabilities.tolist()
        assert (solution.value, solution.gap) == (alone.value, alone.gap)
        assert (solution.steps, solution.status) == (alone.steps, alone.status)
        assert solution.is_certified == (solution.gap * 1e4 <= 1e-6 * (1 + solution.value * 1e4))


def test_among_dense_graphs_one_of_a_family_is_solved_as_alone():
    rng = np.random.default_rng(6)
    for n in (3, 6):
        many = [graphs.random_self_aware(n, 0.5, rng) for _ in range(40)]
        many[7] = graphcb.FeedbackGraph(np.eye(n))
        losses = rng.random((40, n))
        batch = graphcb.solve_dec_batch(losses, many, 20.0)
        assert batch.status[7] is Status.EXACT
        for row, graph in enumerate(many):
            alone = graphcb.solve_dec(losses[row], graph, 20.0)
            np.testing.assert_array_equal(batch[row].probabilities, alone.probabilities)
            assert batch[row].status is alone.status


def test_an_array_is_no_graph():
    text = r"`graph` must be a FeedbackGraph, got an array of shape \(3, 3\); use graphcb.Feedback"
    with pytest.raises(TypeError, match=text):
        graphcb.solve_dec_batch(np.zeros((3, 3)), np.eye(3), 1.0)
    with pytest.raises(TypeError, match=r"`graph\[1\]` must be a FeedbackGraph, got an array of"):
        graphcb.solve_dec_batch(np.zeros((2, 3)), [graphs.bandit(3), np.eye(3)], 1.0)
