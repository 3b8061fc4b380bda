"""Bounds by logarithmic smoothing."""

import numpy as np
import pytest

from graphcb.estimates.estimate import Conditions
from graphcb.estimates.smoothing import RATES, Smoothing


def log(rng, n, p=0.05, mean=0.3):
    w = (rng.random(n) < p) / p
    return w[None], (w * (rng.random(n) < mean))[None]


def test_bounds_hold_and_are_those_of_the_formula():
    held = 0
    for seed in range(100):
        w, x = log(np.random.default_rng(seed), 400)
        smoothing = Smoothing(1, (0.0, 1.0))
        smoothing.add(w, x)
        found = smoothing.estimate(0, Conditions((0.0, 1.0)))
        lower, upper = found.anytime
        held += lower <= 0.3 <= upper
        sums = np.log1p(RATES[:, None] * x[0]).sum(axis=1)
        ends = (sums + np.log(0.025 / RATES.size)) / (RATES * 400)
        assert lower == pytest.approx(max(0.0, ends.max()), abs=1e-12)
    assert held >= 95
    assert 0.0 < found.value < 1.0


def test_parts_add_up_to_the_same_bits():
    w, x = log(np.random.default_rng(0), 500)
    whole, merged = Smoothing(1, (0.0, 2.0)), Smoothing(1, (0.0, 2.0))
    whole.add(w, x)
    for part in np.array_split(np.random.default_rng(1).permutation(500), 3):
        one = Smoothing(1, (0.0, 2.0))
        one.add(w[:, part], x[:, part])
        merged.merge(Smoothing.from_arrays(one.as_arrays()))
    mine, theirs = whole.as_arrays(), merged.as_arrays()
    assert all(np.array_equal(mine[key], theirs[key]) for key in mine)


def test_the_other_side_is_the_mirror():
    w, x = log(np.random.default_rng(2), 500)
    one, other = Smoothing(1, (0.0, 1.0)), Smoothing(1, (-1.0, 0.0))
    one.add(w, x)
    other.add(w, -x)
    asked = Conditions((0.0, 1.0))
    lower, upper = one.estimate(0, asked).anytime
    assert other.estimate(0, asked).anytime == pytest.approx((-upper, -lower))
