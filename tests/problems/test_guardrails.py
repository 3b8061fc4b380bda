"""Limits, budgets and the baseline of a problem, in Python and in TOML."""

import dataclasses

import numpy as np
import pytest

from graphcb import FileError, Learner, Limits, Problem
from graphcb.agents import Budget
from graphcb.exploration import InfeasibleLimits
from graphcb.problems.wording import guardrails_in_words
from graphcb.saving import from_bytes, to_bytes

ACTIONS = ["approve", "call", "review"]
FEATURES = {"amount": "number", "minutes": "number?", "country": "category"}
LIMITS = {
    "floors": {"approve": 0.02},
    "caps": {"review": 0.5},
    "linear": [{"actions": ["call", "review"], "at_most": 0.6, "name": "team"}],
}
BUDGETS = {
    "reviews": {"costs": {"review": 1}, "at_most": 0.05},
    "hours of work": {
        "costs": {"call": "minutes", "review": 30},
        "at_most": 300,
        "per": "day",
        "hard": True,
    },
}
BASELINE = {"action": "approve", "epsilon": 0.2, "loss": 0.4, "confidence": 0.9}


def problem(**changes):
    given = {"reveals": {"all": ["review"]}, "features": FEATURES, "limits": LIMITS}
    return Problem(ACTIONS, **{**given, "budgets": BUDGETS, "baseline": BASELINE, **changes})


def test_a_problem_with_everything_in_toml():
    text = problem(name="guarded").to_toml()
    assert text.endswith(
        """
[limits]
floors = { approve = 0.02 }
caps = { review = 0.5 }

[[limits.linear]]
actions = ["call", "review"]
at_most = 0.6
name = "team"

[budgets.reviews]
costs = { review = 1.0 }
at_most = 0.05

[budgets."hours of work"]
costs = { call = "minutes", review = 30.0 }
at_most = 300.0
per = "day"
hard = true

[baseline]
action = "approve"
mode = "conservative"
epsilon = 0.2
confidence = 0.9
loss = 0.4
"""
    )
    assert Problem.from_toml(text) == problem(name="guarded")
    assert Problem.from_toml(text).to_toml() == text


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"limits": Limits(floors=0.1), "budgets": (), "baseline": None},
        {"limits": {"linear": [{"weights": {"call": 0.5, "review": 2}, "at_most": 1.9}]}},
        {"limits": None},
        {"budgets": ()},
        {"budgets": {"a": {"costs": {"call": 1}, "at_most": 3, "per": 100}}},
        {"baseline": {"action": "approve", "mode": "shadow"}},
        {
            "feedback": "rewards",
            "range": (-5, 5),
            "baseline": {"action": "approve", "reward": -2},
        },
    ],
)
def test_there_and_back(changes):
    one = problem(**changes)
    assert Problem.from_toml(one.to_toml()) == one
    assert hash(Problem.from_toml(one.to_toml())) == hash(one)
    assert from_bytes(to_bytes(one), where="a file") == one
    assert dataclasses.replace(one, name="other") == problem(**changes, name="other")
    assert eval(repr(one), {"Problem": Problem, "Limits": Limits, "Budget": Budget}) == one


def test_numbers_per_action_are_kept_by_name():
    listed = Problem(ACTIONS, limits={"floors": [0.1, 0.0, 0.2], "caps": (1, 0.5, 1)})
    named = Problem(
        ACTIONS,
        limits={
            "floors": {"approve": 0.1, "call": 0.0, "review": 0.2},
            "caps": {"approve": 1, "call": 0.5, "review": 1},
        },
    )
    assert listed == named
    weights = {"limits": {"linear": [{"weights": [0, 1, 2], "at_most": 1}]}}
    assert problem(**weights).limits.linear[0].weights == {"approve": 0, "call": 1, "review": 2}


