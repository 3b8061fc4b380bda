"""SquareCB.UG keeps the contract of an agent, with what differs where the graph is not known."""

import copy
import pickle

import numpy as np
import pytest

import graphcb
from graphcb import (
    FeedbackGraph,
    InformationDirected,
    OnPredictedGraph,
    SquareCBG,
    SquareCBUG,
    SquareRoot,
    Uniform,
    graphs,
    load,
    save,
)
from graphcb.agents import Budget, Played, act_on, gamma_of, learn_from
from graphcb.graph_oracles import Answers, EdgeCounts, LogisticEdges, Thresholds
from graphcb.graph_oracles.sides import certain_edges
from graphcb.oracles import DefaultOracle, LinearOGD, OnlineRidge
from graphcb.saving import to_bytes

FEATURES, ACTIONS = 3, 4
LEVELS = np.array([0.0, 0.25, 0.5, 1.0])

BUILD = {
    "no settings but room": lambda: SquareCBUG(graph_oracle=LogisticEdges(4, FEATURES)),
    "information-directed": lambda: OnPredictedGraph(
        InformationDirected(), LogisticEdges(4, FEATURES)
    ),
    "gamma": lambda: SquareCBUG(OnlineRidge(4, FEATURES), EdgeCounts(4), gamma=20.0),
    "schedule": lambda: SquareCBUG(
        LinearOGD(4, FEATURES), LogisticEdges(4, FEATURES), gamma=SquareRoot(4.0, 1.0)
    ),
    "automatic": lambda: SquareCBUG(LinearOGD(4, FEATURES), EdgeCounts(4)),
    "doubling": lambda: SquareCBUG(
        LinearOGD(4, FEATURES), EdgeCounts(4), gamma=graphcb.Doubling(100, 0.5)
    ),
    "solver": lambda: SquareCBUG(
        OnlineRidge(4, FEATURES), Thresholds(LEVELS), gamma=20.0, method="solver"
    ),
    "answers": lambda: OnPredictedGraph(InformationDirected(), Answers(graphs.posted_price(4))),
}


def play(agent, n_rounds, seed=0, shown=False):
    """Bids against a market price that depends on the context; the probabilities played."""
    rng = np.random.default_rng(seed)
    played = []
    for _ in range(n_rounds):
        x = rng.normal(size=FEATURES)
        p = agent.act(x)
        action, price = int(rng.choice(ACTIONS, p=p)), rng.random()
        graph = graphs.threshold(price > LEVELS, np.ones(4))
        if isinstance(agent.graph_oracle, Answers):
            graph = graphs.posted_price(4)
        seen = graph.draw_revealed(action, rng)
        losses = np.abs(LEVELS - 0.4)[seen]
        agent.learn(x, action, seen, losses, graph=graph if shown else None)
        played.append(p)
    return np.array(played)


@pytest.fixture(params=BUILD)
def build(request):
    return BUILD[request.param]


@pytest.mark.parametrize("shown", [False, True], ids=["played row", "shown in full"])
def test_returns_a_distribution_from_the_first_round_on(build, shown):
    played = play(build(), 60, shown=shown)
    assert (played >= 0.0).all()
    np.testing.assert_allclose(played.sum(axis=1), 1.0, atol=1e-12)


def test_shows_itself_as_the_call_that_makes_it(build):
    agent = build()
    play(agent, 3)
    rooms = (graphcb, graphcb.oracles, graphcb.graph_oracles, graphs)
    again = eval(repr(agent), {name: value for room in rooms for name, value in vars(room).items()})
    assert repr(again) == repr(build()) == repr(agent)
    np.testing.assert_array_equal(play(again, 10), play(build(), 10))


@pytest.mark.parametrize(
    "store",
    [
        lambda a, _: copy.deepcopy(a),
        lambda a, _: pickle.loads(pickle.dumps(a)),
        lambda a, folder: save(a, folder / "agent.npz") or load(folder / "agent.npz"),
    ],
    ids=["copied", "pickled", "saved"],
)
def test_a_stored_agent_goes_on_as_if_it_had_never_stopped(build, store, tmp_path):
    agent = build()
    play(agent, 20)
    stored = store(agent, tmp_path)
    assert stored.n_rounds == agent.n_rounds == 20
    np.testing.assert_array_equal(play(agent, 20, seed=1), play(stored, 20, seed=1))


def test_a_shallow_copy_plays_without_changing_the_original(build):
    agent = build()
    play(agent, 5)
    before = to_bytes(agent)
    copy.copy(agent).act(np.ones(FEATURES))
    assert to_bytes(agent) == before


