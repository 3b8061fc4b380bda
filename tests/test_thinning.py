import pytest

from graphcb.thinning import Thinned


def test_the_points_of_a_curve_stay_few_and_evenly_spaced():
    curve = Thinned(64, every=5)
    for n in range(1, 10_001):
        kept = curve.add(n, n)
        assert kept is (n == (curve.counts or [0])[-1])
        assert len(curve.values) <= 64
    assert curve.values == curve.counts
    assert curve.every == 160
    assert curve.counts == list(range(160, 10_001, 160))


def test_windows_that_are_joined_lose_nothing():
    history, window = Thinned(8, every=3, join=lambda earlier, later: earlier + later), []
    for n in range(1, 1001):
        window = [*window, n]
        if history.add(n, window):
            window = []
    assert [len(one) for one in history.values] == [history.every] * len(history.values)
    assert [n for one in history.values for n in one] + window == list(range(1, 1001))


def test_a_curve_that_cannot_be_halved_is_refused():
    for most in (0, 1, 7):
        with pytest.raises(ValueError, match="`most` must be an even number above 0, got"):
            Thinned(most)
