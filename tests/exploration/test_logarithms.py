"""Logarithms and powers of e against those of `numpy`."""

import numpy as np
import pytest

from graphcb.compilation import compiled
from graphcb.exploration.logarithms import expm1, log_of

PLACES = 1e-15  # three units in the last place, and a half
ODD = 1003  # not a multiple of what is done at once


@compiled
def logs(numbers, beyond):
    found = np.empty(numbers.size)
    for i in range(numbers.size):
        found[i] = log_of(numbers[i], beyond[i])
    return found


@compiled
def powers(numbers):
    found = np.empty(numbers.size)
    for i in range(numbers.size):
        found[i] = expm1(numbers[i])
    return found


@pytest.mark.parametrize(("low", "high"), [(-300.0, 300.0), (-1.0, 1.0), (-0.31, 0.16)])
def test_logarithms(low, high):
    x = 10.0 ** np.linspace(low, high, ODD)
    found = logs(x, x - 1.0)
    np.testing.assert_allclose(found, np.log(x), rtol=PLACES)
    assert found[x == 1.0].tolist() == [0.0] * int((x == 1.0).sum())


@pytest.mark.parametrize("size", [1e-12, 1e-3, 0.4, 1e6])
def test_logarithms_of_what_is_known_beyond_1(size):
    u = np.linspace(0.0, size, ODD)
    np.testing.assert_allclose(logs(1.0 + u, u), np.log1p(u), rtol=PLACES)


@pytest.mark.parametrize(("low", "high"), [(-1e-9, 1e-9), (-0.4, 0.4), (-40.0, 1.0), (0.0, 700.0)])
def test_powers(low, high):
    x = np.linspace(low, high, ODD)
    np.testing.assert_allclose(powers(x), np.expm1(x), rtol=PLACES)


def test_powers_of_what_is_no_number_are_none():
    assert np.isnan(powers(np.full(9, np.nan))).all()
