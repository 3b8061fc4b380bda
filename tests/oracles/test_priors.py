import numpy as np
import pytest

from graphcb.oracles import BayesianLogistic, DefaultOracle
from graphcb.oracles.priors import LEAST, MOST, MOST_ALONE, constant_prior, relearn
from graphcb.saving import from_bytes, to_bytes


def sigmoid(z):
    return 1.0 / (1.0 + np.exp(-z))


def learned(covariance, n, truth, seed=0):
    """A member after n coins of each action, whose weights are the columns of `truth`."""
    rng, (d, n_actions) = np.random.default_rng(seed), truth.shape
    member = BayesianLogistic(n_actions, d, covariance=covariance)
    for x in rng.normal(size=(n, d)) / np.sqrt(d):
        losses = (rng.random(n_actions) < sigmoid(x @ truth)) * 1.0
        member.update(x, np.arange(n_actions), losses)
    return member


def moved(member):
    relearn(member, [slice(0, member.n_features)], member.counts, np.ones(member.n_actions))
    return member


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_another_prior_gives_the_posterior_that_the_same_data_have_with_it(covariance):
    """With losses of one half nothing is bent, and the order of prior and data does not matter."""
    rng = np.random.default_rng(0)
    contexts = np.eye(3)[rng.integers(3, size=60)] if covariance == "diagonal" else None
    contexts = rng.normal(size=(60, 3)) if contexts is None else contexts
    first = BayesianLogistic(2, 3, covariance=covariance)
    first.covariances *= 1e-3  # sure of the scores: the steps are those of least squares
    first.prior_variances *= 1e-3
    other = from_bytes(to_bytes(first), where="test")
    precisions = np.array([300.0, -50.0, 0.0])
    other.add_precisions(precisions)
    for x in contexts:
        for member in (first, other):
            member.update(x, [0, 1], [0.7, 0.3])
    first.add_precisions(precisions)
    np.testing.assert_allclose(first.prior_variances, other.prior_variances)
    np.testing.assert_allclose(first.weights, other.weights, rtol=0.02, atol=1e-6)
    np.testing.assert_allclose(first.variances(), other.variances(), rtol=0.02)


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
@pytest.mark.parametrize(("scale", "low", "high"), [(0.3, 0.05, 0.6), (20.0, 15.0, 400.0)])
def test_the_variance_goes_from_ten_toward_that_of_the_weights(covariance, scale, low, high):
    truth = scale * np.random.default_rng(1).normal(size=(10, 6))
    member = learned(covariance, 400, truth)
    for _ in range(3):
        moved(member)
    assert low < np.median(member.prior_variances) < high


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_few_features_that_matter_do_not_widen_the_others(covariance):
    truth = np.zeros((40, 3))
    truth[:3] = 25.0 * np.random.default_rng(1).choice([-1.0, 1.0], size=(3, 3))
    member = learned(covariance, 600, truth)
    for _ in range(3):
        moved(member)
    assert member.prior_variances[:3].min() > 20.0 * np.median(member.prior_variances[3:])
    assert member.unseen_variance < 5.0


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_estimates_are_bounded_and_leave_finite_numbers(covariance):
    for weights in (0.0, 1e-30, 1e30):
        member = learned(covariance, 50, np.zeros((3, 2)))
        member.weights[:] = weights
        moved(member)
        assert (member.prior_variances >= 0.99 * LEAST).all()
        assert (member.prior_variances <= 1.01 * MOST).all()
        assert np.isfinite(member.weights).all()
        assert (member.variances() >= 0.0).all()
        from_bytes(to_bytes(member), where="test")


def test_nothing_seen_is_nothing_learned():
    member = BayesianLogistic(2, 3)
    moved(member)
    np.testing.assert_allclose(member.prior_variances, 10.0)
    assert not member.weights.any()


def test_the_constant_starts_with_every_mean_about_as_likely():
    for constant, variance in ((2.0, 1.0), (0.05, 10.0)):
        member = BayesianLogistic(2, 3)
        constant_prior(member, constant)
        np.testing.assert_allclose(member.prior_variances, [variance, 10.0, 10.0])
        np.testing.assert_allclose(member.covariances[1], [variance, 0.0, 10.0, 0.0, 0.0, 10.0])


def test_features_that_say_nothing_cost_little():
    rng, truth = np.random.default_rng(0), np.zeros((100, 2))
    truth[:4] = 2.0 * rng.normal(size=(4, 2))
    few, many = DefaultOracle(2), DefaultOracle(2)
    errors = {few: [], many: []}
    for t in range(1500):
        x = rng.normal(size=100)
        means = sigmoid(x @ truth)
        losses = (rng.random(2) < means) * 1.0
        for oracle, context in ((few, x[:4]), (many, x)):
            if t >= 1000:
                errors[oracle].append(np.abs(oracle.predict(context) - means).mean())
            oracle.update(context, [0, 1], losses)
    assert np.mean(errors[many]) < 3.0 * np.mean(errors[few])


def test_new_words_and_actions_have_the_prior_that_was_learned():
    rng, oracle = np.random.default_rng(0), DefaultOracle(2)
    for _ in range(300):
        words = rng.choice(40, size=5, replace=False)
        oracle.update((words, np.ones(5)), [0, 1], (rng.random(2) < 0.5) * 1.0)
    before = oracle.forecast(([100], [1.0])).deviations
    assert (before < 0.75 * DefaultOracle(2).forecast(([100], [1.0])).deviations).all()
    assert oracle.blend.straight[0].unseen_variance < 2.0  # of 10 at first
    oracle.update(([100], [1.0]), [0], [1.0])
    full = oracle.blend.straight[0]
    place = oracle.blend.features.n_places - 1
    assert full.prior_variances[place] == pytest.approx(full.unseen_variance, rel=1e-12)
    oracle.grow(4)
    assert oracle.forecast(([1], [1.0])).deviations[3] < 0.3


def test_variances_above_the_prior_are_refused():
    member = BayesianLogistic(2, 3, covariance="diagonal")
    member.covariances[1, 0] = 10.1
    content = to_bytes(member)
    with pytest.raises(ValueError, match="between 0 and the prior variances"):
        from_bytes(content, where="test")


def test_without_covariances_estimates_do_not_run_away():
    """Two words that always come together count twice in a diagonal posterior."""
    member = learned("diagonal", 300, np.full((4, 2), 60.0))
    for _ in range(6):
        relearn(member, [slice(0, 4)], member.counts, np.full(2, 0.05), MOST_ALONE)
    assert member.prior_variances.max() == MOST_ALONE
    assert member.unseen_variance <= MOST_ALONE
