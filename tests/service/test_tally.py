"""Defaults after waiting, and graphs that nobody knows beforehand, as they are counted."""

import time

import numpy as np
import pytest

pytest.importorskip("msgspec", reason="needs the extra `serve`")

from graphcb import DecisionLog, Policy, Problem
from graphcb.evaluation import constant, evaluate, logged, summarize
from graphcb.service import tally as tallies
from graphcb.service.live import _missing
from graphcb.service.watching import Watch

from .conftest import only

CLICKS = Problem(["a", "b"], feedback="rewards", defaults={"waiting": 5.0, "reward": 0.0})
BIDS = ("0.2", "0.4", "0.6", "0.8")
LEVELS = np.array([0.2, 0.4, 0.6, 0.8])


def watched(location, problem):
    """The tally of a log that is read to its end."""
    watch = Watch(str(location), only(problem, informed=problem.informed))
    n_events = -1
    while watch.position > n_events:
        n_events = watch.position
        watch.look()
    watch.close()
    return watch.tally


def test_defaults_settle_decisions_but_are_no_feedback(tmp_path):
    rng, made = np.random.default_rng(0), []
    with Policy(tmp_path / "log.db", problem=CLICKS, seed=0) as policy:
        for _ in range(200):
            made.append(policy.decide({"x": 1.0}))
            if rng.random() < 0.3:
                policy.feedback(made[-1].decision_id, {made[-1].action: 1.0})
        n_answered = policy.model_version
        n_filled = policy.fill_in(time.time() + 60.0)
        made.append(policy.decide({"x": 1.0}))  # waits
    tally = watched(tmp_path / "log.db", CLICKS)
    assert (tally.n_expected, tally.n_answered) == (201, n_answered)
    assert tally.n_by_default == n_filled == 200 - n_answered
    assert (tally.judge.n, tally.n_open, tally.n_replaced) == (200, 1, 0)
    assert sum(tally.delays) == n_answered
    assert tally.delay(0.9) < 60.0
    with DecisionLog(tmp_path / "log.db") as log:
        there, summed = evaluate(log, logged), summarize(log)
    assert tally.judge.n == there.n_used
    assert abs(tally.judge.policy().mean - there.graph.value) < 2.5 * there.graph.standard_error
    assert (tally.n_by_default, tally.n_answered) == (summed.n_by_default, summed.n_with_feedback)


def test_feedback_after_the_default_is_counted_and_settles_nothing_twice(tmp_path, monkeypatch):
    with Policy(tmp_path / "log.db", problem=CLICKS, seed=0) as policy:
        made = [policy.decide({"x": 1.0}) for _ in range(10)]
        policy.fill_in(time.time() + 60.0)
        for one in made[:4]:
            policy.feedback(one.decision_id, {one.action: 1.0})
    tally = watched(tmp_path / "log.db", CLICKS)
    assert (tally.n_by_default, tally.n_answered, tally.n_replaced) == (6, 4, 4)
    assert (tally.judge.n, tally.n_open, sum(tally.delays)) == (10, 0, 4)
    with DecisionLog(tmp_path / "log.db") as log:
        summed = summarize(log)
    assert (summed.n_by_default, summed.n_with_feedback) == (6, 4)
    monkeypatch.setattr(tallies, "MOST_OPEN", 3)
    assert len(watched(tmp_path / "log.db", CLICKS)._by_default) <= 3


def test_of_a_decision_with_a_default_its_own_loss_counts_alone(tmp_path):
    """Playing "look" shows two losses, of which the default is one."""
    problem = Problem(
        ["skip", "look"], reveals={"all": ["look"]}, defaults={"waiting": 5.0, "loss": 1.0}
    )
    with Policy(tmp_path / "log.db", problem=problem, seed=0) as policy:
        made = policy.decide({"x": 1.0}, actions=["skip", "look"])
        while made.action != "look":
            made = policy.decide({"x": 1.0})
        policy.fill_in(time.time() + 60.0)
        tally = watched(tmp_path / "log.db", problem)
        assert (tally.n_by_default, tally.n_open, tally.judge.n) == (1, 0, 1)
        policy.feedback(made.decision_id, {"skip": 0.0, "look": 0.5})
    tally = watched(tmp_path / "log.db", problem)
    assert (tally.n_by_default, tally.n_answered, tally.n_open) == (0, 1, 0)
    assert tally.n_replaced == 1
    assert tally.judge.constant("look").mean == pytest.approx(0.5)
    assert tally.judge.constant("skip").mean is None  # known only if feedback came


def auction(path):
    """First-price auctions with the value 1."""
    floors = {"floors": dict.fromkeys(BIDS, 0.15)}
    problem = Problem(BIDS, reveals={"unknown": "bids"}, feedback="rewards", limits=floors)
    rng = np.random.default_rng(5)
    with Policy(path, problem=problem, seed=2, durability="process-kill") as policy:
        for price in rng.random(400):
            made = policy.decide({"site": "a"})
            worth = np.where(price < LEVELS, 1.0 - LEVELS, 0.0)
            won = price < LEVELS[made.action_index]
            seen = range(made.action_index if won else 0, 4)
            policy.feedback(made.decision_id, {BIDS[i]: worth[i] for i in seen})
        policy.decide({"site": "a"}, actions=["0.4", "0.8"])  # waits
    return problem


