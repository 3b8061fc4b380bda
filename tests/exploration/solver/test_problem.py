import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphcb
from graphcb import FeedbackGraph, graphs


def dec_by_definition(p, f, matrix, gamma):
    """max over a of p @ f - f_a + |p - e_a|^2 / (gamma W), as Theorem 3.6 has it."""
    reveal = matrix.T @ p
    values = []
    for a in range(len(f)):
        distance = (p - np.eye(len(f))[a]) ** 2
        values.append(p @ f - f[a] + (distance / reveal).sum() / gamma)
    return max(values)


@given(st.integers(0, 10_000), st.integers(2, 6), st.floats(0.01, 1e4))
def test_agrees_with_the_definition(seed, size, gamma):
    rng = np.random.default_rng(seed)
    matrix = rng.random((size, size))
    p, f = rng.dirichlet(np.ones(size)), rng.normal(size=size)
    assert graphcb.dec(p, f, FeedbackGraph(matrix), gamma) == pytest.approx(
        dec_by_definition(p, f, matrix, gamma), rel=1e-9
    )


def test_exact_values():
    uniform = np.full(4, 0.25)
    assert graphcb.dec(uniform, np.zeros(4), graphs.bandit(4), 8.0) == pytest.approx(3 / 8)
    assert graphcb.dec([1.0, 0.0], [0.0, 1.0], graphs.full_information(2), 2.0) == 0.0


def test_orientation_matters():
    # Playing action 0 shows both; playing action 1 shows nothing.
    apple = graphs.apple_tasting()
    assert graphcb.dec([1.0, 0.0], [1.0, 0.0], apple, 10.0) < float("inf")
    assert graphcb.dec([0.0, 1.0], [1.0, 0.0], apple, 10.0) == float("inf")
    mirrored = FeedbackGraph(apple.matrix.T)  # action 1 is never seen
    assert graphcb.dec([0.5, 0.5], [1.0, 0.0], mirrored, 10.0) == float("inf")


def test_infinite_where_an_action_cannot_be_seen():
    assert graphcb.dec([1.0, 0.0], [0.0, 1.0], graphs.bandit(2), 1.0) == float("inf")


def test_a_single_action_is_never_regretted():
    assert graphcb.dec([1.0], [3.0], graphs.bandit(1), 5.0) == 0.0


def test_a_shift_of_the_losses_changes_nothing():
    p, f = np.array([0.2, 0.3, 0.5]), np.array([0.1, 0.4, 0.0])
    graph = graphs.inventory(3)
    assert graphcb.dec(p, f + 7.0, graph, 9.0) == pytest.approx(graphcb.dec(p, f, graph, 9.0))


def test_bad_input():
    graph = graphs.bandit(2)
    with pytest.raises(ValueError, match="`probabilities` must sum to 1"):
        graphcb.dec([0.5, 0.6], [0.0, 0.0], graph, 1.0)
    with pytest.raises(ValueError, match="`predicted_losses` must be finite"):
        graphcb.dec([0.5, 0.5], [0.0, float("inf")], graph, 1.0)
    with pytest.raises(ValueError, match="`gamma` must be a positive finite number"):
        graphcb.dec([0.5, 0.5], [0.0, 0.0], graph, 0.0)
