"""Every agent that takes `explore` shows what is seldom seen, in every round and within limits."""

import copy
import inspect

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphcb.agents
from graphcb import Budget, DecisionLog, FeedbackGraph, Limits, Policy, draw, load, oracles, save
from graphcb.agents import (
    EpsilonGreedy,
    Greedy,
    InformationDirected,
    Played,
    SquareCB,
    SquareCBG,
    SquareCBUG,
    act_on,
    learn_from,
)
from graphcb.decisions import replay
from graphcb.exploration.seldom_seen import most_even
from graphcb.graph_oracles import EdgeCounts
from graphcb.saving import to_bytes

N_ACTIONS, SHARE = 5, 0.02


def ridge():
    return oracles.OnlineRidge(N_ACTIONS, 2)


BUILD = {
    "greedy": lambda **rules: Greedy(ridge(), **rules),
    "epsilon-greedy": lambda **rules: EpsilonGreedy(ridge(), epsilon=0.001, **rules),
    "SquareCB": lambda **rules: SquareCB(ridge(), gamma=1e5, **rules),
    "information-directed": lambda **rules: InformationDirected(**rules),
    "SquareCB.G": lambda **rules: SquareCBG(ridge(), gamma=1e5, certify=True, **rules),
    "Automatic": lambda **rules: SquareCBG(ridge(), **rules),
    "SquareCBUG": lambda **rules: SquareCBUG(ridge(), EdgeCounts(N_ACTIONS), gamma=1e5, **rules),
}
KNOWN = [name for name in BUILD if name != "SquareCBUG"]  # that are given the graph


def rounds(rng, n_rounds, at_least=2):
    """Contexts, graphs and the actions on offer."""
    for _ in range(n_rounds):
        offered = rng.permutation(N_ACTIONS)[: int(rng.integers(at_least, N_ACTIONS + 1))]
        k = offered.size
        matrix = rng.choice([0.0, 0.5, 1.0], size=(k, k))
        matrix[rng.integers(k)] = 1.0
        graph = graphcb.graphs.bandit(k) if rng.random() < 0.5 else FeedbackGraph(matrix)
        yield rng.normal(size=2), graph, offered


def play(agent, rng, n_rounds, at_least=2):
    for context, graph, actions in rounds(rng, n_rounds, at_least):
        p = act_on(agent, context, graph, actions)
        action = draw(p, rng)
        seen = graph.draw_revealed(action, rng)
        played = Played(context, graph, actions, p, action)
        learn_from(agent, played, actions[seen], rng.random(seen.size))
        yield p, graph, actions


def test_every_agent_that_takes_explore_has_an_example_here_and_all_with_limits_do():
    takes = {
        name: {
            kind
            for kind in vars(graphcb.agents).values()
            if inspect.isclass(kind)
            and hasattr(kind, "act")
            and name in inspect.signature(kind).parameters
        }
        for name in ("explore", "limits")
    }
    assert takes["explore"] == takes["limits"] == {type(build()) for build in BUILD.values()}


