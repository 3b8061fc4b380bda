"""Decisions without feedback get the default of their problem, and later feedback replaces it."""

from collections import Counter

import numpy as np
import pytest

from graphcb import DecisionLog, Policy, Problem
from graphcb.decisions import replay, verify
from graphcb.decisions.askers import askers_between
from graphcb.decisions.decided import NewRound
from graphcb.evaluation import evaluate, logged, summarize
from graphcb.saving import to_bytes

HOUR = {"waiting": 3600, "reward": 0.0}
CLICKS = Problem(["a", "b"], feedback="rewards", features={"age": "number"}, defaults=HOUR)
CONTEXT = {"age": 30.0}
SHOP, APP = 7, 2**28  # numbers of clients


@pytest.fixture
def clock(monkeypatch):
    """Seconds that stand still until a test moves them."""
    now = [1e9]
    monkeypatch.setattr("graphcb.decisions.together.time.time", lambda: now[0])
    return now


def test_what_has_waited_long_enough_gets_the_default_once(tmp_path, clock):
    file = tmp_path / "log.db"
    with Policy(file, problem=CLICKS, seed=1) as policy:
        early = [policy.decide(CONTEXT) for _ in range(3)]
        policy.feedback(early[1].decision_id, {early[1].action: 1.0})
        clock[0] += 1800
        late = policy.decide(CONTEXT)
        assert policy.fill_in() == 0
        assert policy.fill_in(1e9 + 3600) == 2
        assert policy.fill_in(1e9 + 3600) == 0
        clock[0] += 3600
        policy.feedback(late.decision_id, {})  # nothing was seen: that is feedback
        assert policy.fill_in() == 0
        assert policy.model_version == 4
        agent = to_bytes(policy.agent)
    with DecisionLog(file) as log:
        rows = list(log)
        assert [row.feedback.losses.tolist() for row in rows] == [[0.0], [1.0], [0.0], []]
        assert [row.feedback.is_default for row in rows] == [True, False, True, False]
        assert rows[0].feedback.actions == [rows[0].action]
        assert to_bytes(replay(log).agent) == agent
    assert verify(file) == []
    with Policy(file) as policy:
        assert policy.fill_in() == 0


def test_feedback_that_comes_later_takes_the_place_of_the_default_and_is_learned(tmp_path, clock):
    file = tmp_path / "log.db"
    with Policy(file, problem=CLICKS, seed=1) as policy:
        made = [policy.decide(CONTEXT) for _ in range(4)]
        clock[0] += 7200
        assert policy.fill_in() == 4
        before = to_bytes(policy.agent)
        receipt = policy.feedback(made[0].decision_id, {made[0].action: 1.0})
        assert receipt.counted
        assert receipt.message == "counted, in place of the default after waiting"
        assert to_bytes(policy.agent) != before
        assert not policy.feedback(made[0].decision_id, {made[0].action: 1.0}).counted
        with pytest.raises(ValueError, match="`rewards` must agree with what is known"):
            policy.feedback(made[0].decision_id, {made[0].action: 0.5})
        assert policy.feedback(made[1].decision_id, {made[1].action: 0.0}).counted
        agent = to_bytes(policy.agent)
    with DecisionLog(file) as log:
        rows = list(log)
        assert rows[0].feedback.losses.tolist() == [1.0]
        assert [part.losses.tolist() for part in rows[0].feedback.parts] == [[0.0], [1.0]]
        assert [row.feedback.is_default for row in rows] == [False, False, True, True]
        assert to_bytes(replay(log).agent) == agent
        found = summarize(log)
        assert (found.n_with_feedback, found.n_by_default, found.mean) == (2, 2, 0.25)
        assert found.delays[0] == 7200.0
        assert evaluate(log, logged).graph.value == 0.25
    assert verify(file) == []


def test_in_one_transaction_nothing_is_counted_twice(tmp_path, clock):
    file = tmp_path / "log.db"
    with Policy(file, problem=CLICKS, seed=1) as policy:
        first, second, third = (policy.decide(CONTEXT) for _ in range(3))
        with policy.together() as together:
            together.look_up([first.decision_id, second.decision_id])
            together.feedback(first.decision_id, {first.action: 1.0})
            assert together.fill_in(clock[0] + 3600) == (2, True)
            for one in (second, third):
                receipt = together.feedback(one.decision_id, {one.action: 1.0})
                assert receipt.message.endswith("in place of the default after waiting")
        agent = to_bytes(policy.agent)
    with DecisionLog(file) as log:
        assert [row.feedback.losses.tolist() for row in log] == [[1.0]] * 3
        assert to_bytes(replay(log).agent) == agent
    assert verify(file) == []


