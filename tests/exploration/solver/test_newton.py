"""The Newton direction solves the linearised equations; derivatives here are differences."""

import numpy as np
import pytest

from graphcb.exploration.solver.certificate import evaluate
from graphcb.exploration.solver.direction import solve_direction
from graphcb.exploration.solver.newton_system import assemble
from graphcb.exploration.solver.sparsity import find_pattern


def interior_point(n, rng, lay_out, density):
    """Work arrays at a random interior point, evaluated."""
    matrix = np.maximum(rng.random((n, n)) < density, np.eye(n)).astype(float)
    laid = lay_out(10.0 * rng.random(n), matrix, rng.dirichlet(np.ones(n)), np.full(n, 1.0 / n))
    laid["Q"] = rng.dirichlet(np.full(n, 5.0))
    laid["S"], laid["M"] = rng.uniform(0.5, 2.0, n), rng.uniform(0.5, 2.0, n)
    return laid


def moved(laid, length):
    """The gradient and the constraints after a step along the direction."""
    p, q = laid["P"].copy(), laid["Q"].copy()
    laid["P"], laid["Q"] = p + length * laid["DP"], q + length * laid["DQ"]
    evaluate(laid.v, laid.a, None, find_pattern(laid.seen_by, False))
    values = laid["G"].copy(), laid["C"].copy()
    laid["P"], laid["Q"] = p, q
    return values


def spans(equation):
    return equation.max() - equation.min()


@pytest.mark.parametrize(
    ("n", "density", "skip_zeros"), [(2, 0.5, False), (7, 0.5, False), (150, 0.02, True)]
)
@pytest.mark.parametrize("seed", range(3))
def test_the_direction_solves_the_linearised_equations(n, density, skip_zeros, seed, lay_out):
    rng = np.random.default_rng([n, seed])
    laid = interior_point(n, rng, lay_out, density)
    pattern = find_pattern(laid.seen_by, skip_zeros)
    assert (pattern.start.size > 0) == skip_zeros
    evaluate(laid.v, laid.a, None, pattern)
    laid["TO_S"], laid["TO_M"] = rng.normal(size=n) / n, rng.normal(size=n) / n
    gradient = laid["G"].copy()
    system = assemble(laid.v, laid.a, None, pattern, False)
    solve_direction(laid.v, laid.a, None, system, 1, pattern)
    p, q, s, m = (laid[name].copy() for name in ("P", "Q", "S", "M"))
    dp, dq, ds, dm = (laid[name].copy() for name in ("DP", "DQ", "DS", "DM"))
    # complementarity and the two simplexes
    np.testing.assert_allclose(s * dq + q * ds, laid["TO_S"], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(p * dm + m * dp, laid["TO_M"], rtol=1e-7, atol=1e-9)
    assert abs(dp.sum()) <= 1e-12 * abs(dp).sum()
    assert abs(dq.sum()) <= 1e-9 * abs(dq).sum()
    # stationarity and the constraints, each equal to a constant
    step = 1e-6 * min(1.0, (p / abs(dp)).min())
    (g_after, c_after), (g_before, c_before) = moved(laid, step), moved(laid, -step)
    stationarity = gradient + (g_after - g_before) / (2.0 * step) - m - dm
    constraints = moved(laid, 0.0)[1] + (c_after - c_before) / (2.0 * step) + s + ds
    assert spans(stationarity) <= 1e-5 * (abs(gradient) + abs(dm)).max()
    assert spans(constraints) <= 1e-5 * (abs(c_after) + abs(ds)).max()
