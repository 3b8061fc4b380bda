import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphcb import Learner, Problem, SquareCBG
from graphcb.problems.attribution import attribute


def trained(n=200, feedback="losses", **settings_of):
    learner = Learner(Problem(["a", "b"], range=(0, 10), feedback=feedback, **settings_of))
    rng = np.random.default_rng(3)
    for _ in range(n):
        context = {"x": rng.normal(), "noise": rng.normal(), "kind": str(rng.choice(["u", "v"]))}
        losses = [5 + 2 * np.tanh(context["x"]), 7.0 if context["kind"] == "u" else 3.0]
        learner.learn(context, ["a", "b"], losses)
    return learner


CONTEXT = {"x": 1.5, "noise": 1.5, "kind": "u"}


@pytest.mark.parametrize("feedback", ["losses", "rewards"])
def test_the_features_that_matter_are_named_first_in_the_units_of_the_problem(feedback):
    found = attribute(trained(feedback=feedback), CONTEXT)
    assert [each[0].feature for each in found.contributions] == ["x", "kind"]
    assert found.contributions[0][0].value == 1.5
    assert 1.0 < found.contributions[0][0].change < 3.0
    assert 0.8 < found.contributions[1][0].change < 4.5
    for each in found.contributions:
        assert abs(each[-1].change) < 0.35


def test_predictions_are_those_of_the_learner_and_lie_in_their_intervals():
    learner = trained()
    found = attribute(learner, CONTEXT)
    np.testing.assert_allclose(found.predicted, learner.predict(CONTEXT))
    assert (found.low <= found.predicted).all()
    assert (found.predicted <= found.high).all()
    assert found.n_seen.round().tolist() == [200, 200]


@settings(max_examples=25, deadline=None)
@given(st.floats(-3, 3), st.sampled_from(["u", "v", "new"]), st.floats(-3, 3) | st.none())
def test_the_parts_and_what_is_left_over_add_up(x, kind, noise):
    found = attribute(LEARNER, {"x": x, "kind": kind, "noise": noise})
    sums = [sum(one.change for one in each) for each in found.contributions]
    np.testing.assert_allclose(found.typical + sums + found.left_over, found.predicted)


LEARNER = trained(60)


def test_what_features_do_together_is_left_over():
    """A loss that depends on a product alone: each factor moves it, and not by its own half."""
    learner, rng = Learner(Problem(["a"], range=(-1, 1))), np.random.default_rng(0)
    for _ in range(600):
        x, y = rng.choice([-1.0, 1.0], 2)
        learner.learn({"x": x, "y": y}, ["a"], [0.9 * x * y])
    found = attribute(learner, {"x": 1.0, "y": 1.0})
    x, y = (one.change for one in found.contributions[0])
    assert min(x, y) > 0.4
    assert found.left_over[0] < -0.4  # counted by both


def test_what_is_known_is_moved_by_nothing():
    learner = Learner(Problem(["a", "b"], range=(0, 10), known={"b": 4.0}))
    for k in range(20):
        learner.learn({**CONTEXT, "x": float(k)}, ["a"], [k / 2])
    found = attribute(learner, CONTEXT)
    assert (found.predicted[1], found.low[1], found.high[1], found.typical[1]) == (4, 4, 4, 4)
    assert all(one.change == 0.0 for one in found.contributions[1])


def test_features_of_actions():
    learner = Learner(Problem("each round", range=(0, 1)))
    rng = np.random.default_rng(1)
    for _ in range(150):
        price = float(rng.uniform(0, 10))
        learner.learn({"hour": 1.0}, {"item": {"price": price}}, [price / 10])
    found = attribute(learner, {"hour": 1.0}, {"p": {"price": 9.0}, "q": {"price": 1.0}})
    prices = [{one.feature: one.change for one in each}["price"] for each in found.contributions]
    assert prices[0] > 0.1 > -0.1 > prices[1]


def test_features_of_an_action_move_it_as_if_it_were_alone():
    learner, rng = Learner(Problem("each round", range=(0, 1))), np.random.default_rng(0)
    for _ in range(60):
        item = {"price": float(rng.normal()), "kind": str(rng.choice(["x", "y"]))}
        learner.learn({"hour": float(rng.normal())}, {"item": item}, [float(rng.random())])
    items = {
        "p": {"price": 2.0, "kind": "x"},
        "q": {"kind": "y"},
        "r": {"price": -1.0, "kind": "x"},
    }
    found = attribute(learner, {"hour": 0.5}, items)
    for together, name in zip(found.contributions, items, strict=True):
        (alone,) = attribute(learner, {"hour": 0.5}, {name: items[name]}).contributions
        assert {one.feature for one in together} == {"hour", "its name", "price", "kind"}
        expected = {one.feature: (one.value, pytest.approx(one.change, abs=1e-12)) for one in alone}
        assert {one.feature: (one.value, one.change) for one in together} == expected


def test_an_oracle_that_is_not_sure_gives_no_interval():
    from graphcb.oracles import LinearOGD

    problem = Problem(["a", "b"], range=(0, 1), features={"x": "number"})
    found = attribute(Learner(problem, SquareCBG(LinearOGD(2, 3))), {"x": 1.0})
    assert (found.low, found.high, found.n_seen) == (None, None, None)
