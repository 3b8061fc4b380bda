import numpy as np
import pytest

from graphcb.checks import as_numbers, as_one_of, as_range, listed


@pytest.mark.parametrize("values", [np.array([1.0 + 2.0j]), [1.0 + 2.0j], ["a"], [None, [1.0]]])
def test_what_is_no_array_of_real_numbers_is_refused(values):
    with pytest.raises(TypeError, match="`losses` must be an array of real numbers"):
        as_numbers("losses", values)


def test_long_lists_are_cut():
    assert listed(["a", "b"]) == "a, b"
    assert listed(range(2000), at_most=3) == "0, 1, 2 and 1,997 more"
    assert listed([]) == "none"


def test_a_name_that_is_not_known_is_refused_with_a_suggestion():
    assert as_one_of("method", "solver", ("auto", "solver")) == "solver"
    with pytest.raises(
        ValueError, match=r"`method` must be one of auto, solver; got 'solve'; did you mean 'solv"
    ):
        as_one_of("method", "solve", ("auto", "solver"))
    for wrong in ("x", None, 3):
        with pytest.raises(ValueError, match=r"must be one of auto, solver; got [^;]*$"):
            as_one_of("method", wrong, ("auto", "solver"))


def test_a_range_becomes_two_floats():
    assert as_range("loss_range", (0, 2)) == (0.0, 2.0)
    assert as_range("loss_range", np.array([-1.0, 1.0])) == (-1.0, 1.0)


@pytest.mark.parametrize(
    "bounds", [(1.0, 0.0), (1.0, 1.0), (0.0, np.inf), (np.nan, 1.0), 5, None, "ab", (0, 1, 2), (0,)]
)
def test_anything_else_is_refused(bounds):
    with pytest.raises(ValueError, match=r"`loss_range` must be \(low, high\) with low"):
        as_range("loss_range", bounds)