def test_an_action_that_does_not_surely_reveal_its_outcome_gets_none(tmp_path, clock):
    edges = [("a", "a", 0.5), ("a", "b"), ("b", "a"), ("b", "b", 0.5)]
    problem = Problem(["a", "b"], reveals={"edges": edges}, defaults={"waiting": 1, "loss": 1.0})
    with Policy(tmp_path / "log.db", problem=problem, seed=1) as policy:
        policy.decide_many([CONTEXT] * 5)
        assert policy.fill_in(clock[0] + 10) == 0


def test_many_decisions_are_filled_in_parts_and_each_by_its_version(tmp_path, clock, monkeypatch):
    monkeypatch.setattr("graphcb.decisions.filling.AT_A_TIME", 7)
    file = tmp_path / "log.db"
    without = Problem(["a", "b"], feedback="rewards", features={"age": "number"})
    pessimistic = Problem(
        ["a", "b"], feedback="rewards", features={"age": "number"}, range=(-1.0, 1.0),
        defaults={"waiting": 10, "reward": -1.0},
    )  # fmt: skip
    with Policy(file, problem=CLICKS, seed=1) as policy:
        for problem in (without, pessimistic, without):
            policy.decide_many([CONTEXT] * 20)
            policy.change(problem)
        assert policy.fill_in(clock[0] + 60) == 0  # the first ones are still to wait
        assert policy.fill_in(clock[0] + 3600) == 40
        agent = to_bytes(policy.agent)
    with DecisionLog(file) as log:
        found = [None if row.feedback is None else row.feedback.losses.tolist() for row in log]
        assert found == [[0.0]] * 20 + [None] * 20 + [[-1.0]] * 20
        assert to_bytes(replay(log).agent) == agent
    assert verify(file) == []


def play(policy, clock, n, *, share, actions=None):
    """Decisions, of which every so many get feedback at once."""
    clock[0] += 10.0
    made = policy.decide_many([CONTEXT] * n, actions=actions)
    answered = made[:: round(1 / share)] if share else []
    policy.feedback_many({one.decision_id: {one.action: 1.0} for one in answered})


def test_in_an_outage_of_feedback_there_are_no_defaults(tmp_path, clock, monkeypatch):
    monkeypatch.setattr("graphcb.decisions.filling.AT_A_TIME", 100)
    with Policy(tmp_path / "log.db", problem=CLICKS, seed=1) as policy:
        play(policy, clock, 400, share=0.5)
        clock[0] += 3600
        assert policy.fill_in() == 200
        play(policy, clock, 700, share=0.0)  # much longer than what is looked at
        clock[0] += 3600
        n_filled = policy.fill_in()
        assert 0 < n_filled < 20  # before it is noticed
        play(policy, clock, 200, share=0.5)
        clock[0] += 3600
        assert 65 < policy.fill_in() <= 75  # it is over once 30 of the last 120 have feedback
    with Policy(tmp_path / "log.db") as policy:
        assert policy.fill_in() < 10  # those in the outage never had a chance, but at its edges


def test_silence_that_is_usual_is_no_outage(tmp_path, clock):
    with Policy(tmp_path / "log.db", problem=CLICKS, seed=1) as policy:
        play(policy, clock, 1000, share=0.05)
        clock[0] += 3600
        assert policy.fill_in() == 950
        play(policy, clock, 150, share=0.0)  # fewer than can be told from chance
        clock[0] += 3600
        assert policy.fill_in() == 150
    with Policy(tmp_path / "none.db", problem=CLICKS, seed=1) as policy:
        play(policy, clock, 500, share=0.0)
        clock[0] += 3600
        assert policy.fill_in() == 500  # nobody ever gave feedback: all is by default


def test_an_offer_of_one_action_gets_no_default_and_is_no_outage(tmp_path, clock):
    with Policy(tmp_path / "log.db", problem=CLICKS, seed=1) as policy:
        play(policy, clock, 200, share=0.5)
        clock[0] += 3600
        policy.fill_in()
        before = to_bytes(policy.agent)
        play(policy, clock, 500, share=0.0, actions=["a"])
        play(policy, clock, 10, share=0.0)
        clock[0] += 3600
        assert policy.fill_in() == 10
        assert to_bytes(policy.agent) != before
    assert verify(tmp_path / "log.db") == []


def ask(policy, who, n):
    """Decisions that a client of this number asks for."""
    with policy.together() as together:
        together.pending.asker = who
        return together.decide_rounds([NewRound(None)] * n)


