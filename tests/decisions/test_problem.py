"""A log that was created with a problem speaks its language."""

import copy
from collections import namedtuple
from datetime import date

import numpy as np
import pytest

import graphcb
from graphcb import (
    DecisionLog,
    InformationDirected,
    Learner,
    Policy,
    Problem,
    Uniform,
    graphs,
)
from graphcb.agents import Played
from graphcb.decisions import replay
from graphcb.rounds import tell_if_nothing_comes
from graphcb.saving import to_bytes

FRAUD = Problem(
    ["approve", "review"],
    reveals={"all": ["review"]},
    feedback="rewards",
    range=(-50.0, 20.0),
    features={"amount": "number", "country": "category?"},
    name="fraud review",
)
ITEMS = Problem("each round", feedback="rewards")


def context(n):
    return {"amount": 10.0 * (n % 7), "country": "DE" if n % 2 else None}


def play(policy, n_rounds, first=0):
    made = []
    for n in range(first, first + n_rounds):
        decision = policy.decide(context(n))
        made.append(decision)
        if decision.action == "review":
            rewards = {"approve": 15.0 if n % 2 else -40.0, "review": 5.0}
            policy.feedback(decision.decision_id, rewards)
        else:
            policy.feedback(decision.decision_id, {})
    return made


def test_decisions_and_feedback_are_in_names_and_rewards(tmp_path):
    with Policy(tmp_path / "log.db", problem=FRAUD, seed=0) as policy:
        assert policy.problem == FRAUD
        made = play(policy, 40)
        assert isinstance(policy.agent, Learner)
        state = to_bytes(policy.agent)
    assert {decision.action for decision in made} == {"approve", "review"}
    assert made[0].actions == ("approve", "review")
    with DecisionLog(tmp_path / "log.db") as log:
        assert log.problem == FRAUD
        rows = list(log)
        assert to_bytes(replay(log).agent) == state
    assert rows[0].context == context(0)
    assert rows[0].actions == ["approve", "review"]
    assert rows[0].graph == FRAUD.graph
    seen = next(row.feedback for row in rows if row.action == "review")
    assert seen.actions == ["approve", "review"]
    assert seen.losses.tolist() in ([15.0, 5.0], [-40.0, 5.0])


def test_it_decides_as_a_learner_does(tmp_path):
    learner = Learner(FRAUD)
    with Policy(tmp_path / "log.db", problem=FRAUD, seed=0) as policy:
        for n in range(20):
            decision = policy.decide(context(n))
            p = learner.act(context(n))
            np.testing.assert_array_equal(decision.probabilities, p)
            played = Played(context(n), FRAUD.graph, None, p, decision.action_index)
            learner.on_draw(played)
            tell_if_nothing_comes(learner, played)
            seen = {"approve": 1.0, "review": -1.0} if decision.action == "review" else {}
            policy.feedback(decision.decision_id, seen)
            learner.learn(context(n), list(seen), list(seen.values()))


def test_a_restart_continues_bit_for_bit(tmp_path):
    with Policy(tmp_path / "one.db", problem=FRAUD, seed=0) as policy:
        whole = play(policy, 30)
        state = to_bytes(policy.agent)
    with Policy(tmp_path / "two.db", problem=FRAUD, seed=0) as policy:
        parts = play(policy, 13)
    with Policy(tmp_path / "two.db") as policy:  # later opens need neither
        parts += play(policy, 7, 13)
    with Policy(tmp_path / "two.db", problem=FRAUD, checkpoint_every=1) as policy:
        parts += play(policy, 10, 20)
        assert to_bytes(policy.agent) == state
    assert [d.probabilities for d in parts] == [d.probabilities for d in whole]
    assert [d.action for d in parts] == [d.action for d in whole]


