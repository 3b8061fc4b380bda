import copy
import pickle
import re

import numpy as np
import pytest

import graphcb
from graphcb import FeedbackGraph, Problem, graphs

FRAUD = {"reveals": {"all": ["review"]}, "feedback": "rewards", "range": (-50.0, 20.0)}


def fraud(**changes):
    return Problem(["approve", "review"], **{**FRAUD, **changes})


def test_the_shortest_problem_is_a_bandit_with_losses_whose_range_is_found():
    problem = Problem(["a", "b", "c"])
    assert problem.graph == graphs.bandit(3)
    assert (problem.feedback, problem.range, problem.unit) == ("losses", None, "loss")
    assert problem.scale == (0.0, 1.0)
    assert problem.features is None
    assert repr(problem) == "Problem(['a', 'b', 'c'])"


@pytest.mark.parametrize(
    ("reveals", "matrix"),
    [
        ("full-information", [[1, 1], [1, 1]]),
        ("full_information", [[1, 1], [1, 1]]),
        ("inventory:2", [[1, 0], [1, 1]]),
        ({"family": "posted-price"}, [[1, 1], [0, 1]]),
        ({"all": ["review"]}, [[0, 0], [1, 1]]),
        ({"all": ["review"], "own": True}, [[1, 0], [1, 1]]),
        ({"own": True}, [[1, 0], [0, 1]]),
        ({"own": True, "edges": [("approve", "review", 0.5)]}, [[1, 0.5], [0, 1]]),
        ({"all": ["review"], "edges": [["review", "approve", 0.25]]}, [[0, 0], [0.25, 1]]),
        (FeedbackGraph([[0.5, 0.5], [1, 0]]), [[0.5, 0.5], [1, 0]]),
        (graphs.cops_and_robbers(2), [[0, 1], [1, 0]]),
        (graphs.apple_tasting(2, revealing_action=1), [[0, 0], [1, 1]]),
    ],
)
def test_what_is_revealed(reveals, matrix):
    problem = Problem(["approve", "review"], reveals=reveals)
    np.testing.assert_array_equal(problem.graph.matrix, matrix)
    assert Problem.from_toml(problem.to_toml()) == problem
    assert eval(repr(problem), {"Problem": Problem}) == problem


def test_a_graph_of_names_is_recognised():
    assert repr(fraud().graph) == "apple_tasting(n_actions=2, revealing_action=1)"
    drawn = Problem(list("abcde"), reveals="random-self-aware:5,0.5,7")
    assert drawn.graph == graphs.random_self_aware(5, 0.5, np.random.default_rng(7))
    assert drawn.reveals.family is None  # what was drawn stays, whatever draws it another day
    cliques = Problem(list("abcde"), reveals=graphs.disjoint_cliques([2, 3]))
    assert cliques.graph == graphs.disjoint_cliques([2, 3])


def test_the_graph_among_the_actions_of_a_round():
    problem = Problem(["low", "middle", "high"], reveals="inventory")
    assert problem.graph_for(["low", "middle", "high"]) is problem.graph
    assert problem.graph_for(["low", "high"]) == graphs.inventory(2)
    assert problem.graph_for(["low"], graphs.bandit(1)) == graphs.bandit(1)
    with pytest.raises(ValueError, match="`graph` must have one row for each of the round's 2 "):
        problem.graph_for(["low", "high"], graphs.bandit(3))
    with pytest.raises(ValueError, match=r"`action` must be one of .*; got 'hihg'; did you mean"):
        problem.graph_for(["low", "hihg"])


def test_actions_and_graphs_that_come_with_each_round():
    items = Problem("each round", reveals="full-information")
    assert not items.has_fixed_actions
    assert items.graph_for(["item-7", "item-9"]) == graphs.full_information(2)
    with pytest.raises(ValueError, match="no graph of its own: the actions must be given in each"):
        items.graph  # noqa: B018
    moving = Problem(["a", "b"], reveals="each round")
    assert moving.graph_for(["a", "b"], graphs.bandit(2)) == graphs.bandit(2)
    with pytest.raises(ValueError, match="`graph` must be given: in this problem it comes with"):
        moving.graph_for(["a", "b"])
    with pytest.raises(ValueError, match="no graph of its own: the graph must be given in each"):
        moving.graph  # noqa: B018
    for problem in (items, moving):
        assert Problem.from_toml(problem.to_toml()) == problem


def test_places_by_name_or_by_number():
    problem = fraud()
    assert [problem.index(a) for a in ("approve", "review", 0, np.int64(1))] == [0, 1, 0, 1]
    with pytest.raises(IndexError, match="`action` must be between 0 and 1"):
        problem.index(2)
    with pytest.raises(TypeError, match=r"`action` must be a whole number, got 0.5"):
        problem.index(0.5)


