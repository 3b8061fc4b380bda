"""Noise that is pooled over actions, and what it says of one that was hardly ever seen."""

import numpy as np
import pytest

from graphcb import InformationDirected, graphs
from graphcb.contexts import Encoder
from graphcb.oracles import DefaultOracle
from graphcb.oracles.posterior import PI_8, sharpened, step_and_shrink
from graphcb.oracles.residuals import LEVELS, doubting_the_pool, noises_of, note_levels, units_of
from graphcb.saving import from_bytes, to_bytes


def test_quiet_losses_sharpen_what_was_learned_and_nothing_else():
    found = [sharpened(leverage, 4.0, 0.01) for leverage in (4.0, 1.0, 1e-3)]
    assert found[0] == 4.0  # nothing was learned
    assert found[1] == pytest.approx(1.0 / (0.25 + 0.75 / 0.01))
    assert found[2] == pytest.approx(0.01 * 1e-3, rel=1e-3)  # all was
    assert sharpened(1.0, 4.0, 5.0) == 1.0


def test_a_pool_is_doubted_until_an_action_has_losses_of_its_own():
    deviations = [doubting_the_pool(0.1, 0.5, count) for count in (0.0, 20.0, 1e6)]
    np.testing.assert_allclose(
        deviations, [0.5, (0.75 * 0.01 + 0.25 * 0.25) ** 0.5, 0.1], rtol=1e-4
    )


def test_a_quiet_action_does_not_make_another_one_certain():
    """One that always costs 0.3 says nothing of one that was seen twice."""
    found = np.array([_deviations_beside_a_quiet_action(seed) for seed in range(6)])
    assert found[:, 1].max() < 0.02
    assert found[:, 0].mean() > 0.25
    assert found[:, 0].min() > 0.2


def _deviations_beside_a_quiet_action(seed):
    oracle, rng = DefaultOracle(2), np.random.default_rng(seed)
    for _ in range(500):
        oracle.update(rng.normal(size=5), np.array([1]), np.array([0.3]))
    for loss in (0.0, 1.0):
        oracle.update(rng.normal(size=5), np.array([0]), np.array([loss]))
    return oracle.forecast(rng.normal(size=5), np.arange(2)).deviations


@pytest.mark.parametrize("leverage", [0.0, 1e-3, 1.0, 50.0])
def test_a_coin_takes_the_steps_of_a_coin_to_the_bit(leverage):
    scale = 1.0 / np.sqrt(1.0 + PI_8 * leverage)
    mean = 1.0 / (1.0 + np.exp(-scale * 0.7))
    step, shrink = step_and_shrink(0.7, leverage, 0.25, 1.0, 1.0)
    assert step == pytest.approx(scale * (0.25 - mean), rel=1e-15)
    assert shrink == pytest.approx(scale * scale * mean * (1.0 - mean), rel=1e-15)


def test_a_loss_that_varies_a_tenth_as_much_counts_for_ten():
    """While little is unknown, ten coins and one such loss move a score alike."""
    _, coin = step_and_shrink(0.7, 1e-6, 0.25, 1.0, 1.0)
    _, quiet = step_and_shrink(0.7, 1e-6, 0.25, 0.1, 1.0)
    assert quiet == pytest.approx(10.0 * coin, rel=1e-4)
    _, relative = step_and_shrink(0.7, 1e-6, 0.25, 0.1, 0.1)  # a covariance in units of its noise
    assert relative == pytest.approx(coin, rel=1e-4)


def test_no_step_takes_off_more_than_there_is():
    rng = np.random.default_rng(0)
    for score, log_leverage, log_noise, log_unit in rng.uniform(-7.0, 7.0, size=(2000, 4)):
        leverage, unit = np.exp(log_leverage), np.exp(min(log_unit, 0.0))
        _, shrink = step_and_shrink(score, leverage, 0.5, np.exp(log_noise), unit)
        assert 0.0 < shrink * leverage < 1.0


