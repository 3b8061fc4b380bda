import copy
import math

import numpy as np
import pytest

from graphcb import oracles
from graphcb.agents import Budget
from graphcb.saving import from_bytes, to_bytes

REVIEWS = Budget("reviews", {"review": 1, "call": 2.5}, at_most=0.05)
ROUND = ("approve", "review", "call")


def test_costs_of_a_round_by_name_others_are_free():
    np.testing.assert_array_equal(REVIEWS.of(ROUND, None, None, None), [0.0, 1.0, 2.5])
    np.testing.assert_array_equal(REVIEWS.of(("call", "x"), None, None, None), [2.5, 0.0])
    np.testing.assert_array_equal(Budget("b", {1: 3.0}, 1).of(range(2), None, None, None), [0, 3])


def test_costs_that_come_with_the_round():
    budget = Budget("dollars", "each round", at_most=2.0)
    np.testing.assert_array_equal(budget.of(ROUND, [0, 1, 2], None, None), [0.0, 1.0, 2.0])
    np.testing.assert_array_equal(REVIEWS.of(ROUND, [0, 1, 2], None, None), [0.0, 1.0, 2.0])


def test_costs_from_features_of_the_context():
    budget = Budget("dollars", {"small": 0.1, "large": "price"}, at_most=2.0)
    names = ("none", "small", "large")
    np.testing.assert_array_equal(budget.of_context(names, {"price": 3}), [0.0, 0.1, 3.0])
    assert budget.features == {"large": "price"}
    for context in ({}, {"price": None}, [1.0]):
        with pytest.raises(ValueError, match="`context` must have the feature 'price', which says"):
            budget.of_context(names, context)
    with pytest.raises(ValueError, match="the feature 'price', a cost of 'large', must be finite"):
        budget.of_context(names, {"price": -1.0})
    with pytest.raises(ValueError, match=r"come as features \('price'\) that only a Learner can"):
        budget.of(names, None, None, None)


def test_costs_that_an_oracle_predicts_are_not_negative():
    oracle = oracles.OnlineRidge(2, 1)
    for _ in range(20):
        oracle.update([1.0], [0, 1], [-3.0, 4.0])
    costs = Budget("dollars", oracle, at_most=2.0).of(range(2), None, [1.0], None)
    assert costs[0] == 0.0
    assert costs[1] == pytest.approx(4.0, rel=0.1)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ([0.0, 1.0], r"must have one number for each of the 3 actions, got shape \(2,\)"),
        ([0.0, -1.0, 0.0], "`costs` of budget 'reviews' for 'review' must be finite and not neg"),
        ([0.0, 0.0, math.nan], "`costs` of budget 'reviews' for 'call' must be finite and not neg"),
        (["a", "b", "c"], "`costs of 'reviews'` must"),
    ],
)
def test_costs_of_a_round_are_checked(given, text):
    with pytest.raises((ValueError, TypeError), match=text):
        REVIEWS.of(ROUND, given, None, None)


def test_names_must_be_there_where_costs_are_by_name():
    for names in (range(3), (4, 5, 6)):
        with pytest.raises(ValueError, match="`names` must call the actions what budget 'reviews'"):
            REVIEWS.of(names, None, None, None)
    with pytest.raises(ValueError, match="as in 1; got 'a', 'b', so that nothing would be paid"):
        Budget("b", {1: 1.0}, 1).of(("a", "b"), None, None, None)
    REVIEWS.of(("others", "today"), None, None, None)


def test_names_are_checked_where_all_are_known():
    REVIEWS.check_names(ROUND)
    with pytest.raises(ValueError, match="'call', which is not one; there are approve, review"):
        REVIEWS.check_names(("approve", "review"))
    with pytest.raises(ValueError, match="did you mean 'reviews'"):
        Budget("b", {"review": 1.0}, 1.0).check_names(("reviews", "approve"))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("", {"a": 1}, 1), "`name` must be a text that names the budget, got ''"),
        ((3, {"a": 1}, 1), "`name` must be a text"),
        (("b", {}, 1), "`costs` of budget 'b' must name an action, got none"),
        (("b", [1, 2], 1), r"`costs` of budget 'b' must be \{action: number\}"),
        (("b", np.array([1.0, 2.0]), 1), r"`costs` of budget 'b' must be \{action: number\}"),
        (("b", oracles.LinearOGD, 1), "an oracle with a method predict, got <class"),
        (("b", "sometimes", 1), "each round"),
        (("b", {"a": -1}, 1), "`costs` of budget 'b' for 'a' must be finite and not negative"),
        (("b", {"a": math.inf}, 1), "must be finite and not negative, got inf"),
        (("b", {"a": 1e101}, 1), r"`costs` of budget 'b' for 'a' must be at most 1e\+100, got"),
        (("b", {"a": None}, 1), "`costs` of budget 'b' for 'a' must be a number, got None"),
        (("b", {"a": True}, 1), "must be a number, got True"),
        (("b", {"a": ""}, 1), "must be a number, got ''"),
        (("b", {"a": 1}, -1), "`at_most` of budget 'b' must be finite and not negative, got -1"),
        (("b", {"a": 1}, "5 %"), "`at_most` of budget 'b' must be a number, got '5 %'"),
        (("b", {"a": 1}, 0), "`at_most` of budget 'b' must be above 0, got 0; to forbid actions"),
    ],
)
def test_what_makes_no_budget_is_refused(arguments, text):
    with pytest.raises((ValueError, TypeError), match=text):
        Budget(*arguments)


@pytest.mark.parametrize("per", ["month", 0, -3, 0.0, math.nan, math.inf, None, True, [1]])
def test_a_period_is_rounds_or_time(per):
    with pytest.raises(ValueError, match="`per` of budget 'b' must be \"round\", a whole number"):
        Budget("b", {"a": 1}, 1, per=per)


def test_hard_is_yes_or_no():
    with pytest.raises(TypeError, match="`hard` must be True or False, got 1"):
        Budget("b", {"a": 1}, 1, hard=1)


@pytest.mark.parametrize(
    ("per", "rounds", "seconds"),
    [("round", 1, None), (20, 20, None), ("hour", None, 3600.0), (900.0, None, 900.0)],
)
def test_periods(per, rounds, seconds):
    budget = Budget("b", {"a": 1}, 1, per=per)
    assert (budget.rounds, budget.seconds) == (rounds, seconds)


@pytest.mark.parametrize(
    "budget",
    [
        REVIEWS,
        Budget("b", {"a": "price", 3: 1.0}, 300, per="day", hard=True),
        Budget("b", "each round", 2, per=20),
        Budget("b", {"a": 1}, 2, per=90.0),
    ],
)
def test_it_is_a_value(budget):
    again = Budget(budget.name, **budget.as_table())
    assert again == budget
    assert hash(again) == hash(budget)
    assert copy.deepcopy(budget) == budget
    assert from_bytes(to_bytes(budget), where="here") == budget
    assert eval(repr(budget)) == budget
    assert budget != Budget(budget.name, {"other": 1}, 3)
    with pytest.raises(AttributeError, match="`Budget` cannot change"):
        budget.at_most = 3.0
    with pytest.raises(TypeError):
        budget.costs["a"] = 3.0


def test_a_cost_that_no_float_can_hold_is_refused():
    with pytest.raises(ValueError, match="`at_most` of budget 'b' must be finite and not negative"):
        Budget("b", {1: 1.0}, at_most=10**400)
