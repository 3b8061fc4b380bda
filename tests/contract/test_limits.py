"""Every agent that takes limits obeys them: in every round, whatever is offered and revealed."""

import copy
import inspect

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphcb.agents
from graphcb import (
    Automatic,
    DecisionLog,
    Doubling,
    FeedbackGraph,
    FromGraphs,
    Limits,
    Policy,
    SquareRoot,
    draw,
    load,
    oracles,
    save,
)
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
from graphcb.exploration import InfeasibleLimits
from graphcb.graph_oracles import EdgeCounts
from graphcb.saving import to_bytes

N_ACTIONS = 6


def ridge():
    return oracles.OnlineRidge(N_ACTIONS, 2)


BUILD = {
    "greedy": lambda limits: Greedy(ridge(), limits=limits),
    "epsilon-greedy": lambda limits: EpsilonGreedy(ridge(), epsilon=0.2, limits=limits),
    "SquareCB": lambda limits: SquareCB(ridge(), gamma=SquareRoot(4.0, "n_actions"), limits=limits),
    "information-directed": lambda limits: InformationDirected(limits=limits),
    "a number": lambda limits: SquareCBG(ridge(), gamma=20.0, certify=True, limits=limits),
    "value": lambda limits: SquareCBG(ridge(), gamma=Automatic(4.0), limits=limits),
    "optimum": lambda limits: SquareCBG(ridge(), gamma=Doubling(30, 0.5), limits=limits),
    "graph": lambda limits: SquareCBG(ridge(), gamma=FromGraphs(2.0), limits=limits),
    "SquareCBUG": lambda limits: SquareCBUG(
        ridge(), EdgeCounts(N_ACTIONS), gamma=20.0, limits=limits
    ),
}


def random_limits(rng):
    """Limits by index that leave a choice in most rounds, also if some actions are missing."""
    floors = {int(a): float(rng.choice([0.0, 0.01, 0.1])) for a in rng.permutation(N_ACTIONS)[:3]}
    caps = {int(a): float(rng.choice([0.0, 0.05, 0.4])) for a in rng.permutation(N_ACTIONS)[:2]}
    floors = {a: min(value, caps.get(a, 1.0)) for a, value in floors.items()}
    linear = []
    for _ in range(int(rng.integers(3))):
        group = rng.permutation(N_ACTIONS)[: int(rng.integers(2, 4))]
        weights = {int(a): float(rng.choice([0.5, 1.0, 300.0])) for a in group}
        linear.append({"weights": weights, "at_most": 0.5 * max(weights.values())})
    return Limits(floors=floors, caps=caps, linear=linear)


def random_graph(rng, n_actions):
    if rng.random() < 0.3:
        return graphcb.graphs.bandit(n_actions)
    matrix = rng.random((n_actions, n_actions)) * (rng.random((n_actions, n_actions)) < 0.5)
    matrix[rng.integers(n_actions)] = 1.0  # observable
    return FeedbackGraph(matrix)


def rounds(rng, n_rounds):
    """Contexts, graphs and the actions on offer: at times all, at times a few in any order."""
    for _ in range(n_rounds):
        offered = np.sort(rng.permutation(N_ACTIONS)[: int(rng.integers(2, N_ACTIONS + 1))])
        actions = None if rng.random() < 0.4 else rng.permutation(offered)
        n_actions = N_ACTIONS if actions is None else actions.size
        yield rng.normal(size=2), random_graph(rng, n_actions), actions


def assert_obeys(p, limits, actions):
    box = limits.on(range(N_ACTIONS) if actions is None else tuple(actions.tolist()))
    assert p.sum() == pytest.approx(1.0, abs=1e-9)
    assert (p >= 0.0).all()
    if box is not None:
        assert (p >= box.lower).all()
        assert (p <= box.upper).all()
        assert (box.rows @ p <= box.most + 1e-9).all()


def play(agent, limits, rng, n_rounds):
    """The probabilities of each round, held against the limits."""
    played = []
    for context, graph, actions in rounds(rng, n_rounds):
        try:
            p = act_on(agent, context, graph, actions)
        except InfeasibleLimits:
            continue
        assert_obeys(p, limits, actions)
        action = draw(p, rng)
        seen = graph.draw_revealed(action, rng)
        columns = seen if actions is None else actions[seen]
        learn_from(
            agent, Played(context, graph, actions, p, action), columns, rng.random(seen.size)
        )
        played.append(p)
    return played


def test_every_agent_that_takes_limits_has_an_example_here():
    takes = {
        kind
        for name, kind in vars(graphcb.agents).items()
        if inspect.isclass(kind)
        and hasattr(kind, "act")
        and "limits" in inspect.signature(kind).parameters
    }
    assert takes == {type(build(None)) for build in BUILD.values()}


@pytest.mark.parametrize("name", BUILD)
@settings(max_examples=settings().max_examples // 3)  # 12 rounds each
@given(seed=st.integers(0, 2**32 - 1))
def test_every_probability_obeys_in_every_round(name, seed):
    rng = np.random.default_rng(seed)
    limits = random_limits(rng)
    play(BUILD[name](limits), limits, rng, 12)


@pytest.mark.parametrize("name", BUILD)
def test_a_loaded_agent_goes_on_within_its_limits(name, tmp_path):
    rng = np.random.default_rng(1)
    limits = random_limits(rng)
    agent = BUILD[name](limits)
    assert len(play(agent, limits, rng, 20)) > 10
    save(agent, tmp_path / "agent.npz")
    again = load(tmp_path / "agent.npz")
    assert again.limits == limits
    one, two = (play(a, limits, np.random.default_rng(2), 20) for a in (agent, again))
    for p, q in zip(one, two, strict=True):
        np.testing.assert_array_equal(p, q)


@pytest.mark.parametrize("name", BUILD)
def test_a_shallow_copy_plays_without_changing_the_original(name):
    limits = Limits(floors=0.02)
    agent = BUILD[name](limits)
    play(agent, limits, np.random.default_rng(3), 5)
    before = to_bytes(agent)
    act_on(copy.copy(agent), np.ones(2), graphcb.graphs.bandit(N_ACTIONS), None)
    assert to_bytes(agent) == before


@pytest.mark.parametrize("name", BUILD)
def test_it_shows_itself_as_the_call_that_makes_it(name):
    agent = BUILD[name](Limits(floors={0: 0.1}, linear=[{"actions": [1, 2], "at_most": 0.2}]))
    again = eval(repr(agent), {**vars(graphcb), **vars(oracles), **vars(graphcb.graph_oracles)})
    assert repr(again) == repr(agent)
    assert again.limits == agent.limits


@pytest.mark.parametrize("name", BUILD)
def test_what_a_policy_plays_and_replays_obeys(name, tmp_path):
    rng, limits = np.random.default_rng(4), Limits(floors=0.02, caps={3: 0.1})
    with Policy(tmp_path / "log.db", BUILD[name](limits), durability="process-kill") as policy:
        for context, graph, actions in rounds(rng, 15):
            names = np.arange(N_ACTIONS) if actions is None else actions
            decision = policy.decide(context, graph, names)
            assert_obeys(np.array(decision.probabilities), limits, names)
            seen = graph.draw_revealed(decision.action_index, rng)
            policy.feedback(decision.decision_id, {int(a): 0.5 for a in names[seen]})
        state = to_bytes(policy.agent)
    with DecisionLog(tmp_path / "log.db") as log:
        assert to_bytes(replay(log).agent) == state
