"""A change of the problem is an event of the log, and each decision keeps the version it is of."""

import sqlite3
from contextlib import closing

import numpy as np
import pytest

import graphcb
from graphcb import DecisionLog, Learner, Policy, Problem, SquareCBG, Uniform, graphs
from graphcb.decisions import replay, verify
from graphcb.oracles import LinearOGD
from graphcb.saving import to_bytes

FEATURES = {"amount": "number", "country": "category"}
FIRST = Problem(["approve", "review"], reveals={"own": True}, feedback="rewards", features=FEATURES)
SECOND = Problem(
    ["review", "call", "approve"],
    reveals={"all": ["review"], "own": True},
    feedback="rewards",
    features=FEATURES,
    limits={"floors": {"call": 0.1}},
)
THIRD = Problem(["call", "review"], feedback="rewards", features=FEATURES)
CONTEXTS = [{"amount": 10.0 * k, "country": "DE" if k % 2 else "FR"} for k in range(1, 8)]
VALUES = {"approve": 0.75, "review": 0.25, "call": 0.5}


def play(policy, n_rounds, *, leave=0):
    """Decisions with feedback; the last ones are left waiting."""
    made = [policy.decide(CONTEXTS[k % 7]) for k in range(n_rounds)]
    for one in made[: n_rounds - leave]:
        answer(policy, one)
    return made[n_rounds - leave :]


def answer(policy, one):
    return policy.feedback(one.decision_id, {one.action: VALUES[one.action]})


def bits(agent):
    return to_bytes(agent)


def test_a_change_is_an_event_and_what_was_learned_of_actions_that_stay_is_kept(tmp_path):
    file = tmp_path / "log.db"
    with Policy(file, problem=FIRST, seed=1) as policy:
        play(policy, 10)
        before = policy.agent.predict(CONTEXTS[0])
        change = policy.change(SECOND, note="calls")
        assert change.said == (
            "what was learned of 'approve', 'review' is kept",
            "'call' is new and starts unknown",
        )
        assert change.version == (2, 21, change.version.made_at, SECOND, "calls", True, None)
        assert policy.problem == SECOND
        assert (policy.n_events, policy.model_version) == (21, 10)
        after = policy.agent.predict(CONTEXTS[0])
        assert after[[2, 0]].tolist() == before.tolist()
        made = policy.decide(CONTEXTS[0])
        assert made.actions == SECOND.actions
        assert made.probabilities[1] >= 0.1
        play(policy, 10)
        policy.change(THIRD)
        play(policy, 5)
        agent = bits(policy.agent)
    with DecisionLog(file) as log:
        assert [version.problem for version in log.versions] == [FIRST, SECOND, THIRD]
        assert [version.note for version in log.versions] == ["", "calls", ""]
        assert [row.version for row in log] == [1] * 10 + [2] * 11 + [3] * 5
        assert log.problem == THIRD
        assert bits(replay(log).agent) == agent
        assert bits(replay(log, from_checkpoint=True).agent) == agent
        assert replay(log).version == 3
    assert verify(file) == []
    with Policy(file, problem=THIRD) as policy:
        assert bits(policy.agent) == agent


def test_late_feedback_is_read_with_the_problem_of_its_decision_and_learned_where_it_fits(tmp_path):
    file = tmp_path / "log.db"
    explored = Problem(
        FIRST.actions, feedback="rewards", features=FEATURES, limits={"floors": 0.25}
    )
    with Policy(file, problem=explored, seed=1) as policy:
        waiting = play(policy, 30, leave=20)
        of = {one.action: one for one in waiting}
        assert set(of) == {"approve", "review"}
        policy.change(THIRD)
        before = bits(policy.agent)
        with pytest.raises(ValueError, match="must be of actions that playing 'review' can reveal"):
            policy.feedback(of["review"].decision_id, {"approve": 0.5})
        assert answer(policy, of["approve"]).counted  # retired: nothing to learn
        assert bits(policy.agent) == before
        assert answer(policy, of["review"]).counted
        assert bits(policy.agent) != before
        wider = Problem(THIRD.actions, feedback="rewards", range=(0.0, 0.2), features=FEATURES)
        policy.change(wider)
        before = bits(policy.agent)
        assert answer(policy, next(o for o in waiting if o not in of.values())).counted
        policy.change(Problem(THIRD.actions, feedback="losses", features=FEATURES))
        policy.change(Problem(THIRD.actions, feedback="losses", features={"age": "number"}))
        for one in waiting:
            answer(policy, one)
        agent = bits(policy.agent)
    with DecisionLog(file) as log:
        assert bits(replay(log).agent) == agent
        assert log.n_feedbacks == log.n_decisions
    assert verify(file) == []


