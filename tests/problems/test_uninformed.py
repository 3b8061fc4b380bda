"""Problems whose graph is not known beforehand: in Python, in TOML, and their learners."""

import copy

import numpy as np
import pytest

from graphcb import (
    InformationDirected,
    Learner,
    Problem,
    SquareCBUG,
    graph_oracles,
    graphs,
)
from graphcb.agents import Played, act_on, learn_from
from graphcb.saving import from_bytes, to_bytes

BIDS = ("1", "2", "3", "4")
AMOUNT = {"amount": "number"}
REVEALS = [
    "unknown",
    {"unknown": "bids"},
    {"unknown": "prices"},
    {"unknown": "stock"},
    {"family": "inventory", "answers": "learned"},
    {"all": ["4"], "own": True, "answers": "learned"},
]


@pytest.mark.parametrize("reveals", REVEALS)
def test_a_problem_is_the_same_in_toml_in_its_repr_and_in_a_file(reveals):
    problem = Problem(BIDS, reveals=reveals)
    assert Problem.from_toml(problem.to_toml()) == problem
    assert eval(repr(problem)) == problem
    assert from_bytes(to_bytes(problem), where="here") == problem
    assert not problem.informed
    assert problem.differences(Problem(BIDS))[0].startswith("reveals: ")


def test_in_toml():
    assert Problem(BIDS, reveals="unknown").to_toml().endswith("[reveals]\nunknown = true\n")
    text = Problem(BIDS, reveals={"unknown": "bids"}).to_toml()
    assert text.endswith('[reveals]\nunknown = "bids"\n')
    text = Problem(BIDS, reveals={"answers": "learned", "family": "bandit"}).to_toml()
    assert text.endswith('[reveals]\nfamily = "bandit"\nanswers = "learned"\n')


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"reveals": {"unknown": False}}, "`reveals.unknown` must be true, 'bids', 'prices', 'st"),
        ({"reveals": {"unknown": "bid"}}, "`reveals.unknown` must be one of .*mean 'bids'"),
        ({"reveals": {"unknown": True, "own": True}}, "must say what is revealed in one way"),
        ({"reveals": {"unknown": True, "answers": "learned"}}, "with one known graph.*got unknown"),
        ({"reveals": {"each_round": True, "answers": "learned"}}, "known graph.*got each_round"),
        ({"reveals": {"family": "bandit", "answers": "no"}}, "`reveals.answers` must be one of"),
        ({"reveals": {"answers": "learned"}}, "must say what is revealed by one of"),
        ({"reveals": "unknown", "actions": "each round"}, "must not have unknown if the actions"),
        (
            {"reveals": {"family": "bandit", "answers": "learned"}, "actions": "each round"},
            'must not have answers = "learned" if the actions come with each round',
        ),
        ({"reveals": "unknown", "baseline": {"action": "1"}}, "`baseline` must be left out where"),
    ],
)
def test_what_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        Problem(**{"actions": BIDS, **changes})


def test_the_graph_is_what_can_be_revealed():
    assert Problem(BIDS, reveals={"unknown": "bids"}).graph == graphs.full_information(4)
    known = Problem(BIDS, reveals={"family": "inventory", "answers": "learned"})
    assert known.graph == graphs.inventory(4)
    assert known.graph_for(["3", "1"]) == graphs.inventory(4).subgraph([2, 0])
    with pytest.raises(ValueError, match="`graph` must not be given: in this problem it is not kn"):
        known.graph_for(BIDS, graphs.bandit(4))


@pytest.mark.parametrize(
    ("kind", "left", "right"), [("bids", 0.0, 1.0), ("stock", 1.0, 0.0), ("prices", 0.0, 0.0)]
)
def test_what_a_hidden_price_always_reveals(kind, left, right):
    problem = Problem(BIDS, reveals={"unknown": kind})
    expected = np.tril(np.full((4, 4), left), -1) + np.triu(np.full((4, 4), right), 1) + np.eye(4)
    assert np.array_equal(problem.certain_graph_for(BIDS).matrix, expected)
    some = problem.certain_graph_for(["4", "2"]).matrix
    assert np.array_equal(some, expected[np.ix_([3, 1], [3, 1])])
    assert Problem(BIDS, reveals="unknown").certain_graph_for(BIDS) is None


@pytest.mark.parametrize(
    ("reveals", "features", "kind", "width"),
    [
        ("unknown", None, graph_oracles.EdgeCounts, None),
        ("unknown", AMOUNT, graph_oracles.LogisticEdges, 2),
        ("unknown", {"land": "category"}, graph_oracles.EdgeCounts, None),
        ({"unknown": "bids"}, None, graph_oracles.Thresholds, 0),
        ({"unknown": "stock"}, AMOUNT, graph_oracles.Thresholds, 2),
        ({"own": True, "answers": "learned"}, None, graph_oracles.Answers, 0),
        ({"own": True, "answers": "learned"}, AMOUNT, graph_oracles.Answers, 2),
    ],
)
def test_the_problem_chooses_the_graph_oracle(reveals, features, kind, width):
    learner = Learner(Problem(BIDS, reveals=reveals, features=features))
    oracle = learner.agent.graph_oracle
    assert type(oracle) is kind
    assert oracle.n_actions == 4
    assert getattr(oracle, "n_features", None) == width


