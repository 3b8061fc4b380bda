"""Agents with budgets: what they play, remember, refuse and explain."""

import copy
import itertools
import shutil
from types import SimpleNamespace

import numpy as np
import pytest

from graphcb import (
    DecisionLog,
    EpsilonGreedy,
    FeedbackGraph,
    Greedy,
    InformationDirected,
    Limits,
    Policy,
    SquareCB,
    SquareCBG,
    oracles,
)
from graphcb.agents import Budget, Played, Spending
from graphcb.decisions import replay
from graphcb.environments import KnownLosses
from graphcb.experiments.loop import run
from graphcb.saving import from_bytes, to_bytes

REVIEW = FeedbackGraph(np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]))
TENTH = Budget("reviews", {2: 1.0}, at_most=0.1)


def ridge():
    return oracles.OnlineRidge(3, 2)


AGENTS = {
    "information": lambda **rules: InformationDirected(**rules),
    "gamma": lambda **rules: SquareCBG(ridge(), gamma=20.0, **rules),
    "greedy": lambda **rules: Greedy(ridge(), **rules),
    "epsilon": lambda **rules: EpsilonGreedy(ridge(), epsilon=0.3, **rules),
    "squarecb": lambda **rules: SquareCB(ridge(), gamma=20.0, **rules),
}


def table(n=200, seed=0):
    rng = np.random.default_rng(seed)
    contexts = np.column_stack([rng.normal(size=n), np.ones(n)])
    bad = contexts[:, 0] + 0.5 * rng.normal(size=n) > 0.0
    losses = np.column_stack([bad, ~bad, np.full(n, 0.1)]).astype(float)
    return KnownLosses(contexts, losses, REVIEW, shuffle=False)


def teach(agent):
    for context, losses in zip(table(20, seed=9).contexts, table(20, seed=9).losses, strict=True):
        agent.learn(context, [0, 1, 2], losses)
    return agent


def account(agent, place=0):
    return agent.rules.spending.accounts[place]


def state(agent):
    return to_bytes(agent)


@pytest.fixture(params=AGENTS)
def new_agent(request):
    return AGENTS[request.param]