def test_it_is_squarecbg_on_the_predicted_graph():
    agent = SquareCBUG(OnlineRidge(4, FEATURES), EdgeCounts(4), gamma=20.0)
    play(agent, 30)
    told, x = SquareCBG(agent.loss_oracle, gamma=20.0), np.ones(FEATURES)
    np.testing.assert_array_equal(agent.act(x), told.act(x, agent.predicted_graph(x)))
    assert gamma_of(agent) == 20.0


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((0, [0, 7], [0.5, 0.5]), IndexError, "`revealed` must be between 0 and 3 .*got 7 at"),
        ((9, [0], [0.5]), IndexError, "`played` must be between 0 and 3 .*got 9"),
        (
            (0, [[0, 1]], [[0.5, 0.5]]),
            ValueError,
            "`revealed` must be a list of indices, got shape",
        ),
        ((0, [0, 0], [0.5, 0.5]), ValueError, "`revealed` must be distinct"),
        ((0, [0, 1], [0.5]), ValueError, "`losses` must have shape"),
        ((0, [0], [np.nan]), ValueError, "must be finite|must lie in"),
    ],
)
@pytest.mark.parametrize("shown", [False, True], ids=["played row", "shown in full"])
def test_bad_feedback_gets_an_error_and_nothing_is_learned(build, arguments, error, text, shown):
    agent = build()
    play(agent, 5)
    before = to_bytes(agent)
    if isinstance(agent.graph_oracle, Thresholds) and arguments[0] == 0:
        arguments = (0, [0, 1, 2, 3], [0.5, 0.5, 0.5]) if error is ValueError else arguments
        text = f"{text}|`losses` must have shape"
    graph = graphs.posted_price(4) if shown else None
    with pytest.raises(error, match=text):
        agent.learn(np.ones(FEATURES), *arguments, graph=graph)
    assert to_bytes(agent) == before


def test_identifiers_that_are_not_of_the_round_are_refused():
    agent = SquareCBUG(graph_oracle=EdgeCounts(9))
    agent.act([1.0], [5, 7, 2])
    before = to_bytes(agent)
    for played, revealed, text in (
        (3, [5], r"`played` must be an action of the round \(5, 7, 2\), got 3"),
        (5, [5, 8], r"`revealed` must be actions of the round \(5, 7, 2\), got 8 at index 1"),
    ):
        with pytest.raises(ValueError, match=text):
            agent.learn([1.0], played, revealed, [0.5] * len(revealed), actions=[5, 7, 2])
    assert to_bytes(agent) == before
    agent.learn([1.0], 7, [2, 7], [0.1, 0.9], actions=[5, 7, 2])
    assert agent.graph_oracle.predict(None).matrix[7, [5, 7, 2]].tolist() == [0.25, 0.75, 0.75]


def test_what_the_shown_graph_does_not_reveal_is_refused():
    agent = SquareCBUG(graph_oracle=EdgeCounts(3))
    agent.act([1.0])
    before = to_bytes(agent)
    text = "`revealed` must be what `graph` reveals, but action 0 does not reveal action 2"
    with pytest.raises(ValueError, match=text):
        agent.learn([1.0], 0, [0, 2], [0.5, 0.5], graph=graphs.bandit(3))
    assert to_bytes(agent) == before


def test_without_a_graph_oracle_the_first_round_decides():
    agent = SquareCBUG()
    text = "`graph_oracle` must be given, or `actions`, to know how many actions there are"
    with pytest.raises(ValueError, match=text):
        agent.act([1.0])
    assert agent.graph_oracle is None
    agent.act([1.0, 2.0], [0, 4])
    assert repr(agent.graph_oracle) == "LogisticEdges(5, 2)"
    words = SquareCBUG()
    words.act(([3], [1.0]), [0, 4])
    assert repr(words.graph_oracle) == "EdgeCounts(5)"
    ridge = SquareCBUG(OnlineRidge(3, 2))
    ridge.act([1.0, 2.0])
    assert repr(ridge.graph_oracle) == "LogisticEdges(3, 2)"


def test_other_identifiers_stand_for_all_actions_of_the_graph_oracle():
    oracle = graphcb.oracles.NewsvendorOGD(1, learning_rate=0.1)
    agent = SquareCBUG(oracle, Thresholds(LEVELS, kind="stock"), gamma=10.0)
    p = agent.act([1.0], LEVELS)
    assert p.shape == (4,)
    agent.learn([1.0], 0.5, [0.0, 0.25, 0.5], [0.5, 0.25, 0.1], actions=LEVELS)
    assert agent.graph_oracle.n_updates == 1