def test_rolling_back_is_a_change_with_the_agent_as_it_was_at_the_end_of_the_version(tmp_path):
    file = tmp_path / "log.db"
    with Policy(file, problem=FIRST, seed=1) as policy:
        play(policy, 10)
        policy.change(SECOND)
        play(policy, 10)
        second = bits(policy.agent)
        policy.change(THIRD)
        play(policy, 10)
        n_feedbacks = policy.model_version
        change = policy.roll_back(2)
        assert change.version.number == 4
        assert change.version.problem == policy.problem == SECOND
        assert change.version.note == "back to version 2"
        assert change.said == ("all is as it was when version 2 ended, at event 41",)
        assert bits(policy.agent) == second
        assert policy.model_version == n_feedbacks
        play(policy, 3)
        policy.roll_back(1, note="all the way")
        assert policy.problem == FIRST
        with pytest.raises(ValueError, match="must be an earlier one, got 5, which decides now"):
            policy.roll_back(5)
        with pytest.raises(ValueError, match="`version` must be between 1 and 5, got 6"):
            policy.roll_back(6)
        agent = bits(policy.agent)
    with DecisionLog(file) as log:
        assert bits(replay(log).agent) == agent
    assert verify(file) == []


def test_a_refused_change_changes_nothing(tmp_path):
    file = tmp_path / "log.db"
    with Policy(file, problem=FIRST, seed=1) as policy:
        play(policy, 4)
        before = bits(policy.agent)
        other = Problem(["x", "y"], feedback="rewards", features=FEATURES)
        for given, error, text in (
            ({}, TypeError, "`problem` must be given, or `agent`, got neither"),
            ({"problem": "a.toml"}, TypeError, "must be a graphcb.Problem, got str; Problem.read"),
            ({"problem": other}, ValueError, "must keep an action of 'approve', 'review', got"),
            ({"problem": SECOND, "note": 3}, TypeError, "`note` must be a text, got 3"),
            ({"problem": SECOND, "note": "\0"}, ValueError, "must be a text that a database"),
            ({"problem": SECOND, "note": "\ud800"}, ValueError, "must be a text that a database"),
            (
                {"problem": SECOND, "agent": Learner(THIRD)}, ValueError,
                "`problem` must be that of the agent, or left out; it differs in actions",
            ),
        ):  # fmt: skip
            with pytest.raises(error, match=text):
                policy.change(**given)
        assert (bits(policy.agent), policy.n_events, policy.problem) == (before, 8, FIRST)
        play(policy, 1)
    assert verify(file) == []


def test_changes_share_a_transaction_with_decisions_and_go_with_it(tmp_path):
    file = tmp_path / "log.db"
    with Policy(file, problem=FIRST, seed=1) as policy:
        play(policy, 4)
        for actions, error in ((None, ZeroDivisionError), (["none"], ValueError)):
            with pytest.raises(error):
                _change_and_fail(policy, actions)
            assert policy.problem == FIRST
        assert policy.problem == FIRST
        assert policy.decide(CONTEXTS[0]).actions == FIRST.actions
        with policy.together() as together:
            first = together.decide(CONTEXTS[0])
            together.change(SECOND)
            second = together.decide(CONTEXTS[0])
            assert together.version.number == 2
        assert (first.actions, second.actions) == (FIRST.actions, SECOND.actions)
        agent = bits(policy.agent)
    with DecisionLog(file) as log:
        assert bits(replay(log).agent) == agent


def _change_and_fail(policy, actions):
    with policy.together() as together:
        together.change(SECOND)
        together.decide(CONTEXTS[0], actions=actions)
        raise ZeroDivisionError


