import pytest

from graphcb.oracles import LogisticOGD


@pytest.mark.parametrize(
    ("loss_range", "losses", "text"),
    [
        ((0.0, 1.0), [0.5, 1.5], r"\(0.0, 1.0\), got 1.5 at index 1; give loss_range="),
        ((0.0, 1.0), [-0.1, 0.5], r"\(0.0, 1.0\), got -0.1 at index 0; give loss_range="),
        ((-2.0, 5.0), [5.5, 0.5], r"\(-2.0, 5.0\), got 5.5 at index 0"),
    ],
)
def test_losses_outside_the_range_are_refused_and_change_nothing(loss_range, losses, text):
    oracle = LogisticOGD(3, 2, loss_range=loss_range)
    with pytest.raises(ValueError, match=f"`losses` must lie in loss_range {text}"):
        oracle.update([1.0, 2.0], [0, 2], losses)
    assert oracle.n_updates == 0
    assert not oracle.weights.any()


def test_both_ends_of_the_range_are_inside():
    oracle = LogisticOGD(2, 1, loss_range=(-2.0, 5.0))
    oracle.update([1.0], [0, 1], [-2.0, 5.0])
    low, high = oracle.predict([1.0])
    assert low < 1.5 < high