def test_losses_of_0_and_1_have_the_noise_of_coins_beside_quiet_ones():
    levels, between, counts = np.zeros((2, LEVELS)), np.zeros(2), np.full((1, 2), 50.0)
    rng, both = np.random.default_rng(0), np.arange(2)
    for _ in range(50):
        predicted = np.array([rng.uniform(0.3, 0.7), 0.4])
        seen = np.array([float(rng.random() < 0.5), 0.4 + 0.01 * rng.random()])
        note_levels(levels, between, both, predicted, seen)
    assert units_of(levels, between, counts, both)[0] == 1.0
    assert noises_of(levels, between, counts, both, rng.random(2))[0] == 1.0
    assert units_of(levels, between, counts, both)[1] < 1.0


def test_noise_that_grows_with_the_loss_is_found_by_level():
    levels, between, counts = np.zeros((2, LEVELS)), np.zeros(1), np.full((1, 1), 2000.0)
    rng, column = np.random.default_rng(0), np.zeros(1, int)
    for _ in range(2000):
        predicted = np.exp(rng.uniform(-5.0, -0.7, size=1))
        seen = np.minimum(predicted * np.exp(0.3 * rng.normal(size=1) - 0.045), 1.0)
        note_levels(levels, between, column, predicted, seen)
    low, high = (
        noises_of(levels, between, counts, column, np.array([share]))[0] for share in (0.02, 0.4)
    )
    assert high > 5.0 * low


def test_rewards_that_fill_a_thousandth_of_their_range_are_learned_with_heavy_tails():
    """Rewards of typically 4 in 0 to 10,000: with the noise of coins, 0.86 of the gain."""
    gains = [_gain(seed) for seed in (901, 902, 903)]
    assert np.mean(gains) > 0.9


def _gain(seed):
    rng, agent = (
        np.random.default_rng(seed),
        InformationDirected(DefaultOracle(4, loss_range=(-10000.0, 0.0))),
    )
    weights, graph, got, best = 0.5 * rng.normal(size=(4, 5)), graphs.bandit(4), 0.0, 0.0
    for _ in range(2000):
        x = rng.normal(size=5)
        means = np.exp(weights @ x + 1.125)
        action = int(rng.choice(4, p=agent.act(x, graph)))
        got, best = got + means[action] - means.mean(), best + means.max() - means.mean()
        reward = np.exp(weights[action] @ x + 1.0 + 0.5 * rng.normal())
        agent.learn(x, [action], [-min(reward, 10000.0)])
    return got / best


def test_a_file_from_before_noise_was_kept_by_level_is_read():
    oracle, rng = DefaultOracle(2), np.random.default_rng(0)
    for _ in range(40):
        oracle.update(rng.normal(size=3), [0, 1], (rng.random(2) < 0.5).astype(float))
    new = to_bytes(oracle)
    del oracle.blend.between, oracle.blend.levels
    old = from_bytes(to_bytes(oracle), where="a file")
    np.testing.assert_array_equal(old.blend.between, np.zeros(2))
    np.testing.assert_array_equal(
        old.predict(np.ones(3)), from_bytes(new, where="a file").predict(np.ones(3))
    )
    oracle.blend.levels = np.full((2, LEVELS), -1.0)
    with pytest.raises(ValueError, match="`levels` must"):
        from_bytes(to_bytes(oracle), where="a file")


def test_quiet_losses_of_one_action_do_not_make_another_one_certain():
    """One loss of 1 beside 400 that never vary: what another topic brings is not known."""
    encoder = Encoder()
    for t in range(20):
        encoder.learn({"topic": f"t{t}"})

    def deviation(n_quiet):
        oracle = DefaultOracle(2)
        for t in range(n_quiet):
            oracle.update(encoder.encode({"topic": f"t{t % 10}"}), [0], [0.3])
        oracle.update(encoder.encode({"topic": "t0"}), [1], [1.0])
        return oracle.forecast(encoder.encode({"topic": "t15"})).deviations[1]

    assert deviation(400) > 0.9 * deviation(0)