def test_another_agent_may_take_over_with_or_without_a_problem(tmp_path):
    with Policy(tmp_path / "a.db", problem=FIRST, seed=1) as policy:
        play(policy, 4)
        policy.change(agent=SquareCBG(gamma=7.0))
        assert policy.problem == FIRST
        assert policy.decide(CONTEXTS[0]).gamma == 7.0
        trained = Learner(SECOND)
        trained.learn(CONTEXTS[0], ["call"], [1.0])
        policy.change(agent=trained)
        assert policy.problem == SECOND
        assert bits(policy.agent) == bits(trained)
        play(policy, 2)
    assert verify(tmp_path / "a.db") == []
    graph = graphs.full_information(2)
    with Policy(tmp_path / "b.db", Uniform(), seed=1) as policy:
        late = policy.decide([1.0], graph)
        with pytest.raises(ValueError, match="`problem` must be left out, as the log was created"):
            policy.change(FIRST)
        policy.change(agent=SquareCBG(LinearOGD(2, 1), gamma=2.0))
        assert policy.feedback(late.decision_id, {0: 0.5, 1: 0.25}).counted
        assert policy.agent.oracle.weights.any()
        assert policy.decide([1.0], graph).gamma == 2.0
    assert verify(tmp_path / "b.db") == []
    for given in (Uniform(), SquareCBG(LinearOGD(2, 1), gamma=2.0)):
        with pytest.raises(ValueError, match="`agent` must be left out, as the log was changed"):
            Policy(tmp_path / "b.db", given)


def test_budgets_go_on_and_the_baseline_keeps_what_was_proven(tmp_path):
    budgets = {"reviews": {"costs": {"review": 1.0}, "at_most": 0.25}}
    guarded = Problem(
        ["approve", "review"], feedback="rewards", features=FEATURES, budgets=budgets,
        baseline={"action": "approve"},
    )  # fmt: skip
    wider = Problem(
        ["approve", "review", "call"], feedback="rewards", features=FEATURES, budgets=budgets,
        baseline={"action": "approve"}, limits={"floors": {"approve": 0.05}},
    )  # fmt: skip
    file = tmp_path / "log.db"
    with Policy(file, problem=guarded, seed=1) as policy:
        waiting = play(policy, 60, leave=3)
        before = policy.agent.agent
        assert before.agent.rules.spending.accounts[0].accrued > 0.0
        change = policy.change(wider)
        after = policy.agent.agent
        assert after.agent.rules.spending.accounts == before.agent.rules.spending.accounts
        assert (after.proven, after.n_rounds) == (before.proven, before.n_rounds)
        assert change.said[2:] == (
            "budget 'reviews' goes on with what was spent",
            "what was proven against the baseline is kept",
        )
        for one in waiting:  # of another version: they stay unproven
            answer(policy, one)
        assert policy.agent.agent.proven == before.proven
        play(policy, 20)
        spent = policy.agent.agent.agent.rules.spending.accounts
        assert "budget 'reviews' goes on with what was spent" in policy.roll_back(1).said
        assert policy.agent.agent.agent.rules.spending.accounts == spent
        agent = bits(policy.agent)
    with DecisionLog(file) as log:
        assert bits(replay(log).agent) == agent
    assert verify(file) == []


def test_a_damaged_version_is_found(tmp_path):
    file = tmp_path / "log.db"
    with Policy(file, problem=FIRST, seed=1) as policy:
        play(policy, 2)
        policy.change(SECOND)
        play(policy, 2)
    content = file.read_bytes()
    for statement, text in (
        ("UPDATE graphcb_versions SET note = 'x'", "checksum of graphcb_versions, position 5"),
        ("DELETE FROM graphcb_versions", "event 5 is missing"),
        ("UPDATE graphcb_versions SET position = 4", "graphcb_versions, position 4"),
    ):
        file.write_bytes(content)
        with closing(sqlite3.connect(file)) as database:
            database.execute(statement)
            database.commit()
        assert any(text in finding for finding in verify(file)), statement
        with DecisionLog(file) as log, pytest.raises(graphcb.FileError):
            list(log)


def test_a_policy_that_dies_after_a_change_continues_with_it(tmp_path):
    """Without a checkpoint, as after a kill: the change is read from its own row."""
    file = tmp_path / "log.db"
    with Policy(file, problem=FIRST, seed=1) as policy:
        play(policy, 4)
        policy.change(SECOND)
        play(policy, 4)
        agent = bits(policy.agent)
    with closing(sqlite3.connect(file)) as database:
        database.execute("DELETE FROM graphcb_checkpoints")
        database.commit()
    with Policy(file) as policy:
        assert bits(policy.agent) == agent
        np.testing.assert_array_equal(policy.decide(CONTEXTS[0]).actions, SECOND.actions)
