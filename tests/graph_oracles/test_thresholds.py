import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphcb import FeedbackGraph, graphs
from graphcb.graph_oracles import Thresholds
from graphcb.saving import to_bytes

LEVELS = np.linspace(0.0, 1.0, 8)


def refused(oracle, text, played, revealed, actions=None):
    before = to_bytes(oracle)
    for call in (oracle.check_update, oracle.update):
        with pytest.raises(ValueError, match=text):
            call(None, played, revealed, actions)
    assert to_bytes(oracle) == before


@pytest.mark.parametrize(
    ("kind", "revealed", "text"),
    [
        ("bids", [0, 1, 3], "must hold the played action, index 2: with kind='bids' it is always"),
        ("bids", [2], r"every higher level \(kind='bids': a lost .*got none, not even index 3"),
        ("bids", [2, 3, 1], "all lower levels or none .*got index 1 but not 0"),
        (
            "stock",
            [2],
            r"every lower level \(kind='stock': stock left .*got none, not even index 0",
        ),
        ("stock", [0, 1, 2, 4], "every lower|all higher levels or none .*got index 4 but not 3"),
        (
            "prices",
            [2],
            "the lower levels or the higher ones, and not both .*got none of the lower",
        ),
        ("prices", [0, 1, 2, 3, 4], "and not both .*got all of the lower and all of the higher"),
        ("prices", [1, 2], "all lower levels or none .*got index 1 but not 0"),
    ],
)
def test_what_the_family_rules_out_is_refused(kind, revealed, text):
    refused(
        Thresholds(np.arange(5.0) if kind != "bids" else np.arange(4.0), kind=kind),
        text,
        2,
        revealed,
    )


@pytest.mark.parametrize(
    ("kind", "graph", "text"),
    [
        ("bids", graphs.bandit(4), r"must follow kind='bids' \(a lost.*which action 0 does not"),
        ("stock", graphs.bandit(4), "must follow kind='stock' .*which action 1 does not"),
        ("prices", graphs.full_information(4), "must follow kind='prices' .*which action 1 does"),
        ("bids", graphs.threshold([1, 0, 1, 0], np.ones(4)), "which action 2 does not"),
        ("bids", graphs.cops_and_robbers(4), "must be a threshold graph, .*row for action 0"),
    ],
)
def test_graphs_of_another_kind_are_refused(kind, graph, text):
    oracle = Thresholds(np.arange(4.0), kind=kind)
    before = to_bytes(oracle)
    with pytest.raises(ValueError, match=f"`graph` {text}|{text}"):
        oracle.update_full(None, graph)
    assert to_bytes(oracle) == before


@pytest.mark.parametrize(
    ("levels", "text"),
    [
        ([], r"must be a list of rising numbers, got shape \(0,\)"),
        ([0.0, 1.0, 1.0], "must rise, got 1 after 1 at index 2; sort them, and give each once"),
        ([0.0, np.nan], "must be finite, got nan at index 1"),
    ],
)
def test_bad_levels_are_refused(levels, text):
    with pytest.raises(ValueError, match=f"`levels` {text}"):
        Thresholds(levels)


def test_unknown_kinds_and_losses_are_refused():
    with pytest.raises(ValueError, match="`kind` must be one of bids, prices, stock; got 'bid'"):
        Thresholds(LEVELS, kind="bid")
    with pytest.raises(ValueError, match="`loss` must be one of log, squared; got 'square'"):
        Thresholds(LEVELS, loss="square")


def test_a_row_that_says_nothing_teaches_nothing():
    """The lowest bid shows every bid, whether it wins or loses; so does the highest stock."""
    for kind, played in (("bids", 0), ("stock", 7)):
        oracle = Thresholds(LEVELS, kind=kind)
        before = to_bytes(oracle)
        oracle.update(None, played, range(8))
        assert to_bytes(oracle) == before
    alone = Thresholds([1.0], kind="prices")
    alone.update(None, 0, [0])
    assert alone.predict(None) == graphs.bandit(1)


@pytest.mark.parametrize("kind", ["bids", "prices", "stock"])
@given(st.lists(st.tuples(st.integers(0, 7), st.floats(0, 1), st.floats(-3, 3)), max_size=60))
def test_the_curve_falls_whatever_was_seen(kind, rounds):
    oracle = Thresholds(LEVELS, kind=kind, n_features=1)
    for played, hidden, x in rounds:
        above = LEVELS[played] < hidden
        lower, higher = np.arange(8) < played, np.arange(8) > played
        shown = {
            "bids": higher | (lower & above),
            "stock": lower | (higher & (not above)),
            "prices": (lower & above) | (higher & (not above)),
        }[kind]
        shown[played] = True
        oracle.update([x], played, np.flatnonzero(shown))
    for x in (-10.0, 0.0, 10.0):
        curve = oracle.above([x])
        assert (np.diff(curve) <= 0.0).all()
        assert curve.min() >= 0.5 / (len(rounds) + 1)


@pytest.mark.parametrize("shown", [False, True], ids=["played row", "shown in full"])
@pytest.mark.parametrize("kind", ["bids", "prices", "stock"])
def test_learns_the_chance_that_the_hidden_price_is_above(kind, shown):
    rng = np.random.default_rng(0)
    oracle = Thresholds(LEVELS, kind=kind, n_features=1)
    for _ in range(3000):
        x = rng.choice([-1.0, 1.0])
        hidden = rng.logistic(0.5 + 0.15 * x, 0.1)
        above = (hidden > LEVELS).astype(float)
        graph = {
            "bids": graphs.threshold(above, np.ones(8)),
            "stock": graphs.threshold(np.ones(8), 1.0 - above),
            "prices": graphs.threshold(above, 1.0 - above),
        }[kind]
        played = int(rng.integers(8))
        if shown:
            oracle.update_full([x], graph)
        else:
            oracle.update([x], played, np.flatnonzero(graph.row(played)))
    for x in (-1.0, 1.0):
        truth = 1.0 / (1.0 + np.exp((LEVELS - 0.5 - 0.15 * x) / 0.1))
        known = {"bids": slice(1, None), "stock": slice(0, -1), "prices": slice(None)}[kind]
        error = oracle.above([x])[known] - truth[known]
        assert abs(error).max() < 0.08


def test_a_plain_matrix_teaches_what_the_family_does():
    one, other = Thresholds(LEVELS), Thresholds(LEVELS)
    graph = graphs.threshold(LEVELS < 0.4, np.ones(8))
    one.update_full(None, graph)
    other.update_full(None, FeedbackGraph(graph.matrix))
    assert to_bytes(one) == to_bytes(other)


def test_a_thousand_levels_need_no_matrix(monkeypatch):
    from graphcb.graphs.families.threshold import Threshold

    monkeypatch.setattr(Threshold, "dense", lambda self: pytest.fail("a matrix was built"))
    levels = np.linspace(0.0, 1.0, 1000)
    oracle = Thresholds(levels, n_features=2)
    for price in (0.3, 0.6, 0.5):
        oracle.update([1.0, 0.0], 400, range(1000) if price > levels[400] else range(400, 1000))
        oracle.update_full([1.0, 0.0], graphs.threshold(levels < price, np.ones(1000)))
    graph = oracle.predict([1.0, 0.0])
    assert graph.observability == "strong"
    assert graph.n_edges == 1_000_000
    assert oracle.predict([1.0, 0.0], np.arange(0, 1000, 7)).family == "threshold"
