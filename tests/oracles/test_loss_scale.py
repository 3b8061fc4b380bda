import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from graphcb import Learner, Problem
from graphcb.oracles import DefaultOracle
from graphcb.oracles.loss_scale import LossScale
from graphcb.saving import from_bytes, to_bytes


def rounds(n, seed=0, d=3, n_actions=3):
    """Contexts, all actions, and losses between -5 and 5 that depend on them."""
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(d, n_actions))
    for _ in range(n):
        x = rng.normal(size=d)
        losses = np.clip(x @ weights + 0.5 * rng.normal(size=n_actions), -5.0, 5.0)
        yield x, np.arange(n_actions), losses


def trained(loss_range, *, unit=1.0, zero=0.0, n=200, sparse=False):
    oracle = DefaultOracle(3, loss_range=loss_range)
    for x, seen, losses in rounds(n):
        oracle.update((np.arange(3), x) if sparse else x, seen, zero + unit * losses)
    return oracle


def error(oracle, *, unit=1.0, zero=0.0, sparse=False):
    """Mean squared error of the predictions relative to that of the best constants."""
    weights = np.random.default_rng(0).normal(size=(3, 3))
    contexts = np.random.default_rng(1).normal(size=(300, 3))
    predicted = [oracle.predict((np.arange(3), x) if sparse else x) for x in contexts]
    truth = contexts @ weights
    off = (np.array(predicted) - zero) / unit - truth
    return (off * off).mean() / truth.var()


@pytest.mark.parametrize("loss_range", [(-1e3, 1e3), (-1e6, 1e4), (-5.0, 1e9), None])
def test_a_range_is_a_bound_and_not_a_scale(loss_range):
    assert error(trained((-5.0, 5.0))) < 0.05
    assert error(trained(loss_range)) < 0.07


def test_sparse_contexts_too():
    fitting = error(trained((-5.0, 5.0), sparse=True), sparse=True)
    for loss_range in ((-1e6, 1e6), None):
        assert error(trained(loss_range, sparse=True), sparse=True) < 1.5 * fitting


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e12])
@pytest.mark.parametrize("zero", [0.0, 3000.0])
def test_without_a_range_units_do_not_matter(unit, zero):
    oracle = trained(None, unit=unit, zero=zero * unit)
    assert error(oracle, unit=unit, zero=zero * unit) < 0.07
    assert 5.0 * unit < oracle.forecast(np.zeros(3)).span < 20.0 * unit


def test_coins_never_change_the_range():
    scale = LossScale(2, (0.0, 1.0))
    rng = np.random.default_rng(0)
    for _ in range(100):
        losses = (rng.random(2) < 0.5) * 1.0
        assert scale.around(losses) is None
        assert scale.shares(losses) is losses
        assert not scale.count(np.arange(2), losses) or scale.fitted() is None


def test_the_range_shrinks_to_what_was_seen_with_a_margin_inside_the_bounds():
    scale = LossScale(1, (0.0, 1000.0))
    assert not scale.count(np.zeros(15, int), np.linspace(0.0, 8.0, 15))
    assert scale.count(np.zeros(1, int), np.array([4.0]))
    assert scale.fitted() == (0.0, 8.8)
    assert LossScale(1, (0.0, 64.0)).fitted() is None  # nothing seen
    wide = LossScale(1, (0.0, 64.0))
    wide.count(np.zeros(16, int), np.linspace(0.0, 8.0, 16))
    assert wide.fitted() is None  # an eighth is enough


def test_one_loss_again_and_again_is_no_scale():
    for loss in (0.0, 0.3, 1e50):
        oracle = DefaultOracle(1, loss_range=None)
        for _ in range(100):
            oracle.update([1.0], [0], [loss])
        assert oracle.predict([1.0])[0] == pytest.approx(loss, abs=0.2 * max(1.0, loss))


