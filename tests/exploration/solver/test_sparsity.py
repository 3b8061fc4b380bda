"""What is skipped in a large sparse graph is only zeros."""

import numpy as np
import pytest

from graphcb.exploration.solver.certificate import evaluate
from graphcb.exploration.solver.sparsity import (
    add_transposed_product,
    fill_in,
    find_pattern,
    multiply,
)


def sparse_graph(n, rng):
    """What each action sees besides itself: about three each, and action 0 none."""
    matrix = (rng.random((n, n)) < 3.0 / n).astype(float)
    matrix[:, 0] = 0.0
    np.fill_diagonal(matrix, 0.0)
    return matrix


@pytest.mark.parametrize(
    ("n", "density", "allowed"), [(127, 0, True), (200, 1, True), (200, 0, False)]
)
def test_small_dense_or_exact_systems_have_only_full_rows(n, density, allowed):
    seen_by = np.eye(n) if density == 0 else np.ones((n, n))
    pattern = find_pattern(seen_by, allowed)
    assert fill_in(0, seen_by, pattern) == n
    assert pattern.start.size == 0
    assert not pattern.length.any()


def test_rows_that_the_head_sees_are_full():
    seen_by = sparse_graph(200, np.random.default_rng(0))
    pattern = find_pattern(seen_by, True)
    head = 7
    n_full = fill_in(head, seen_by, pattern)
    full = np.flatnonzero(pattern.length == 0)
    assert full.size == n_full
    assert full.tolist() == sorted({head, *np.flatnonzero(seen_by[:, head])})
    for i in np.flatnonzero(pattern.length):
        entries = pattern.action[pattern.start[i] :][: pattern.length[i]]
        assert entries.tolist() == sorted({i, *np.flatnonzero(seen_by[i])})


def test_a_head_that_sees_many_makes_all_rows_full():
    seen_by = sparse_graph(200, np.random.default_rng(0))
    seen_by[:, 7] = 1.0
    pattern = find_pattern(seen_by, True)
    assert fill_in(7, seen_by, pattern) == 200
    assert not pattern.length.any()
    assert fill_in(8, seen_by, pattern) < 200 / 8


def test_sums_over_a_row_are_those_over_all_its_numbers():
    rng = np.random.default_rng(1)
    seen_by = sparse_graph(200, rng)
    pattern = find_pattern(seen_by, True)
    fill_in(7, seen_by, pattern)
    rows, other = seen_by.copy(), rng.random(200)
    rows[pattern.length == 0] = 1.0
    out, target = np.empty(200), other.copy()
    multiply(rows, other, pattern, out)
    np.testing.assert_allclose(out, rows @ other, rtol=1e-13)
    add_transposed_product(rows, -other, pattern, target)
    np.testing.assert_allclose(target, other - other @ rows, rtol=1e-13, atol=1e-13)


def test_bounds_are_the_same_with_and_without_zeros(lay_out):
    rng = np.random.default_rng(2)
    n = 150
    matrix = sparse_graph(n, rng) + np.eye(n)
    laid = lay_out(
        100.0 * rng.random(n), matrix, rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(n))
    )
    dense = evaluate(laid.v, laid.a, None, find_pattern(laid.seen_by, False))
    sparse = evaluate(laid.v, laid.a, None, find_pattern(laid.seen_by, True))
    assert sparse == pytest.approx(dense, rel=1e-12)


def test_a_graph_of_self_loops_alone_is_sparse():
    pattern = find_pattern(np.zeros((150, 150)), True)
    assert pattern.action.tolist() == list(range(150))
