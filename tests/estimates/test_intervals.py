import numpy as np
import pytest

from graphcb.estimates.intervals import LowerEnds, confidence_sequence

ALPHA = 0.5 * (1.0 - 0.95)


@pytest.mark.parametrize("floor", [0.0, 2.0])
@pytest.mark.parametrize("cuts", [[1], [1, 2, 3], [100, 250]])
def test_ends_do_not_depend_on_the_pieces(floor, cuts):
    rng = np.random.default_rng(0)
    terms = rng.exponential(0.4, size=(3, 300)) - floor * (rng.random((3, 300)) < 0.1)
    whole = LowerEnds(ALPHA, floor).add(terms)
    pieces = LowerEnds(ALPHA, floor)
    found = [pieces.add(part) for part in np.split(terms, cuts, axis=1)]
    np.testing.assert_allclose(np.concatenate(found, axis=1), whole, rtol=0, atol=1e-12)
    assert pieces.n == 300
    lower, _ = confidence_sequence(terms, terms, floor=floor)
    assert np.array_equal(lower, whole)


def test_no_terms_change_nothing():
    ends = LowerEnds(0.025)
    assert ends.add(np.zeros((2, 0))).shape == (2, 0)
    assert ends.n == 0


def test_a_mean_that_falls_is_covered_at_all_times():
    rng = np.random.default_rng(0)
    means = np.where(np.arange(20_000) < 4000, 0.9, 0.1)
    losses = (rng.random(means.size) < means).astype(float)
    truth = np.cumsum(means) / np.arange(1, means.size + 1)
    lower, upper = confidence_sequence(losses, 1.0 - losses)
    assert (lower <= truth).all()
    assert (truth <= upper).all()
    assert lower[-1] > 0.2
    assert lower.max() > truth[-1]  # 0.26 in the end, 0.9 for long: earlier ends do not stay