def test_a_learner_may_be_given_as_the_agent(tmp_path):
    with Policy(tmp_path / "log.db", Learner(FRAUD, Uniform()), seed=0) as policy:
        assert policy.decide(context(0)).probabilities == (0.5, 0.5)
    with Policy(tmp_path / "two.db", Uniform(), problem=FRAUD) as policy:
        assert repr(policy.agent) == repr(Learner(FRAUD, Uniform()))
    with Policy(tmp_path / "two.db", Learner(FRAUD, Uniform()), problem=FRAUD) as policy:
        assert policy.problem == FRAUD
    with pytest.raises(ValueError, match="`agent` must be as it was when the log was created"):
        Policy(tmp_path / "two.db", InformationDirected(), problem=FRAUD)
    other = Problem(["approve", "review"])
    with pytest.raises(ValueError, match="`problem` must be that of the agent, or left out; it di"):
        Policy(tmp_path / "three.db", Learner(FRAUD), problem=other)
    assert not (tmp_path / "three.db").exists()


def test_another_problem_is_refused_with_what_differs(tmp_path):
    file = tmp_path / "log.db"
    with Policy(file, problem=FRAUD, seed=0) as policy:
        play(policy, 3)
    other = Problem(
        ["approve", "review"], reveals="full-information", feedback="rewards", range=(-50.0, 30.0),
        features=FRAUD.features, name="fraud review",
    )  # fmt: skip
    for given in ({"problem": other}, {"agent": Learner(other)}):
        with pytest.raises(
            ValueError,
            match=r"log.db: `problem` must be that of the log, or left out; it "
            r"differs in reveals: 'full-information', not \{'all': \('review',\)\}; "
            r"range: \(-50.0, 30.0\), not \(-50.0, 20.0\); change the log with graphcb log promote "
            r"or Policy.change, or create a new log for another problem",
        ):
            Policy(file, **given)
    with Policy(file) as policy:
        assert policy.n_events == 6


def test_a_log_without_a_problem_takes_none(tmp_path):
    file = tmp_path / "log.db"
    with Policy(file, Uniform(), seed=0) as policy:
        assert policy.problem is None
        with pytest.raises(
            TypeError, match="`graph` must be given, as this log was created withou"
        ):
            policy.decide([1.0])
        policy.decide([1.0], graphs.bandit(2))
    with DecisionLog(file) as log:
        assert log.problem is None
    with pytest.raises(
        ValueError, match="`problem` must be left out, as the log was created witho"
    ):
        Policy(file, problem=FRAUD)


@pytest.mark.parametrize(
    ("rewards", "kind", "message"),
    [
        ({"review": 20.5}, ValueError, "`rewards` must lie in the problem's range, -50 to 20, got"),
        ({"review": -51}, ValueError, "got -51 for action 'review'"),
        ({"review": np.nan}, ValueError, "`rewards` must be finite, got nan for action 'review'"),
        ({"review": "x"}, TypeError, "`rewards` must be numbers, got 'x' for action 'review'"),
        ({"reject": 1.0}, ValueError, "`action in rewards` must be one of the actions decided on"),
        ([1.0], TypeError, r"`rewards` must be a mapping \{action: reward, ...\}, got list"),
    ],
)
def test_refused_feedback_changes_nothing(tmp_path, rewards, kind, message):
    with Policy(tmp_path / "log.db", Uniform(), problem=FRAUD, seed=0) as policy:
        made = play(policy, 8)
        decision = next(d for d in made if d.action == "review")
        open_one = policy.decide(context(1))
        while open_one.action != "review":
            open_one = policy.decide(context(1))
        before, events = to_bytes(policy.agent), policy.n_events
        with pytest.raises(kind, match=message):
            policy.feedback(open_one.decision_id, rewards)
        with pytest.raises(ValueError, match=r"action 'review' has reward 5.0 .*, got 6.0"):
            policy.feedback(decision.decision_id, {"review": 6.0})
        receipt = policy.feedback(decision.decision_id, {"review": 5.0})
        assert "with the same rewards" in receipt.message
        assert (to_bytes(policy.agent), policy.n_events) == (before, events)


def test_what_an_action_cannot_reveal_is_refused_by_name(tmp_path):
    with Policy(tmp_path / "log.db", Uniform(), problem=FRAUD, seed=0) as policy:
        decision = policy.decide({})
        while decision.action != "approve":
            decision = policy.decide({})
        with pytest.raises(ValueError, match="`rewards` must be of actions that playing 'approve'"):
            policy.feedback(decision.decision_id, {"approve": 1.0})


