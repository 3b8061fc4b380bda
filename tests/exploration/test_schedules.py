import pytest

from graphcb import Fixed, SquareRoot
from graphcb.exploration import as_schedule


def test_square_root_law():
    schedule = SquareRoot(c=0.5, alpha=9)
    assert [schedule.gamma(t, 2) for t in (1, 4, 16)] == [1.5, 3.0, 6.0]
    assert SquareRoot(c=1.0, alpha="n_actions").gamma(4, 25) == 10.0


def test_a_number_is_a_fixed_schedule():
    assert as_schedule(3) == Fixed(3)
    assert as_schedule(SquareRoot(1.0, 1.0)) == SquareRoot(1.0, 1.0)


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_bad_values(value):
    with pytest.raises(ValueError, match="`gamma` must be a positive finite number"):
        Fixed(value)
    with pytest.raises(ValueError, match="`c` must be a positive finite number"):
        SquareRoot(value, 1.0)


@pytest.mark.parametrize("alpha", [0.5, float("nan"), float("inf")])
def test_bad_alpha(alpha):
    with pytest.raises(ValueError, match="`alpha` must be at least 1"):
        SquareRoot(1.0, alpha)
    with pytest.raises(ValueError, match="or \"n_actions\", got 'K'"):
        SquareRoot(1.0, "K")