def test_under_a_hidden_price_only_what_is_certain_is_judged(tmp_path):
    problem = auction(tmp_path / "log.db")
    tally = watched(tmp_path / "log.db", problem)
    assert tally.has_estimates
    assert (tally.n_expected, tally.n_answered, tally.n_open) == (401, 400, 1)
    with DecisionLog(tmp_path / "log.db") as log:
        assert summarize(log).weights == "certain"
        for target, found in [
            (logged, tally.judge.policy()),
            *((constant(bid), tally.judge.constant(bid)) for bid in BIDS),
        ]:
            there = evaluate(log, target)
            assert tally.judge.n == there.n_used
            assert found.mean == pytest.approx(there.graph.value)
            assert found.lower < there.graph.anytime.upper
            assert found.upper > there.graph.anytime.lower


@pytest.mark.parametrize(
    "reveals", ["unknown", {"all": ["all"], "own": True, "answers": "learned"}],
    ids=["unknown", "answers"],
)  # fmt: skip
def test_where_chances_are_learned_nothing_is_judged(tmp_path, reveals):
    problem = Problem(["all", "own"], reveals=reveals)
    rng = np.random.default_rng(4)
    with Policy(tmp_path / "log.db", problem=problem, seed=2) as policy:
        for n in range(50):
            made = policy.decide({"site": "a"})
            seen = {made.action: 0.5} if rng.random() < 0.5 else {}
            if n < 40:
                policy.feedback(made.decision_id, seen)
    tally = watched(tmp_path / "log.db", problem)
    assert not tally.has_estimates
    assert (tally.n_expected, tally.n_answered, tally.n_open) == (50, 40, 10)
    assert tally.judge.n == 0
    assert tally.result().policy is None


def test_what_is_known_needs_no_feedback_and_is_its_own_mean(tmp_path):
    problem = Problem(
        ["approve", "review"],
        reveals={"all": ["review"]},
        feedback="rewards",
        range=(-50.0, 1.0),
        known={"review": -2.0},
        limits={"floors": {"review": 0.2}},
    )
    with Policy(tmp_path / "log.db", problem=problem, seed=0) as policy:
        for n in range(200):
            made = policy.decide({"x": float(n % 3)})
            if made.action == "review":
                policy.feedback(made.decision_id, {"approve": -50.0 if n % 9 == 0 else 1.0})
    tally = watched(tmp_path / "log.db", problem)
    with DecisionLog(tmp_path / "log.db") as log:
        own, review = evaluate(log, logged), evaluate(log, constant("review"))
    assert tally.n_expected == tally.n_answered < 200
    assert tally.judge.n == own.n_used
    width = tally.judge.constant("review")
    assert -50.0 + 51.0 * width.mean == pytest.approx(-2.0, abs=1e-12)
    assert review.graph.value == pytest.approx(-2.0, abs=1e-12)
    assert -50.0 + 51.0 * tally.judge.policy().mean == pytest.approx(own.graph.value, abs=1e-9)


def test_without_a_range_estimates_end_with_the_first_value_beyond_0_to_1(tmp_path):
    problem = Problem(["a", "b"], feedback="rewards")
    with Policy(tmp_path / "log.db", problem=problem, seed=0) as policy:
        for k in range(30):
            made = policy.decide({"x": 1.0})
            policy.feedback(made.decision_id, {made.action: float(k % 2)})
        tally = watched(tmp_path / "log.db", problem)
        assert (tally.has_estimates, tally.is_unbounded, tally.judge.n) == (True, False, 30)
        made = policy.decide({"x": 1.0})
        policy.feedback(made.decision_id, {made.action: 40.0})
    tally = watched(tmp_path / "log.db", problem)
    assert (tally.has_estimates, tally.is_unbounded, tally.n_answered) == (False, True, 31)
    assert tally.result().policy is None
    assert _missing(tally).startswith("This problem says no range, and not all values lie between")


def test_colours_stay_with_their_actions():
    tally = tallies.LiveTally(only(Problem("each round")))
    first = tally.colours_for([f"item {n}" for n in range(8)])
    assert sorted(first.values()) == list(range(8))
    again = tally.colours_for(["new", *(f"item {n}" for n in range(7, 0, -1))])
    assert {name: again[name] for name in first if name in again} == {
        name: first[name] for name in first if name != "item 0"
    }
    assert again["new"] == first["item 0"]


def test_colours_of_fixed_actions_are_in_their_order_and_outlive_a_version():
    before = tallies.LiveTally(only(Problem(["a", "b", "c"])))
    assert before.colours_for(["c", "a"]) == {"c": 2, "a": 0}
    after = tallies.LiveTally(only(Problem(["c", "d"])), before=before)
    assert after.colours_for(["c", "d"]) == {"c": 2, "d": 3}