@pytest.mark.parametrize(
    ("graph", "actions", "message"),
    [
        (None, ["aprove"], "`action` must be one of approve, review; got 'aprove'; did you mean"),
        (None, {"approve": {}}, "`actions` must be names in a problem with fixed actions, got fea"),
        (graphs.bandit(3), None, "`graph` must have one row for each of the round's 2 actions"),
    ],
)
def test_a_round_that_does_not_fit_the_problem_is_refused(tmp_path, graph, actions, message):
    with Policy(tmp_path / "log.db", problem=FRAUD, seed=0) as policy:
        play(policy, 3)
        before, events = to_bytes(policy.agent), policy.n_events
        with pytest.raises(ValueError, match=message):
            policy.decide({}, graph, actions)
        with pytest.raises(ValueError, match="amount"):
            policy.decide({"amount": np.inf})
        assert (to_bytes(policy.agent), policy.n_events) == (before, events)


def test_some_of_the_actions_and_a_graph_of_the_round(tmp_path):
    problem = Problem(["a", "b", "c"], reveals="each round")
    with Policy(tmp_path / "log.db", problem=problem, seed=0) as policy:
        decision = policy.decide({}, graphs.full_information(2), ["c", "a"])
        assert decision.actions == ("c", "a")
        policy.feedback(decision.decision_id, {"a": 0.5, "c": 0.25})
        with pytest.raises(ValueError, match="`graph` must be given: in this problem it comes wit"):
            policy.decide({})
        made = policy.decide_many([{}, {}], graphs.bandit(3))
        assert [d.actions for d in made] == [("a", "b", "c")] * 2
    with DecisionLog(tmp_path / "log.db") as log:
        assert next(iter(log)).feedback.actions == ["c", "a"]
        replay(log)


def test_items_with_features_come_and_go(tmp_path):
    rng = np.random.default_rng(0)
    with Policy(tmp_path / "log.db", problem=ITEMS, seed=0) as policy:
        for n in range(60):
            items = {
                f"item-{n + i}": {"price": np.float64(rng.uniform(1, 9)), "genre": "jp"[i % 2]}
                for i in range(2 + n % 3)
            }
            given = copy.deepcopy(items)
            decision = policy.decide({"user": "Ann"}, actions=items)
            assert items == given
            assert decision.actions == tuple(items)
            worth = 0.1 * items[decision.action]["price"]
            assert policy.feedback(decision.decision_id, {decision.action: worth}).counted
        cheap_and_dear = {
            "new": {"price": 2.0, "genre": "j"},
            "other": {"price": 8.0, "genre": "j"},
        }
        low, high = policy.agent.predict({"user": "Ann"}, cheap_and_dear)
        assert high > low + 0.2
        state = to_bytes(policy.agent)
        with pytest.raises(ValueError, match="`actions` must be given: in this problem they come"):
            policy.decide({})
    with DecisionLog(tmp_path / "log.db") as log:
        assert to_bytes(replay(log).agent) == state
        row = next(iter(log))
    assert set(row.actions) == {"item-0", "item-1"}
    assert row.actions[row.action]["genre"] in "jp"
    assert row.feedback.actions == {row.action: row.actions[row.action]}


class FrameRow:
    """A row of a data frame, as pandas and polars have it."""

    def __init__(self, content):
        self.content = content

    def to_dict(self):
        return dict(self.content)


def test_contexts_as_people_have_them(tmp_path):
    row = {"amount": np.float64(3.0), "country": "DE", "day": date(2024, 5, 1), "tags": {"b", "a"}}
    person = namedtuple("Person", "amount country")
    contexts = [
        row,
        FrameRow({"amount": 3.0, "country": "DE"}),
        person(3.0, "DE"),
        {"user": {"age": 3}, "country": float("nan")},
        "a text",
        None,
        [1.0, 2.0],
    ]
    problem = Problem(["a", "b"])
    with Policy(tmp_path / "log.db", problem=problem, seed=0) as policy:
        for x in contexts[:-1]:
            decision = policy.decide(x)
            policy.feedback(decision.decision_id, {decision.action: 0.5})
        state = to_bytes(policy.agent)
    with DecisionLog(tmp_path / "log.db") as log:
        rows = list(log)
        assert to_bytes(replay(log).agent) == state
    assert rows[0].context == {
        "amount": 3.0, "country": "DE", "day": "2024-05-01", "tags": ["a", "b"]
    }  # fmt: skip
    assert rows[1].context == rows[2].context == {"amount": 3.0, "country": "DE"}
    assert rows[4].context == "a text"
    with Policy(tmp_path / "rows.db", problem=problem, seed=0) as policy:
        policy.decide(contexts[-1])


