"""Budgets and baselines of a log hold whatever versions, defaults, parts and clocks do to them."""

import numpy as np
import pytest

from graphcb import (
    Budget,
    Conservative,
    DecisionLog,
    FeedbackGraph,
    Greedy,
    Policy,
    Problem,
    graphs,
)
from graphcb.decisions import LogError, replay, verify
from graphcb.evaluation import summarize
from graphcb.oracles import LinearOGD
from graphcb.rounds import Played
from graphcb.saving import to_bytes


def spending(*at_most, **given):
    """A problem in which "b" is best, and costs 1 of a hard budget."""
    terms = {"per": "week", "hard": True, **given}
    budgets = [Budget("reviews", {"b": 1.0}, most, **terms) for most in at_most]
    return Problem(["a", "b"], reveals="full-information", budgets=budgets)


def spend(policy, n_rounds=12):
    """How often the costly action was played."""
    made = [policy.decide({"x": 1.0}) for _ in range(n_rounds)]
    for one in made:
        policy.feedback(one.decision_id, {"a": 1.0, "b": 0.0})
    return sum(one.action == "b" for one in made)


def test_what_was_spent_stays_spent_whatever_versions_lie_between(tmp_path):
    file = tmp_path / "log.db"
    goes_on = "budget 'reviews' goes on with what was spent"
    with Policy(file, problem=spending(3), seed=0, durability="process-kill") as policy:
        assert spend(policy) == 3
        assert goes_on in policy.change(spending(4)).said
        assert spend(policy) == 1
        assert goes_on in policy.roll_back(1).said
        assert spend(policy) == 0
        policy.change(spending())  # without the budget
        policy.change(spending(3, per=1))
        policy.change(spending())
        assert goes_on in policy.roll_back(1).said
        assert spend(policy) == 0
        agent = to_bytes(policy.agent)
    with DecisionLog(file) as log:
        assert to_bytes(replay(log).agent) == agent
        (kept,) = summarize(log).kept.budgets
        assert (kept.at_most, kept.spent) == (3.0, 4.0)
    assert verify(file) == []


def test_a_budget_with_other_costs_is_another_one(tmp_path):
    other = Problem(
        ["a", "b"],
        reveals="full-information",
        budgets=[Budget("reviews", {"b": 2.0}, 4, per="week", hard=True)],
    )
    kept = {"seed": 0, "durability": "process-kill"}
    with Policy(tmp_path / "log.db", problem=spending(3), **kept) as policy:
        assert spend(policy) == 3
        assert "budget 'reviews' begins with nothing spent" in policy.change(other).said
        assert spend(policy) == 2
        assert "budget 'reviews' goes on with what was spent" in policy.roll_back(1).said
        assert spend(policy) == 0


def test_in_a_period_of_another_length_all_that_was_spent_counts(tmp_path):
    with Policy(
        tmp_path / "log.db", problem=spending(3, per="second"), seed=0, durability="process-kill"
    ) as policy:
        assert spend(policy) >= 3
        policy.change(spending(3))
        assert spend(policy) == 0


def test_a_rate_that_changes_gives_nothing_for_rounds_before(tmp_path):
    problem = spending(0.25, per="round")
    with Policy(tmp_path / "log.db", problem=problem, seed=0, durability="process-kill") as policy:
        spent = spend(policy, 40)
        assert spent <= 10
        policy.change(spending(1, per="round"))
        assert spent + spend(policy, 4) <= 10 + 4


def test_agents_without_a_problem_do_not_spend_twice_either(tmp_path):
    def agent(at_most):
        budget = Budget("reviews", {1: 1.0}, at_most, per="week", hard=True)
        return Greedy(LinearOGD(2, 1), budgets=[budget])

    def play(policy):
        made = [policy.decide([1.0], graphs.full_information(2)) for _ in range(12)]
        for one in made:
            policy.feedback(one.decision_id, {0: 1.0, 1: 0.0})
        return sum(one.action == 1 for one in made)

    with Policy(tmp_path / "log.db", agent(3), seed=0, durability="process-kill") as policy:
        play(policy)
        assert play(policy) <= 3
        policy.change(agent=agent(3))
        assert play(policy) + play(policy) == 0
        policy.roll_back(1)
        assert play(policy) == 0


def test_a_proof_is_not_used_twice(tmp_path):
    """Back to a version with another baseline than now, nothing is proven; it was used before."""
    first, second = (
        Problem(["a", "b"], reveals="full-information", baseline={"action": "a", "epsilon": e})
        for e in (0.5, 0.25)
    )
    with Policy(tmp_path / "log.db", problem=first, seed=0, durability="process-kill") as policy:
        spend(policy, 30)
        assert policy.agent.agent.proven > 1.0
        policy.change(second)
        assert "nothing is proven against the baseline yet" in policy.roll_back(1).said
        assert (policy.agent.agent.proven, policy.agent.agent.least) == (0.0, 0.0)


