"""`solve_dec` against a general solver, exact values, and a search in extended precision."""

import math

import numpy as np
import pytest

import graphcb
from graphcb import FeedbackGraph, graphs


def by_cvxpy(losses, matrix, gamma):
    """gamma * DEC at the optimum by a modelling language and a conic solver."""
    cvxpy = pytest.importorskip("cvxpy")
    pytest.importorskip("clarabel")
    n = losses.size
    ft = gamma * (losses - losses.min())
    p, worst = cvxpy.Variable(n, nonneg=True), cvxpy.Variable()
    seen = matrix.T @ p
    own = [cvxpy.quad_over_lin(p[i], seen[i]) for i in range(n)]
    other = [cvxpy.quad_over_lin(1 - p[i], seen[i]) for i in range(n)]
    limits = [cvxpy.sum(own[:a] + own[a + 1 :]) + other[a] - ft[a] <= worst for a in range(n)]
    problem = cvxpy.Problem(cvxpy.Minimize(p @ ft + worst), [cvxpy.sum(p) == 1, *limits])
    problem.solve(solver="CLARABEL")
    return problem.value


@pytest.mark.parametrize("seed", range(12))
def test_agrees_with_a_conic_solver(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    gamma = 10.0 ** rng.uniform(-1, 3)
    losses = rng.random(n)
    matrix = [
        np.maximum(rng.random((n, n)) < 0.5, np.eye(n)).astype(float),
        rng.random((n, n)),
        1.0 - np.eye(n),
        np.eye(n)[rng.integers(n)][:, None] * np.ones((n, n)),
    ][seed % 4]
    solution = graphcb.solve_dec(losses, FeedbackGraph(matrix), gamma)
    assert solution.value * gamma == pytest.approx(
        by_cvxpy(losses, matrix, gamma), rel=1e-5, abs=1e-5
    )


@pytest.mark.parametrize("gamma", [1e-3, 1.0, 1e4, 1e8])
@pytest.mark.parametrize("as_matrix", [False, True])
def test_bandit_is_n_actions_less_one(gamma, as_matrix):
    losses = np.random.default_rng(0).random(12)
    graph = FeedbackGraph(np.eye(12)) if as_matrix else graphs.bandit(12)
    solution = graphcb.solve_dec(losses, graph, gamma)
    assert solution.value * gamma == pytest.approx(11.0, rel=2e-6)
    if not as_matrix:
        # The optimum is 11; what rounding did to p must be inside the gap, and little more.
        assert 0.0 < solution.gap * gamma < 1e-9
        inverse = 1.0 / solution.probabilities - gamma * (losses - losses.min())
        np.testing.assert_allclose(inverse, inverse[0], rtol=1e-6)


def test_full_information_is_nothing_when_the_best_leads():
    losses = np.array([0.0, 0.5, 0.7])
    assert graphcb.solve_dec(losses, graphs.full_information(3), 4.0).value == pytest.approx(0.0)
    matrix = FeedbackGraph(np.ones((3, 3)))
    assert graphcb.solve_dec(losses, matrix, 4.0).value == pytest.approx(0.0, abs=1e-6)


def test_cops_and_robbers_is_one_when_gaps_are_large():
    losses = np.array([0.0, 0.5, 0.7])
    solution = graphcb.solve_dec(losses, graphs.cops_and_robbers(3), 1e6)
    assert solution.value * 1e6 == pytest.approx(1.0, abs=1e-5)


def scaled_value(x, ft, matrix):
    """gamma * DEC of p = (1 - x, x), in long doubles."""
    p = np.array([1 - x, x], dtype=np.longdouble)
    seen = matrix.T.astype(np.longdouble) @ p
    if not (seen > 0).all():
        return np.longdouble(np.inf)
    own = p**2 / seen
    return max(p @ ft - ft[a] + own[1 - a] + p[1 - a] ** 2 / seen[a] for a in (0, 1))


def by_search(ft, matrix):
    """Golden section on log10(x) around the best of a grid."""
    grid = np.linspace(np.longdouble(-14), np.longdouble(0), 2001)
    values = [scaled_value(10**x, ft, matrix) for x in grid]
    best = int(np.argmin(values))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)]
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(120):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        if scaled_value(10**left, ft, matrix) < scaled_value(10**right, ft, matrix):
            high = right
        else:
            low = left
    return min(*values, scaled_value(10**low, ft, matrix))


@pytest.mark.parametrize("gamma", [0.1, 30.0, 1e4, 1e7])
@pytest.mark.parametrize(
    "matrix",
    [
        [[1, 0], [0, 1]],
        [[0, 1], [1, 0]],
        [[1, 1], [0, 0]],
        [[0, 0], [1, 1]],
        [[0.3, 0.01], [0.2, 0.9]],
        [[1, 1], [0, 1]],
        [[1e-6, 0], [1, 1]],
    ],
)
def test_two_actions_by_one_dimensional_search(matrix, gamma):
    matrix = np.array(matrix, dtype=float)
    losses = np.array([0.0, 0.4])
    solution = graphcb.solve_dec(losses, FeedbackGraph(matrix), gamma)
    ft = (np.longdouble(gamma) * losses).astype(np.longdouble)
    found = float(by_search(ft, matrix))
    assert solution.is_certified
    assert (solution.value - solution.gap) * gamma <= found * (1 + 1e-12) + 1e-12
    assert solution.value * gamma == pytest.approx(found, rel=2e-6, abs=2e-6)
