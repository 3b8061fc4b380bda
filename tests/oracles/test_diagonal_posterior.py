import numpy as np

from graphcb.oracles.diagonal_posterior import (
    diagonal_fade,
    diagonal_glance,
    diagonal_scores,
    diagonal_step,
)
from graphcb.oracles.posterior import coins


def test_forgetting_never_goes_beyond_the_prior():
    column, nothing = np.array([0]), np.zeros(2)
    variances, priors = np.array([[0.5], [0.5], [3.0]]), np.array([0.51, 10.0, 3.0])
    diagonal_step(
        (np.zeros((3, 1)), variances, priors), (np.array([0, 1]), nothing), column,
        (np.zeros(1), np.zeros(1)), np.array([0.5]), coins(1), 0.5,
    )  # fmt: skip
    np.testing.assert_allclose(variances[:, 0], [0.51, 1.0, 3.0])


def test_few_columns_have_the_scores_that_they_have_among_all():
    rng = np.random.default_rng(0)
    weights, variances, values = rng.normal(size=(30, 9)), rng.random((30, 9)), rng.normal(size=12)
    places = rng.permutation(30)[:12]
    everyone = diagonal_scores(weights, variances, places, values, np.arange(9))
    np.testing.assert_allclose(everyone[0], values @ weights[places], atol=1e-12)
    np.testing.assert_allclose(everyone[1], values**2 @ variances[places], rtol=1e-12)
    few = diagonal_scores(weights, variances, places, values, np.array([7, 2]))
    np.testing.assert_allclose(few, np.array(everyone)[:, [7, 2]], atol=1e-12)


def test_several_rows_at_once_have_their_scores_for_few_columns_and_for_all():
    rng = np.random.default_rng(0)
    weights, variances, rows = (
        rng.normal(size=(30, 9)),
        rng.random((30, 9)),
        rng.normal(size=(4, 12)),
    )
    places = rng.permutation(30)[:12]
    for columns in (np.arange(9), np.array([7, 2])):
        scores, leverages = np.empty((4, columns.size)), np.empty((4, columns.size))
        diagonal_glance(weights, variances, places, rows, columns, scores, leverages)
        for row, *found in zip(rows, scores, leverages, strict=True):
            expected = diagonal_scores(weights, variances, places, row, columns)
            np.testing.assert_allclose(found, expected, atol=1e-12)


def test_fading_goes_to_the_prior():
    weights, variances, priors = np.ones((2, 2)), np.ones((2, 2)), np.array([3.0, 1.0])
    diagonal_fade((weights, variances, priors), 1, 0.25)
    np.testing.assert_allclose(weights, [[1.0, 0.25], [1.0, 0.25]])
    np.testing.assert_allclose(variances, [[1.0, 2.5], [1.0, 1.0]])
