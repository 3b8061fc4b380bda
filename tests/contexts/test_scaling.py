import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from graphcb.contexts import Encoder
from graphcb.contexts.scaling import SAMPLE, NumberScales, _normal, is_far
from graphcb.saving import from_bytes, to_bytes
from graphcb.standardising import CLIP


def scaled(rows, cuts=()):
    scales = NumberScales(rows.shape[1])
    pieces = [piece.copy() for piece in np.split(rows, cuts)]
    for piece in pieces:
        scales.scale_rows(piece)
    return np.concatenate(pieces)


def test_each_row_by_the_mean_and_deviation_up_to_it():
    rows = np.random.default_rng(0).normal(1e6, 3.0, size=(50, 2))
    got = scaled(rows)
    for i in (1, 7, 49):
        before = rows[: i + 1]
        expected = (rows[i] - before.mean(axis=0)) / before.std(axis=0)
        np.testing.assert_allclose(got[i], expected, rtol=1e-7)
    np.testing.assert_array_equal(got[0], 0.0)


def test_neither_a_constant_column_nor_a_wild_value_does_harm():
    rows = np.column_stack((np.full(1000, 7.0), np.random.default_rng(0).normal(size=1000)))
    tame = scaled(rows)
    rows[500, 1] = 1e12
    got = scaled(rows)
    np.testing.assert_array_equal(got[:, 0], 0.0)
    assert got[500, 1] == CLIP
    np.testing.assert_allclose(got[501:, 1], tame[501:, 1], atol=0.1)


@pytest.mark.parametrize("first", [0, 3, 20])
def test_an_early_outlier_is_forgotten(first):
    values = np.random.default_rng(0).normal(size=(400, 1))
    tame = scaled(values)
    values[first] = 999999.0
    assert np.corrcoef(scaled(values)[100:, 0], tame[100:, 0])[0, 1] > 0.99


@given(st.lists(st.integers(0, 40), max_size=4).map(sorted), st.integers(0, 5))
def test_how_the_rows_are_cut_does_not_matter(cuts, seed):
    rows = np.random.default_rng(seed).normal(size=(40, 3)) * [1.0, 1e-9, 1e9]
    rows[:, 1] = np.exp(3e9 * rows[:, 1])
    np.testing.assert_array_equal(scaled(rows, cuts), scaled(rows))


@pytest.mark.parametrize("factor", [1e-6, 1.0, 1e6])
def test_the_unit_of_a_column_does_not_matter(factor):
    rows = np.random.default_rng(3).normal(size=(30, 2))
    np.testing.assert_allclose(scaled(rows * factor), scaled(rows), atol=1e-12)


def test_heavy_tails_become_normal_scores():
    x = np.random.default_rng(0).normal(size=(3000, 1))
    got = scaled(np.exp(2.0 * x))
    assert np.corrcoef(got[500:, 0], x[500:, 0])[0, 1] > 0.99


def test_a_code_for_missing_leaves_room_for_the_rest():
    rng = np.random.default_rng(0)
    x = rng.normal(50.0, 5.0, size=(2000, 1))
    odd = np.where(rng.random((2000, 1)) < 0.1, -999.0, x)
    is_there = (odd == x)[500:, 0]
    assert np.corrcoef(scaled(odd)[500:][is_there, 0], x[500:][is_there, 0])[0, 1] > 0.97
    assert scaled(odd)[500:][is_there].std() > 0.5


@pytest.mark.parametrize("share", [0.5, 0.9, 0.97])
def test_two_values_and_mostly_zeros_are_deviations(share):
    rng = np.random.default_rng(0)
    marks = (rng.random((2000, 1)) > share) * 1.0
    got = scaled(marks)[-1, 0]
    expected = (marks[-1, 0] - marks.mean()) / marks.std()
    assert got == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("factor", [1e-3, 1.0 / 60.0, 60.0, 1e3])
@pytest.mark.parametrize("tails", ["even", "heavy"])
def test_a_unit_that_changes_half_way_leaves_the_scale_as_it_was(factor, tails):
    """What was learned at one deviation then holds in the new unit."""
    metres = np.random.default_rng(0).normal(5.0, 2.0, size=(4000, 2))
    if tails == "heavy":
        metres = np.exp(metres)
    is_late = np.arange(4000)[:, None] >= 2000
    got = scaled(np.where(is_late, factor * metres, metres))
    np.testing.assert_array_equal(got[:2000], scaled(metres)[:2000])
    assert np.sqrt(np.mean((got - scaled(metres))[3000:] ** 2)) < 0.2


