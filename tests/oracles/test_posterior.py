"""The kernels of a Gaussian posterior, over more updates than Python could make."""

import numba
import numpy as np
import pytest

from graphcb.oracles.blend_kernels import KEEPS
from graphcb.oracles.posterior import empty_look, full_look, full_step

N_UPDATES = 10_000_000
PRIORS = np.array([1.0, 1000.0, 0.1, 10.0])
D = PRIORS.size


@numba.njit
def learn_and_forget(weights, covariances, priors, keep, contexts, shares):
    places, column = np.arange(priors.size), np.zeros(1, np.int64)
    look = empty_look(1, priors.size)
    for t in range(shares.size):
        full_look(weights, covariances, places, contexts[t], column, look)
        full_step((weights, covariances, priors), column, look, shares[t : t + 1], keep)


def of_every_kind(rng, n):
    """Contexts: normal, nearly collinear, one that repeats, one feature at a time; n of each."""
    normal = rng.normal(size=(n, D))
    collinear = rng.normal(size=(n, 1)) + 1e-4 * rng.normal(size=(n, D))
    return normal, collinear, np.ones((n, D)), np.eye(D)[np.arange(n) % D]


@pytest.mark.slow
@pytest.mark.parametrize("keep", KEEPS)
def test_a_covariance_stays_symmetric_and_positive_over_ten_million_updates(keep):
    rng = np.random.default_rng(0)
    kinds = of_every_kind(rng, 2500)
    weights, covariances = np.zeros((D, 1)), np.diag(PRIORS)[None].copy()
    for contexts in kinds * (N_UPDATES // 10_000):
        shares = (rng.random(2500) < 1.0 / (1.0 + np.exp(-contexts[:, 0]))).astype(float)
        learn_and_forget(weights, covariances, PRIORS, keep, contexts, shares)
        assert (covariances[0] == covariances[0].T).all()
        deviations = np.sqrt(np.diag(covariances[0]))
        correlations = covariances[0] / np.outer(deviations, deviations)
        assert np.linalg.eigvalsh(correlations)[0] > 0.0
        assert (deviations**2 <= PRIORS * (1.0 + 1e-9)).all()
        assert np.isfinite(weights).all()