def test_units():
    problem = fraud()
    np.testing.assert_array_equal(problem.as_losses(np.array([20.0, -50.0, -15.0])), [0, 1, 0.5])
    np.testing.assert_array_equal(problem.as_values(np.array([0, 1, 0.5])), [20.0, -50.0, -15.0])
    costs = Problem(["a"], range=(2.0, 4.0))
    np.testing.assert_array_equal(costs.as_losses(np.array([2.0, 3.0])), [0.0, 0.5])
    np.testing.assert_array_equal(costs.as_values(np.array([0.0, 0.5])), [2.0, 3.0])
    values = np.array([0.1, 0.9])
    assert Problem(["a"]).as_losses(values) is values  # same bits where there is nothing to do
    assert Problem(["a"]).as_values(values) is values


def test_values_outside_the_range_are_refused_by_name():
    problem = fraud()
    np.testing.assert_array_equal(problem.check_values([20.0], ["review"]), [20.0])
    with pytest.raises(
        ValueError,
        match=r"`rewards` must lie in the problem's range, -50 to 20, got 20.5 for action 'review'",
    ):
        problem.check_values([1.0, 20.5], ["approve", "review"])
    with pytest.raises(ValueError, match=r"`losses` must lie in .* 0 to 1, got nan for action 'a'"):
        Problem(["a"], range=(0, 1)).check_values([np.nan], ["a"])


def test_without_a_range_any_number_is_a_value():
    problem = Problem(["a"], feedback="rewards")
    values = problem.check_values([0.5, -7.0, 1e6], ["a"] * 3)
    np.testing.assert_array_equal(problem.as_losses(values), [0.5, 8.0, 1 - 1e6])
    np.testing.assert_array_equal(problem.as_values(problem.as_losses(values)), values)
    for odd in (np.nan, np.inf, 1e51):
        text = re.escape(f"`rewards` must be finite and within 1e+50 of 0, got {odd:g} for action")
        with pytest.raises(ValueError, match=text):
            problem.check_values([odd], ["a"])
    assert Problem.from_toml(problem.to_toml()).range is None
    assert "range" not in problem.to_toml()
    assert "range = [0.0, 1.0]" in Problem(["a"], range=(0, 1)).to_toml()


@pytest.mark.parametrize(
    ("rules", "why"),
    [({"baseline": "a"}, "a baseline needs"), ({"known": {"a": 0.5}}, "known outcomes need")],
)
def test_what_needs_a_range_takes_values_between_0_and_1_without_one(rules, why):
    problem = Problem(["a", "b"], **rules)
    np.testing.assert_array_equal(problem.check_values([0.25], ["b"]), [0.25])
    text = f"must lie between 0 and 1, got 2 for action 'b'; the problem says no range, which {why}"
    with pytest.raises(ValueError, match=text + r": write range = \[LOW, HIGH\]"):
        problem.check_values([2.0], ["b"])
    Problem(["a", "b"], range=(0, 5), **rules).check_values([2.0], ["b"])


def test_a_shadow_needs_no_range():
    problem = Problem(["a", "b"], baseline={"action": "a", "mode": "shadow"})
    np.testing.assert_array_equal(problem.check_values([2.0], ["b"]), [2.0])


def test_a_problem_is_a_value():
    problem = fraud(features={"amount": "number"}, name="fraud")
    for twin in (
        copy.deepcopy(problem),
        pickle.loads(pickle.dumps(problem)),
        fraud(features={"amount": "number"}, name="fraud"),
    ):
        assert twin == problem
        assert hash(twin) == hash(problem)
    assert problem != fraud()
    assert problem != "fraud"
    with pytest.raises(AttributeError):
        problem.name = "other"


def test_explore_is_a_key_of_the_problem():
    problem = Problem(["a", "b"], explore=0.01)
    assert problem.to_toml().startswith(
        '[problem]\nactions = ["a", "b"]\nfeedback = "losses"\nexpl'
    )
    assert Problem.from_toml(problem.to_toml()) == problem != Problem(["a", "b"])
    assert Problem(["a", "b"], explore=0) == Problem(["a", "b"])
    assert "explore" not in Problem(["a", "b"]).to_toml()
    assert eval(repr(problem), {"Problem": Problem}) == problem
    assert problem.differences(Problem(["a", "b"])) == ["explore: 0.01, not 0.0"]


def test_differences_are_named():
    assert fraud().differences(fraud()) == []
    assert Problem(["a"], range=(-0.0, 1.0)).differences(Problem(["a"], range=(0, 1))) == []
    assert Problem(["a"], range=(0, 1)).differences(Problem(["a"])) == [
        "range: (0.0, 1.0), not None"
    ]
    assert fraud().differences(Problem(["approve", "review"], reveals="bandit")) == [
        "reveals: {'all': ('review',)}, not 'bandit'",
        "feedback: 'rewards', not 'losses'",
        "range: (-50.0, 20.0), not None",
    ]
    one, two = ({"a": "number", "b": "text"}, {"b": "text", "a": "number"})
    assert len(fraud(features=one).differences(fraud(features=two))) == 1  # the order counts
    assert fraud(features=one) != fraud(features=two)