def test_features_of_your_own_are_named_among_the_classes(tmp_path):
    learner = Learner(ITEMS, features=Price())
    with pytest.raises(ValueError, match="the file holds a Price"):
        Policy(tmp_path / "a.db", learner)
    with Policy(tmp_path / "b.db", learner, classes=[Price]) as policy:
        decision = policy.decide({}, actions={"x": {"price": 1.0}, "y": {"price": 2.0}})
        policy.feedback(decision.decision_id, {decision.action: 1.0})
    with DecisionLog(tmp_path / "b.db") as log:
        assert log.problem == ITEMS  # without the class


class Price:
    def __call__(self, context, name, features):
        return [features["price"]]


def test_actions_may_have_features_without_a_problem_too(tmp_path):
    with Policy(tmp_path / "a.db", graphcb.Uniform(), seed=0) as policy:
        decision = policy.decide(None, graphs.bandit(2), {"x": {"price": 1.0}, "y": None})
        assert decision.actions == ("x", "y")
        policy.feedback(decision.decision_id, {decision.action: 7.0})
        with pytest.raises(
            TypeError, match="`actions` as a mapping must have texts as keys, got 3"
        ):
            policy.decide(None, graphs.bandit(1), {3: {}})


def test_without_a_range_it_is_found_and_replayed_bit_for_bit(new_log):
    problem, location, made = Problem(["flat", "house"], feedback="rewards"), new_log(), []
    with Policy(location, problem=problem, seed=0, checkpoint_every=20) as policy:
        for n in range(60):
            one = policy.decide({"rooms": float(n % 4)})
            made.append(one.action)
            worth = 900.0 + 40.0 * (n % 5) if one.action == "flat" else 1500.0 - 30.0 * (n % 3)
            policy.feedback(one.decision_id, {one.action: worth if n else 0.5})
        n_events = policy.n_events
        with pytest.raises(ValueError, match="`rewards` must be finite"):
            policy.feedback(policy.decide({"rooms": 1.0}).decision_id, {"flat": float("nan")})
        assert policy.n_events == n_events + 1
        state = to_bytes(policy.agent)
    with DecisionLog(location) as log:
        assert log.problem.range is None
        assert to_bytes(replay(log).agent) == to_bytes(replay(log, from_checkpoint=True).agent)
    with Policy(location, problem=problem) as policy:
        assert to_bytes(policy.agent) == state
        played = max(("flat", "house"), key=made.count)
        low, high = {"flat": (900.0, 1060.0), "house": (1440.0, 1500.0)}[played]
        assert low < policy.agent.predict({"rooms": 1.0})[problem.index(played)] < high


def test_an_agent_that_needs_a_range_refuses_before_anything_is_written(tmp_path):
    with Policy(
        tmp_path / "log.db", graphcb.SquareCBG(gamma=5.0), problem=Problem(["a", "b"]), seed=0
    ) as policy:
        made = policy.decide({"x": 1.0})
        with pytest.raises(ValueError, match="which SquareCBG needs: write range"):
            policy.feedback(made.decision_id, {made.action: 7.0})
        assert policy.n_events == 1
        assert policy.feedback(made.decision_id, {made.action: 1.0}).counted


def test_a_log_whose_range_is_0_to_1_is_opened_by_a_problem_without_one(tmp_path):
    """Up to version 0.4.0, that is what a range left out meant."""
    with Policy(tmp_path / "log.db", problem=Problem(["a", "b"], range=(0, 1)), seed=0):
        pass
    with Policy(tmp_path / "log.db", problem=Problem(["a", "b"])) as policy:
        assert policy.problem.range == (0.0, 1.0)
    with pytest.raises(ValueError, match=r"it differs in range: \(0.0, 2.0\), not \(0.0, 1.0\)"):
        Policy(tmp_path / "log.db", problem=Problem(["a", "b"], range=(0, 2)))