class TestPlaying:
    def test_spending_stays_within_the_band_in_every_round(self, new_agent):
        agent, spent = teach(new_agent(budgets=[TENTH])), 0.0
        for row in run(agent, table(), seed=1):
            spent += row.action == 2
            assert spent == account(agent).spent
            assert spent <= account(agent).accrued + account(agent).band + 1e-9
        assert spent > 10.0

    def test_a_budget_that_never_binds_changes_nothing(self, new_agent):
        plain = new_agent()
        if isinstance(plain, SquareCBG) and plain.schedule is not None:
            plain = SquareCBG(ridge(), gamma=20.0, method="solver")  # closed forms know no rules
        rows = list(run(plain, table(), seed=1))
        agent = new_agent(budgets=[Budget("reviews", {2: 1.0}, at_most=5.0)])
        assert list(run(agent, table(), seed=1)) == rows
        assert account(agent).price == 0.0

    def test_the_oracle_never_hears_of_prices(self):
        agent, seen = SquareCBG(ridge(), gamma=20.0, budgets=[TENTH]), []
        learn = agent.oracle.update

        def update(context, actions, losses):
            seen.extend(losses)
            learn(context, actions, losses)

        agent.oracle.update = update
        list(run(agent, table(), seed=1))
        assert account(agent).base > 0.0
        assert {*seen} == {0.0, 1.0, 0.1}

    def test_costs_that_come_with_each_round(self):
        agent = Greedy(ridge(), budgets=[Budget("dollars", "each round", at_most=1.0)])
        agent.act([1.0, 0.0], REVIEW, costs={"dollars": [0.5, 100.0, 2.0]})
        assert account(agent).unit == 100.0
        assert agent.rules.spending.costs.tolist() == [[0.5, 100.0, 2.0]]

    def test_names_are_those_of_the_round(self):
        agent = Greedy(ridge(), budgets=[Budget("reviews", {"review": 2.0}, at_most=0.1)])
        names = ["approve", "reject", "review"]
        p = agent.act([1.0, 0.0], REVIEW, names=names)
        agent.on_draw(Played([1.0, 0.0], REVIEW, None, p, 2))
        assert account(agent).spent == 2.0

    def test_hard_stop(self, new_agent):
        budget = Budget("reviews", {2: 1.0}, at_most=3.0, per=50, hard=True)
        agent = teach(new_agent(budgets=[budget]))
        actions = [row.action for row in run(agent, table(), seed=1)]
        per_block = (np.array(actions).reshape(-1, 50) == 2).sum(axis=1)
        assert per_block.max() <= 3
        assert per_block.sum() > 3

    def test_several_budgets(self, new_agent):
        budgets = [TENTH, Budget("rejections", {1: 2.0}, at_most=0.4)]
        agent = new_agent(budgets=budgets)
        for _ in run(agent, table(), seed=1):
            for one in agent.rules.spending.accounts:
                assert one.spent <= one.accrued + one.band + 1e-9

    def test_limits_and_budgets_hold_together(self, new_agent):
        limits = Limits(floors={0: 0.1}, caps={2: 0.5})
        agent = new_agent(budgets=[TENTH], limits=limits)
        env = table()
        rounds, draws = env.rounds(np.random.default_rng(0)), np.random.default_rng(1)
        for round in rounds:
            p = agent.act(round.context, REVIEW)
            assert p[0] >= 0.1
            assert p[2] <= 0.5
            action = int(draws.choice(3, p=p))
            agent.on_draw(Played(round.context, REVIEW, None, p, action))
            assert account(agent).spent <= account(agent).accrued + account(agent).band + 1e-9
            if action == 2:
                agent.learn(round.context, [0, 1, 2], round.hidden)

    def test_floors_come_before_a_budget_without_a_hard_stop(self):
        agent = Greedy(ridge(), budgets=[TENTH], limits=Limits(floors={2: 0.05}))
        for _ in range(30):
            p = agent.act([1.0, 0.0], REVIEW)
            assert p[2] >= 0.05
            agent.on_draw(Played([1.0, 0.0], REVIEW, None, p, 2))

    def test_caps_that_add_up_to_1_but_for_rounding_leave_a_choice(self):
        caps = {0: 0.7, 1: 0.2, 2: 0.1}
        assert sum(caps.values()) < 1.0
        four = FeedbackGraph(np.ones((4, 4)))
        hard = Budget("b", {3: 1.0}, at_most=0.1, hard=True)
        agent = Greedy(oracles.OnlineRidge(4, 2), budgets=[hard], limits=Limits(caps=caps))
        np.testing.assert_allclose(agent.act([1.0, 0.0], four), [0.7, 0.2, 0.1, 0.0])

    def test_a_hard_stop_refuses_floors_that_it_cannot_pay_for(self):
        """Floors on costs that come each round cannot be checked when the agent is made."""
        budget = Budget("b", "each round", at_most=1.0, per=9, hard=True)
        agent = Greedy(ridge(), budgets=[budget], limits=Limits(floors={2: 0.05}))
        costs = {"b": [0.0, 0.0, 1.0]}
        p = agent.act([1.0, 0.0], REVIEW, costs=costs)
        agent.on_draw(Played([1.0, 0.0], REVIEW, None, p, 2))
        before = state(agent)
        with pytest.raises(ValueError, match="must pay for the floors, but what is left of 'b' do"):
            agent.act([1.0, 0.0], REVIEW, costs=costs)
        assert state(agent) == before
        assert agent.act([1.0, 0.0], REVIEW, costs={"b": [0.0, 1.0, 0.0]})[2] >= 0.05

    def test_the_price_chooses_what_is_worth_it(self):
        """With prices, fewer mistakes than with the same band, first come, first served."""
        from graphcb.agents import pacing

        def mean_loss():
            agent = InformationDirected(budgets=[Budget("reviews", {2: 1.0}, at_most=0.1)])
            return list(run(agent, table(2000), seed=1))[-1].mean_loss

        priced = mean_loss()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pacing, "STEP", 0.0)
            assert priced < mean_loss() - 0.01


