"""A learner keeps the limits, the budgets and the baseline of its problem."""

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphcb import (
    EpsilonGreedy,
    Greedy,
    Learner,
    Limits,
    Problem,
    SquareCB,
    SquareCBG,
    Uniform,
    load,
    oracles,
    save,
)
from graphcb.exploration import InfeasibleLimits
from graphcb.saving import to_bytes

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


@settings(max_examples=25, deadline=None)
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
    learner.check_loaded()
    learner.agent = copy.copy(learner.agent)
    learner.agent.rules = None
    with pytest.raises(ValueError, match="agent does not keep what its problem promises"):
        learner.check_loaded()


@pytest.mark.parametrize(
    ("agent", "kind", "message"),
    [
        (Uniform(), TypeError, "`agent` must take limits and budgets, .* got Uniform; use Squ"),
        (
            SquareCBG(limits=Limits(floors=0.2)),
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
    learner = Learner(Problem(ACTIONS), SquareCBG(limits=Limits(caps={0: 0.1})))
    assert learner.act({"x": 1.0})[0] <= 0.1
    assert learner.act({"x": 1.0}, None, ["review", "approve"])[1] <= 0.1


def test_a_learner_of_a_learners_agent_is_the_same():
    one = Learner(LIMITED)
    assert Learner(LIMITED, one.agent).agent is one.agent
