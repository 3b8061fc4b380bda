import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphcb.oracles import LinearOGD, VovkAggregation


def constants(values):
    return [lambda x, a, v=v: np.full(len(a), v) for v in values]


@given(
    st.integers(2, 30),
    st.lists(st.floats(0, 1), min_size=1, max_size=200),
    st.sampled_from([(0.0, 1.0), (-1.0, 1.0), (5.0, 25.0)]),
)
def test_regret_is_at_most_logarithmic_in_the_number_of_members(n, outcomes, loss_range):
    """Section 2: Reg_Sq = O(log N) for a finite class."""
    low, high = loss_range
    values = np.linspace(low, high, n)
    oracle = VovkAggregation(constants(values), loss_range=loss_range)
    total = 0.0
    losses = low + (high - low) * np.array(outcomes)
    for loss in losses:
        total += (oracle.predict(None, [0])[0] - loss) ** 2
        oracle.update(None, [0], [loss])
    best = min(((value - losses) ** 2).sum() for value in values)
    assert total - best <= (high - low) ** 2 / 2 * np.log(n) * (1 + 1e-9) + 1e-9


def test_the_bound_holds_for_the_means_of_rounds_that_reveal_much():
    rng = np.random.default_rng(0)
    table = rng.random((20, 6))
    oracle = VovkAggregation([lambda x, a, row=row: row[a] for row in table])
    total, each = 0.0, np.zeros(20)
    for _ in range(300):
        seen = np.sort(rng.choice(6, size=rng.integers(1, 7), replace=False))
        losses = np.clip(table[7, seen] + 0.3 * rng.normal(size=seen.size), 0, 1)
        total += ((oracle.predict(None, seen) - losses) ** 2).mean()
        each += ((table[:, seen] - losses) ** 2).mean(axis=1)
        oracle.update(None, seen, losses)
    assert total - each.min() <= 0.5 * np.log(20)
    assert np.argmax(oracle.log_weights) == 7


def test_oracles_among_the_members_learn():
    oracle = VovkAggregation(
        [LinearOGD(1, 1, learning_rate=0.2), LinearOGD(1, 1, learning_rate=1e-9)]
    )
    for _ in range(50):
        oracle.update([1.0], [0], [0.8])
    assert oracle.predict([1.0], [0])[0] == pytest.approx(0.8, abs=0.01)


def test_weights_never_vanish_altogether():
    oracle = VovkAggregation(constants([0.0, 1.0]))
    for _ in range(5000):
        oracle.update(None, [0], [1.0])
    for _ in range(5000):
        oracle.update(None, [0], [0.0])
    assert 0.0 <= oracle.predict(None, [0])[0] <= 1.0
    assert np.isfinite(oracle.log_weights).all()


def test_bad_input():
    with pytest.raises(ValueError, match="`members` must hold at least one function or oracle"):
        VovkAggregation([])
    with pytest.raises(ValueError, match=r"`loss_range` must be \(low, high\)"):
        VovkAggregation(constants([0.5]), loss_range=(1.0, 0.0))
    oracle = VovkAggregation(constants([0.2, 0.5]))
    before = oracle.log_weights.copy()
    with pytest.raises(ValueError, match=r"`losses` must lie in loss_range \(0.0, 1.0\), got 1.5"):
        oracle.update(None, [0], [1.5])
    np.testing.assert_array_equal(oracle.log_weights, before)


@pytest.mark.parametrize("loss_range", [(0.0, 1.0), (-3.0, 5.0)])
def test_weights_fall_by_twice_the_squared_error_in_units_of_the_range(loss_range):
    low, high = loss_range
    oracle = VovkAggregation(constants([low, high]), loss_range=loss_range)
    oracle.update(None, [0, 1], [low, low])
    assert oracle.log_weights[0] - oracle.log_weights[1] == pytest.approx(2.0)
