"""Random Fourier features without anything random."""

import numpy as np

from graphcb.oracles.blend_kernels import KEEPS
from graphcb.oracles.posterior import diagonal_step, empty_look, full_look, full_step
from graphcb.oracles.waves import WIDTH, directions


def test_directions_are_normal_and_phases_uniform():
    found = directions(48, 500)
    normal = WIDTH * found[:, 1:]
    assert abs(normal.mean()) < 0.02
    assert abs(normal.std() - 1.0) < 0.02
    assert abs((normal**4).mean() - 3.0) < 0.15
    assert abs(np.corrcoef(normal)[np.triu_indices(48, 1)]).max() < 0.25
    assert 0.0 <= found[:, 0].min() < 0.6 < 5.6 < found[:, 0].max() <= 2.0 * np.pi


def test_more_places_leave_the_others_as_they_were():
    np.testing.assert_array_equal(directions(48, 7), directions(48, 90)[:, :7])
    np.testing.assert_array_equal(directions(16, 7), directions(48, 7)[:16])


def test_a_covariance_that_forgets_stays_symmetric_and_positive():
    rng = np.random.default_rng(0)
    d, priors = 6, np.array([1.0, 1000.0, 0.1, 10.0, 10.0, 10.0])
    for keep in KEEPS[1:]:
        weights, covariances = np.zeros((d, 1)), np.diag(priors)[None].copy()
        model, column, look = (weights, covariances, priors), np.array([0]), empty_look(1, d)
        for t in range(30_000):
            x = rng.normal(size=d) if t % 3 else np.eye(d)[t % d]
            full_look(weights, covariances, np.arange(d), x, column, look)
            full_step(model, column, look, np.array([float(x[0] > 0.0)]), keep)
        covariance = covariances[0]
        np.testing.assert_array_equal(covariance, covariance.T)
        assert np.linalg.eigvalsh(covariance)[0] > 1e-4
        assert (np.diag(covariance) <= priors * (1.0 + 1e-9)).all()
        assert np.isfinite(weights).all()


def test_forgetting_never_goes_beyond_the_prior():
    column, nothing = np.array([0]), np.zeros(2)
    variances, priors = np.array([[0.5], [0.5], [3.0]]), np.array([0.51, 10.0, 3.0])
    diagonal_step(
        (np.zeros((3, 1)), variances, priors), (np.array([0, 1]), nothing), column,
        (np.zeros(1), np.zeros(1)), np.array([0.5]), 0.5,
    )  # fmt: skip
    np.testing.assert_allclose(variances[:, 0], [0.51, 1.0, 3.0])
    wide, look = np.array([[[2.0]]]), empty_look(1, 1)
    full_look(np.zeros((1, 1)), wide, np.array([0]), np.zeros(1), column, look)
    # The prior was learned since.
    full_step((np.zeros((1, 1)), wide, np.array([1.0])), column, look, np.array([0.5]), 0.5)
    assert wide[0, 0, 0] == 2.0
