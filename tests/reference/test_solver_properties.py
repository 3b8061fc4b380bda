"""What the optimum does when the program is changed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphcb
from graphcb import FeedbackGraph


def draw(seed, weak=False):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 16))
    matrix = (rng.random((n, n)) < rng.random()).astype(float)
    if not weak:
        np.fill_diagonal(matrix, 1.0)
    else:
        matrix[rng.integers(n)] = 1.0
    if seed % 3 == 0:
        matrix *= rng.uniform(0.01, 1.0, (n, n))
    return rng, rng.random(n), matrix, float(10.0 ** rng.uniform(-1, 6))


def same(first, second, gamma):
    """Two proven intervals for the same optimum overlap, and are small."""
    assert first.is_certified
    assert second.is_certified
    assert first.value - first.gap <= second.value * (1 + 1e-9) + 1e-12
    assert second.value - second.gap <= first.value * (1 + 1e-9) + 1e-12
    assert first.value * gamma == pytest.approx(second.value * gamma, rel=3e-6, abs=3e-6)


@given(st.integers(0, 10_000))
def test_permuting_the_actions_changes_nothing(seed):
    rng, losses, matrix, gamma = draw(seed)
    order = rng.permutation(losses.size)
    same(
        graphcb.solve_dec(losses, FeedbackGraph(matrix), gamma),
        graphcb.solve_dec(losses[order], FeedbackGraph(matrix[np.ix_(order, order)]), gamma),
        gamma,
    )


@given(st.integers(0, 10_000), st.floats(-100.0, 100.0))
def test_shifting_the_losses_changes_nothing(seed, shift):
    _, losses, matrix, gamma = draw(seed)
    graph = FeedbackGraph(matrix)
    moved = graphcb.solve_dec(np.round(losses, 6) + shift, graph, gamma)
    # A shift rounds the losses: compare with the gaps that are left.
    rounded = (np.round(losses, 6) + shift) - shift
    value = graphcb.solve_dec(rounded, graph, gamma).value
    assert moved.value * gamma == pytest.approx(value * gamma, rel=1e-5, abs=1e-5)


@given(st.integers(0, 10_000), st.sampled_from([2.0**-30, 0.25, 8.0, 2.0**40]))
def test_scaling_losses_against_gamma_changes_nothing(seed, factor):
    _, losses, matrix, gamma = draw(seed)
    graph = FeedbackGraph(matrix)
    plain = graphcb.solve_dec(losses, graph, gamma)
    scaled = graphcb.solve_dec(losses * factor, graph, gamma / factor)
    assert scaled.probabilities.tolist() == plain.probabilities.tolist()
    assert scaled.value == pytest.approx(plain.value * factor, rel=1e-12)


@given(st.integers(0, 10_000))
def test_an_edge_never_raises_the_optimum(seed):
    rng, losses, matrix, gamma = draw(seed, weak=seed % 2 == 0)
    more = matrix.copy()
    i, j = rng.integers(losses.size, size=2)
    more[i, j] = min(1.0, more[i, j] + rng.random())
    before = graphcb.solve_dec(losses, FeedbackGraph(matrix), gamma)
    after = graphcb.solve_dec(losses, FeedbackGraph(more), gamma)
    assert after.value - after.gap <= before.value * (1 + 1e-9) + 1e-12
