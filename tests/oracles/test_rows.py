import numpy as np
import pytest
import scipy.sparse

from graphcb.oracles import LinearOGD
from graphcb.oracles.rows import as_row

DENSE = np.array([0.0, 2.0, 0.0, -1.0])


def test_all_forms_of_a_context_mean_the_same():
    forms = [
        DENSE,
        DENSE.tolist(),
        scipy.sparse.csr_array(DENSE[None]),
        scipy.sparse.csr_matrix(DENSE[None]),
        scipy.sparse.csr_array(np.array([[0, 2, 0, -1]], dtype=np.float32)),
        (np.array([1, 3]), np.array([2.0, -1.0])),
        (np.array([3, 1], dtype=np.int32), [-1.0, 2.0]),
    ]
    for form in forms:
        oracle = LinearOGD(2, 4, learning_rate=0.1)
        oracle.update(form, [1], [1.0])
        np.testing.assert_allclose(oracle.weights[:, 1], 0.2 * DENSE)
        np.testing.assert_allclose(oracle.predict(form), [0.0, 1.0])


def test_an_empty_row_is_a_row_of_zeros():
    row = as_row(([], []), 4)
    assert [part.size for part in row] == [0, 0]
    assert LinearOGD(2, 4).predict(([], [])).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("context", "error", "text"),
    [
        (np.ones(3), ValueError, r"must have shape \(4,\) to match n_features, got \(3,\)"),
        (scipy.sparse.csr_array(np.ones((2, 4))), ValueError, r"got \(2, 4\); a sparse row is"),
        (([0], [1.0], [2.0]), ValueError, "must be a pair .*got a tuple of 3"),
        (([0, 1], [1.0]), ValueError, r"as many indices as values, got shapes \(2,\) and \(1,\)"),
        (([0, 4], [1.0, 1.0]), IndexError, "indices between 0 and 3, got 4 at position 1"),
        (([-1], [1.0]), IndexError, "indices between 0 and 3, got -1 at position 0"),
        (([0.5], [1.0]), TypeError, r"`context\[0\]` must be whole numbers, got float64"),
    ],
)
def test_contexts_that_are_none(context, error, text):
    with pytest.raises(error, match=text):
        as_row(context, 4)