class TestMemory:
    def test_a_saved_agent_goes_on_as_if_it_had_never_stopped(self, new_agent):
        agent = new_agent(budgets=[TENTH, Budget("b", {1: 0.5}, 1.0, per=7, hard=True)])
        list(run(agent, table(60), seed=1))
        again = from_bytes(to_bytes(agent), where="here")
        assert list(run(again, table(60), seed=2)) == list(run(agent, table(60), seed=2))
        assert state(again) == state(agent)

    def test_it_can_be_saved_between_act_and_settle(self, new_agent):
        agent = new_agent(budgets=[TENTH])
        p = agent.act([1.0, 0.0], REVIEW)
        again = from_bytes(to_bytes(agent), where="here")
        for one in (agent, again):
            one.on_draw(Played([1.0, 0.0], REVIEW, None, p, 2))
        assert state(again) == state(agent)

    def test_a_shallow_copy_plays_without_changing_the_original(self, new_agent):
        agent = new_agent(budgets=[TENTH])
        before = state(agent)
        twin = copy.copy(agent)
        p = twin.act([1.0, 0.0], REVIEW)
        twin.on_draw(Played([1.0, 0.0], REVIEW, None, p, 2))
        assert state(agent) == before
        assert account(twin).spent == 1.0

    @pytest.mark.parametrize("per", ["round", 10, "hour"])
    def test_a_log_leads_to_the_same_bits(self, new_agent, per, tmp_path, monkeypatch):
        clock = itertools.count(1_700_000_000.0, 40.0)
        fake = SimpleNamespace(time=lambda: next(clock))
        monkeypatch.setattr("graphcb.decisions.together.time", fake)
        agent = teach(new_agent(budgets=[Budget("reviews", {2: 1.0}, at_most=1.0, per=per)]))
        truth, file = table(40), tmp_path / "a.db"
        with Policy(file, agent, seed=3, checkpoint_every=7) as policy:
            for row, losses in zip(truth.contexts, truth.losses, strict=True):
                made = policy.decide(row, REVIEW)
                seen = losses if made.action == 2 else []
                policy.feedback(made.decision_id, dict(enumerate(seen)))
            expected = state(policy.agent)
            assert account(policy.agent).spent > 0.0
            for name in tmp_path.iterdir():  # what a kill would leave
                shutil.copy(name, tmp_path / name.name.replace("a.db", "killed.db"))
        with DecisionLog(tmp_path / "killed.db") as log:
            for from_checkpoint in (False, True):
                assert state(replay(log, from_checkpoint=from_checkpoint).agent) == expected
        with Policy(tmp_path / "killed.db") as policy:
            assert state(policy.agent) == expected

    def test_rules_without_budgets_have_no_hooks(self, new_agent):
        for agent in (new_agent(), new_agent(limits=Limits(caps={2: 0.5}))):
            if not isinstance(agent, InformationDirected):  # which counts decisions in flight
                assert agent.on_draw is None
            assert agent.at_time is None
            assert agent.budgets == ()
        agent = new_agent(budgets=[TENTH])
        assert agent.on_draw is not None
        assert agent.at_time is None
        assert agent.budgets == (TENTH,)
        assert "budgets=(Budget('reviews', {2: 1.0}, 0.1),)" in repr(agent)