def test_actions_that_always_cost_the_same_leave_the_range_as_it_is():
    scale = LossScale(2, (0.0, 51.0))
    scale.count(np.tile([0, 1], 32), np.tile([0.0, 3.0], 32))
    assert scale.fitted() is None  # the first may be a coin that falls on 51 one day
    scale.count(np.array([0]), np.array([0.5]))
    assert scale.fitted() == (0.0, 3.3)


def test_where_the_range_grows_few_losses_do_not_rule_out_large_ones():
    for n, least, most in ((16, 0.02, 0.1), (1000, 0.005, 0.01)):
        oracle = DefaultOracle(2, loss_range=(0.0, 1.0))
        for t in range(n):
            oracle.update([0.0], [0, 1], [0.01 * (t % 2), 0.01 * (t % 3)])
        assert oracle.scale.high < 0.03
        oracle.update([0.0], [1], [1.0])
        forecast = oracle.forecast([0.0])
        assert least < forecast.losses[0] < most


def test_the_range_grows_to_hold_a_loss_and_keeps_what_was_learned():
    oracle = trained(None, n=400)
    weights = np.random.default_rng(0).normal(size=(3, 3))
    low, span = oracle.scale.low, oracle.scale.span
    oracle.update(np.zeros(3), [1], [low + 3.0 * span])
    assert oracle.scale.high > low + 3.0 * span
    assert oracle.scale.low == low
    x = np.array([1.0, -1.0, 0.5])
    near = pytest.approx((x @ weights)[[0, 2]], abs=1.0)
    assert oracle.predict(x)[[0, 2]] == near
    before, after = trained(None, n=400).forecast(np.zeros(3)), oracle.forecast(np.zeros(3))
    wider = after.deviations[[0, 2]] / before.deviations[[0, 2]]
    assert (wider > 0.9).all()
    assert (wider < 2.0).all()  # members may disagree now


def test_a_range_that_grows_back_learns_coins_as_before():
    rng = np.random.default_rng(0)
    coins = [(rng.normal(size=2), (rng.random(2) < 0.5) * 1.0) for _ in range(300)]
    plain, other = DefaultOracle(2), DefaultOracle(2)
    for t in range(16):
        other.update([0.0, 0.0], [0], [0.01 * (t % 2)])
    assert other.scale.high < 0.02
    for x, losses in coins:
        plain.update(x, [0, 1], losses)
        other.update(x, [0, 1], losses)
    assert (other.scale.low, other.scale.high) == (0.0, 1.0)
    for x, _ in coins[:20]:
        assert other.predict(x) == pytest.approx(plain.predict(x), abs=0.06)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 1), st.floats(-1e50, 1e50, allow_nan=False)),
        min_size=1,
        max_size=40,
    ),
    st.booleans(),
)
@example([(0, -6.6e-171)], False)  # the range becomes 1e170 times as small
def test_every_loss_leaves_finite_numbers(seen, sparse):
    oracle = DefaultOracle(2, loss_range=None)
    context = ([1, 2], [1.0, 0.5]) if sparse else [1.0, -2.0]
    for action, loss in seen:
        oracle.update(context, [action], [loss])
        forecast = oracle.forecast(context)
        assert np.isfinite(np.concatenate(forecast[:4])).all()
        assert 0.0 < forecast.span < np.inf
        assert (forecast.deviations >= 0.0).all()
    assert to_bytes(from_bytes(to_bytes(oracle), where="test")) == to_bytes(oracle)


def test_actions_come_and_go():
    oracle = trained((-1e6, 1e6))
    before = oracle.predict([1.0, 0.0, 0.0])
    oracle.grow(5)
    assert oracle.predict([1.0, 0.0, 0.0])[:3] == pytest.approx(before)
    oracle.update([0.0, 0.0, 0.0], [4], [100.0])
    oracle.take([4, 1])
    assert oracle.scale.counts.tolist() == [1.0, 200.0]
    oracle.update([0.0, 0.0, 0.0], [0], [1000.0])
    assert np.isfinite(oracle.predict([1.0, 0.0, 0.0])).all()