def test_a_learner_learns_what_is_revealed_and_what_is_not():
    learner = Learner(Problem(BIDS, reveals="unknown", feedback="rewards", range=(0, 10)))
    for _ in range(20):
        learner.act({"amount": 3.0}, actions=["3", "1"])
        learner.learn({"amount": 3.0}, ["3", "1"], [9.0, 2.0], played="3", among=["3", "1"])
        learner.learn({"amount": 3.0}, [], [], played="1", among=["3", "1"])
    predicted = learner.predicted_graph({"amount": 3.0}, ["3", "1"]).matrix
    assert (predicted[0] > 0.9).all()
    assert (predicted[1] < 0.1).all()
    assert np.all(learner.predicted_graph({"amount": 3.0}).row(1) == 0.5)  # "2": never played
    assert learner.predict({"amount": 3.0})[2] > 7.0
    assert learner.gamma is None


def test_whoever_draws_teaches_a_learner_the_same():
    problem = Problem(BIDS, reveals={"unknown": "bids"}, features=AMOUNT)
    by_hand, by_role = Learner(problem), Learner(problem)
    context = {"amount": 1.0}
    p = act_on(by_role, context, problem.graph, None)
    assert np.array_equal(by_hand.act(context), p)
    learn_from(by_role, Played(context, problem.graph, None, p, 2), ["3", "4"], [0.5, 0.25])
    by_hand.learn(context, ["3", "4"], [0.5, 0.25], played="3")
    assert to_bytes(by_hand) == to_bytes(by_role)


def test_a_refused_round_teaches_nothing():
    learner = Learner(Problem(BIDS, reveals={"unknown": "bids"}))
    before = to_bytes(learner)
    with pytest.raises(ValueError, match="must hold every higher level"):
        learner.learn({"a": 1}, ["2"], [0.5], played="2")
    with pytest.raises(TypeError, match="`played` must be given, as the graph"):
        learner.learn({"a": 1}, ["2"], [0.5])
    with pytest.raises(ValueError, match="`played` must be one of 1, 2; got '3'"):
        learner.learn({"a": 1}, [], [], played="3", among=["1", "2"])
    with pytest.raises(ValueError, match="`graph` must not be given"):
        learner.act({"a": 1}, graphs.bandit(4))
    assert to_bytes(learner) == before


def test_a_learner_as_an_oracle_learns_no_edges():
    learner = Learner(Problem(BIDS, reveals="unknown"))
    edges = to_bytes(learner.agent.graph_oracle)
    for _ in range(10):
        learner.update({"a": 1}, ["2"], [0.0])
    assert learner.predict({"a": 1}).argmin() == 1
    assert to_bytes(learner.agent.graph_oracle) == edges
    assert learner.oracle is learner
    assert learner.greedy().act({"a": 1}).argmax() == 1


def test_limits_and_budgets_hold():
    limits = {"caps": {"2": 0.25}, "floors": {"4": 0.1}}
    problem = Problem(
        BIDS, reveals="unknown", limits=limits, budgets={"b": {"costs": {"1": 1}, "at_most": 0.5}}
    )
    learner = Learner(problem)
    for _ in range(5):
        p = learner.act({"a": 1})
        assert p[1] <= 0.25
        assert p[3] >= 0.1
        learner.on_draw(Played({"a": 1}, problem.graph, None, p, 1))
        learner.learn({"a": 1}, ["2"], [0.0], played="2")
    assert learner.agent.rules is not None
    assert to_bytes(from_bytes(to_bytes(learner), where="here")) == to_bytes(learner)


def test_an_agent_of_ones_own():
    problem = Problem(BIDS, reveals={"unknown": "bids"}, features=AMOUNT)
    levels = graph_oracles.Thresholds([1.0, 2.0, 5.0, 9.0], kind="bids")
    agent = SquareCBUG(graph_oracle=levels, gamma=20.0)
    learner = Learner(problem, agent)
    assert learner.agent.graph_oracle is levels
    learner.act({"amount": 1.0})
    assert learner.gamma == 20.0
    assert agent.loss_oracle is None  # a copy has it
    twin = copy.copy(learner)
    twin.act({"amount": 1.0})
    assert learner.agent.n_rounds == 1
    for wrong, message in [
        (graph_oracles.Thresholds([1.0, 2.0], kind="bids"), "with the 4 actions of the problem"),
        (graph_oracles.Thresholds([1.0, 2.0, 3.0, 4.0], kind="stock"), "as the problem says, such"),
        (graph_oracles.EdgeCounts(4), "as the problem says, such as Thresholds"),
    ]:
        with pytest.raises(ValueError, match=message):
            Learner(problem, SquareCBUG(graph_oracle=wrong))
    with pytest.raises(
        TypeError, match="`agent` must be an OnPredictedGraph, such as SquareCBUG, or left"
    ):
        Learner(problem, InformationDirected())
    with pytest.raises(TypeError, match="`features` must be left out where the graph"):
        Learner(problem, features=lambda context, name, given: {})
    answers = Problem(BIDS, reveals={"own": True, "answers": "learned"})
    other = graph_oracles.Answers(graphs.full_information(4))
    with pytest.raises(ValueError, match="as the problem says, such as Answers"):
        Learner(answers, SquareCBUG(graph_oracle=other))


def test_an_informed_learner_predicts_no_graph():
    with pytest.raises(TypeError, match="InformationDirected does not predict what actions reveal"):
        Learner(Problem(BIDS)).predicted_graph({"a": 1})