class TestPredictedCosts:
    def test_they_are_learned_and_counted(self):
        agent = Greedy(ridge(), budgets=[Budget("dollars", ridge(), at_most=0.5)])
        for _ in range(30):
            agent.learn_costs([1.0, 0.0], [0, 2], [0.0, 4.0])
        agent.act([1.0, 0.0], REVIEW)
        costs = agent.rules.spending.costs[0]
        assert costs[2] == pytest.approx(4.0, rel=0.1)
        assert costs[0] == 0.0

    def test_several_oracles_are_told_by_name(self):
        budgets = [Budget("a", ridge(), 1.0), Budget("b", ridge(), 1.0), TENTH]
        agent = Greedy(ridge(), budgets=budgets)
        for _ in range(30):
            agent.learn_costs([1.0, 0.0], [0], {"a": [2.0], "b": [5.0]})
        agent.act([1.0, 0.0], REVIEW)
        np.testing.assert_allclose(agent.rules.spending.costs[:, 0], [2.0, 5.0, 0.0], rtol=0.1)
        with pytest.raises(TypeError, match="as 2 budgets have an oracle; got list"):
            agent.learn_costs([1.0, 0.0], [0], [2.0])
        with pytest.raises(ValueError, match="`costs` must be"):
            agent.learn_costs([1.0, 0.0], [0], {"reviews": [2.0]})

    @pytest.mark.parametrize(
        ("costs", "text"),
        [
            (
                {"a": [2.0], "b": [np.nan]},
                "`costs` of budget 'b' at index 0 must be finite and not",
            ),
            (
                {"a": [2.0], "b": [-1.0]},
                "`costs` of budget 'b' at index 0 must be finite and not n",
            ),
            ({"a": [2.0], "b": [1.0, 2.0]}, "`losses` must have shape"),
        ],
    )
    def test_every_oracle_learns_or_none(self, costs, text):
        agent = Greedy(ridge(), budgets=[Budget("a", ridge(), 1.0), Budget("b", ridge(), 1.0)])
        before = state(agent)
        with pytest.raises(ValueError, match=text):
            agent.learn_costs([1.0, 0.0], [0], costs)
        assert state(agent) == before

    def test_there_must_be_an_oracle_to_teach(self, new_agent):
        for rules in ({}, {"budgets": [TENTH]}):
            with pytest.raises(TypeError, match="`learn_costs` must have a budget whose `costs`"):
                new_agent(**rules).learn_costs([1.0, 0.0], [0], [2.0])


class TestRefusals:
    @pytest.mark.parametrize(
        ("costs", "text"),
        [
            (None, "`costs` must have the costs of budget 'dollars', which come each round"),
            ([1.0, 2.0, 3.0], r"`costs` must be a mapping \{budget: costs\}, got list"),
            ({"euros": [1.0, 2.0, 3.0]}, "`costs` must be"),
            ({"dollars": [1.0, 2.0]}, "must have one number for each of the 3 actions"),
            ({"dollars": [1.0, -2.0, 0.0]}, "for 1 must be finite and not negative, got -2"),
            ({"dollars": [1.0, np.nan, 0.0]}, "for 1 must be finite and not negative, got nan"),
        ],
    )
    def test_bad_costs_change_nothing(self, new_agent, costs, text):
        agent = new_agent(budgets=[Budget("dollars", "each round", at_most=1.0)])
        agent.learn([1.0, 0.0], [0], [0.5])
        before = state(agent)
        with pytest.raises((ValueError, TypeError), match=text):
            agent.act([1.0, 0.0], REVIEW, costs=costs)
        assert state(agent) == before

    def test_costs_without_budgets(self, new_agent):
        for agent in (new_agent(), new_agent(limits=Limits(caps={2: 0.5}))):
            with pytest.raises(ValueError, match="`costs` must come with budgets, got"):
                agent.act([1.0, 0.0], REVIEW, costs={"dollars": [1.0, 2.0, 3.0]})

    def test_names_must_be_there_where_rules_are_by_name(self, new_agent):
        named = {"budgets": [Budget("reviews", {"review": 1.0}, at_most=0.1)]}
        for rules in (named, {"limits": Limits(caps={"review": 0.1})}):
            agent = new_agent(**rules)
            before = state(agent)
            with pytest.raises(ValueError, match="`names` must call the actions what"):
                agent.act([1.0, 0.0], REVIEW)
            assert state(agent) == before

    def test_a_round_must_be_settled_before_the_next(self, new_agent):
        agent = new_agent(budgets=[TENTH])
        p = agent.act([1.0, 0.0], REVIEW)
        before = state(agent)
        with pytest.raises(ValueError, match="`on_draw` must be called after each draw"):
            agent.act([1.0, 0.0], REVIEW)
        assert state(agent) == before
        with pytest.raises(ValueError, match="`played` must be of the round of the last `act`, wi"):
            agent.on_draw(Played([1.0, 0.0], REVIEW, None, p, 3))
        assert state(agent) == before
        agent.on_draw(Played([1.0, 0.0], REVIEW, None, p, 0))
        with pytest.raises(ValueError, match="`on_draw` must follow `act`"):
            agent.on_draw(Played([1.0, 0.0], REVIEW, None, p, 0))

    @pytest.mark.parametrize(
        ("budgets", "text"),
        [
            (TENTH, "`budgets` must be a list of graphcb.Budget, got Budget"),
            (3, "`budgets` must be a list of graphcb.Budget, got 3"),
            ([TENTH, 3], r"`budgets\[1\]` must be a graphcb.Budget, got 3"),
            ([TENTH, TENTH], "`budgets` must have distinct names, got 'reviews' twice"),
        ],
    )
    def test_what_are_no_budgets(self, new_agent, budgets, text):
        with pytest.raises((ValueError, TypeError), match=text):
            new_agent(budgets=budgets)

    def test_floors_that_spend_too_much(self, new_agent):
        for floors in ({2: 0.2}, 0.2, (0.0, 0.0, 0.2)):
            with pytest.raises(ValueError, match=r"spend 0.2 per round, and 'reviews' allows 0.1"):
                new_agent(budgets=[TENTH], limits=Limits(floors=floors))
        new_agent(budgets=[TENTH], limits=Limits(floors={2: 0.1}))

    def test_floors_under_a_hard_stop(self, new_agent):
        hard = Budget("reviews", {2: 1.0}, at_most=0.1, hard=True)
        text = "2 costs 1 in 'reviews' and has the floor 0.01: it may be drawn in any round"
        with pytest.raises(ValueError, match=text):
            new_agent(budgets=[hard], limits=Limits(floors={2: 0.01}))

    def test_a_hard_stop_that_leaves_nothing(self, new_agent):
        hard = Budget("reviews", {0: 1.0, 1: 1.0, 2: 1.0}, at_most=1.0, per=3, hard=True)
        agent = new_agent(budgets=[hard])
        p = agent.act([1.0, 0.0], REVIEW)
        agent.on_draw(Played([1.0, 0.0], REVIEW, None, p, 0))
        before = state(agent)
        with pytest.raises(ValueError, match="what is left of 'reviews' no action can be played"):
            agent.act([1.0, 0.0], REVIEW)
        assert state(agent) == before
        with pytest.raises(ValueError, match="must leave an action that costs nothing"):
            Spending.of([hard]).check_actions(range(3))
        Spending.of([hard]).check_actions(range(4))

    def test_closed_forms_know_no_budgets(self):
        with pytest.raises(ValueError, match="with `limits` or `budgets`"):
            SquareCBG(ridge(), gamma=20.0, method="closed-form", budgets=[TENTH])


