import copy
import json
import pickle
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphcb import Limits
from graphcb.exploration import InfeasibleLimits
from graphcb.exploration.clashing import Limit, can_be_met, fewest_clashing
from graphcb.saving import from_bytes, to_bytes

TEAM = {"actions": ["call", "review"], "at_most": 0.05, "name": "team"}
NAMES = ("approve", "call", "review")


def test_numbers_sequences_and_mappings_say_the_same():
    given = [0.1, [0.1, 0.1, 0.1], {"a": 0.1, "b": 0.1, "c": 0.1}, np.full(3, 0.1)]
    boxes = [Limits(floors=one).on(("a", "b", "c")) for one in given]
    for box in boxes:
        assert box.lower.tolist() == [0.1, 0.1, 0.1]
        assert box.upper.tolist() == [1.0, 1.0, 1.0]
        assert box.rows.shape == (0, 3)


def test_names_that_are_not_offered_are_ignored():
    limits = Limits(floors={"a": 0.1}, caps={"b": 0.4, "z": 0.0}, linear=[TEAM])
    box = limits.on(("b", "a"))
    assert (box.lower.tolist(), box.upper.tolist(), len(box.rows)) == ([0.0, 0.1], [0.4, 1.0], 0)
    assert limits.on(("c", "d")) is None


def test_linear_limits_are_rows_of_at_most():
    both = {"weights": {"a": 2.0, "b": -1.0}, "at_least": -0.5, "at_most": 1.0}
    box = Limits(linear=[both, TEAM]).on((*"abc", "call", "review"))
    assert box.rows.tolist() == [
        [1.0, -0.5, 0.0, 0.0, 0.0], [-1.0, 0.5, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0, 1.0],
    ]  # fmt: skip
    assert box.most.tolist() == [0.5, 0.25, 0.05]


def test_a_linear_limit_on_one_action_is_a_bound_and_one_that_always_holds_is_none():
    linear = [
        {"weights": {"a": 2.0}, "at_most": 0.5, "at_least": 0.1},
        {"actions": ["a", "b"], "at_most": 1.0},
        {"weights": [0.0, 0.0, 0.0], "at_most": 0.0},
    ]
    box = Limits(linear=linear).on(("a", "b", "c"))
    assert (box.lower[0], box.upper[0], len(box.rows)) == (0.05, 0.25, 0)


@pytest.mark.parametrize(
    "bound", [{"actions": "bc", "at_most": 0.0}, {"actions": "ad", "at_least": 1.0}]
)
def test_a_linear_limit_that_leaves_nothing_is_a_cap_of_zero(bound):
    group = {**bound, "actions": list(bound["actions"])}
    box = Limits(linear=[group]).on(("a", "b", "c", "d"))
    assert (box.upper.tolist(), len(box.rows)) == ([1.0, 0.0, 0.0, 1.0], 0)


def test_the_arrays_are_kept_and_cannot_be_written():
    limits = Limits(caps={"review": 0.05})
    assert limits.on(NAMES) is limits.on(list(NAMES))
    with pytest.raises(ValueError, match="read-only"):
        limits.on(NAMES).upper[0] = 1.0
    for size in range(1, 2000):
        limits.on(range(size))
    assert len(limits._kept) <= 1000