def test_a_default_after_waiting_proves_nothing_until_the_truth_comes(tmp_path):
    problem = Problem(
        ["today", "new"],
        reveals={"own": True},
        baseline={"action": "today", "epsilon": 0.1},
        defaults={"waiting": 1.0, "loss": 1.0},
    )
    file = tmp_path / "log.db"
    with Policy(file, problem=problem, seed=0, durability="process-kill") as policy:
        made = policy.decide_many([{"x": 1.0}] * 40)
        assert policy.fill_in(made_at(file) + 10.0) == 40
        assert policy.agent.agent.proven == 0.0
        policy.feedback_many({one.decision_id: {"today": 0.0} for one in made[:20]})
        assert policy.agent.agent.proven == 0.0
        policy.feedback_many({one.decision_id: {"today": 1.0} for one in made[20:]})
        assert policy.agent.agent.proven == pytest.approx(2.0)
        agent = to_bytes(policy.agent)
    with DecisionLog(file) as log:
        assert to_bytes(replay(log).agent) == agent


def made_at(file):
    with DecisionLog(file) as log:
        return max(row.made_at for row in log)


class Always:
    """An agent that wants to play the second action, whatever it loses."""

    def act(self, context, graph, actions=None, **rules):
        return np.array([0.0, 1.0])

    def learn(self, context, actions, losses):
        pass


@pytest.mark.parametrize("edge", [0.3, 1e-9])
def test_losses_that_come_by_chance_and_late_break_no_promise(edge):
    """The baseline shows its own loss at once, that of the other by chance, and much later."""
    graph = FeedbackGraph([[1.0, edge], [0.0, 0.0]])
    for seed in range(2):
        rng, waiting, lost, allowed = np.random.default_rng(seed), [], 0.0, 0.0
        agent = Conservative(Always(), 0, epsilon=0.1)
        for n in range(2500):
            losses = (rng.random(2) < [0.8, 1.0]).astype(float)
            p = agent.act(None, graph)
            played = Played(None, graph, None, p, int(rng.random() < p[1]))
            agent.on_draw(played)
            if played.action == 0:
                agent.on_feedback(played, [0], losses[:1])
                if rng.random() < edge:
                    waiting.append((n, played._replace(known={0: losses[0]}), losses[1:]))
            while waiting and waiting[0][0] <= n - 500:
                _, then, came = waiting.pop(0)
                agent.on_feedback(then, [1], came)
            lost, allowed = lost + losses[played.action], allowed + 1.1 * losses[0]
            assert lost <= allowed + 1e-9


@pytest.mark.parametrize("years", [10, -10])
def test_one_wrong_clock_stops_neither_defaults_nor_removal(tmp_path, years, monkeypatch):
    problem = Problem(["a", "b"], defaults={"waiting": 60.0, "loss": 1.0, "keep_days": 1})
    day, now = 86_400.0, [1.6e9]
    monkeypatch.setattr("time.time", lambda: now[0])
    file = tmp_path / "log.db"
    with Policy(file, problem=problem, seed=0, durability="process-kill") as policy:
        for n in range(9):
            now[0] = 1.6e9 + 3600.0 * n + (365 * years * day if n == 3 else 0.0)
            policy.decide({"x": 1.0})
        now[0] = 1.6e9 + 8.5 * 3600.0
        assert policy.fill_in() == 9
        removed = 3 if years > 0 else 4  # the stamp of the one in doubt counts as any other
        assert policy.prune(1.6e9 + 2.5 * 3600.0).n_decisions == removed
        now[0] = 1.6e9 + 1.5 * day
        assert policy.prune().n_decisions == 9 - removed
    assert verify(file) == []


def test_a_transaction_that_is_over_takes_nothing_more(tmp_path):
    with Policy(
        tmp_path / "log.db", problem=spending(), seed=0, durability="process-kill"
    ) as policy:
        with policy.together() as together:
            made = together.decide({"x": 1.0})
        for call in (
            lambda: together.decide({"x": 1.0}),
            lambda: together.feedback(made.decision_id, {"a": 1.0}),
            lambda: together.prune(0.0),
        ):
            with pytest.raises(LogError, match="this transaction is over; call the policy, or"):
                call()
        assert policy.n_events == 1


def test_a_log_with_two_names_is_refused_and_one_that_was_deleted_is_noticed(tmp_path):
    file, other = tmp_path / "log.db", tmp_path / "other.db"
    with Policy(file, problem=spending(), seed=0, durability="process-kill") as policy:
        policy.decide({"x": 1.0})
        other.hardlink_to(file)
        for call in (lambda: Policy(other), lambda: policy.decide({"x": 1.0})):
            with pytest.raises(LogError, match="must have one name, got one with hard links"):
                call()
        other.unlink()
        policy.decide({"x": 1.0})
        moved = file.rename(tmp_path / "moved.db")
        with pytest.raises(LogError, match="the log was deleted or moved; put it back"):
            policy.decide({"x": 1.0})
        moved.rename(file)
        policy.decide({"x": 1.0})
        assert policy.n_events == 3
    assert verify(file) == []
