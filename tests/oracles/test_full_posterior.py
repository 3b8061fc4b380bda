"""The kernels of a full covariance, over more updates than Python could make."""

import numba
import numpy as np
import pytest

from graphcb.oracles.blend_weights import KEEPS
from graphcb.oracles.full_posterior import (
    as_triangles,
    empty_look,
    full_add,
    full_fade,
    full_glance,
    full_look,
    full_step,
    n_entries,
    on_diagonal,
)
from graphcb.oracles.posterior import coins

N_UPDATES = 10_000_000
PRIORS = np.array([1.0, 1000.0, 0.1, 10.0])
D = PRIORS.size


def square(triangle, d):
    found = np.zeros((d, d))
    found[np.tril_indices(d)] = triangle
    found.T[np.tril_indices(d)] = triangle
    return found


@numba.njit
def glance(weights, covariances, places, values, columns):
    scores, leverages = np.empty((2, columns.size)), np.empty((2, columns.size))
    rows = np.empty((2, values.size))
    rows[0], rows[1] = 0.5 * values, values
    full_glance(weights, covariances, places, rows, columns, scores, leverages)
    return scores[1], leverages[1]


@numba.njit
def learn_and_forget(weights, covariances, priors, keep, contexts, shares):
    places, column = np.arange(priors.size), np.zeros(1, np.int64)
    look = empty_look(1, priors.size)
    for t in range(shares.size):
        full_look(weights, covariances, places, contexts[t], column, look)
        full_step((weights, covariances, priors), column, look, shares[t : t + 1], coins(1), keep)


def of_every_kind(rng, n):
    """Contexts: normal, nearly collinear, one that repeats, one feature at a time; n of each."""
    normal = rng.normal(size=(n, D))
    collinear = rng.normal(size=(n, 1)) + 1e-4 * rng.normal(size=(n, D))
    return normal, collinear, np.ones((n, D)), np.eye(D)[np.arange(n) % D]


