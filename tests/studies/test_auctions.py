import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from studies.unknown_graphs.auctions import FirstPriceAuctions

RNG = np.random.default_rng(0)
shares = st.floats(0.0, 1.0)


def only_round(value, price, **options):
    environment = FirstPriceAuctions([value], [price], **options)
    (round,) = environment.rounds(RNG)
    return environment, round


@given(value=shares, price=shares, n_bids=st.integers(2, 12))
def test_the_graph_is_what_reveal_shows_and_losses_are_those_of_the_rules(value, price, n_bids):
    environment, round = only_round(value, price, n_bids=n_bids, shown="full")
    for action, bid in enumerate(environment.bids):
        wins = bid >= price
        earned = value - bid if wins else 0.0
        assert environment.loss(round, action) == (1.0 - earned) / 2.0
        seen = environment.reveal(round, action, RNG)
        assert seen.actions.tolist() == list(range(action if wins else 0, n_bids))
        assert seen.losses.tolist() == [environment.loss(round, j) for j in seen.actions]
        np.testing.assert_array_equal(round.graph.row(action).nonzero()[0], seen.actions)
        assert seen.graph is round.graph
    assert environment.losses.min() >= 0.0
    assert environment.losses.max() <= 1.0


def test_only_the_row_is_shown_unless_asked_for():
    environment, round = only_round(0.5, 0.5)
    assert environment.reveal(round, 3, RNG).graph is None


@pytest.mark.parametrize("price", [0.0, 0.3, 1.0])
def test_without_lower_bids_the_graph_is_always_the_same(price):
    environment, round = only_round(0.5, price, n_bids=4, lost_shows="higher")
    np.testing.assert_array_equal(round.graph.matrix, np.triu(np.ones((4, 4))))
    assert environment.reveal(round, 2, RNG).actions.tolist() == [2, 3]


@given(value=shares, n_knots=st.integers(2, 9))
def test_a_context_is_a_share_of_the_two_nearest_knots(value, n_knots):
    environment, round = only_round(value, 0.5, n_knots=n_knots)
    assert environment.n_features == round.context.size == n_knots
    assert round.context.sum() == pytest.approx(1.0)
    assert np.count_nonzero(round.context) <= 2
    assert round.context @ np.linspace(0.0, 1.0, n_knots) == pytest.approx(value)


def test_auctions_come_in_their_order_whatever_the_stream():
    values, prices = np.array([0.0, 0.5, 1.0]), np.array([1.0, 0.0, 0.5])
    environment = FirstPriceAuctions(values, prices, n_bids=3)
    assert environment.n_rounds == 3
    for seed in (0, 1):
        rounds = list(environment.rounds(np.random.default_rng(seed)))
        np.testing.assert_array_equal([r.hidden for r in rounds], environment.losses)
    assert [r.graph.matrix.sum() for r in rounds] == [7.0, 6.0, 6.0]


@pytest.mark.parametrize(
    ("arguments", "options", "text"),
    [
        (([0.5], [0.5, 0.5]), {}, r"must both have shape \(n,\), .* got \(1,\) and \(2,\)"),
        (([], []), {}, "with at least one auction"),
        (([[0.5]], [[0.5]]), {}, r"got \(1, 1\) and \(1, 1\)"),
        (([0.5, 1.5], [0.5, 0.5]), {}, r"`values` must be in \[0, 1\], got 1.5 at index 1; divide"),
        (([0.5], [np.nan]), {}, r"`prices` must be in \[0, 1\], got nan at index 0"),
        (([0.5], [0.5]), {"n_bids": 1}, "`n_bids` must be at least 2, got 1"),
        (([0.5], [0.5]), {"n_knots": 1}, "`n_knots` must be at least 2, got 1"),
        (([0.5], [0.5]), {"shown": "half"}, "`shown` must be one of row, full; got 'half'"),
        (([0.5], [0.5]), {"lost_shows": "it"}, "`lost_shows` must be one of all, higher; got"),
    ],
)
def test_bad_auctions(arguments, options, text):
    with pytest.raises(ValueError, match=text):
        FirstPriceAuctions(*arguments, **options)
