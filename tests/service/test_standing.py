"""Whether rules are held, from what was seen of a log."""

import numpy as np
import pytest

pytest.importorskip("msgspec", reason="needs the extra `serve`")

from graphcb import DecisionLog, Policy, Problem
from graphcb.decisions import Version, Versions
from graphcb.evaluation import summarize
from graphcb.evaluation.settling import Settled
from graphcb.graphs import full_information
from graphcb.service.standing import keeps_up, rules_of
from graphcb.service.tally import LiveTally
from graphcb.service.watching import Watch

from .conftest import only

LOOKS = {"looks": {"costs": {"look": 1}, "at_most": 0.5}}
SHOWN = "bandit"
BUDGET = Problem(["skip", "look"], reveals=SHOWN, budgets=LOOKS)
SAME = Problem(["skip", "look", "ask"], reveals=SHOWN, budgets=LOOKS)
NONE = Problem(["skip", "look"], reveals=SHOWN)
OTHER = Problem(
    ["skip", "look"], reveals=SHOWN, budgets={"looks": {"costs": {"look": 1}, "at_most": 0.4}}
)
NEW = Problem(
    ["skip", "look"], reveals=SHOWN, budgets={"looks": {"costs": {"look": 2}, "at_most": 0.4}}
)


def play(policy, action, n):
    for _ in range(n):
        policy.decide({"x": 1.0}, actions=[action])


def rules(policy, **settings):
    """The rules as a watch sees them."""
    watch = Watch(policy.location, only(BUDGET), **settings)
    watch.look()
    tally = watch.tally
    found = rules_of(tally, None)
    watch.close()
    return found


@pytest.fixture
def policy(tmp_path):
    with Policy(tmp_path / "log.db", problem=BUDGET, seed=0) as policy:
        yield policy


def test_a_budget_that_catches_up_is_not_said_to_be_broken(policy):
    play(policy, "skip", 100)  # saves 50
    play(policy, "look", 40)
    (budget,) = rules(policy)
    assert budget.held is True
    assert budget.stands.startswith("40 spent, 0.2857 per round; at most 0 ahead, where ")
    (budget,) = rules(policy, look_back=40)
    assert budget.held is None
    assert budget.stands == (
        "40 spent, 1 per round in what was counted; what was left before is not known"
    )


def test_a_budget_that_is_broken_is_said_to_be(policy):
    play(policy, "look", 40)
    (budget,) = rules(policy)
    assert budget.held is False
    (budget,) = rules(policy, look_back=39)
    assert budget.held is None  # it may have been saved before


def test_a_budget_goes_on_over_a_change_of_version(policy):
    play(policy, "skip", 100)
    policy.change(SAME)
    play(policy, "look", 40)
    (budget,) = rules(policy)
    assert budget.held is True
    assert budget.stands.startswith("40 spent, 0.2857 per round; at most 0 ahead")
    with DecisionLog(policy.location) as log:
        (kept,) = summarize(log).kept.budgets
    assert (kept.spent, kept.most_over) == (40.0, 0.0)
    (budget,) = rules(policy, look_back=41)  # from the change on
    assert budget.held is None


@pytest.mark.parametrize(
    ("between", "last", "is_held"),
    [(None, NEW, False), (None, OTHER, True), (NONE, BUDGET, None)],
    ids=["other costs", "another rate", "a version without it"],
)
def test_a_budget_goes_on_by_its_name_and_costs(policy, between, last, is_held):
    play(policy, "skip", 100)
    if between is not None:
        policy.change(between)  # which decides nothing
    policy.change(last)
    play(policy, "look", 40)
    (budget,) = rules(policy)
    assert budget.held is is_held  # what was saved before is its own, or not, or not known
    (budget,) = rules(policy, look_back=41)
    assert budget.held is (False if is_held is False else None)
    (budget,) = rules(policy, look_back=39)
    assert budget.held is None


def test_rules_of_a_version_that_has_decided_nothing(policy):
    assert [one.name for one in rules(policy)] == ["budget looks"]
    play(policy, "look", 40)
    policy.change(OTHER)
    (budget,) = rules(policy)
    assert (budget.says, budget.held) == ("at most 0.4 per round, where look costs 1", False)
    assert budget.stands.startswith("40 spent")  # and stays spent
    policy.change(NEW)
    (budget,) = rules(policy)
    assert (budget.says, budget.held) == ("at most 0.4 per round, where look costs 2", True)
    assert budget.stands.startswith("0 spent; at most 0 ahead")
    policy.change(NONE)
    assert rules(policy) == []


def losing(problem, versions, **settings):
    """A tally in which "b" was always played and "a" would have lost less."""
    tally = LiveTally(versions, **settings)
    names, p = ("a", "b"), np.array([0.0, 1.0])
    one = Settled(full_information(2), names, p, np.ones(2, bool), np.array([0.2, 0.9]))
    tally.judge.add([one] * 500)
    return keeps_up(tally, "a")


def test_a_lead_on_the_baseline_that_was_not_seen_may_make_up_for_what_is_lost():
    problem = Problem(["a", "b"], reveals="full-information", baseline="a")
    other = Problem(["a", "b"], reveals="full-information", baseline="b")
    first, later = Version(1, 0, 0.0, problem, ""), Version(2, 9, 0.0, problem, "")
    assert losing(problem, Versions([first])) is False
    assert losing(problem, Versions([first]), is_whole=False) is None
    assert losing(problem, Versions([first, later])) is None  # what was proven is kept
    assert losing(problem, Versions([first._replace(problem=other), later])) is False


def test_a_baseline_that_cannot_be_judged_is_not_said_to_be_held():
    problem = Problem([str(n) for n in range(70)], baseline="0")
    assert keeps_up(LiveTally(only(problem)), None) is None