def test_what_is_no_oracle_is_refused():
    with pytest.raises(TypeError, match=r"`explorer` must be an agent with an oracle.*got Uniform"):
        OnPredictedGraph(Uniform())
    with pytest.raises(TypeError, match="`loss_oracle` must have the methods predict and update"):
        SquareCBUG("ridge")
    with pytest.raises(TypeError, match=r"must predict losses, got the .*EdgeCounts\(2\); pass it"):
        SquareCBUG(EdgeCounts(2))
    with pytest.raises(TypeError, match="`graph_oracle` must have the methods of a graph oracle"):
        SquareCBUG(None, OnlineRidge(2, 2))


def test_a_graph_is_no_actions():
    agent = SquareCBUG(graph_oracle=EdgeCounts(3))
    with pytest.raises(TypeError, match=r"got a FeedbackGraph; this agent predicts the graph: act"):
        agent.act([1.0], graphs.bandit(3))
    assert agent.n_rounds == 0


def test_limits_and_budgets_hold_on_a_predicted_graph():
    limits = graphcb.Limits(floors={3: 0.2})
    budget = Budget("money", {1: 1.0, 2: 1.0}, at_most=0.2)
    agent = SquareCBUG(graph_oracle=EdgeCounts(4), limits=limits)
    assert (play(agent, 20)[:, 3] >= 0.2 - 1e-9).all()
    assert agent.limits == limits
    paced = SquareCBUG(graph_oracle=EdgeCounts(4), budgets=[budget])
    p = paced.act(np.ones(FEATURES))
    paced.on_draw(Played(np.ones(FEATURES), None, None, p, 1))
    assert paced.budgets == (budget,)
    assert "money" in paced.explain(np.ones(FEATURES))


def test_both_kinds_of_agents_are_called_by_the_same_functions():
    informed, uninformed = SquareCBG(), SquareCBUG(graph_oracle=EdgeCounts(3))
    for agent in (informed, uninformed):
        p = act_on(agent, [1.0], graphs.bandit(3), np.array([0, 2, 1]))
        played = Played([1.0], graphs.bandit(3), np.array([0, 2, 1]), p, 1)
        learn_from(agent, played, [2], [0.25])
        learn_from(agent, played, [2], [0.25], shown=graphs.bandit(3))
    assert uninformed.graph_oracle.looked[2, 0] == 2.0
    assert uninformed.graph_oracle.looked[0, 0] == 1.0
    assert isinstance(uninformed.predicted_graph([1.0]), FeedbackGraph)


def test_bids_are_learned_from_what_is_always_revealed():
    levels = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    truth = levels * (1.0 - levels)  # prices are uniform
    rng, predicted = np.random.default_rng(0), {}
    prices, plays = rng.random(1000), rng.integers(5, size=1000)
    for mode in ("revealed", "certain"):
        oracle = Thresholds(levels, kind="bids")
        agent = OnPredictedGraph(InformationDirected(DefaultOracle(5)), oracle, learns_from=mode)
        for price, bid in zip(prices, plays, strict=True):
            earned = np.where(price < levels, 1.0 - levels, 0.0)
            seen = np.arange(bid if price < levels[bid] else 0, 5)
            agent.learn([1.0], bid, seen, 1.0 - earned[seen])
        predicted[mode] = 1.0 - agent.loss_oracle.predict([1.0], np.arange(5))
        assert agent.graph_oracle.predict(None).row(2)[0] == pytest.approx(0.5, abs=0.06)
    assert np.abs(predicted["certain"] - truth).max() < 0.05
    # Higher bids show it only where they lose, and so does it: 0.4 of all rounds are fair, and
    # (0.5 + 0.3 + 0.1) / 5 more show that it loses.
    assert predicted["revealed"][1] == pytest.approx(0.4 * truth[1] / 0.58, abs=0.03)
    alone, certain = copy.copy(agent.explorer), certain_edges(agent.predicted_graph([1.0]))
    assert np.array_equal(agent.act([1.0]), alone.act([1.0], certain))
    assert repr(agent).endswith("learns_from='certain')")


def test_mistakes_where_only_certain_edges_teach():
    oracle = Thresholds([1.0, 2.0, 3.0], kind="bids")
    agent = SquareCBUG(graph_oracle=oracle, learns_from="certain")
    before = to_bytes(agent)
    with pytest.raises(ValueError, match=r"`losses` must have shape \(2,\), one for each revealed"):
        agent.learn([1.0], 1, [1, 2], [0.5])
    assert to_bytes(agent) == before
    with pytest.raises(ValueError, match="`learns_from` must be one of revealed, certain"):
        SquareCBUG(learns_from="all")
    counts = SquareCBUG(graph_oracle=EdgeCounts(2), learns_from="certain")
    with pytest.raises(ValueError, match="to learn from it"):
        counts.act([1.0])
