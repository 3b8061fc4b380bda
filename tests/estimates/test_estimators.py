"""Estimates from sums, and when an interval is withheld."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphcb.estimates.comparing import Apart, apart, difference
from graphcb.estimates.estimate import Conditions
from graphcb.estimates.estimators import estimates, quantile
from graphcb.estimates.intervals import LowerEnds
from graphcb.estimates.moments import Moments

ASKED = Conditions((0.0, 1.0))


def found(weights, values, asked=ASKED):
    moments = Moments(len(weights))
    w = np.array(weights, dtype=float)
    moments.add(w, w * np.array(values, dtype=float))
    return moments, estimates(moments, asked)


def bandit_log(rng, n, p=0.2, mean=0.3):
    """Weights and values of always playing one of two actions, and of always the other."""
    played = rng.random(n) < p
    value = (rng.random(n) < mean).astype(float)
    return np.stack([played / p, ~played / (1.0 - p)]), np.stack([value, value])


def test_values_are_those_of_the_formulas():
    rng = np.random.default_rng(1)
    w, v = bandit_log(rng, 500)
    moments, (first, _) = found(w, v)
    x = w[0] * v[0]
    mean = x.sum() / w[0].sum()
    assert first.estimates["ips"].value == pytest.approx(x.mean(), rel=1e-14)
    assert first.estimates["ips"].standard_error == pytest.approx(x.std(ddof=1) / math.sqrt(500))
    normalised = first.estimates["self-normalised"]
    assert normalised.value == pytest.approx(mean, rel=1e-14)
    errors, left = x - mean * w[0], w[0].sum() ** 2 - (w[0] ** 2).sum()
    assert normalised.standard_error == pytest.approx(math.sqrt((errors**2).sum() / left))
    assert first.weights.effective_size == pytest.approx(w[0].sum() ** 2 / (w[0] ** 2).sum())
    assert first.weights.largest == 5.0
    assert moments.n == first.weights.n == 500


def test_inverse_propensity_does_not_depend_on_the_range():
    w, v = bandit_log(np.random.default_rng(2), 300)
    narrow = found(w, v)[1][0].estimates
    wide = found(w, v, Conditions((-100.0, 100.0)))[1][0].estimates
    for name in ("ips", "self-normalised"):
        assert narrow[name].value == wide[name].value
        assert narrow[name].standard_error == wide[name].standard_error


def test_a_cut_trades_variance_for_a_bias_that_is_stated():
    rng = np.random.default_rng(3)
    w = np.ones(4000)
    w[0] = 400.0
    v = rng.random(4000)
    v[0] = 1.0
    one = found([w], [v])[1][0]
    clipped = one.estimates["clipped"]
    assert one.cut < 400.0
    assert clipped.bias > 0.0
    assert clipped.standard_error < one.estimates["self-normalised"].standard_error
    lost = 1.0 - np.minimum(w, one.cut).sum() / w.sum()
    most = max(clipped.value, 1.0 - clipped.value)
    assert clipped.bias == pytest.approx(lost * most, rel=1e-12)


def test_weight_that_was_not_seen_counts_as_cut():
    one = found([np.full(400, 0.75)], [np.random.default_rng(3).random(400)])[1][0]
    assert one.why == "rare"
    assert one.estimates["clipped"].bias > 0.25 * 0.5


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0, 3.0, 40.0]), st.floats(2.0, 5.0)),
             min_size=2, max_size=60)
)  # fmt: skip
def test_no_interval_leaves_the_range(rows):
    w, v = np.array(rows).T
    _, (one,) = found([w], [v], Conditions((2.0, 5.0)))
    for estimate in one.estimates.values():
        for interval in (estimate.normal, estimate.bernstein, estimate.anytime):
            if interval is not None:
                assert 2.0 <= interval.lower <= interval.upper <= 5.0


def test_a_rarely_seen_action_does_not_look_perfect():
    w, v = np.zeros(1000), np.zeros(1000)
    w[[3, 700]] = 500.0
    one = found([w], [v])[1][0]
    assert all(estimate.normal is None for estimate in one.estimates.values())
    interval = one.estimate.interval
    assert interval.upper > 0.9
    assert any("effective sample size" in text for text in one.warnings)
    assert any("too few" in text for text in one.warnings)


def test_equal_and_rare_values_are_not_taken_for_all():
    """Two values at each end of the range stand for those that were not seen."""
    one = found([np.ones(100)], [np.full(100, 0.25)])[1][0].estimate
    assert one.value == 0.25
    assert one.normal.lower < 0.24
    assert one.normal.upper > 0.27
    seldom = np.zeros(1000)
    seldom[:2] = 1.0
    assert found([np.ones(1000)], [seldom])[1][0].estimate.normal.upper > 0.007


def test_heavy_decisions_with_equal_values_do_not_make_it_narrow():
    w, v = np.ones(400), np.zeros(400)
    v[::2] = 1.0
    w[:4], v[:4] = 100.0, 0.5  # most of the weight, and no spread
    one = found([w], [v])[1][0].estimates["self-normalised"]
    wide = 0.5 * (one.normal.upper - one.normal.lower)
    assert wide > 2.0 * 1.96 * one.standard_error


def test_nor_that_of_inverse_propensity():
    w, v = np.ones(1000), np.zeros(1000)
    v[::2] = 1.0
    w[:3], v[:3] = 50.0, 0.01  # much of the weight, and next to no part in the sum
    one = found([w], [v])[1][0].estimates["ips"]
    wide = 0.5 * (one.normal.upper - one.normal.lower)
    assert wide > 2.0 * 1.96 * one.standard_error


def test_a_difference_has_a_least_standard_error():
    w, v = bandit_log(np.random.default_rng(15), 800)
    moments, _ = found(w, v)
    narrow = difference(moments, 0, 1, ASKED, Apart(1.0, 100.0))
    wide = difference(moments, 0, 1, ASKED, Apart(1.0, 100.0, 0.2))
    assert wide.normal.upper - wide.normal.lower > 0.6 > narrow.normal.upper - narrow.normal.lower


def test_the_normal_interval_of_a_share_is_that_of_agresti_and_coull():
    v = np.repeat([0.0, 1.0], [90, 10])
    normal = found([np.ones(100)], [v])[1][0].estimates["self-normalised"].normal
    z = 1.959963984540054
    n = 100 + z * z
    middle = (10 + 0.5 * z * z) / n
    wide = z * math.sqrt(middle * (1.0 - middle) / n)
    assert normal == pytest.approx((middle - wide, middle + wide), abs=1e-3)


@pytest.mark.parametrize(
    ("values", "text"),
    [(np.full(100, 0.25), "are equal"), (np.repeat([0.0, 1.0], [97, 3]), "most of the error")],
)
def test_without_a_range_equal_and_skewed_values_have_no_interval(values, text):
    one = found([np.ones(100)], [values], Conditions())[1][0]
    assert one.estimate.interval is None
    assert text in one.warnings[-1]


def test_one_decision_has_no_interval_but_the_range():
    one = found([np.ones(1)], [np.array([0.5])])[1][0].estimate
    assert one.standard_error == math.inf
    assert one.normal is None
    assert one.interval == (0.0, 1.0)


def test_without_a_range_the_interval_is_students():
    v = np.random.default_rng(12).normal(size=50)
    one = found([np.ones(50)], [v], Conditions())[1][0].estimates["self-normalised"]
    wide = quantile(0.95, 50) * one.standard_error
    assert one.normal == pytest.approx((v.mean() - wide, v.mean() + wide))


def test_weights_far_from_one_on_average_have_no_normal_interval():
    rng = np.random.default_rng(4)
    one = found([np.full(1000, 0.9)], [rng.random(1000)])[1][0]
    assert one.estimates["self-normalised"].normal is None
    assert "too rare to have been seen" in one.warnings[-1]


def test_what_was_to_be_expected_of_rare_actions_counts():
    rng = np.random.default_rng(5)
    w, v = np.ones((1, 1000)), rng.random((1, 1000))
    seen, rare = ASKED._replace(expected=[1000.0]), ASKED._replace(expected=[200_000.0])
    assert found(w, v, seen)[1][0].estimates["self-normalised"].normal is not None
    one = found(w, v, rare)[1][0]
    assert one.estimates["self-normalised"].normal is None
    assert one.weights.effective_size == pytest.approx(5.0)
    assert one.why == "few"


def test_a_policy_of_which_nothing_was_seen_has_no_estimate():
    one = found([np.zeros(10)], [np.zeros(10)])[1][0]
    assert one.estimate is None
    assert one.warnings == ("nothing that this policy plays was seen",)


def test_what_is_missing_widens_the_interval():
    w, v = bandit_log(np.random.default_rng(6), 2000)
    narrow = found(w, v)[1][0].estimates["self-normalised"].normal
    wide = found(w, v, ASKED._replace(missing_share=0.1))[1][0].estimates["self-normalised"].normal
    assert narrow.lower - wide.lower == pytest.approx(0.1)
    assert wide.upper - narrow.upper == pytest.approx(0.1)


def test_differences_are_paired():
    rng = np.random.default_rng(7)
    v = rng.random(2000)
    moments, alone = found([np.ones(2000)] * 2, [v, v + 0.001 * rng.random(2000)])
    paired = difference(moments, 1, 0, ASKED, Apart(1.0, 2000.0))
    alone = alone[0].estimates["self-normalised"].standard_error
    assert paired.value == pytest.approx(0.0005, abs=1e-4)
    assert paired.standard_error < 0.01 * alone
    assert paired.normal.lower < paired.value < paired.normal.upper
    back = difference(moments, 0, 1, ASKED, Apart(1.0, 2000.0))
    assert back.value == pytest.approx(-paired.value)
    assert back.anytime.lower == pytest.approx(-paired.anytime.upper)


def test_the_error_of_a_difference_is_that_of_its_terms():
    w, v = bandit_log(np.random.default_rng(8), 800)
    moments, _ = found(w, v)
    x = w * v
    means = x.sum(axis=1) / w.sum(axis=1)
    errors = (x - means[:, None] * w) / w.mean(axis=1)[:, None]
    expected = math.sqrt(((errors[0] - errors[1]) ** 2).sum()) / 800
    assert difference(moments, 0, 1, ASKED).standard_error == pytest.approx(expected)


def test_targets_that_decide_alike_do_not_differ():
    w, v = bandit_log(np.random.default_rng(13), 800)
    moments, _ = found([w[0], w[0]], [v[0], v[0]])
    assert apart(moments, 0, 1).share == 0.0
    assert difference(moments, 0, 1, ASKED).normal == (0.0, 0.0)


def test_targets_that_seldom_differ_are_told_apart_by_few_decisions():
    w, v = bandit_log(np.random.default_rng(14), 800)
    other = w[0].copy()
    other[:20] = 5.0 - other[:20]  # decides otherwise in 20 rounds
    moments, _ = found([w[0], other], [v[0], v[0]])
    how = apart(moments, 0, 1)
    assert how.share == pytest.approx(0.5 * 20 * 5.0 / 800)
    assert how.effective_size == pytest.approx(20.0)
    between = difference(moments, 0, 1, ASKED).normal
    assert -how.share <= between.lower <= between.upper <= how.share


def test_intervals_by_sums_are_nearly_those_of_bets_one_after_the_other():
    rng = np.random.default_rng(9)
    w, v = bandit_log(rng, 3000)
    one = found(w, v)[1][0]
    lower = LowerEnds(0.025).add(w[0] * v[0])[-1]
    upper = 1.0 - LowerEnds(0.025).add(w[0] * (1.0 - v[0]))[-1]
    anytime = one.estimate.anytime
    assert anytime.upper - anytime.lower < 1.25 * (upper - lower)


def test_decisions_that_depend_on_each_other_have_no_bernstein_interval():
    w, v = bandit_log(np.random.default_rng(10), 500)
    one = found(w, v, ASKED._replace(independent=False))[1][0]
    assert one.estimates["ips"].bernstein is None


@pytest.mark.parametrize(("size", "exact"), [(5.0, 2.5706), (30.0, 2.0423), (1000.0, 1.9623)])
def test_quantiles_are_those_of_students_t(size, exact):
    assert quantile(0.95, size) == pytest.approx(exact, rel=0.01)


def test_the_cut_does_not_depend_on_the_values():
    """Chosen by the narrowest interval, it would be the luckiest."""
    w = np.ones((1, 4000))
    w[0, 0] = 400.0
    rng = np.random.default_rng(11)
    chosen = [found(w, rng.random((1, 4000)) < mean)[1][0] for mean in (0.02, 0.5, 0.98)]
    assert len({one.cut for one in chosen}) == 1
    assert chosen[0].cut < 400.0
    assert found(np.ones((1, 100)), rng.random((1, 100)))[1][0].cut == math.inf