@pytest.mark.parametrize("name", KNOWN)
@settings(max_examples=settings().max_examples // 3)
@given(seed=st.integers(0, 2**32 - 1))
def test_every_outcome_has_its_floor_in_every_round(name, seed):
    rng = np.random.default_rng(seed)
    for p, graph, _ in play(BUILD[name](explore=SHARE), rng, 10):
        assert p.sum() == pytest.approx(1.0, abs=1e-9)
        wanted = SHARE * most_even(graph).least
        assert (graph.reveal_probabilities(p) >= wanted * (1.0 - 1e-6)).all()


def test_on_a_predicted_graph_the_predicted_outcomes_have_it():
    agent = BUILD["SquareCBUG"](explore=SHARE)
    assert agent.explore == SHARE
    for _ in range(30):
        p = agent.act([1.0, 0.0])
        agent.learn([1.0, 0.0], int(p.argmax()), [int(p.argmax())], [0.1])
    graph = agent.predicted_graph([1.0, 0.0])
    wanted = SHARE * most_even(graph).least
    assert (graph.reveal_probabilities(agent.act([1.0, 0.0])) >= wanted * (1.0 - 1e-6)).all()
    assert agent.explain([1.0, 0.0]).count("explore: every outcome is seen") == 1


@pytest.mark.parametrize("name", BUILD)
def test_limits_hold_beside_it(name):
    limits = Limits(caps={0: 0.001, 1: 0.5}, linear=[{"actions": [2, 3], "at_most": 0.6}])
    rng = np.random.default_rng(5)
    for p, _, actions in play(BUILD[name](explore=SHARE, limits=limits), rng, 30, N_ACTIONS):
        box = limits.on(tuple(actions.tolist()))
        assert (p >= box.lower).all()
        assert (p <= box.upper).all()
        assert (box.rows @ p <= box.most + 1e-9).all()


@pytest.mark.parametrize("name", BUILD)
def test_a_budget_that_is_spent_stops_it(name):
    budget = Budget("reviews", {0: 1.0}, 0.001, hard=True)
    agent = BUILD[name](explore=0.5, budgets=[budget])
    rng, spent = np.random.default_rng(6), 0
    for _ in range(60):
        p = act_on(agent, np.ones(2), graphcb.graphs.bandit(N_ACTIONS), None)
        action = draw(p, rng)
        agent.on_draw(Played(np.ones(2), graphcb.graphs.bandit(N_ACTIONS), None, p, action))
        spent += action == 0
    assert spent <= 1
    assert p[0] == 0.0
    assert (p[1:] > 0.0).all() or name == "SquareCBUG"


@pytest.mark.parametrize("name", BUILD)
def test_a_loaded_agent_goes_on_with_it(name, tmp_path):
    agent = BUILD[name](explore=SHARE)
    list(play(agent, np.random.default_rng(1), 12))
    save(agent, tmp_path / "agent.npz")
    again = load(tmp_path / "agent.npz")
    assert again.explore == SHARE
    one, two = (list(play(a, np.random.default_rng(2), 12)) for a in (agent, again))
    for (p, _, _), (q, _, _) in zip(one, two, strict=True):
        np.testing.assert_array_equal(p, q)


@pytest.mark.parametrize("name", BUILD)
def test_without_it_a_file_does_not_mention_it(name):
    assert b'"explore"' not in to_bytes(BUILD[name]())
    assert b'"explore"' in to_bytes(BUILD[name](explore=SHARE))


@pytest.mark.parametrize("name", BUILD)
def test_a_shallow_copy_plays_without_changing_the_original(name):
    agent = BUILD[name](explore=SHARE)
    list(play(agent, np.random.default_rng(3), 4))
    before = to_bytes(agent)
    act_on(copy.copy(agent), np.ones(2), graphcb.graphs.bandit(N_ACTIONS), None)
    assert to_bytes(agent) == before


@pytest.mark.parametrize("name", BUILD)
def test_it_shows_itself_as_the_call_that_makes_it(name):
    agent = BUILD[name](explore=SHARE)
    again = eval(repr(agent), {**vars(graphcb), **vars(oracles), **vars(graphcb.graph_oracles)})
    assert repr(again) == repr(agent)
    assert (again.explore, BUILD[name]().explore) == (SHARE, 0.0)


@pytest.mark.parametrize("name", BUILD)
def test_what_a_policy_plays_is_replayed_bit_for_bit(name, tmp_path):
    rng = np.random.default_rng(4)
    with Policy(
        tmp_path / "log.db", BUILD[name](explore=SHARE), durability="process-kill"
    ) as policy:
        for context, graph, actions in rounds(rng, 10):
            decision = policy.decide(context, graph, actions)
            seen = graph.draw_revealed(decision.action_index, rng)
            policy.feedback(decision.decision_id, {int(a): 0.5 for a in actions[seen]})
        state = to_bytes(policy.agent)
    with DecisionLog(tmp_path / "log.db") as log:
        assert to_bytes(replay(log).agent) == state


@pytest.mark.parametrize("name", BUILD)
def test_a_share_that_is_none_is_refused(name):
    with pytest.raises(ValueError, match="`explore` must be a share of the probability from 0 to"):
        BUILD[name](explore=0.6)


def test_known_outcomes_need_no_exploration():
    problem = graphcb.Problem(["a", "b", "c"], known={"c": 0.9}, explore=0.03)
    learner = graphcb.Learner(problem)
    for _ in range(100):
        learner.learn({"x": 1.0}, ["a", "b"], [0.1, 0.8])
    np.testing.assert_allclose(learner.act({"x": 1.0}), [0.985, 0.015, 0.0], atol=1e-9)
