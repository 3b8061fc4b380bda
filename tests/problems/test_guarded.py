"""A learner keeps the limits, the budgets and the baseline of its problem."""

import copy
import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphcb import (
    Budget,
    Conservative,
    EpsilonGreedy,
    Greedy,
    InformationDirected,
    Learner,
    Limits,
    OnPredictedGraph,
    Problem,
    Shadow,
    SquareCB,
    SquareCBG,
    Uniform,
    load,
    oracles,
    save,
)
from graphcb.agents import Played
from graphcb.exploration import InfeasibleLimits
from graphcb.files import FileError
from graphcb.graph_oracles import EdgeCounts
from graphcb.problems.guarded import proven_gain
from graphcb.saving import from_bytes, to_bytes

ACTIONS = ("approve", "call", "review")
LIMITS = {
    "floors": {"approve": 0.1},
    "caps": {"review": 0.3},
    "linear": [{"actions": ["call", "review"], "at_least": 0.2, "name": "people"}],
}
LIMITED = Problem(ACTIONS, reveals={"all": ["review"]}, limits=LIMITS)
ITEMS = Problem("each round", limits={"floors": {"new": 0.2}, "caps": {"old": 0.5}})


def obeys(problem, names, probabilities):
    box = problem.limits.on(names)
    if box is None:
        return True
    inside = (box.lower <= probabilities).all() and (probabilities <= box.upper).all()
    return inside and (box.rows @ probabilities <= box.most + 1e-9).all()