def test_what_is_no_new_unit():
    rng = np.random.default_rng(0)
    x = rng.normal(size=3000)
    columns = {
        "in order": np.sort(x),
        "wanders": np.cumsum(x),
        "code, late": np.where((rng.random(3000) < 0.3) & (np.arange(3000) > 1000), -999.0, x),
        "heavy tails": np.exp(5.0 * x),
        "Cauchy": rng.standard_cauchy(3000),
        "rare": x * (rng.random(3000) < 0.01),
        "stands still, then moves": np.where(np.arange(3000) < 1500, 3.0, x),
        "moves, then stands still": np.where(np.arange(3000) < 1500, x, 3.0),
        "clock": 1.7e9 + np.cumsum(rng.exponential(60.0, 3000)),
        "integers": rng.poisson(2.0, 3000) * 1.0,
    }
    scales = NumberScales(len(columns))
    for row in np.column_stack(list(columns.values())):
        scales.count(row)
    assert dict(zip(columns, scales.counts.tolist(), strict=True)) == dict.fromkeys(columns, 3000)


def test_the_sample_is_exact_while_it_fills_and_then_one_of_all_values():
    values = np.random.default_rng(0).permutation(20000.0 * np.arange(20000))
    scales = NumberScales(1)
    for n, x in enumerate(values, start=1):
        scales.count(np.array([x]))
        if n == SAMPLE:
            np.testing.assert_array_equal(scales.samples[0], np.sort(values[:SAMPLE]))
    sample = scales.samples[0]
    assert (np.diff(sample) > 0.0).all()
    ages = np.searchsorted(np.sort(values), sample) / 20000.0
    np.testing.assert_allclose(np.quantile(ages, [0.25, 0.5, 0.75]), [0.25, 0.5, 0.75], atol=0.1)
    when = np.argsort(values)[np.searchsorted(np.sort(values), sample)]
    assert 0.4 < when.mean() / 20000.0 < 0.6  # neither the first values nor the last


def test_normal_scores_are_quantiles():
    for share in (1e-5, 0.01, 0.02425, 0.3, 0.5, 0.7, 0.97575, 0.999):
        assert _normal(share) == pytest.approx(norm.ppf(share), abs=1e-8)


def test_what_is_missing_is_0_and_not_counted():
    scales = NumberScales(2)
    for x in (1.0, np.nan, 3.0):
        scales.count(np.array([x, 2.0]))
    assert scales.counts.tolist() == [2, 3]
    assert scales.scale(np.array([np.nan, 2.0])).tolist() == [0.0, 0.0]


def test_saved_and_loaded_it_continues_and_unsorted_samples_are_refused():
    scales, rng = NumberScales(3), np.random.default_rng(0)
    for x in rng.standard_cauchy(size=(300, 3)):
        scales.count(x)
    twin = from_bytes(to_bytes(scales), where="here")
    for x in rng.standard_cauchy(size=(100, 3)):
        np.testing.assert_array_equal(twin.scale(x), scales.scale(x))
        twin.count(x)
        scales.count(x)
    assert to_bytes(twin) == to_bytes(scales)
    scales.samples[1] = scales.samples[1][::-1].copy()
    with pytest.raises(ValueError, match="`samples` must be sorted"):
        from_bytes(to_bytes(scales), where="here")


@pytest.mark.parametrize("features", [None, {"age": "number", "size": "number", "word": "text"}])
@pytest.mark.parametrize("code", [-999.0, 999999.0])
def test_a_value_that_looks_like_a_code_for_missing_is_named(features, code):
    encoder, rng = Encoder(features), np.random.default_rng(0)
    for t in range(1200):
        age = code if t % 500 == 7 else float(rng.integers(18, 90))
        encoder.learn({"age": age, "size": float(rng.normal()), "word": "a"})
    assert encoder.odd_values() == {"age": code}


def test_what_is_no_code():
    rng = np.random.default_rng(0)
    encoder = Encoder()
    for t in range(1000):
        numbers = {
            "amount": float(np.exp(2.0 * rng.normal())),
            "flag": float(t % 100 == 0),
            "constant": 3.0,
            "count": float(rng.poisson(0.05)),
            "once": 1e9 if t == 600 else float(rng.normal()),
        }
        encoder.learn(numbers)
    assert encoder.odd_values() == {}
    assert not is_far(-999.0, np.ones(3))