def test_explain_says_prices_and_balances():
    agent = InformationDirected(budgets=[TENTH])
    list(run(agent, table(100), seed=1))
    text = agent.explain(REVIEW)
    assert text.startswith("information-directed")
    assert f"budget 'reviews' (at most 0.1 per round): price {account(agent).price:.3g}" in text
    assert "balance" in text
    both = InformationDirected(budgets=[TENTH], limits=Limits(caps={2: 0.5})).explain(REVIEW)
    assert "limits: " in both
    assert "budget 'reviews'" in both


def test_costs_that_are_always_the_same_are_worked_out_once():
    even, zeros = np.full(2, 0.5), np.zeros(2)
    first = Spending.of([Budget("reviews", {"b": 1.0}, at_most=0.5)]).opened(
        zeros, ("a", "b"), None, None, None
    )
    later = first.paid(even, 0)
    again = later.opened(zeros, ("a", "b"), None, None, None)
    assert again.costs is first.costs
    assert not first.costs.flags.writeable
    other = later.opened(zeros, ("b", "a", "c"), None, None, None)
    assert other.costs.tolist() == [[1.0, 0.0, 0.0]]


def test_what_a_budget_cannot_pay_for_is_that_of_the_open_round():
    budget, even = Budget("dollars", "each round", at_most=1.0, hard=True), np.full(2, 0.5)
    spending = Spending.of([budget])
    for costs, held in (([0.0, 2.0], True), ([0.0, 2.0], False), ([0.0, 9.0], True)):
        spending = spending.opened(np.zeros(2), ("a", "b"), {"dollars": costs}, None, None)
        assert spending.held == (held,)
        assert from_bytes(to_bytes(spending), where="here").held == (held,)
        spending = spending.paid(even, 0)
