import numpy as np
import pytest

from graphcb.exploration.solver.cholesky import (
    add_sparse_square,
    add_squares,
    dot,
    factorise,
    solve_in_place,
)


@pytest.mark.parametrize("size", [1, 2, 7, 8, 9, 17, 40, 70])
def test_solves_what_numpy_solves(size):
    rng = np.random.default_rng(size)
    rows = rng.normal(size=(2 * size + 1, size))
    matrix = np.zeros((size, size))
    add_squares(1.0, rows, 0, size, matrix)
    gram = rows.T @ rows
    np.testing.assert_allclose(np.triu(matrix), np.triu(gram), rtol=1e-12, atol=1e-12)
    right = rng.normal(size=size)
    expected = np.linalg.solve(gram, right)
    factorise(matrix)
    solve_in_place(matrix, right)
    np.testing.assert_allclose(right, expected, rtol=1e-6, atol=1e-9)


def test_a_sparse_row_adds_the_same():
    row = np.zeros(20)
    places = np.array([3, 4, 17])
    row[places] = [2.0, -1.0, 0.5]
    matrix, expected = np.zeros((20, 20)), np.zeros((20, 20))
    add_squares(1.0, row[None], 0, 20, expected)
    add_sparse_square(row, places, matrix)
    assert (matrix == expected).all()
    assert matrix[3, 17] == 1.0


def test_a_direction_without_curvature_stays():
    matrix = np.array([[1.0, 1.0], [1.0, 1.0]])
    factorise(matrix)
    right = np.array([2.0, 3.0])
    solve_in_place(matrix, right)
    assert right.tolist() == [2.0, 0.0]


@pytest.mark.parametrize("size", [0, 1, 3, 4, 11])
def test_dot(size):
    left, right = np.arange(size) + 1.0, np.arange(size) - 2.0
    assert dot(left, right) == left @ right
