"""Limits, budgets and a baseline in a policy: kept in every decision, and after every restart."""

import numpy as np
import pytest

from graphcb import Budget, DecisionLog, Policy, Problem
from graphcb.decisions import back_up, replay, verify
from graphcb.evaluation import summarize
from graphcb.exploration.cheapest import obeys
from graphcb.problems.guarded import proven_gain
from graphcb.saving import to_bytes

ACTIONS = ("approve", "call", "review")
GUARDED = Problem(
    ACTIONS,
    reveals={"all": ["review"], "own": True},
    feedback="rewards",
    range=(-5.0, 5.0),
    limits={"caps": {"call": 0.3}, "linear": [{"actions": ["call", "review"], "at_most": 0.6}]},
    budgets=[
        Budget("reviews", {"review": 1}, at_most=0.2),
        Budget("minutes", {"call": "minutes", "review": 3}, at_most=1.5, per=2),
    ],
)
ITEMS = Problem(
    "each round",
    limits={"floors": {"new": 0.1}},
    budgets=[Budget("news", {"new": 1}, at_most=0.25)],
)


def context(n):
    return {"amount": float(n % 7), "call": {"x": 1}, "minutes": 1.0 + n % 3}


def play(policy, first, last):
    made = []
    for n in range(first, last):
        decision = policy.decide(context(n))
        made.append(decision)
        if n % 3:  # some never hear of it
            worth = {"approve": 5.0 if n % 2 else -5.0, "call": 1.0, "review": 0.5}
            row = policy.problem.graph.row(decision.action_index)
            shown = {name: worth[name] for name, seen in zip(ACTIONS, row, strict=True) if seen}
            policy.feedback(decision.decision_id, shown)
    return made


def plain(made):
    return [(d.action, d.probabilities, d.model_version) for d in made]


def test_every_decision_is_within_the_limits_and_the_budgets_are_kept(tmp_path):
    with Policy(tmp_path / "log.db", problem=GUARDED, seed=1) as policy:
        play(policy, 0, 150)
        policy.decide_many([context(n) for n in range(150, 200)])
        state = to_bytes(policy.agent)
    with DecisionLog(tmp_path / "log.db") as log:
        lower, upper, rows, most = GUARDED.limits.on(ACTIONS)
        within = [obeys(row.probabilities, lower, upper, rows, most + 1e-9) for row in log]
        assert all(within)
        assert to_bytes(replay(log).agent) == state
        kept = summarize(log).kept
        spent = sum(row.action == "review" for row in log)
    assert kept.n_broken == 0
    reviews, minutes = kept.budgets
    assert (reviews.name, reviews.spent, reviews.allowed) == ("reviews", spent, 40.0)
    assert reviews.rate == pytest.approx(spent / 200)
    assert minutes.rate == pytest.approx(minutes.spent / 100)
    for budget in kept.budgets:
        assert 0.5 * budget.at_most < budget.rate
        assert budget.most_over <= budget.band
    assert verify(tmp_path / "log.db") == []


def test_what_the_log_says_is_what_the_agent_counted(tmp_path):
    with Policy(tmp_path / "log.db", problem=GUARDED, seed=1) as policy:
        play(policy, 0, 60)
        accounts = policy.agent.agent.rules.spending.accounts
    with DecisionLog(tmp_path / "log.db") as log:
        kept = summarize(log).kept
    for account, budget in zip(accounts, kept.budgets, strict=True):
        assert (account.spent, account.accrued) == (budget.spent, budget.allowed)


@pytest.mark.parametrize("stop", [8, 29])
def test_a_log_as_a_kill_leaves_it_continues_bit_for_bit(tmp_path, stop):
    settings = {"problem": GUARDED, "seed": 1, "checkpoint_every": 11}
    with Policy(tmp_path / "one.db", **settings) as policy:
        made = play(policy, 0, stop)
        back_up(tmp_path / "one.db", tmp_path / "two.db")  # as it is, without a last checkpoint
        made += play(policy, stop, 40)
        state = to_bytes(policy.agent)
    with Policy(tmp_path / "two.db") as policy:
        assert policy.problem == GUARDED
        again = play(policy, stop, 40)
        assert to_bytes(policy.agent) == state
    assert plain(again) == plain(made[stop:])


def test_budgets_by_the_clock(tmp_path, monkeypatch):
    now = [1_000_000.0]
    monkeypatch.setattr("time.time", lambda: now[0])
    problem = Problem(
        ["small", "large"],
        reveals="full-information",
        budgets=[Budget("dollars", {"large": 2.0}, at_most=12.0, per="hour")],
    )
    with Policy(tmp_path / "log.db", problem=problem, seed=0) as policy:
        for _ in range(150):
            now[0] += 60.0
            made = policy.decide({"x": 1.0})
            policy.feedback(made.decision_id, {"small": 0.9, "large": 0.1})
    with DecisionLog(tmp_path / "log.db") as log:
        (dollars,) = summarize(log).kept.budgets
        replay(log)
    assert dollars.allowed == pytest.approx(12.0 * 149 / 60)
    assert 0.9 * 12.0 < dollars.rate < 1.1 * 12.0
    assert dollars.most_over <= dollars.band


