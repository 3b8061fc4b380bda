"""Apple tasting with any number of actions, solved exactly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphcb import FeedbackGraph, dec, graphs, solve_dec, solve_dec_batch
from graphcb.exploration import Status


def drawn(seed):
    """Losses, graph and gamma of one program, over many sizes, scales and ties."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 40))
    losses = rng.random(n) * 10.0 ** rng.uniform(-3, 1)
    if seed % 3 == 0:
        losses = np.round(losses, 1)  # ties
    graph = graphs.apple_tasting(n, revealing_action=int(rng.integers(n)))
    return losses, graph, 10.0 ** rng.uniform(-2, 8)


@given(st.integers(0, 10**6))
def test_as_good_as_the_general_solver_and_proven(seed):
    losses, graph, gamma = drawn(seed)
    exact = solve_dec(losses, graph, gamma)
    matrix = graph.matrix * (1.0 - 2.0**-53)  # not recognised: the convex program is solved
    general = solve_dec(losses, FeedbackGraph(matrix), gamma)
    assert exact.status is Status.EXACT
    scale = 1.0 / gamma + general.value
    assert exact.value <= general.value + 1e-9 * scale
    assert exact.value - exact.gap <= general.value
    assert general.value - general.gap <= exact.value + 1e-12 * scale
    assert dec(exact.probabilities, losses, graph, gamma) == pytest.approx(
        exact.value, abs=1e-9 * scale
    )
    assert exact.probabilities.min() >= 0.0
    assert exact.probabilities.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("gamma", [1e-3, 1.0, 1e3, 1e8])
@pytest.mark.parametrize("n_actions", [2, 3, 2000, 100_000])
def test_any_number_of_actions(n_actions, gamma):
    losses = np.random.default_rng(0).random(n_actions)
    graph = graphs.apple_tasting(n_actions)
    solution = solve_dec(losses, graph, gamma)
    assert solution.status is Status.EXACT
    assert solution.gap <= 1e-6 * (1.0 / gamma + solution.value)
    assert solution.steps <= 100
    assert dec(solution.probabilities, losses, graph, gamma) == pytest.approx(solution.value)


@pytest.mark.parametrize(
    ("losses", "revealing"),
    [
        ([0.5], 0),
        ([0.5, 0.5, 0.5], 1),  # all equal
        ([0.0, 9.0, 9.0], 0),  # the revealing action is best by far
        ([9.0, 0.0, 0.0], 0),  # and worst by far, the others tie
        ([0.1, 0.1 + 1e-12, 0.3], 2),
        ([-1e200, 1e200, 0.0], 1),
    ],
)
def test_corners(losses, revealing):
    graph = graphs.apple_tasting(len(losses), revealing_action=revealing)
    solution = solve_dec(losses, graph, 50.0)
    assert solution.probabilities.sum() == pytest.approx(1.0, abs=1e-12)
    assert solution.value == pytest.approx(dec(solution.probabilities, losses, graph, 50.0))
    if max(map(abs, losses)) < 1e50:
        assert solution.status is Status.EXACT


def test_the_revealing_action_alone_where_it_leads():
    solution = solve_dec([0.0, 9.0, 9.0], graphs.apple_tasting(3), 50.0)
    assert solution.probabilities.tolist() == [1.0, 0.0, 0.0]
    assert solution.value == pytest.approx(0.0, abs=1e-12)


def test_batches_give_the_same_bits():
    programs = [drawn(seed) for seed in range(300)]
    size = 7
    chosen = [(f, g, c) for f, g, c in programs if g.n_actions == size]
    assert len(chosen) > 3
    batch = solve_dec_batch(
        np.array([f for f, _, _ in chosen]), [g for _, g, _ in chosen], [c for *_, c in chosen]
    )
    for row, (f, g, c) in enumerate(chosen):
        np.testing.assert_array_equal(batch.probabilities[row], solve_dec(f, g, c).probabilities)