def test_the_order_of_names_does_not_matter():
    budget = {"costs": {"review": 30, "call": "minutes"}, "at_most": 300}
    other = {"costs": {"call": "minutes", "review": 30}, "at_most": 300}
    assert problem(budgets={"a": budget}) == problem(budgets={"a": other})
    limits = {"caps": {"review": 0.1, "call": 0.2}}, {"caps": {"call": 0.2, "review": 0.1}}
    assert problem(limits=limits[0]) == problem(limits=limits[1])
    assert not problem(limits=limits[0]).differences(problem(limits=limits[1]))


def test_differences_name_what_is_other():
    assert problem(limits=None).differences(problem()) == [
        f"limits: None, not {problem().limits!r}"
    ]
    other = problem(baseline="approve", budgets={"reviews": BUDGETS["reviews"]})
    found = other.differences(problem())
    assert [text.partition(":")[0] for text in found] == ["budgets", "baseline"]
    assert "'epsilon': 0.1" in found[1]
    assert "'epsilon': 0.2" in found[1]


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"limits": 0.1}, TypeError, "`limits` must be graphcb.Limits or a mapping with floors, c"),
        (
            {"limits": {"floor": 0.1}},
            ValueError,
            "`limits` must be one of floors, caps, linear; got 'floor'; did you mean 'floors'?",
        ),
        ({"limits": {"floors": {"revew": 0.1}}}, ValueError, "'revew'.*did you mean 'review'?"),
        ({"limits": {"caps": {"review": 1.5}}}, ValueError, "a number from 0 to 1, got 1.5"),
        ({"limits": {"caps": {"review": "few"}}}, ValueError, "a number from 0 to 1, got 'few'"),
        (
            {"limits": {"floors": [0.1, 0.2]}},
            ValueError,
            "`limits.floors` must have 3 numbers, one for each of approve, call, review; got 2",
        ),
        ({"limits": {"floors": 0.4}}, InfeasibleLimits, "1.2"),
        (
            {"limits": {"floors": {"call": 0.7, "review": 0.6}}},
            InfeasibleLimits,
            "floors of 'call' .0.7. and 'review' .0.6. add up to 1.3, more than 1",
        ),
        ({"budgets": [1]}, TypeError, "`budgets` must be graphcb.Budget, got int"),
        ({"budgets": 1}, TypeError, "`budgets` must be a list of graphcb.Budget or a mapping such"),
        ({"budgets": {"": {}}}, ValueError, "`budgets` must not be empty, got ''"),
        ({"budgets": {"b": 3}}, TypeError, "`budgets.b` must be a table with costs and at_most, g"),
        (
            {"budgets": {"b": {"costs": {"call": 1}, "atmost": 1}}},
            ValueError,
            "`budgets.b` must be one of costs, at_most, per, hard; got 'atmost'; did you mean",
        ),
        (
            {"budgets": {"b": {"costs": {"call": 1}}}},
            ValueError,
            "`budgets.b` must have at_most, got costs",
        ),
        ({"budgets": {"b": {"at_most": 1}}}, ValueError, "`budgets.b` must have costs, got at_mo"),
        (
            {"budgets": {"b": {"at_most": 1, "costs": {}}}},
            ValueError,
            "`costs` of budget 'b' must name an action, got none",
        ),
        (
            {"budgets": {"b": {"at_most": 1, "costs": "each round"}}},
            ValueError,
            "`costs` of budget 'b' must say what actions cost, by a number or a feature of the",
        ),
        (
            {"budgets": {"b": {"at_most": 1, "costs": {"cal": 1}}}},
            ValueError,
            "`costs` of budget 'b' must name actions, got 'cal', .*did you mean 'call'",
        ),
        (
            {"budgets": {"b": {"at_most": 1, "costs": {"call": "minute"}}}},
            ValueError,
            "`costs of budget 'b' for 'call'` must be one of amount, minutes, country; got 'minut",
        ),
        (
            {"budgets": {"b": {"at_most": 1, "costs": {"call": "country"}}}},
            ValueError,
            "for 'call'` must be a feature that is a number, got 'country', a category",
        ),
        (
            {"budgets": {"b": {"at_most": 1, "costs": {"call": -1}}}},
            ValueError,
            "`costs` of budget 'b' for 'call' must be finite and not negative, got -1",
        ),
        (
            {"budgets": {"b": {"at_most": 1, "costs": {"call": float("nan")}}}},
            ValueError,
            "`costs` of budget 'b' for 'call' must be finite and not negative, got nan",
        ),
        (
            {"budgets": {"b": {"at_most": True, "costs": {"call": 1}}}},
            TypeError,
            "`at_most` of budget 'b' must be a number, got True",
        ),
        (
            {"budgets": {"b": {"at_most": -0.1, "costs": {"call": 1}}}},
            ValueError,
            "`at_most` of budget 'b' must be finite and not negative, got -0.1",
        ),
        (
            {"budgets": {"b": {"at_most": 1, "costs": {"call": 1}, "per": "dya"}}},
            ValueError,
            "`per` of budget 'b' must be",
        ),
        ({"baseline": 3}, TypeError, "`baseline` must be the name of an action or a table with"),
        ({"baseline": {"mode": "shadow"}}, ValueError, "`baseline` must have an action, got mode"),
        (
            {"baseline": "aprove"},
            ValueError,
            "`baseline.action` must be one of approve, call, review; got 'aprove'; did you mean",
        ),
        (
            {"baseline": {"action": "call", "mode": "shadwo"}},
            ValueError,
            "`baseline.mode` must be one of conservative, shadow; got 'shadwo'; did you mean",
        ),
        (
            {"baseline": {"action": "call", "mode": "shadow", "epsilon": 0.1}},
            ValueError,
            "`baseline.epsilon` must be left out with mode = 'shadow', which always plays the",
        ),
        (
            {"baseline": {"action": "call", "epsilon": -0.1}},
            ValueError,
            "`baseline.epsilon` must be above 0, got -0.1",
        ),
        (
            {"baseline": {"action": "call", "confidence": 1}},
            ValueError,
            r"`baseline.confidence` must be in \(0, 1\), got 1",
        ),
        (
            {"baseline": {"action": "call", "loss": 1.5}},
            ValueError,
            "`losses` must lie between 0 and 1, got 1.5 for action 'call'; the problem says no",
        ),
        (
            {"baseline": {"action": "call", "reward": 0.5}},
            ValueError,
            "`baseline` must be one of action, mode, epsilon, loss, confidence; got 'reward'",
        ),
    ],
)
def test_what_is_refused(changes, kind, message):
    with pytest.raises(kind, match=message):
        problem(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"limits": {"floors": {"call": 0.1}}}, "but the floor of 'call' is 0.1"),
        ({"limits": {"caps": {"approve": 0.9}}}, "but its cap is 0.9"),
        (
            {"limits": {"linear": [{"actions": ["approve", "call"], "at_most": 0.5}]}},
            "but a linear limit does not allow that",
        ),
        (
            {"budgets": {"b": {"costs": {"approve": 1}, "at_most": 5, "per": 10}}},
            "but it costs 1, and the budget 'b' allows 0.5 per round",
        ),
    ],
)
def test_a_baseline_that_breaks_the_other_rules_is_refused(changes, message):
    start = "`baseline.action` must be one that can always be played, got 'approve', "
    with pytest.raises(ValueError, match=start + message):
        Problem(ACTIONS, baseline="approve", **changes)


