import numpy as np
import pytest

from graphcb.oracles import context_products
from graphcb.oracles.action_rows import Rows, no_products
from graphcb.oracles.context_products import ProductPosterior
from graphcb.oracles.pairs import PRIOR_VARIANCE


def one_row(*entries):
    starts = np.array([0, len(entries)])
    places, values = zip(*entries, strict=True)
    return Rows(starts, np.array(places), np.array(values, dtype=float), no_products(starts))


def test_a_step_is_that_of_the_filter_with_independent_weights():
    rng, posterior = np.random.default_rng(0), ProductPosterior(3)
    weights, variances = np.zeros((2, 3)), np.full((2, 3), PRIOR_VARIANCE)
    for _ in range(20):
        products, values, share = rng.normal(size=3), rng.normal(size=2), rng.random()
        score, leverage = rng.normal(), rng.random()
        phi = np.outer(values, products)
        added, spread = (weights * phi).sum(), (variances * phi**2).sum()
        found = posterior.learn(
            products, one_row((0, values[0]), (1, values[1])), 2,
            np.array([share]), np.array([score]), np.array([leverage]),
        )  # fmt: skip
        np.testing.assert_allclose(np.ravel(found), [added, spread], rtol=1e-9)
        scale, along = 1.0 / np.sqrt(1.0 + np.pi / 8.0 * (leverage + spread)), variances * phi
        mean = 1.0 / (1.0 + np.exp(-scale * (score + added)))
        weights += along * scale * (share - mean)
        variances -= along**2 * scale**2 * mean * (1.0 - mean)
    np.testing.assert_allclose(posterior.weights, weights, rtol=1e-9)
    np.testing.assert_allclose(posterior.variances, variances, rtol=1e-9)


def test_features_never_seen_have_the_prior_variance():
    posterior = ProductPosterior(2)
    scores, leverages = posterior.scores(np.array([1.0, 2.0]), one_row((0, 1.0), (-1, 3.0)))
    assert scores[0] == 0.0
    assert leverages[0] == pytest.approx((1.0 + 9.0) * 5.0 * PRIOR_VARIANCE)


def test_features_beyond_the_limit_learn_nothing(monkeypatch):
    monkeypatch.setattr(context_products, "MOST_WEIGHTS", 5)
    posterior, products = ProductPosterior(2), np.array([1.0, 2.0])
    zero, half = np.zeros(1), np.full(1, 0.5)
    for place in range(5):
        posterior.learn(products, one_row((place, 1.0)), place + 1, np.ones(1), zero, half)
    assert posterior.weights.shape == (2, 2)
    assert posterior.scores(products, one_row((1, 1.0)))[0][0] > 0.0
    assert posterior.scores(products, one_row((4, 1.0)))[0][0] == 0.0