@pytest.mark.parametrize(
    ("changed", "kind", "message"),
    [
        ({"minutes": None}, ValueError, "must have the feature 'minutes', which says what 'call'"),
        ({"minutes": -1.0}, ValueError, "'minutes', a cost of 'call'.* not negative, got -1"),
        ({"minutes": "long"}, TypeError, "'minutes', a cost of 'call'.*number, got 'long'"),
    ],
)
def test_a_cost_that_is_missing_or_negative_changes_nothing(tmp_path, changed, kind, message):
    with Policy(tmp_path / "log.db", problem=GUARDED, seed=1) as policy:
        play(policy, 0, 5)
        before, n_events = to_bytes(policy.agent), policy.n_events
        with pytest.raises(kind, match=message):
            policy.decide_many([context(5), {**context(6), **changed}])
        with pytest.raises(ValueError, match="must have the feature 'minutes'"):
            policy.decide([1.0, 2.0])
        assert (to_bytes(policy.agent), policy.n_events) == (before, n_events)
        play(policy, 5, 8)


def test_actions_of_each_round_are_limited_and_paid_by_name(tmp_path):
    with Policy(tmp_path / "log.db", problem=ITEMS, seed=0) as policy:
        for n in range(80):
            names = {"new": {"price": 1.0}, f"old-{n}": {"price": 2.0}, "fixed": None}
            made = policy.decide({"x": float(n)}, None, names if n % 4 else ["fixed", "other"])
            policy.feedback(made.decision_id, {made.action: 0.1 if made.action == "new" else 0.8})
    with DecisionLog(tmp_path / "log.db") as log:
        kept = summarize(log).kept
        replay(log)
    assert kept.n_broken == 0
    assert kept.budgets[0].spent > 10
    assert kept.budgets[0].most_over <= kept.budgets[0].band


def test_another_problem_is_refused_by_what_differs(tmp_path):
    Policy(tmp_path / "log.db", problem=GUARDED, seed=1).close()
    other = Problem(
        ACTIONS,
        reveals=GUARDED.reveals,
        feedback="rewards",
        range=(-5.0, 5.0),
        limits=GUARDED.limits,
    )
    with pytest.raises(ValueError, match=r"it differs in budgets: \(\), not \(Budget\('reviews'"):
        Policy(tmp_path / "log.db", problem=other)
    Policy(tmp_path / "log.db", problem=GUARDED).close()


def test_floors_make_a_log_on_which_anything_can_be_judged(tmp_path):
    """With a floor, every action is played at times, so that its loss can be estimated."""
    from graphcb.evaluation import constant, evaluate

    problem = Problem(["a", "b", "c"], limits={"floors": 0.05})
    rng = np.random.default_rng(0)
    with Policy(tmp_path / "log.db", problem=problem, seed=0) as policy:
        for _ in range(300):
            made = policy.decide({"x": 1.0})
            loss = {"a": 0.1, "b": 0.5, "c": 0.9}[made.action]
            policy.feedback(made.decision_id, {made.action: float(rng.random() < loss)})
    with DecisionLog(tmp_path / "log.db") as log:
        found = evaluate(log, constant("b"))
    assert found.graph.anytime.lower < 0.5 < found.graph.anytime.upper
    assert found.graph.value == pytest.approx(0.5, abs=0.25)


@pytest.mark.parametrize("baseline", ["approve", {"action": "approve", "mode": "shadow"}])
def test_a_baseline_in_a_policy(tmp_path, baseline):
    problem = Problem(
        ACTIONS,
        reveals="full-information",
        feedback="rewards",
        range=(-5.0, 5.0),
        budgets=GUARDED.budgets,
        baseline=baseline,
    )

    def go_on(policy, first, last):
        made = []
        for n in range(first, last):
            made.append(policy.decide(context(n)))
            if n >= 2:  # late, and in two parts
                late = [*before, *made][n - 2].decision_id
                policy.feedback(late, {"approve": -3.0})
                policy.feedback(late, {"approve": -3.0, "call": 1.0, "review": 4.0})
        return made

    settings = {"problem": problem, "seed": 1, "checkpoint_every": 11}
    with Policy(tmp_path / "one.db", **settings) as policy:
        before = []
        before = go_on(policy, 0, 25)
        back_up(tmp_path / "one.db", tmp_path / "two.db")
        rest = go_on(policy, 25, 60)
        state = to_bytes(policy.agent)
        gain = proven_gain(problem, policy.agent.agent)
    with Policy(tmp_path / "two.db") as policy:
        assert plain(go_on(policy, 25, 60)) == plain(rest)
        assert to_bytes(policy.agent) == state
    with DecisionLog(tmp_path / "one.db") as log:
        assert to_bytes(replay(log).agent) == state
        kept = summarize(log).kept.baseline
    assert (kept.action, kept.proven_gain) == ("approve", gain)
    actions = [decision.action for decision in [*before, *rest]]
    assert actions[0] == "approve"
    if kept.mode == "shadow":  # it would soon have earned 4 instead of -3
        assert 3.0 < kept.gain < 7.0
        assert kept.gain_interval[0] < kept.gain < kept.gain_interval[1]
    assert (kept.deviations == 0.0) == (kept.mode == "shadow") == (set(actions) == {"approve"})