@pytest.mark.slow
@pytest.mark.parametrize("keep", KEEPS)
def test_a_covariance_stays_positive_over_ten_million_updates(keep):
    rng = np.random.default_rng(0)
    kinds = of_every_kind(rng, 2500)
    weights, covariances = np.zeros((D, 1)), as_triangles(PRIORS, 1)
    for contexts in kinds * (N_UPDATES // 10_000):
        shares = (rng.random(2500) < 1.0 / (1.0 + np.exp(-contexts[:, 0]))).astype(float)
        learn_and_forget(weights, covariances, PRIORS, keep, contexts, shares)
        covariance = square(covariances[0], D)
        deviations = np.sqrt(np.diag(covariance))
        correlations = covariance / np.outer(deviations, deviations)
        assert np.linalg.eigvalsh(correlations)[0] > 0.0
        assert (deviations**2 <= PRIORS * (1.0 + 1e-9)).all()
        assert np.isfinite(weights).all()


def test_a_covariance_that_forgets_stays_positive():
    rng = np.random.default_rng(0)
    d, priors = 6, np.array([1.0, 1000.0, 0.1, 10.0, 10.0, 10.0])
    for keep in KEEPS[1:]:
        weights, covariances = np.zeros((d, 1)), as_triangles(priors, 1)
        contexts = rng.normal(size=(30_000, d))
        contexts[::3] = np.eye(d)[np.arange(10_000) % d]
        learn_and_forget(weights, covariances, priors, keep, contexts, (contexts[:, 0] > 0.0) * 1.0)
        covariance = square(covariances[0], d)
        assert np.linalg.eigvalsh(covariance)[0] > 1e-4
        assert (np.diag(covariance) <= priors * (1.0 + 1e-9)).all()
        assert np.isfinite(weights).all()


@pytest.mark.parametrize("d", [1, 2, 7, 40])
@pytest.mark.parametrize("keep", [1.0, 0.9])
def test_a_triangle_does_what_a_square_would(d, keep):
    rng = np.random.default_rng(d)
    root, weights = rng.normal(size=(3, d, d)), rng.normal(size=(d, 3))
    squares = root @ root.transpose(0, 2, 1)
    triangles = np.ascontiguousarray(squares[(slice(None), *np.tril_indices(d))])
    places, columns = np.flatnonzero(rng.random(d) < 0.7), np.array([2, 0])
    x = np.zeros(d)
    x[places] = rng.normal(size=places.size)
    look = empty_look(2, d)
    full_look(weights, triangles, places, x[places], columns, look)
    np.testing.assert_allclose(look[0], x @ weights[:, columns], atol=1e-9)
    np.testing.assert_allclose(look[1], [x @ squares[a] @ x for a in columns], atol=1e-9)
    np.testing.assert_allclose(look[2], squares[columns] @ x, atol=1e-9)
    for seen, looked in zip(
        glance(weights, triangles, places, x[places], columns), look[:2], strict=True
    ):
        np.testing.assert_allclose(seen, looked, rtol=1e-9, atol=1e-9)
    before, priors = weights.copy(), np.full(d, 1e6)
    full_step((weights, triangles, priors), columns, look, np.array([1.0, 0.0]), coins(2), keep)
    for c, a in enumerate(columns):
        scale = 1.0 / np.sqrt(1.0 + np.pi / 8.0 * look[1][c])
        mean = 1.0 / (1.0 + np.exp(-scale * look[0][c]))
        along, shrink = squares[a] @ x, scale**2 * mean * (1.0 - mean)
        step = scale * ((1.0, 0.0)[c] - mean)
        np.testing.assert_allclose(weights[:, a], before[:, a] + step * along, atol=1e-9)
        expected = (squares[a] - shrink * np.outer(along, along)) / keep
        np.testing.assert_allclose(square(triangles[a], d), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(triangles[1], squares[1][np.tril_indices(d)])


def test_fading_and_precisions_are_those_of_a_square():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(5, 5))
    covariance, priors, weights = root @ root.T, np.arange(1.0, 6.0), rng.normal(size=(5, 1))
    triangles = covariance[np.tril_indices(5)][None].copy()
    precisions = np.array([0.5, 0.0, 2.0, 0.0, 0.01])
    moved, column = triangles[0].copy(), weights[:, 0].copy()
    full_add(column, moved, precisions)
    expected = np.linalg.inv(np.linalg.inv(covariance) + np.diag(precisions))
    np.testing.assert_allclose(square(moved, 5), expected, rtol=1e-9)
    np.testing.assert_allclose(column, expected @ np.linalg.solve(covariance, weights[:, 0]))
    before = weights.copy()
    full_fade((weights, triangles, priors), 0, 0.25)
    np.testing.assert_allclose(weights, 0.25 * before)
    np.testing.assert_allclose(
        square(triangles[0], 5), 0.25 * covariance + 0.75 * np.diag(priors), rtol=1e-12
    )


def test_forgetting_never_goes_beyond_the_prior():
    """Variances below, near, at and above it; the last prior was learned since."""
    variances, priors = np.array([1.0, 1.8, 2.0, 2.0]), np.array([2.0, 2.0, 2.0, 1.0])
    covariances, look = as_triangles(variances, 1), empty_look(1, 4)
    column, places = np.array([0]), np.arange(4)
    full_look(np.zeros((4, 1)), covariances, places, np.zeros(4), column, look)
    full_step((np.zeros((4, 1)), covariances, priors), column, look, np.array([0.5]), coins(1), 0.5)
    np.testing.assert_allclose(covariances[0, on_diagonal(4)], [2.0, 2.0, 2.0, 2.0], rtol=1e-12)
    assert covariances.shape == (1, n_entries(4)) == (1, 10)


@pytest.mark.parametrize("entry", [np.nan, np.inf, 1e200])
def test_a_look_at_what_would_not_stay_finite_is_not_a_number(entry):
    covariances, look = as_triangles(np.ones(3), 1), empty_look(1, 3)
    covariances[0, 4] = entry
    full_look(np.zeros((3, 1)), covariances, np.arange(2), np.ones(2), np.array([0]), look)
    assert np.isnan(look[1][0])


@pytest.mark.parametrize("places", [np.arange(5), np.array([0, 3]), np.array([4]), np.arange(0)])
def test_a_glance_is_the_same_with_room_for_more_features(places):
    """Whether a row has many of the features, few, or none."""
    rng = np.random.default_rng(places.size)
    d, columns, values = 5, np.array([2, 0]), rng.normal(size=places.size)
    weights = rng.normal(size=(d, 3))
    roots = rng.normal(size=(3, d, d))
    full = roots @ roots.transpose(0, 2, 1)
    triangles = np.array([covariance[np.tril_indices(d)] for covariance in full])
    scores, leverages = glance(weights, triangles, places, values, columns)
    x = np.zeros(d)
    x[places] = values
    np.testing.assert_allclose(scores, x @ weights[:, columns], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(leverages, [x @ full[c] @ x for c in columns], rtol=1e-12)
    wider = np.append(triangles, np.ones((3, n_entries(d + 4) - n_entries(d))), axis=1)
    more = glance(np.append(weights, np.ones((4, 3)), axis=0), wider, places, values, columns)
    assert more[1].tobytes() == leverages.tobytes()
