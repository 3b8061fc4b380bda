import numpy as np

from graphcb.datasets import load_digits


def test_digits_are_rows_of_norm_1_with_one_right_action():
    data = load_digits()
    assert data.contexts.shape == (1797, 64)
    np.testing.assert_allclose(np.sqrt(data.contexts.multiply(data.contexts).sum(axis=1)), 1.0)
    assert data.losses.shape == (1797, 10)
    assert (data.losses.sum(axis=1) == 9.0).all()
    assert set(np.unique(data.losses)) == {0.0, 1.0}
    assert data.topics == tuple("0123456789")