@pytest.mark.parametrize("n_silent", [1, 4, 10, 80])
def test_who_never_gets_feedback_teaches_nothing_and_stops_nobody(tmp_path, clock, n_silent):
    """As many as others ask for, or fewer, is no outage: only who asked tells them apart.

    That is known after a restart as well.
    """
    asked_by, rng = {}, np.random.default_rng(2)
    problem = Problem(["a", "b"], feedback="rewards", range=(0.0, 1.0), defaults=HOUR)
    unheard, n_filled = Counter(), 0
    for part in range(2):
        with Policy(tmp_path / "log.db", problem=problem if part == 0 else None) as policy:
            for _ in range(30):
                for who, n in ((SHOP, 10), (APP, n_silent)):
                    made = ask(policy, who, n)
                    asked_by |= {one.decision_id: who for one in made}
                    heard = [one for one in made if who == SHOP and rng.random() < 0.5]
                    policy.feedback_many({d.decision_id: {d.action: 1.0} for d in heard})
                clock[0] += 7200
                is_done = False
                while not is_done:  # a policy that was just opened looks at all again
                    with policy.together() as together:
                        is_done = together.fill_in(clock[0])[1]
                    unheard[part] += together.unheard[APP]
                n_filled += together.n_withheld == 0
    with DecisionLog(tmp_path / "log.db") as log:
        defaults = [row for row in log if row.feedback is not None and row.feedback.is_default]
        by = [asked_by[row.decision_id] for row in defaults]
    # Until 20 feedbacks are known nothing is usual; then it takes a run that is no chance.
    assert by.count(APP) < 20 + 5 * n_silent
    assert unheard[0] > 30 * n_silent - (20 + 5 * n_silent)
    assert unheard[1] >= 30 * n_silent
    assert by.count(SHOP) > 200  # about 300 of 600
    assert n_filled > 50
    assert verify(tmp_path / "log.db") == []


def runs_of(file):
    with DecisionLog(file) as log:
        return log.storage.execute("SELECT position, who FROM graphcb_askers ORDER BY position")


def test_a_run_is_stored_when_somebody_else_asks_and_not_otherwise(tmp_path):
    file = tmp_path / "log.db"
    with Policy(file, problem=CLICKS) as policy:
        policy.decide_many([CONTEXT] * 3)
        assert runs_of(file) == []  # nobody has said who asks
        for who in (SHOP, SHOP, APP):
            ask(policy, who, 2)
        policy.feedback(policy.decide(CONTEXT).decision_id, {})
    with Policy(file) as policy:
        policy.decide(CONTEXT)
        ask(policy, SHOP, 1)
    with Policy(file) as policy:
        ask(policy, SHOP, 1)
    assert runs_of(file) == [(4, SHOP), (8, APP), (10, 0), (13, SHOP)]
    with DecisionLog(file) as log:
        asked_by = askers_between(log.storage, 5, 11)
        assert [asked_by(position) for position in (5, 7, 8, 9, 11)] == [SHOP, SHOP, APP, APP, 0]
        assert askers_between(log.storage, 1, 3)(2) == 0


def test_decisions_that_were_given_up_begin_no_run(tmp_path):
    file = tmp_path / "log.db"
    with Policy(file, problem=CLICKS) as policy:
        with policy.together() as together:
            together.pending.asker = APP
            with pytest.raises(ValueError, match="`action` must be one of"):
                together.decide_rounds([NewRound(CONTEXT), NewRound(CONTEXT, None, ["unknown"])])
            together.pending.asker = SHOP
            together.decide(CONTEXT)

        def interrupted(together):
            together.pending.asker = APP
            together.decide(CONTEXT)
            together.store()
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt), policy.together() as together:
            interrupted(together)
        ask(policy, SHOP, 1)
    assert runs_of(file) == [(1, SHOP)]


def test_a_removal_of_old_decisions_leaves_the_run_that_goes_on(tmp_path, clock):
    file = tmp_path / "log.db"
    with Policy(file, problem=CLICKS) as policy:
        for who in (SHOP, APP, SHOP):
            ask(policy, who, 2)
        clock[0] += 100.0
        ask(policy, SHOP, 2)
        policy.prune(clock[0])
    assert runs_of(file) == [(5, SHOP)]


@pytest.mark.parametrize("n_silent", [4, 20, 40])
def test_who_only_asks_cannot_turn_the_model_around_among_others(tmp_path, clock, n_silent):
    """Somebody asks for up to four times as many decisions as all others, and says nothing."""
    problem = Problem(["a", "b", "c"], feedback="rewards", range=(0.0, 1.0), defaults=HOUR)
    means, rng = {"a": 0.8, "b": 0.5, "c": 0.2}, np.random.default_rng(1)
    with Policy(tmp_path / "log.db", problem=problem, seed=1) as policy:

        def go_on(n_steps, n_silent):
            for _ in range(n_steps):
                made = [one for one in policy.decide_many([None] * 10) if rng.random() < 0.9]
                policy.feedback_many(
                    {d.decision_id: {d.action: float(rng.random() < means[d.action])} for d in made}
                )
                policy.decide_many([None] * n_silent)
                clock[0] += 7200
                policy.fill_in()

        go_on(40, 0)
        assert policy.decide(None).probabilities[0] > 0.9
        go_on(80, n_silent)
        assert policy.decide(None).probabilities[0] > 0.9