def rounds(n, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(n):
        x = {"amount": float(rng.normal()), "country": str(rng.choice(["DE", "FR"]))}
        yield x, [float(x["amount"] > 0), 0.4, 0.3]


@pytest.mark.parametrize(
    "agent",
    [
        None,
        SquareCBG(gamma=20.0),
        SquareCBG(oracles.OnlineRidge(3, 2), gamma=20.0, method="solver"),
        SquareCB(oracles.OnlineRidge(3, 2), gamma=20.0),
        Greedy(oracles.OnlineRidge(3, 2)),
        EpsilonGreedy(oracles.OnlineRidge(3, 2)),
    ],
)
def test_every_agent_obeys_the_limits_in_every_round(agent):
    problem = Problem(ACTIONS, reveals={"all": ["review"]}, limits=LIMITS)
    learner = Learner(problem, agent)
    rng = np.random.default_rng(0)
    for x in rng.normal(size=(40, 2)):
        probabilities = learner.act(x)
        assert obeys(problem, ACTIONS, probabilities)
        if rng.random() < probabilities[2]:
            learner.learn(x, ACTIONS, [float(x[0] > 0.0), 0.4, 0.3])
        names = ["review", "approve"]  # some of the actions, in another order
        assert obeys(problem, names, learner.act(x, None, names))
    assert agent is None or agent.rules is None  # the user's own object is left alone


@given(
    st.lists(st.floats(0.0, 0.3), min_size=3, max_size=3),
    st.lists(st.floats(0.4, 1.0), min_size=3, max_size=3),
    st.permutations(ACTIONS),
)
def test_limits_are_by_name_in_any_order(floors, caps, names):
    limits = {
        "floors": dict(zip(names, floors, strict=True)),
        "caps": dict(zip(names, caps, strict=True)),
    }
    problem = Problem(ACTIONS, limits=limits)
    probabilities = Learner(problem).act({"x": 1.0}, None, list(names))
    assert obeys(problem, names, probabilities)
    assert np.isclose(probabilities.sum(), 1.0)


def test_actions_of_each_round_are_limited_by_name():
    learner = Learner(ITEMS)
    for names in (["old", "new"], ["new", "other", "old"], ["other"], ["other", "old"]):
        probabilities = learner.act({"x": 1.0}, None, names)
        assert obeys(ITEMS, names, probabilities)
        learner.learn({"x": 1.0}, names, np.linspace(0.0, 1.0, len(names)))
    with pytest.raises(InfeasibleLimits, match="'old'"):
        learner.act({"x": 1.0}, None, ["old"])  # nobody else is there


def test_what_clashes_among_the_actions_of_a_round_is_named():
    learner = Learner(LIMITED)
    before = to_bytes(learner)
    with pytest.raises(InfeasibleLimits, match=r"'review' .0.3."):
        learner.act({"amount": 1.0}, None, ["review"])
    assert to_bytes(learner) == before


def test_the_best_looking_action_is_played_as_often_as_limits_allow():
    learner = Learner(LIMITED)
    for _ in range(40):
        learner.learn({"x": 1.0}, ACTIONS, [0.0, 0.5, 1.0])
    np.testing.assert_allclose(learner.greedy().act({"x": 1.0}), [0.8, 0.2, 0.0])


def test_saved_and_loaded_it_goes_on_bit_for_bit(tmp_path):
    learner = Learner(LIMITED)
    for x, losses in rounds(20):
        learner.act(x)
        learner.learn(x, ACTIONS, losses)
    save(learner, tmp_path / "learner.npz")
    loaded = load(tmp_path / "learner.npz")
    assert loaded.problem == LIMITED
    assert to_bytes(loaded) == to_bytes(learner)
    for x, losses in rounds(20, seed=1):
        np.testing.assert_array_equal(loaded.act(x), learner.act(x))
        loaded.learn(x, ACTIONS, losses)
        learner.learn(x, ACTIONS, losses)


def test_a_file_cannot_take_the_limits_away():
    learner = Learner(LIMITED)
    learner.agent = copy.copy(learner.agent)
    learner.agent.rules = None
    with pytest.raises(FileError, match="`agent` must be one that a Learner keeps as it is"):
        from_bytes(to_bytes(learner), where="a file")


@pytest.mark.parametrize(
    ("agent", "kind", "message"),
    [
        (Uniform(), TypeError, "`agent` must take limits and budgets, .* got Uniform; use Inf"),
        (
            InformationDirected(limits=Limits(floors=0.2)),
            ValueError,
            "`agent` must have no limits or budgets of its own: the problem has them",
        ),
        (
            SquareCBG(gamma=10.0, method="closed-form"),
            ValueError,
            '`agent` must have method="auto" or "solver", as the problem has limits or budgets',
        ),
    ],
)
def test_agents_that_cannot_keep_the_limits(agent, kind, message):
    with pytest.raises(kind, match=message):
        Learner(LIMITED, agent)


def test_an_agent_may_have_limits_of_its_own_by_column():
    learner = Learner(Problem(ACTIONS), InformationDirected(limits=Limits(caps={0: 0.1})))
    assert learner.act({"x": 1.0})[0] <= 0.1
    assert learner.act({"x": 1.0}, None, ["review", "approve"])[1] <= 0.1


EXPLORING = Problem(ACTIONS, reveals={"all": ["review"]}, explore=0.02)


@pytest.mark.parametrize("agent", [None, Greedy()], ids=["default", "greedy"])
def test_what_a_problem_explores_its_agent_does(agent):
    learner = Learner(EXPLORING, agent)
    for _ in range(40):
        learner.learn({"x": 1.0}, ACTIONS, [0.0, 0.9, 0.9])
    review = ACTIONS.index("review")
    assert Learner(EXPLORING, agent).agent.explore == 0.02
    assert learner.act({"x": 1.0})[review] >= 0.02 - 1e-9  # at least: it may explore by itself
    if agent is not None:  # one that would not
        assert learner.act({"x": 1.0})[review] == pytest.approx(0.02)
    assert learner.greedy().act({"x": 1.0})[review] == 0.0
    assert Learner(EXPLORING, learner.agent).agent is learner.agent


def test_what_is_explored_is_inside_a_baseline_and_a_shadow_is_untouched():
    shadow = dataclasses.replace(EXPLORING, baseline={"action": "call", "mode": "shadow"})
    assert Learner(shadow).agent.agent.explore == 0.02
    np.testing.assert_array_equal(Learner(shadow).act({"x": 1.0}), [0.0, 1.0, 0.0])
    inside = dataclasses.replace(EXPLORING, baseline={"action": "call", "loss": 0.5})
    proven = Learner(inside, Greedy())  # explores as the problem says, and no more
    np.testing.assert_array_equal(proven.act({"x": 1.0}), [0.0, 1.0, 0.0])  # nothing is proven
    for _ in range(40):
        proven.learn({"x": 1.0}, ACTIONS, [0.0, 0.9, 0.9])
    proven.agent.proven = 1e6
    assert proven.act({"x": 1.0})[ACTIONS.index("review")] == pytest.approx(0.02)


def test_a_graph_that_is_learned_is_explored_as_it_is_predicted():
    agent = OnPredictedGraph(Greedy(), EdgeCounts(3))
    learner = Learner(Problem(ACTIONS, reveals="unknown", explore=0.1), agent)
    assert learner.agent.explorer.explore == 0.1
    assert learner.act({"x": 1.0}).max() == 1.0  # any action may reveal any other
    for _ in range(40):
        for loss, name in enumerate(ACTIONS):
            learner.learn({"x": 1.0}, [name], [loss / 2], played=name)
    assert (learner.act({"x": 1.0}) > 0.01).all()
    default = Learner(Problem(ACTIONS, reveals="unknown", explore=0.1))
    assert default.agent.explorer.explore == 0.1


def test_saved_without_explore_a_learner_is_what_it_was_before():
    assert b'"explore"' not in to_bytes(Learner(Problem(ACTIONS)))
    again = from_bytes(to_bytes(Learner(EXPLORING)), where="a file")
    assert (again.problem.explore, again.agent.explore) == (0.02, 0.02)
    learner = Learner(EXPLORING)
    learner.agent = copy.copy(learner.agent)
    del learner.agent.explore
    with pytest.raises(FileError, match="`agent` must be one that a Learner keeps as it is"):
        from_bytes(to_bytes(learner), where="a file")


def test_agents_that_cannot_explore_as_the_problem_says():
    with pytest.raises(TypeError, match=r"`agent` must take explore, as .*, got Uniform; use Inf"):
        Learner(EXPLORING, Uniform())
    with pytest.raises(ValueError, match="`agent` must have no explore of its own but that of the"):
        Learner(EXPLORING, InformationDirected(explore=0.1))
    own = Learner(Problem(ACTIONS), Greedy(explore=0.1))
    assert own.act({"x": 1.0}).min() == pytest.approx(0.1 / 3)


def test_a_learner_of_a_learners_agent_is_the_same():
    one = Learner(LIMITED)
    assert Learner(LIMITED, one.agent).agent is one.agent


TODAY = Problem(
    ACTIONS,
    reveals="full-information",
    feedback="rewards",
    range=(-5.0, 5.0),
    baseline={"action": "call", "epsilon": 0.2, "reward": -2.0},
)


def played(learner, context, rng, actions=None):
    """One round: act, draw, on_draw, on_feedback and learn, as a policy does."""
    names = learner.problem.names_of(actions)
    graph = learner.problem.graph_for(names)
    probabilities = learner.act(context, None, actions)
    index = int(rng.choice(len(names), p=probabilities))
    round = Played(context, graph, actions, probabilities, index)
    if learner.on_draw is not None:
        learner.on_draw(round)
    shown = np.flatnonzero(graph.row(index))
    values = [{"approve": 4.0, "call": -2.0, "review": 0.0}.get(names[i], 0.5) for i in shown]
    if learner.on_feedback is not None:
        learner.on_feedback(round, shown, values)
    learner.learn(context, [names[i] for i in shown], values)
    return names[index], probabilities


def test_the_baseline_is_in_the_terms_of_the_agent_inside():
    agent = Learner(TODAY).agent
    assert isinstance(agent, Conservative)
    assert (agent.baseline, agent.epsilon, agent.confidence) == (1, 0.2, 0.95)
    assert agent.loss == pytest.approx(0.7)  # -2 is seven tenths of the way from 5 to -5
    unknown = dataclasses.replace(TODAY, baseline="review")
    assert (Learner(unknown).agent.baseline, Learner(unknown).agent.loss) == (2, None)


def test_today_s_rule_is_played_until_more_is_proven():
    learner, rng = Learner(TODAY), np.random.default_rng(0)
    made = [played(learner, {"x": 1.0}, rng)[0] for _ in range(60)]
    first = made.index("approve")
    assert first == 2  # 0.2 * 0.7 is put by in each round, and one may lose 1 - 1.2 * 0.7
    assert set(made[:first]) == {"call"}
    assert made[30:].count("approve") > 25
    assert learner.agent.proven > 0.0
    assert proven_gain(TODAY, learner.agent) == 10.0 * learner.agent.proven
    assert learner.predict({"x": 1.0})[0] > 2.0
    assert learner.greedy().act({"x": 1.0})[0] == 1.0


def test_a_shadow_plays_today_s_rule_and_learns():
    learner = Learner(dataclasses.replace(TODAY, baseline={"action": "call", "mode": "shadow"}))
    rng = np.random.default_rng(0)
    assert {played(learner, {"x": 1.0}, rng)[0] for _ in range(30)} == {"call"}
    assert isinstance(learner.agent, Shadow)
    assert learner.predict({"x": 1.0})[0] > 2.0
    assert proven_gain(learner.problem, learner.agent) is None


@pytest.mark.parametrize("mode", ["conservative", "shadow"])
def test_a_baseline_among_the_actions_of_each_round(mode):
    problem = Problem(
        "each round",
        reveals="full-information",
        feedback="rewards",
        range=(-5.0, 5.0),
        limits={"caps": {"new": 0.8}},
        budgets=[Budget("news", {"new": 1}, at_most=0.5)],
        baseline={"action": "call", "mode": mode},
    )
    learner, rng = Learner(problem), np.random.default_rng(0)
    assert [played(learner, {"x": 1.0}, rng, ["new", "call"])[0] for _ in range(5)] == ["call"] * 5
    before = to_bytes(learner)
    with pytest.raises(ValueError, match="`baseline` must be an action of the round, one of 'new'"):
        learner.act({"x": 1.0}, None, ["new", "other"])
    assert to_bytes(learner) == before
    with pytest.raises(TypeError, match=r"`agent` must take names in `act`, .* got Uniform"):
        Learner(Problem("each round", baseline={"action": "call", "mode": mode}), Uniform())


def test_any_agent_may_have_a_baseline_around_it():
    learner = Learner(dataclasses.replace(TODAY, baseline="call"), Uniform())
    rng = np.random.default_rng(0)
    assert played(learner, {"x": 1.0}, rng)[0] == "call"
    assert learner.oracle is None


def test_an_agent_with_another_baseline_is_refused():
    with pytest.raises(ValueError, match="`agent` must have no baseline but that of the problem"):
        Learner(TODAY, Conservative(InformationDirected(), 0))
    with pytest.raises(ValueError, match="`agent` must have no baseline but that of the problem"):
        Learner(TODAY, Shadow(InformationDirected(), 1))
    own = Learner(Problem(ACTIONS), Conservative(InformationDirected(), 0))  # the problem has none
    np.testing.assert_array_equal(own.act({"x": 1.0}), [1.0, 0.0, 0.0])
    assert own.agent.agent.oracle is not None


def test_with_a_baseline_it_is_saved_and_goes_on_bit_for_bit(tmp_path):
    everything = dataclasses.replace(
        TODAY,
        limits={"caps": {"approve": 0.9}},
        budgets=[Budget("reviews", {"review": 1}, at_most=0.1)],
    )
    learner, rng = Learner(everything), np.random.default_rng(0)
    for _ in range(25):
        played(learner, {"x": 1.0}, rng)
    save(learner, tmp_path / "learner.npz")
    loaded = load(tmp_path / "learner.npz")
    assert to_bytes(loaded) == to_bytes(learner)
    one = [played(learner, {"x": 2.0}, np.random.default_rng(1)) for _ in range(20)]
    other = [played(loaded, {"x": 2.0}, np.random.default_rng(1)) for _ in range(20)]
    for (name, p), (again, q) in zip(one, other, strict=True):
        assert name == again
        np.testing.assert_array_equal(p, q)
    loaded.agent = loaded.agent.agent
    with pytest.raises(FileError, match="`agent` must be one that a Learner keeps as it is"):
        from_bytes(to_bytes(loaded), where="a file")
