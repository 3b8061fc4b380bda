"""Bounds by logarithmic smoothing."""

import numpy as np
import pytest

from graphcb.estimates.smoothing import RATES, smoothed


def log(rng, n, p=0.05, mean=0.3):
    w = (rng.random(n) < p) / p
    return w, w * (rng.random(n) < mean)


def test_bounds_hold_and_are_those_of_the_formula():
    held = 0
    for seed in range(100):
        w, x = log(np.random.default_rng(seed), 400)
        found = smoothed(w, x, (0.0, 1.0), 0.95)
        lower, upper = found.anytime
        held += lower <= 0.3 <= upper
        sums = np.log1p(RATES[:, None] * x).sum(axis=1)
        ends = (sums + np.log(0.025 / RATES.size)) / (RATES * 400)
        assert lower == pytest.approx(max(0.0, ends.max()), abs=1e-12)
    assert held >= 95
    assert 0.0 < found.value < 1.0


def test_the_other_side_is_the_mirror():
    w, x = log(np.random.default_rng(2), 500)
    lower, upper = smoothed(w, x, (0.0, 1.0), 0.95).anytime
    assert smoothed(w, -x, (-1.0, 0.0), 0.95).anytime == pytest.approx((-upper, -lower))