ACTIONS = ["approve", "review"]


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"actions": []}, ValueError, "`actions` must have at least one name, got none"),
        ({"actions": "each"}, ValueError, '`actions` must be a list of names or "each round", got'),
        ({"actions": 3}, TypeError, "`actions` must be a list of names, got 3"),
        ({"actions": ["a", 1]}, TypeError, r"`actions\[1\]` must be a text, got 1; write it in qu"),
        ({"actions": ["a", " "]}, ValueError, r"`actions\[1\]` must not be empty, got ' '"),
        ({"actions": ["a", "\ud800"]}, ValueError, "must be a text that UTF-8 can hold"),
        ({"actions": ["a", "b", "a"]}, ValueError, "`actions` must be distinct, got 'a' twice"),
        (
            {"reveals": 3},
            TypeError,
            "`reveals` must be the name of a family, 'each round', 'unknown', a Feed",
        ),
        ({"reveals": {}}, ValueError, "`reveals` must say what is revealed by one of family, file"),
        ({"reveals": "bandits"}, ValueError, "`reveals.family` must be .*did you mean 'bandit'"),
        ({"reveals": {"family": 3}}, TypeError, "`reveals.family` must be the name of a family"),
        ({"reveals": {"file": 3}}, TypeError, "`reveals.file` must be the name of a graph file"),
        ({"reveals": {"al": []}}, ValueError, "`reveals` must be one of .*; did you mean 'all'"),
        (
            {"reveals": {"family": "bandit", "all": ["review"]}},
            ValueError,
            "`reveals` must say what is revealed in one way, got family, all; keep one",
        ),
        (
            {"reveals": {"family": "bandit", "each_round": True}},
            ValueError,
            "in one way, got family, each_round; keep one",
        ),
        ({"reveals": {"each_round": 1}}, TypeError, "`reveals.each_round` must be true or false"),
        ({"reveals": {"each_round": False}}, ValueError, "`reveals.each_round` must be true or le"),
        ({"reveals": {"own": "yes"}}, TypeError, "`reveals.own` must be true or false, got 'yes'"),
        ({"reveals": {"all": "review"}}, TypeError, "`reveals.all` must be a list of names, got "),
        (
            {"reveals": {"all": ["reviews"]}},
            ValueError,
            "`reveals.all` must be one of approve, review; got 'reviews'; did you mean 'review'",
        ),
        ({"reveals": {"edges": 3}}, TypeError, "`reveals.edges` must be a list of edges, got 3"),
        (
            {"reveals": {"edges": [["approve"]]}},
            ValueError,
            r"`reveals.edges\[0\]` must be \[played, revealed\] or",
        ),
        (
            {"reveals": {"edges": [["approve", "appove"]]}},
            ValueError,
            r"`reveals.edges\[0\]` must be one of approve, review; got 'appove'; did you mean",
        ),
        (
            {"reveals": {"edges": [["approve", "review", 1.5]]}},
            ValueError,
            r"`reveals.edges\[0\]` must have a probability in \(0, 1\], got 1.5",
        ),
        (
            {"reveals": {"edges": [["approve", "review"], ["approve", "review", 0.5]]}},
            ValueError,
            r"`reveals.edges` must name each pair once, got \['approve', 'review'\] twice",
        ),
        (
            {"reveals": {"edges": [["approve", "review"]]}},
            ValueError,
            "must show the loss of every action to someone, but nothing reveals 'approve'; set own",
        ),
        ({"reveals": "inventory:3"}, ValueError, "`reveals` must have 2 actions, one for each of "),
        ({"reveals": graphs.bandit(3)}, ValueError, "approve, review; got 3 in the graph"),
        (
            {"actions": "each round", "reveals": {"all": ["a"]}},
            ValueError,
            "must be a family or each_round = true if the actions come with each round, got all",
        ),
        (
            {"actions": "each round", "reveals": graphs.bandit(2)},
            ValueError,
            "got a graph with a fixed number of actions",
        ),
        (
            {"actions": "each round", "reveals": "bandit:3"},
            ValueError,
            "`reveals.family` must have no size if .*, got 'bandit:3'; write 'bandit'",
        ),
        ({"feedback": "reward"}, ValueError, "`feedback` must be .*; did you mean 'rewards'"),
        ({"range": (1.0, 1.0)}, ValueError, r"`range` must be \(low, high\) with low < high"),
        ({"features": ["a"]}, TypeError, "`features` must be a mapping such as {'amount': 'number"),
        ({"features": {"a": "numbr"}}, ValueError, "`features.a` must be .*did you mean 'number'"),
        ({"name": 3}, TypeError, "`name` must be a text, got 3"),
    ],
)
def test_what_is_refused(arguments, kind, message):
    with pytest.raises(kind, match=message):
        Problem(**{"actions": ACTIONS, **arguments})


def test_it_is_exported():
    assert graphcb.Problem is Problem