def test_a_loss_that_is_refused_changes_nothing():
    oracle = trained(None, n=30)
    before = to_bytes(oracle)
    for loss, text in ((np.nan, "must be finite"), (1e60, "at most 1e\\+50 in size")):
        with pytest.raises(ValueError, match=text):
            oracle.update(np.zeros(3), [0], [loss])
    with pytest.raises(ValueError, match="must have shape"):
        oracle.update(np.zeros(2), [0], [1e9])
    assert to_bytes(oracle) == before


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda o: setattr(o.scale, "high", o.scale.low), "`high` must be above `low`"),
        (lambda o: o.scale.grow(5), "`scale` must have 3 actions and the loss range"),
        (lambda o: setattr(o.scale, "bounds", (0.0, 2.0)), "`scale` must have 3 actions"),
        (lambda o: setattr(o.scale, "bounds", (2.0, 0.0)), "`bounds` must be"),
    ],
)
def test_a_file_with_another_scale_is_refused(change, text):
    oracle = trained(None, n=5)
    change(oracle)
    content = to_bytes(oracle)
    with pytest.raises(ValueError, match=text):
        from_bytes(content, where="test")


def test_a_range_that_is_found_has_the_first_loss_in_its_middle():
    """Actions that were not seen yet look like the first one, whatever its sign."""
    assert LossScale(2, None).around(np.array([-999.0])) == (-1998.0, 0.0)
    assert LossScale(2, None).around(np.array([500.0])) == (0.0, 1000.0)
    assert LossScale(2, None).around(np.array([0.5])) is None
    assert LossScale(2, (0.0, 1000.0)).around(np.array([500.0])) is None


def test_a_range_that_was_guessed_shrinks_sooner_than_a_declared_one():
    losses = np.linspace(300.0, 600.0, 16)
    guessed, declared = LossScale(1, None), LossScale(1, (0.0, 1000.0))
    guessed.move(guessed.around(np.array([500.0])))
    for scale in (guessed, declared):
        assert scale.count(np.zeros(16, int), losses)
    assert guessed.fitted() == (270.0, 630.0)
    assert declared.fitted() is None


def test_a_few_losses_at_one_end_of_a_smaller_range_say_what_a_few_coins_say():
    scale = LossScale(2, (0.0, 1000.0))
    scale.count(np.array([0, 0, 0, 1]), np.array([1.0, 1.0, 1.0, 0.0]))
    carry = scale.move((0.0, 1.0))
    shares = 1.0 / (1.0 + np.exp(-carry.shifts))
    np.testing.assert_allclose(shares, [3.5 / 4.0, 0.5 / 2.0], atol=1e-4)


@pytest.mark.parametrize("declared", [(0.0, 1000.0), (-999.0, 1.0)])
def test_coins_in_a_range_a_thousand_times_as_wide_are_learned_as_well(declared):
    """Rewards 0 and 1: the share of the possible gain is that with a range of 0 to 1."""

    def gain(value_range, seed):
        rng = np.random.default_rng(seed)
        weights, names = 0.5 * rng.normal(size=(4, 5)), ["a", "b", "c", "d"]
        learner = Learner(Problem(names, feedback="rewards", range=value_range))
        got = best = even = 0.0
        for _ in range(800):
            x = rng.normal(size=5)
            means = 1.0 / (1.0 + np.exp(-2.0 * weights @ x))
            context = {f"x{i}": float(v) for i, v in enumerate(x)}
            played = rng.choice(4, p=learner.act(context))
            learner.learn(context, [names[played]], [float(rng.random() < means[played])])
            got, best, even = got + means[played], best + means.max(), even + means.mean()
        return (got - even) / (best - even)

    wide = np.mean([gain(declared, seed) for seed in (11, 12)])
    assert wide > 0.9 * np.mean([gain((0.0, 1.0), seed) for seed in (11, 12)])