def test_a_file_says_where_it_is_wrong(tmp_path):
    file = tmp_path / "problem.toml"
    file.write_text(problem().to_toml().replace("review = 0.5", "review = 0.05\ncall = 0.1"))
    with pytest.raises(FileError, match=r"problem.toml: must be TOML"):
        Problem.read(file)
    file.write_text(problem().to_toml().replace("caps", "cap"))
    with pytest.raises(FileError, match=r"\[limits\] has no key 'cap'; did you mean 'caps'"):
        Problem.read(file)
    file.write_text(problem().to_toml().replace("review = 0.5", "reviews = 0.5"))
    with pytest.raises(FileError, match=r"problem.toml: .*'reviews'.*did you mean 'review'"):
        Problem.read(file)
    file.write_text(problem().to_toml().replace("mode", "mood"))
    with pytest.raises(FileError, match=r"\[baseline\] has no key 'mood'; did you mean 'mode'"):
        Problem.read(file)


def test_actions_of_each_round_are_limited_by_name():
    items = Problem("each round", limits={"floors": {"new": 0.1}, "caps": 0.9}, baseline="old")
    assert Problem.from_toml(items.to_toml()) == items
    Problem("each round", budgets={"b": {"costs": {"new": "price"}, "at_most": 1}})
    with pytest.raises(ValueError, match=r"`limits.caps` must be by name, such as .* as the actio"):
        Problem("each round", limits={"caps": [0.5, 1.0]})
    with pytest.raises(ValueError, match=r"`limits.linear.0..weights` must be by name"):
        Problem("each round", limits={"linear": [{"weights": [1, 2], "at_most": 1}]})


