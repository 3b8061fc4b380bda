import numpy as np
import pytest

from graphcb import graphs
from graphcb.environments import OffLinear


def drawn(off, n_rounds=2000):
    environment = OffLinear(graphs.bandit(3), off, n_rounds)
    return environment, *environment.draw(np.random.default_rng(0))


def residuals(contexts, means):
    weights, *_ = np.linalg.lstsq(contexts, means, rcond=None)
    return means - contexts @ weights


def test_off_zero_is_linear_and_the_rest_is_not():
    _, contexts, means, _ = drawn(0.0)
    assert np.abs(residuals(contexts, means)).max() < 1e-12
    _, contexts, off, losses = drawn(0.1)
    np.testing.assert_allclose(np.abs(off - means), 0.1)
    # Nearly all of it is out of reach of any linear function.
    assert (residuals(contexts, off) ** 2).mean() > 0.9 * 0.1**2
    assert set(losses.ravel().tolist()) == {0.0, 1.0}
    assert np.abs((losses - off).mean(axis=0)).max() < 0.04


def test_losses_stay_between_0_and_1():
    _, _, means, _ = drawn(0.2)
    assert means.min() >= 0.0
    assert means.max() <= 1.0


def test_the_rounds_are_those_drawn_and_the_loss_is_regret():
    environment, contexts, means, losses = drawn(0.1, n_rounds=30)
    rounds = list(environment.rounds(np.random.default_rng(0)))
    for round, context, mean, loss in zip(rounds, contexts, means, losses, strict=True):
        np.testing.assert_array_equal(round.context, context)
        seen = environment.reveal(round, 2, np.random.default_rng(0))
        assert (seen.actions.tolist(), seen.losses.tolist()) == ([2], [loss[2]])
        assert environment.loss(round, 1) == mean[1] - mean.min()


@pytest.mark.parametrize("off", [-0.1, 0.21, float("nan")])
def test_bad_off(off):
    with pytest.raises(ValueError, match=f"`off` must be between 0 and 0.2, got {off}"):
        OffLinear(graphs.bandit(2), off)
