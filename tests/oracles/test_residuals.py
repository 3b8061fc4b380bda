"""Noise that is pooled over actions, and what it says of one that was hardly ever seen."""

import numpy as np
import pytest

from graphcb.oracles import DefaultOracle
from graphcb.oracles.posterior import sharpened
from graphcb.oracles.residuals import doubt_the_pool


def test_quiet_losses_sharpen_what_was_learned_and_nothing_else():
    quiet = np.full(3, 0.01)
    found = sharpened(np.array([4.0, 1.0, 1e-3]), 4.0, quiet)
    assert found[0] == 4.0  # nothing was learned
    assert found[1] == pytest.approx(1.0 / (0.25 + 0.75 / 0.01))
    assert found[2] == pytest.approx(0.01 * 1e-3, rel=1e-3)  # all was
    np.testing.assert_array_equal(sharpened(np.ones(1), 4.0, np.full(1, 5.0)), [1.0])


def test_a_pool_is_doubted_until_an_action_has_losses_of_its_own():
    deviations = np.full(3, 0.1)
    doubt_the_pool(deviations, np.full(3, 0.5), np.array([0.0, 20.0, 1e6]))
    np.testing.assert_allclose(
        deviations, [0.5, (0.75 * 0.01 + 0.25 * 0.25) ** 0.5, 0.1], rtol=1e-4
    )


def test_a_quiet_action_does_not_make_another_one_certain():
    """One that always costs 0.3 says nothing of one that was seen twice."""
    oracle, rng = DefaultOracle(2), np.random.default_rng(0)
    for _ in range(500):
        oracle.update(rng.normal(size=5), np.array([1]), np.array([0.3]))
    for loss in (0.0, 1.0):
        oracle.update(rng.normal(size=5), np.array([0]), np.array([loss]))
    _, deviations, *_ = oracle.forecast(rng.normal(size=5), np.arange(2))
    assert deviations[1] < 0.02
    assert deviations[0] > 0.25
