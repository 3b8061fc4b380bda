"""The bounds of one point, recomputed in rational numbers: exact, whatever cancels."""

from fractions import Fraction

import numpy as np
import pytest

from graphcb.exploration.solver.certificate import evaluate
from graphcb.exploration.solver.sparsity import find_places
from graphcb.exploration.solver.workspace import (
    FT,
    GRAPH,
    LOOPS,
    MATRICES,
    SEEN_BY,
    VECTORS,
    G,
    P,
    Q,
    U,
    W,
)


def laid_out(ft, matrix, p, q):
    n = ft.size
    v, a = np.zeros((VECTORS, n)), np.zeros((MATRICES, n, n))
    off = matrix - np.diag(np.diag(matrix))
    v[FT], v[LOOPS], v[P], v[Q] = ft, np.diag(matrix), p, q
    a[GRAPH], a[SEEN_BY] = off, off.T
    return v, a


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


@pytest.mark.parametrize("seed", range(200))
def test_bounds_hold_exactly(seed):
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
    v, a = laid_out(ft, matrix, p, q)
    bounds = evaluate(v, a, find_places(a[SEEN_BY], False))
    value = exact_value(ft, matrix, p)
    bound = exact_bound(ft, matrix, q, v[U] / v[W], 1.0 / v[W])
    assert bounds.upper >= value
    assert bounds.lower <= bound
    assert bounds.value == pytest.approx(float(value), rel=1e-11)
    assert bounds.lower == pytest.approx(float(bound), rel=1e-9, abs=1e-9 * abs(v[G]).max())


@pytest.mark.parametrize("seed", range(50))
def test_the_bound_is_below_every_value(seed):
    rng = np.random.default_rng(seed)
    n = 5
    ft = 10.0 ** rng.uniform(-1, 4, n)
    ft[0] = 0.0
    matrix = np.maximum(rng.random((n, n)) < 0.5, np.eye(n)).astype(float)
    p, q = rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(n))
    v, a = laid_out(ft, matrix, p, q)
    bounds = evaluate(v, a, find_places(a[SEEN_BY], False))
    for _ in range(20):
        other = rng.dirichlet(np.full(n, 0.3)) * 0.999 + 0.001 / n
        assert bounds.lower <= exact_value(ft, matrix, other)


def test_a_head_that_hardly_anybody_sees_loses_no_digits():
    # Cops and robbers: terms of 1 / x = 1e12 cancel in the value, which is x * 1e12 + x.
    ft = np.array([0.0, 1e12])
    x = (1.0 + 1e-6) / 1e12
    p = np.array([1.0 - x, x])
    v, a = laid_out(ft, 1.0 - np.eye(2), p, p.copy())
    bounds = evaluate(v, a, find_places(a[SEEN_BY], False))
    assert bounds.value == pytest.approx(1.0 + 1e-6, abs=1e-11)
