"""The next version of a problem: what is kept, what starts anew, and what has to be said."""

import numpy as np
import pytest

from graphcb import Budget, InformationDirected, Learner, Limits, Problem, SquareCBG, Uniform
from graphcb.oracles import LinearOGD
from graphcb.problems import succeed
from graphcb.saving import from_bytes, to_bytes

NUMBERS = {"amount": "number", "age": "number"}
ROWS = [{"amount": float(k % 5), "age": float(k % 3)} for k in range(30)]


def trained(problem, agent=None):
    learner = Learner(problem, agent)
    for k, row in enumerate(ROWS):
        names = list(problem.actions) if problem.has_fixed_actions else ["a", "b"]
        learner.act(row, actions=None if problem.has_fixed_actions else names)
        learner.learn(row, names, [(k + place) % 3 / 2 for place in range(len(names))])
    return learner


@pytest.mark.parametrize("features", [NUMBERS, None, {"amount": "category"}])
def test_predictions_of_actions_that_stay_are_the_same_bit_for_bit(features):
    learner = trained(Problem(["a", "b", "c"], features=features))
    before, predicted = to_bytes(learner), learner.predict(ROWS[0])
    following, said = succeed(learner, Problem(["c", "d", "a"], features=features))
    assert to_bytes(learner) == before
    assert following.predict(ROWS[0])[[0, 2]].tobytes() == predicted[[2, 0]].tobytes()
    assert following.predict(ROWS[0])[1] == Learner(following.problem).predict(ROWS[0])[1]
    assert said == [
        "what was learned of 'a', 'c' is kept",
        "'d' is new and starts unknown",
        "what was learned of 'b' is dropped",
    ]
    again = from_bytes(to_bytes(following), where="test")
    following.learn(ROWS[1], ["d"], [1.0])
    again.learn(ROWS[1], ["d"], [1.0])
    assert to_bytes(again) == to_bytes(following)


def test_looks_stay_with_their_actions():
    learner = Learner(Problem(["a", "b"]))
    learner.act({"age": 30.0})
    learner.learn({"age": 30.0}, ["a"], [0.5])
    for place, name in enumerate(("waiting", "wanted", "taken")):
        setattr(learner.agent, name, np.array([1.0, 2.0]) + 10.0 * place)
    following, _ = succeed(learner, Problem(["b", "c", "a"]))
    for place, name in enumerate(("waiting", "wanted", "taken")):
        more = 10.0 * place
        assert getattr(following.agent, name).tolist() == [2.0 + more, 0.0, 1.0 + more]
    assert learner.agent.wanted.tolist() == [11.0, 12.0]


def test_a_new_limit_graph_or_baseline_keeps_the_model():
    learner = trained(Problem(["a", "b"], features=NUMBERS))
    for given in (
        {"limits": {"floors": {"a": 0.1}}},
        {"reveals": "full_information"},
        {"baseline": {"action": "b"}},
        {"budgets": [Budget("spent", {"a": 1.0}, 0.5)]},
        {"explore": 0.01},
    ):
        following, said = succeed(learner, Problem(["a", "b"], features=NUMBERS, **given))
        np.testing.assert_array_equal(following.predict(ROWS[0]), learner.predict(ROWS[0]))
        assert said[0] == "what was learned is kept"
        from_bytes(to_bytes(following), where="a file")
        back, _ = succeed(following, learner.problem)
        assert to_bytes(back) == to_bytes(learner)


def test_actions_of_each_round_keep_their_model():
    learner = trained(Problem("each round"))
    following, said = succeed(learner, Problem("each round", limits={"floors": {"a": 0.2}}))
    assert said == ["what was learned is kept"]
    ours, theirs = (one.predict(ROWS[0], ["a", "new"]) for one in (following, learner))
    assert ours.tobytes() == theirs.tobytes()


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"feedback": "rewards"}, "feedback"),
        ({"range": (0.0, 5.0)}, "range"),
        ({"features": {"age": "number"}}, "features"),
        ({"feedback": "rewards", "range": (0.0, 5.0)}, "feedback and range"),
    ],
)
def test_a_model_that_would_mean_something_else_starts_anew(given, what):
    learner = trained(Problem(["a", "b"], features=NUMBERS))
    problem = Problem(["a", "b"], **{"features": NUMBERS, **given})
    following, said = succeed(learner, problem)
    assert said == [f"learning starts anew, as {what} changed"]
    assert to_bytes(following) == to_bytes(Learner(problem))


def test_fixed_actions_that_become_those_of_each_round_start_anew():
    following, said = succeed(trained(Problem(["a", "b"])), Problem("each round"))
    assert said == ["learning starts anew, as the form of actions changed"]
    assert to_bytes(following) == to_bytes(Learner(Problem("each round")))


def test_another_agent_starts_as_it_is():
    problem = Problem(["a", "b"], features=NUMBERS)
    following, said = succeed(trained(problem), problem, SquareCBG(gamma=3.0))
    assert to_bytes(following) == to_bytes(Learner(problem, SquareCBG(gamma=3.0)))
    assert said[0].startswith("the new agent starts as it is")


@pytest.mark.parametrize(
    ("agent", "problem", "text"),
    [
        (
            SquareCBG(LinearOGD(2, 3)), Problem(["a", "b", "c"], features=NUMBERS),
            "`agent` must be given, as the actions change and a LinearOGD has no room for others",
        ),
        (
            SquareCBG(gamma=2.0), Problem(["a", "b"], features=NUMBERS, feedback="rewards"),
            r"`agent` must be given, as learning starts anew \(feedback changed\)",
        ),
        (
            Uniform(), Problem(["a", "b"], features=NUMBERS, feedback="rewards"),
            "is made without settings; the log has Uniform",
        ),
        (
            InformationDirected(limits=Limits(floors={0: 0.1})),
            Problem(["a", "c"], features=NUMBERS),
            "`agent` must be given, as the actions change and the log's agent has limits",
        ),
        (None, Problem(["x"], features=NUMBERS), "must keep an action of 'a', 'b', got 'x'"),
    ],
)  # fmt: skip
def test_what_cannot_go_on_by_itself_is_refused(agent, problem, text):
    learner = Learner(Problem(["a", "b"], features=NUMBERS), agent)
    with pytest.raises(ValueError, match=text):
        succeed(learner, problem)
