import numpy as np
import pytest

from graphcb.oracles import SharedLinearOGD

CATALOGUE = {"tea": [1.0, 0.0], "coffee": [0.0, 1.0], "chai": [0.9, 0.1]}


def items(context, actions):
    return np.array([[*np.multiply(context, CATALOGUE[a]), 1.0] for a in actions])


def test_what_one_action_teaches_another_knows():
    oracle = SharedLinearOGD(3, items, learning_rate=0.1)
    for _ in range(500):
        oracle.update([1.0, 1.0], ["tea", "coffee"], [0.1, 0.9])
    tea, coffee, chai = oracle.predict([1.0, 1.0], ["tea", "coffee", "chai"])
    assert tea == pytest.approx(0.1, abs=1e-3)
    assert coffee == pytest.approx(0.9, abs=1e-3)
    assert chai == pytest.approx(0.9 * 0.1 + 0.1 * 0.9, abs=0.01)


def test_features_of_the_wrong_shape_or_size():
    oracle = SharedLinearOGD(2, items)
    with pytest.raises(
        ValueError, match=r"`features` must return an array of shape \(1, 2\), .*\(1, 3\)"
    ):
        oracle.predict([1.0, 1.0], ["tea"])
    oracle = SharedLinearOGD(1, lambda x, a: np.full((len(a), 1), np.nan))
    with pytest.raises(ValueError, match="`features` must be finite"):
        oracle.predict(None, [0])


def test_divergence_is_said_and_not_hidden():
    oracle = SharedLinearOGD(1, lambda x, a: np.full((len(a), 1), 1e160), learning_rate=1.0)
    with pytest.raises(ValueError, match=r"`features` must be at most 1e\+50 in size, got 1e\+160"):
        oracle.update(None, [0], [1.0])
    oracle.weights[:] = 1e160
    with pytest.raises(FloatingPointError, match="the steps diverge"):
        oracle.predict(None, [0])
