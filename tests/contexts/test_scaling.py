import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphcb.contexts.noted import standardise
from graphcb.standardising import CLIP


def scaled(rows, cuts=()):
    means, squares, counts = np.zeros((3, rows.shape[1]))
    pieces = []
    for piece in np.split(rows.copy(), cuts):
        standardise(piece, means, squares, counts, 0.5)
        pieces.append(piece)
    return np.concatenate(pieces)


def test_each_row_by_the_mean_and_deviation_up_to_it():
    rows = np.random.default_rng(0).normal(1e6, 3.0, size=(50, 2))
    got = scaled(rows)
    for i in (1, 7, 49):
        before = rows[: i + 1]
        expected = (rows[i] - before.mean(axis=0)) / before.std(axis=0)
        np.testing.assert_allclose(got[i], 0.5 * expected, rtol=1e-7)
    np.testing.assert_array_equal(got[0], 0.0)


def test_neither_a_constant_column_nor_a_wild_value_does_harm():
    rows = np.column_stack((np.full(1000, 7.0), np.random.default_rng(0).normal(size=1000)))
    rows[500, 1] = 1e12
    got = scaled(rows)
    np.testing.assert_array_equal(got[:, 0], 0.0)
    assert got[500, 1] == 0.5 * CLIP
    assert np.isfinite(got).all()


@given(st.lists(st.integers(0, 40), max_size=4).map(sorted), st.integers(0, 5))
def test_how_the_rows_are_cut_does_not_matter(cuts, seed):
    rows = np.random.default_rng(seed).normal(size=(40, 3)) * [1.0, 1e-9, 1e9]
    np.testing.assert_array_equal(scaled(rows, cuts), scaled(rows))


@pytest.mark.parametrize("factor", [1e-6, 1.0, 1e6])
def test_the_unit_of_a_column_does_not_matter(factor):
    rows = np.random.default_rng(3).normal(size=(30, 2))
    np.testing.assert_allclose(scaled(rows * factor), scaled(rows), atol=1e-12)
