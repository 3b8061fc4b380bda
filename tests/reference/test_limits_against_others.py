"""`solve_dec` with limits against a general solver, and a few of `benchmarks/fuzz_limits.py`."""

import fuzz_limits
import numpy as np
import programs
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphcb
from graphcb import FeedbackGraph, Limits


def by_cvxpy(losses, matrix, gamma, box):
    """gamma * DEC at the optimum by a modelling language and a conic solver."""
    cvxpy = pytest.importorskip("cvxpy")
    pytest.importorskip("clarabel")
    n = losses.size
    ft = gamma * (losses - losses.min())
    p, worst = cvxpy.Variable(n), cvxpy.Variable()
    seen = matrix.T @ p
    own = [cvxpy.quad_over_lin(p[i], seen[i]) for i in range(n)]
    other = [cvxpy.quad_over_lin(1 - p[i], seen[i]) for i in range(n)]
    limits = [cvxpy.sum(own[:a] + own[a + 1 :]) + other[a] - ft[a] <= worst for a in range(n)]
    limits += [cvxpy.sum(p) == 1, p >= box.lower, p <= box.upper]
    if box.most.size:
        limits.append(box.rows @ p <= box.most)
    problem = cvxpy.Problem(cvxpy.Minimize(p @ ft + worst), limits)
    problem.solve(solver="CLARABEL")
    return problem.value


@pytest.mark.parametrize("seed", range(16))
def test_agrees_with_a_conic_solver(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 8))
    gamma = 10.0 ** rng.uniform(-1, 3)
    losses = rng.random(n)
    matrix = [
        np.maximum(rng.random((n, n)) < 0.5, np.eye(n)).astype(float),
        rng.random((n, n)),
        1.0 - np.eye(n),
        np.eye(n),
    ][seed % 4]
    inside = rng.dirichlet(np.full(n, 2.0))
    some = np.flatnonzero(rng.random(n) < 0.5)
    linear = [
        {"actions": [0, 1], "at_most": float(inside[:2].sum()) + 0.01},
        {"weights": rng.normal(size=n).tolist(), "at_least": -3.0},
        {"weights": inside.tolist(), "at_least": float(inside @ inside) - 0.02},
    ]
    limits = Limits(
        floors={int(i): float(0.6 * inside[i]) for i in some},
        caps={int(i): float(min(1.0, 1.3 * inside[i])) for i in some},
        linear=linear if seed % 2 else (),
    )
    solution = graphcb.solve_dec(losses, FeedbackGraph(matrix), gamma, limits=limits)
    box = limits.on(range(n))
    assert fuzz_limits.broken(box, solution.probabilities) is None
    assert solution.is_certified
    assert solution.value * gamma == pytest.approx(
        by_cvxpy(losses, matrix, gamma, box), rel=1e-5, abs=1e-5
    )


@pytest.mark.parametrize("seed", [201, pytest.param(202, marks=pytest.mark.slow)])
def test_every_answer_is_valid_and_nearly_all_are_proven(seed):
    proven = []
    for number, program in enumerate(programs.random_programs(400, seed)):
        rng = np.random.default_rng([seed, number, 1])
        _, limits = fuzz_limits.random_limits(program.losses.size, rng)
        solution = graphcb.solve_dec(program.losses, program.graph, program.gamma, limits=limits)
        assert fuzz_limits.invalid(program, limits, solution, rng) is None, (number, program)
        hidden = solution.status is graphcb.Status.NEVER_REVEALED
        proven.append(hidden or solution.is_certified)
    assert np.mean(proven) >= 0.99


@given(st.integers(0, 10**6))
def test_the_bound_is_below_the_value_of_every_p_within_the_limits(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    matrix = np.maximum(rng.random((n, n)) * (rng.random((n, n)) < 0.6), np.eye(n))
    losses, gamma = rng.random(n), float(10.0 ** rng.uniform(-2, 4))
    inside = rng.dirichlet(np.ones(n), size=20)  # all of these are to be within the limits
    weights = rng.normal(size=(3, n))
    limits = Limits(
        floors=inside.min(axis=0).tolist(),
        caps=inside.max(axis=0).tolist(),
        linear=[
            {"weights": row.tolist(), "at_most": float((inside @ row).max())} for row in weights
        ],
    )
    graph = FeedbackGraph(matrix)
    solution = graphcb.solve_dec(losses, graph, gamma, limits=limits)
    assert solution.gap >= 0.0
    assert fuzz_limits.broken(limits.on(range(n)), solution.probabilities) is None
    for p in inside:
        value = graphcb.dec(p / p.sum(), losses, graph, gamma)
        assert value * (1.0 + 1e-9) >= solution.value - solution.gap