def test_content_of_a_file_is_checked():
    one = from_bytes(to_bytes(problem()), where="a file")
    object.__setattr__(one, "budgets", (Budget("reviews", {"nobody": 1.0}, 1.0),))
    with pytest.raises(ValueError, match=r"must name actions, got 'nobody', which is not one"):
        from_bytes(to_bytes(one), where="a file")


def test_the_first_action_of_each_round_may_be_the_baseline():
    rule = {"action": "first of each round", "mode": "shadow"}
    for actions in (["a", "b"], "each round"):
        problem = Problem(actions, baseline=rule)
        assert problem.baseline.is_first
        assert Problem.from_toml(problem.to_toml()) == problem
        learner = Learner(problem)
        offered = ["b", "a"] if actions != "each round" else {"x": {"p": 1.0}, "y": {"p": 2.0}}
        graph = problem.graph_for(problem.names_of(offered), None)
        np.testing.assert_array_equal(learner.act({"u": 1.0}, graph, offered), [1.0, 0.0])
    with pytest.raises(ValueError, match="the floor of 'b' is"):
        Problem(["a", "b"], baseline=rule, limits={"floors": {"b": 0.1}})
    hard = {"calls": {"costs": {"a": 1}, "at_most": 0.5, "hard": True}}
    with pytest.raises(ValueError, match="the budget 'calls' is hard"):
        Problem(["a", "b"], baseline=rule, budgets=hard)


def test_rewards_that_add_up_need_a_time_to_wait():
    table = {"waiting": 60.0, "reward": 0.0, "reward_aggregation": "sum"}
    problem = Problem(["a"], feedback="rewards", defaults=table)
    assert problem.defaults.adds_up
    assert Problem.from_toml(problem.to_toml()) == problem
    (said,) = guardrails_in_words(problem)
    assert said.says.endswith("rewards from clients of Personalizer add up until then")
    plain = Problem(["a"], feedback="rewards", defaults={**table, "reward_aggregation": "earliest"})
    assert not plain.defaults.adds_up
    assert "reward_aggregation" not in plain.to_toml()
    with pytest.raises(ValueError, match="must stand beside waiting and reward"):
        Problem(["a"], feedback="rewards", defaults={"keep_days": 1, "reward_aggregation": "sum"})
    with pytest.raises(ValueError, match="must stand beside waiting and reward"):
        Problem(["a"], defaults={"waiting": 60, "loss": 1, "reward_aggregation": "sum"})
    with pytest.raises(ValueError, match=r"`defaults.reward_aggregation` must be one of"):
        Problem(["a"], feedback="rewards", defaults={**table, "reward_aggregation": "mean"})
