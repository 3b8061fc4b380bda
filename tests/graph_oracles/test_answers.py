import numpy as np
import pytest

from graphcb import FeedbackGraph, InformationDirected, OnPredictedGraph, SquareCBUG, graphs
from graphcb.graph_oracles import Answers
from graphcb.saving import to_bytes


@pytest.mark.parametrize("n_features", [0, 1])
def test_learns_how_often_promised_feedback_comes(n_features):
    rng = np.random.default_rng(0)
    known = FeedbackGraph([[1.0, 0.5, 0.0], [0.0, 1.0, 1.0], [1.0, 1.0, 1.0]])
    rates = np.array([[0.9, 0.6, 0.0], [0.0, 0.2, 0.5], [0.05, 0.7, 1.0]])
    oracle = Answers(known, n_features=n_features)
    for _ in range(6000):
        played = int(rng.integers(3))
        seen = rng.random(3) < known.row(played) * rates[played]
        oracle.update([1.0], played, np.flatnonzero(seen))
    learned = oracle.rates([1.0])
    promised = known.matrix > 0.0
    assert np.isnan(learned[~promised]).all()
    assert abs(learned - rates)[promised].max() < 0.06
    predicted = oracle.predict([1.0]).matrix
    np.testing.assert_allclose(predicted[promised], (known.matrix * learned)[promised])
    assert (predicted[~promised] == 0.0).all()


def test_rates_may_depend_on_the_context():
    rng = np.random.default_rng(1)
    oracle = Answers(graphs.full_information(2), n_features=1)
    for _ in range(2000):
        x = rng.choice([-1.0, 1.0])
        seen = rng.random(2) < (0.9 if x > 0.0 else 0.1)
        oracle.update([x], 0, np.flatnonzero(seen))
    assert oracle.rates([1.0])[0].min() > 0.8
    assert oracle.rates([-1.0])[0].max() < 0.2


def test_an_edge_that_the_known_graph_excludes_is_refused():
    oracle = Answers(graphs.inventory(3))
    before = to_bytes(oracle)
    text = "`revealed` must be what the known graph can reveal, but action 0 never reveals action 2"
    for call in (oracle.check_update, oracle.update):
        with pytest.raises(ValueError, match=text):
            call(None, 0, [0, 2])
    text = "`graph` must be within the known graph, but there action 0 never reveals action 1"
    for call in (oracle.check_update_full, oracle.update_full):
        with pytest.raises(ValueError, match=text):
            call(None, graphs.full_information(3))
    assert to_bytes(oracle) == before


def test_a_graph_that_leaves_an_action_unseen_is_refused():
    with pytest.raises(ValueError, match="observable to learn how often its feedback comes"):
        Answers(FeedbackGraph([[1, 0], [1, 0]]))


def test_the_agent_shows_the_rates():
    agent = OnPredictedGraph(InformationDirected(), Answers(graphs.inventory(2)))
    for t in range(200):
        agent.act([1.0])
        agent.learn([1.0], 1, [0, 1] if t % 4 == 0 else [1], [0.5, 0.2][t % 4 > 0 :])
    explained = agent.explain([1.0])
    assert explained.startswith(
        "information-directed: the smallest squared regret per unit of information; predicted by "
    )
    assert explained.endswith(
        "; predicted by Answers(inventory(n_actions=2)): an action reveals 0.874 of 2 on average; "
        "promised feedback comes 58% of the time, least often (25%) from 1 about 0"
    )


def test_where_answers_are_rare_it_takes_more_looks():
    """The program plays an action that is answered 1 time in 20 more often, to see as much."""
    shares = []
    for rate in (1, 20):
        oracle = Answers(graphs.apple_tasting(2, revealing_action=1))
        for t in range(200):
            oracle.update(None, 1, [0, 1] if t % rate == 0 else [])
        agent = SquareCBUG(graph_oracle=oracle, gamma=50.0, method="solver")
        agent.explorer.learn([1.0], [0, 1], [0.1, 0.5])
        shares.append(agent.act([1.0])[1])
    assert shares[1] > 2.0 * shares[0]


def test_an_edge_that_comes_more_often_than_promised_has_a_rate_below_1():
    """Labels are whole and promises are not: 3 of 3 were seen where 0.9 were expected."""
    known = FeedbackGraph(np.array([[0.3, 0.0], [0.0, 1.0]]))
    oracle = Answers(known)
    for _ in range(3):
        oracle.update(None, 0, [0])
    rate = oracle.rates(None)[0, 0]
    assert rate == pytest.approx(1.0 - 0.5 / 1.9)
    assert oracle.predict(None).matrix[0, 0] == pytest.approx(0.3 * rate)


@pytest.mark.parametrize("n_features", [0, 1])
def test_an_edge_was_looked_at_as_far_as_it_was_promised(n_features):
    """So that the margin is that of the looks there were."""
    oracle = Answers(FeedbackGraph(np.array([[0.3, 0.0], [0.0, 1.0]])), n_features=n_features)
    for _ in range(3):
        oracle.update([1.0], 0, [])
    np.testing.assert_allclose(oracle.edges.looked, [[0.9, 0.0], [0.0, 0.0]])
