"""The bounds of one point, recomputed in rational numbers: exact, whatever cancels."""

from fractions import Fraction

import numpy as np
import pytest

from graphcb.exploration.solver.certificate import evaluate
from graphcb.exploration.solver.sparsity import find_pattern


def bounds_of(laid):
    return evaluate(laid.v, laid.a, None, find_pattern(laid.seen_by, False))


def exactly(array):
    return [Fraction(float(x)) for x in array]


def exact_value(ft, matrix, p):
    """gamma * DEC as a maximum over comparators, in rational numbers."""
    n = ft.size
    ft, p = exactly(ft), exactly(p)
    p = [x / sum(p) for x in p]
    seen = [sum(Fraction(matrix[i, j]) * p[i] for i in range(n)) for j in range(n)]
    return max(
        sum(p[i] * ft[i] for i in range(n))
        - ft[a]
        + sum((p[i] - (i == a)) ** 2 / seen[i] for i in range(n))
        for a in range(n)
    )


def exact_bound(ft, matrix, q, t, v):
    """The bound of the module's text, which holds for any q, t and v, in rational numbers."""
    n = ft.size
    ft, q, t, v = exactly(ft), exactly(q), exactly(t), exactly(v)
    q = [x / sum(q) for x in q]
    k = [x * (1 - x) for x in q]
    h = [t[j] ** 2 + k[j] * v[j] ** 2 for j in range(n)]
    price = sum(2 * k[i] * v[i] - 2 * t[i] * q[i] - q[i] * ft[i] for i in range(n))
    return price + min(
        ft[i] + 2 * t[i] - sum(Fraction(matrix[i, j]) * h[j] for j in range(n)) for i in range(n)
    )


@pytest.mark.parametrize("seed", range(60))
def test_bounds_hold_exactly(seed, lay_out):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 12))
    ft = 10.0 ** rng.uniform(-3, 8, n)
    ft[rng.integers(n)] = 0.0
    matrix = rng.random((n, n)) * (rng.random((n, n)) < 0.6)
    if seed % 3:
        matrix = np.maximum(matrix, np.diag(rng.random(n)))
    if seed % 3 == 2:
        matrix = 1.0 - np.eye(n)
    matrix[rng.integers(n), :] = np.maximum(matrix[0], 0.5)
    p = 10.0 ** rng.uniform(-9, 0, n)
    q = 10.0 ** rng.uniform(-9, 0, n)
    p, q = p / p.sum(), q / q.sum()
    laid = lay_out(ft, matrix, p, q)
    bounds = bounds_of(laid)
    value = exact_value(ft, matrix, p)
    bound = exact_bound(ft, matrix, q, laid["U"] / laid["W"], 1.0 / laid["W"])
    assert bounds.upper >= value
    assert bounds.lower <= bound
    assert bounds.value == pytest.approx(float(value), rel=1e-11)
    assert bounds.lower == pytest.approx(float(bound), rel=1e-9, abs=1e-9 * abs(laid["G"]).max())


@pytest.mark.parametrize("seed", range(12))
def test_the_bound_is_below_every_value(seed, lay_out):
    rng = np.random.default_rng(seed)
    n = 5
    ft = 10.0 ** rng.uniform(-1, 4, n)
    ft[0] = 0.0
    matrix = np.maximum(rng.random((n, n)) < 0.5, np.eye(n)).astype(float)
    p, q = rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(n))
    laid = lay_out(ft, matrix, p, q)
    bounds = bounds_of(laid)
    for _ in range(20):
        other = rng.dirichlet(np.full(n, 0.3)) * 0.999 + 0.001 / n
        assert bounds.lower <= exact_value(ft, matrix, other)


def test_a_head_that_hardly_anybody_sees_loses_no_digits(lay_out):
    # Cops and robbers: terms of 1 / x = 1e12 cancel in the value, which is x * 1e12 + x.
    ft = np.array([0.0, 1e12])
    x = (1.0 + 1e-6) / 1e12
    p = np.array([1.0 - x, x])
    bounds = bounds_of(lay_out(ft, 1.0 - np.eye(2), p, p))
    assert bounds.value == pytest.approx(1.0 + 1e-6, abs=1e-11)
