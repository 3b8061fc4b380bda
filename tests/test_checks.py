import numpy as np
import pytest

from graphcb.checks import as_range


def test_a_range_becomes_two_floats():
    assert as_range("loss_range", (0, 2)) == (0.0, 2.0)
    assert as_range("loss_range", np.array([-1.0, 1.0])) == (-1.0, 1.0)


@pytest.mark.parametrize(
    "bounds", [(1.0, 0.0), (1.0, 1.0), (0.0, np.inf), (np.nan, 1.0), 5, None, "ab", (0, 1, 2), (0,)]
)
def test_anything_else_is_refused(bounds):
    with pytest.raises(ValueError, match=r"`loss_range` must be \(low, high\) with low"):
        as_range("loss_range", bounds)