def test_limits_are_a_value():
    limits = Limits(floors={"a": 0.1, "b": 0.2}, caps=0.9, linear=[TEAM])
    same = Limits(floors={"b": 0.2, "a": 0.1}, caps=0.9, linear=[dict(reversed(TEAM.items()))])
    assert (limits, hash(limits)) == (same, hash(same))
    assert limits != Limits(floors={"a": 0.1, "b": 0.2}, caps=0.9)
    assert eval(repr(limits)) == limits
    assert Limits(**json.loads(json.dumps(limits.as_table()))) == limits
    for other in (copy.deepcopy(limits), pickle.loads(pickle.dumps(limits)), copy.copy(limits)):
        assert other == limits
    assert from_bytes(to_bytes(limits), where="file") == limits
    assert Limits().as_table() == {}
    with pytest.raises(AttributeError, match="`Limits` cannot change; make another one"):
        limits.caps = 0.5
    with pytest.raises(TypeError, match="does not support item assignment"):
        limits.floors["a"] = 0.5


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"floors": 1.5}, "`floors` must be a number from 0 to 1, got 1.5"),
        ({"floors": "a"}, "`floors` must be a number from 0 to 1, got 'a'"),
        ({"floors": True}, "`floors` must be a number from 0 to 1, got True"),
        ({"caps": {"a": -0.1}}, r"`caps\['a'\]` must be a number from 0 to 1, got -0.1"),
        ({"caps": [0.5, float("nan")]}, r"`caps\[1\]` must be a number from 0 to 1, got nan"),
        ({"caps": np.ones((2, 2))}, r"`caps` must be .* one number per action, got .* \(2, 2\)"),
        ({"floors": [0.1], "caps": [0.1, 0.9]}, "`caps` must have as many numbers as `floors`"),
        ({"linear": {"actions": ["a"]}}, "`linear` must be a list of mappings, got {"),
        ({"linear": [3]}, r"`linear\[0\]` must be a mapping such as .*, got 3"),
        ({"linear": [{"action": ["a"], "at_most": 1}]}, "did you mean 'actions'"),
        ({"linear": [{"actions": ["a"]}]}, r"`linear\[0\]` must have `at_most` or `at_least`"),
        ({"linear": [{"at_most": 0.5}]}, r"`linear\[0\]` must have either `actions` or `weights`"),
        ({"linear": [{"actions": "ab", "at_most": 0.5}]}, "must be a list of actions, got 'ab'"),
        ({"linear": [{"actions": [], "at_most": 0.5}]}, "must name at least one action"),
        ({"linear": [{"weights": {}, "at_most": 0.5}]}, "must name at least one action"),
        ({"linear": [{"weights": 3, "at_most": 0.5}]}, "must be a mapping or a sequence, got 3"),
        ({"linear": [{"actions": ["a", "a"], "at_most": 0.5}]}, "must be distinct, got 'a' twice"),
        ({"linear": [{**TEAM, "at_most": float("inf")}]}, "at_most` must be a finite number"),
        ({"linear": [{**TEAM, "name": ""}]}, "name` must be a text that is not empty, got ''"),
        ({"linear": [{**TEAM, "at_least": 0.1}]}, "must have at_least <= at_most, got 0.1 and 0.0"),
        (
            {"linear": [{"weights": {"a": None}, "at_most": 0.5}]},
            r"`linear\[0\].weights\['a'\]` must be a finite number, got None",
        ),
    ],
)
def test_bad_limits_are_refused(arguments, text):
    with pytest.raises((ValueError, TypeError), match=text):
        Limits(**arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        {"floors": 0.5, "caps": 0.4},
        {"floors": {"a": 0.5}, "caps": 0.4},
        {"floors": 0.5, "caps": {"a": 0.4}},
        {"floors": [0.5, 0.6]},
        {"caps": [0.5, 0.4]},
        {"caps": [0.5, 0.5], "floors": {0: 0.6}},
    ],
)
def test_a_clash_in_every_round_is_refused_at_once(arguments):
    with pytest.raises(InfeasibleLimits, match="`limits` must leave a choice, but the "):
        Limits(**arguments)


def test_a_list_must_have_the_length_of_the_round():
    with pytest.raises(ValueError, match="`floors` must have one number for each of the 3 actions"):
        Limits(floors=[0.1, 0.1]).on(NAMES)
    with pytest.raises(ValueError, match="for each of the 3 actions, got 2"):
        Limits(floors=[0.1, 0.1]).check_names(NAMES)


