import numpy as np
import pytest

from graphcb import draw


def test_draws_follow_the_probabilities():
    rng = np.random.default_rng(0)
    p = np.array([0.0, 0.5, 0.0, 0.25, 0.25, 0.0])
    counts = np.bincount([draw(p, rng) for _ in range(20_000)], minlength=6)
    np.testing.assert_allclose(counts / 20_000, p, atol=0.01)
    assert counts[[0, 2, 5]].sum() == 0


class Always(np.random.Generator):
    """A stream that always answers the same."""

    def __init__(self, answer):
        super().__init__(np.random.PCG64(0))
        self.answer = answer

    def random(self):
        return self.answer


def test_a_draw_inverts_the_cumulative_probabilities():
    p = np.array([0.25, 0.0, 0.75])
    assert draw(p, Always(0.0)) == 0
    assert draw(p, Always(np.nextafter(0.25, 0.0))) == 0
    assert draw(p, Always(0.25)) == 2


def test_rounding_never_draws_an_impossible_action():
    assert draw(np.array([0.3, 0.7 - 1e-9, 0.0]), Always(1.0 - 2**-53)) == 1


@pytest.mark.parametrize(
    ("probabilities", "text"),
    [
        ([0.5, 0.4, 0.0], r"must sum to 1 \(within 1e-06\), got a sum of 0.9"),
        ([1.5, -0.5, 0.0], "must be non-negative numbers, got -0.5 at index 1"),
        ([0.5, np.nan], "must be non-negative numbers, got nan at index 1"),
        ([[0.5, 0.5]], r"must be one number for each action, got shape \(1, 2\)"),
        ([], r"must be one number for each action, got shape \(0,\)"),
    ],
)
def test_what_is_no_distribution_is_refused_and_takes_no_number(probabilities, text):
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=f"`probabilities` {text}"):
        draw(probabilities, rng)
    assert rng.random() == np.random.default_rng(0).random()


def test_a_seed_is_no_stream():
    with pytest.raises(TypeError, match=r"`rng` must be a numpy.random.Generator, .* got int"):
        draw([1.0], 0)
