import numpy as np
import pytest

from graphcb.oracles import ActionFeatureOracle
from graphcb.oracles.action_rows import Rows
from graphcb.oracles.pair_priors import PRIOR_VARIANCE, PairPriors
from graphcb.oracles.pairs import BLOCK, IN_BLOCKS, PairPosterior
from graphcb.oracles.priors import CONSTANT_VARIANCE, LEAST_LOSSES
from graphcb.saving import from_bytes, to_bytes


def sigmoid(z):
    return 1.0 / (1.0 + np.exp(-z))


def learned(truth, n_rounds=1024, n_names=6, width=3):
    """After coins of names, in contexts of numbers; truth(name, x) are the log odds."""
    rng, oracle = np.random.default_rng(0), ActionFeatureOracle()
    for _ in range(n_rounds):
        x, name = rng.normal(size=width), int(rng.integers(n_names))
        loss = float(rng.random() < sigmoid(truth(name, x)))
        oracle.update(x, [([100 + name], [1.0])], [loss])
    return oracle.posterior.priors


def test_every_mean_loss_is_about_as_likely_at_first():
    for n_dense, value in ((4, np.sqrt(10.0 / 4.0)), (0, 0.05)):
        priors = PairPriors(n_dense)
        variance = priors.contexts[priors.constant] * value**2
        assert variance == pytest.approx(min(CONSTANT_VARIANCE, PRIOR_VARIANCE * value**2))


def test_what_says_nothing_is_worth_little():
    noise = learned(lambda name, x: name - 2.5)
    assert (noise.contexts[:3] < 0.2 * PRIOR_VARIANCE).all()
    assert noise.contexts[3] > 2.0 * noise.contexts[:3].max()
    told = learned(lambda name, x: 2.0 * x[0] * (-1) ** name)
    assert told.contexts[0] > 5.0 * told.contexts[1:3].max()


def test_names_that_are_alike_are_worth_less_than_names_that_are_not():
    alike, apart = learned(lambda name, x: 0.5), learned(lambda name, x: name - 2.5)
    assert alike.actions[-1] * alike.contexts[3] < 0.5 * apart.actions[-1] * apart.contexts[3]


def test_features_seen_in_few_losses_have_no_say():
    priors, n = PairPriors(2), LEAST_LOSSES
    actions, contexts = np.array([0, 1, 2]), np.zeros(3, dtype=int)
    before = priors.of(np.minimum(actions, 1), contexts)
    squares, variances = np.array([1e6, 0.1, 1e6]), 0.1 * before
    few = np.array([n, n - 1.0, n - 1.0])
    added = priors.relearn(actions, contexts, squares, variances, few, 2, 1000.0)
    assert (added == 0.0).all()
    few[1] = n
    added = priors.relearn(actions, contexts, squares, variances, few, 2, 1000.0)
    assert priors.actions[2] == priors.actions[3] < 1.0
    assert (added > 0.0).all()


@pytest.mark.parametrize("together", [0, 3])
def test_the_posterior_moves_to_what_the_same_data_have_with_the_other_prior(together):
    """In a block, and alone where all are apart: the precisions of both priors are exchanged."""
    rng, posterior = np.random.default_rng(0), PairPosterior(together)
    places = np.arange(3) if together else np.arange(300)
    for _ in range(40):
        x, name = rng.normal(size=places.size) / np.sqrt(places.size), int(rng.integers(4))
        rows = Rows(
            np.array([0, 2]), np.array([0, 1 + name]), np.array([0.25, 1.0]), np.empty((1, 0))
        )
        posterior.learn((places, x), np.empty(0), rows, (rng.random(1) < 0.5) * 1.0)
    used = posterior.keys >= 0
    actions, contexts = posterior.keys[used] >> 32, posterior.keys[used] & 0xFFFFFFFF
    order = posterior.key_places[used]
    old, weights, alone = (
        from_bytes(to_bytes(posterior), where="test"),
        posterior.weights,
        IN_BLOCKS,
    )
    posterior.relearn(1.0, np.full(5, 40.0), places.size)
    priors = [
        one.priors.of(np.minimum(actions, one.priors.actions.size - 1),
                      np.minimum(contexts, one.priors.contexts.size - 1))
        for one in (old, posterior)
    ]  # fmt: skip
    added = np.zeros(weights.size)
    added[order] = 1.0 / priors[1] - 1.0 / priors[0]
    assert (np.abs(added[order]) > 1e-3).any()
    n = min(posterior.n_in_blocks, BLOCK)
    precision = np.linalg.inv(old.covariances[0, :n, :n])
    expected = np.linalg.inv(precision + np.diag(added[:n]))
    np.testing.assert_allclose(posterior.covariances[0, :n, :n], expected, rtol=1e-6, atol=1e-9)
    moved = expected @ precision @ old.weights[:n]
    np.testing.assert_allclose(posterior.weights[:n], moved, rtol=1e-6, atol=1e-9)
    m = posterior.n_alone
    assert (m > 0) == (together == 0)
    shrink = 1.0 / (1.0 + added[alone : alone + m] * old.variances[:m])
    np.testing.assert_allclose(posterior.variances[:m], shrink * old.variances[:m], rtol=1e-9)
    np.testing.assert_allclose(
        posterior.weights[alone : alone + m], shrink * old.weights[alone : alone + m], rtol=1e-9
    )


def test_priors_that_lack_the_constants_are_refused():
    priors = PairPriors(3)
    priors.contexts = np.full(3, PRIOR_VARIANCE)
    with pytest.raises(ValueError, match="must have their constants"):
        priors.check_loaded()