def test_unknown_names_are_refused_where_they_must_be_known():
    Limits(floors={"review": 0.1}, linear=[TEAM]).check_names(NAMES)
    with pytest.raises(ValueError, match=r"`limits.floors` .* 'reviw', .* did you mean 'review'?"):
        Limits(floors={"reviw": 0.1}).check_names(NAMES)
    with pytest.raises(ValueError, match=r"'Review', which is not one; did you mean 'review'?"):
        Limits(floors={"Review": 0.1}).check_names(NAMES)
    with pytest.raises(ValueError, match=r"`limits.linear\[0\]` .* 7, .*; there are approve, call"):
        Limits(linear=[{"actions": [7], "at_most": 0.1}]).check_names(NAMES)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            {"floors": {"a": 0.7, "b": 0.6, "c": 0.1}},
            "the floors of 'a' (0.7) and 'b' (0.6) add up to 1.3, more than 1; lower them",
        ),
        (
            {"caps": {"a": 0.2, "b": 0.3, "c": 0.1, "d": 0.2}},
            "the caps of 'a' (0.2), 'b' (0.3), 'c' (0.1) and 'd' (0.2) add up to 0.8, less than 1",
        ),
        (
            {"caps": {"a": 0.05}, "linear": [{"actions": ["a", "b"], "at_least": 0.1},
             {"actions": ["a"], "at_least": 0.1, "name": "humans"}]},
            "the cap of 'a' (0.05) and the limit 'humans' (at least 0.1) clash; relax one of them",
        ),
        (
            {"linear": [{"actions": ["a", "b"], "at_least": 1.5}]},
            "the limit linear[0] (at least 1.5) cannot be met by any probabilities that add up",
        ),
        (
            {"floors": 0.01, "linear": [
                {"actions": ["a", "b"], "at_most": 0.4, "name": "x"},
                {"actions": ["c", "d"], "at_most": 0.5, "name": "y"},
                {"actions": ["a", "c"], "at_most": 0.5, "name": "z"},
            ]},
            "the limit 'y' (at most 0.5) and the limit 'x' (at most 0.4) clash",
        ),
    ],
)  # fmt: skip
def test_the_smallest_set_that_clashes_is_named(arguments, text):
    limits = Limits(**arguments)
    with pytest.raises(InfeasibleLimits) as caught:
        limits.on(("a", "b", "c", "d"))
    assert f"`limits` must leave a choice, but {text}" in str(caught.value)
    with pytest.raises(InfeasibleLimits):
        limits.on(("a", "b", "c", "d"))  # again, as nothing is kept


def test_floors_and_caps_that_add_up_to_one_within_rounding_are_met():
    for bounds in ([0.1] * 10, [0.7, 0.2, 0.1], [1 / 3] * 3, [1 / 7] * 7):
        assert Limits(floors=bounds).on(range(len(bounds))) is not None
        assert Limits(caps=bounds).on(range(len(bounds))) is not None


@given(st.integers(0, 10**6))
def test_no_smaller_set_clashes(seed):
    rng = np.random.default_rng(seed)
    n_actions = int(rng.integers(2, 5))
    limits = []
    for _ in range(rng.integers(1, 4)):
        coefficients = rng.integers(-2, 3, n_actions) / 2.0
        limits.append(Limit("", coefficients, float(rng.integers(-3, 4)) / 4))
    for i in rng.permutation(n_actions)[: rng.integers(0, n_actions)]:
        sign = rng.choice([-1.0, 1.0])
        bound = sign * rng.integers(0, 4) / 4
        limits.append(Limit("", sign * np.eye(n_actions)[i], bound))

    def clash(chosen):
        if not chosen:
            return False
        rows = np.array([limits[k].coefficients for k in chosen])
        most = np.array([limits[k].bound for k in chosen])
        return not can_be_met(np.zeros(n_actions), np.ones(n_actions), rows, most)

    every = range(len(limits))
    if clash(every):
        found = fewest_clashing(limits)
        assert clash(found)
        assert not any(clash(few) for few in combinations(every, len(found) - 1))


@pytest.mark.parametrize("weights", [{0: 1e-320}, [1.0, -1e-320]])
def test_weights_that_bounds_cannot_be_divided_by_are_refused(weights):
    with pytest.raises(ValueError, match="must be 0 or at least 1e-50 in size"):
        Limits(linear=[{"weights": weights, "at_most": 0.5}])
