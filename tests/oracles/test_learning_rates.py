import pytest

from graphcb.oracles.learning_rates import rate_at, rates_from


@pytest.mark.parametrize("decay", ["constant", "inverse_sqrt"])
def test_rates_told_ahead_are_those_of_the_updates_bit_for_bit(decay):
    ahead = rates_from(0.3, decay, 7, 2000)
    assert ahead.tolist() == [rate_at(0.3, decay, 7 + t) for t in range(2000)]
