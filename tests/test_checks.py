import pytest

from graphcb.checks import as_one_of, listed


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
