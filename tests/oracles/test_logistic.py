import numpy as np
import pytest

from graphcb.oracles import LogisticOGD


@pytest.mark.parametrize(
    ("loss_range", "losses", "text"),
    [
        ((0.0, 1.0), [0.5, 1.5], r"\(0.0, 1.0\), got 1.5 at index 1; give loss_range="),
        ((0.0, 1.0), [-0.1, 0.5], r"\(0.0, 1.0\), got -0.1 at index 0; give loss_range="),
        ((-2.0, 5.0), [5.5, 0.5], r"\(-2.0, 5.0\), got 5.5 at index 0"),
    ],
)
def test_losses_outside_the_range_are_refused_and_change_nothing(loss_range, losses, text):
    oracle = LogisticOGD(3, 2, loss_range=loss_range)
    with pytest.raises(ValueError, match=f"`losses` must lie in loss_range {text}"):
        oracle.update([1.0, 2.0], [0, 2], losses)
    assert oracle.n_updates == 0
    assert not oracle.weights.any()


def test_both_ends_of_the_range_are_inside():
    oracle = LogisticOGD(2, 1, loss_range=(-2.0, 5.0))
    oracle.update([1.0], [0, 1], [-2.0, 5.0])
    low, high = oracle.predict([1.0])
    assert low < 1.5 < high


def test_log_loss_descends_the_log_loss():
    oracle = LogisticOGD(2, 3, learning_rate=0.5, objective="log_loss", loss_range=(-1.0, 3.0))
    oracle.weights[:] = np.random.default_rng(0).normal(size=(3, 2))
    before, x, losses = oracle.weights.copy(), np.array([0.5, -1.0, 2.0]), np.array([-1.0, 2.0])

    def log_loss(weights):
        mu = 1.0 / (1.0 + np.exp(-x @ weights))
        share = (losses + 1.0) / 4.0
        return -(share * np.log(mu) + (1.0 - share) * np.log(1.0 - mu)).sum()

    oracle.update(x, [0, 1], losses)
    for index in np.ndindex(3, 2):
        shift = np.zeros((3, 2))
        shift[index] = 1e-6
        slope = (log_loss(before + shift) - log_loss(before - shift)) / 2e-6
        assert oracle.weights[index] == pytest.approx(before[index] - 0.5 * slope, abs=1e-7)


def test_log_loss_learns_sooner_where_it_is_far_off():
    plain, logged = LogisticOGD(1, 1), LogisticOGD(1, 1, objective="log_loss")
    for oracle in (plain, logged):
        for _ in range(50):
            oracle.update([1.0], [0], [0.0])
    assert logged.predict([1.0])[0] < 0.5 * plain.predict([1.0])[0]
    with pytest.raises(ValueError, match="`objective` must be one of squared_error, log_loss"):
        LogisticOGD(1, 1, objective="hinge")
