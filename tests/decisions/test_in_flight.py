"""Decisions whose feedback is on its way: the agent knows them, whatever happens in between."""

import time
from collections import Counter, deque

import numpy as np
import pytest

from graphcb import DecisionLog, Policy, Problem
from graphcb.decisions import replay
from graphcb.exploration.in_flight import FADES
from graphcb.problems.guarded import explorer_of
from graphcb.saving import to_bytes

NAMES = [f"item-{k}" for k in range(10)]
ARMS = Problem(NAMES)
QUICK = {"durability": "process-kill", "seed": 0}


def waiting(policy):
    """How many looks are expected of each action."""
    return explorer_of(policy.agent.agent).waiting


def loss(action, rng):
    return float(rng.random() < (0.2 if action == NAMES[7] else 0.6))


def play(policy, n, delay, *, batch=1, share=1.0):
    """Decisions in batches, each with its feedback `delay` decisions later, or never."""
    rng, open_, made = np.random.default_rng(0), deque(), []
    for _ in range(n // batch):
        for decision in policy.decide_many([{}] * batch):
            made.append(decision.action)
            open_.append(decision)
        answers = {}
        while len(open_) > delay:
            decision = open_.popleft()
            if rng.random() < share:
                answers[decision.decision_id] = {decision.action: loss(decision.action, rng)}
        policy.feedback_many(answers)
    return made


@pytest.mark.parametrize(
    ("delay", "batch", "share"),
    [(0, 1, 1.0), (100, 1, 1.0), (1000, 10, 1.0), (0, 500, 1.0), (100, 10, 0.5)],
    ids=["at once", "100 late", "1,000 late", "in batches of 500", "half of it never"],
)
def test_every_action_is_tried_and_the_best_is_found(tmp_path, delay, batch, share):
    with Policy(tmp_path / "log.db", problem=ARMS, **QUICK) as policy:
        made = play(policy, 3000, delay, batch=batch, share=share)
    unanswered = max(delay, batch)
    if unanswered > 10:  # before any answer all actions are alike, and looked at alike
        first = Counter(made[:unanswered])
        assert max(first.values()) < 3 * unanswered / 10
        assert min(first[name] for name in NAMES) > unanswered / 10 / 3
    assert Counter(made[-300:])[NAMES[7]] > 240


@pytest.mark.parametrize("closes", [True, False], ids=["closed", "killed"])
def test_a_restart_with_decisions_in_flight_changes_nothing(tmp_path, closes):
    kept, made = [], {}
    for name, every in (("whole", 1000), ("again", 50)):
        rng, open_, actions = np.random.default_rng(0), deque(), []
        policy = Policy(tmp_path / f"{name}.db", problem=ARMS, checkpoint_every=70, **QUICK)
        for k in range(200):
            if k % every == every - 1:
                if closes:
                    policy.close()
                else:
                    policy._log.storage.close()  # as a process that is gone leaves it
                policy = Policy(tmp_path / f"{name}.db", durability="process-kill")
            open_.append(policy.decide({"x": k % 3 / 2}))
            actions.append(open_[-1].action)
            if k >= 60:
                one = open_.popleft()
                policy.feedback(one.decision_id, {one.action: loss(one.action, rng)})
        made[name] = actions
        kept.append(to_bytes(policy.agent))
        policy.close()
        with DecisionLog(tmp_path / f"{name}.db") as log:
            assert to_bytes(replay(log).agent) == kept[-1]
    assert made["whole"] == made["again"]
    assert kept[0] == kept[1]


def test_looks_are_counted_until_they_come(tmp_path):
    with Policy(tmp_path / "log.db", problem=ARMS, **QUICK) as policy:
        made = policy.decide_many([{}] * 50)
        played = np.array([[one.action for one in made].count(name) for name in NAMES])
        np.testing.assert_allclose(waiting(policy), played, rtol=0.2)
        for one in made[:25]:
            policy.feedback(one.decision_id, {one.action: 0.5})
        assert 0.5 * 25 < waiting(policy).sum() <= 25.0
        for one in made[25:]:
            policy.feedback(one.decision_id, {one.action: 0.5})
        assert waiting(policy).sum() < 1.0
        assert (waiting(policy) >= 0.0).all()


def test_a_refused_batch_leaves_nothing_in_flight(tmp_path):
    with Policy(tmp_path / "log.db", problem=ARMS, **QUICK) as policy:
        policy.decide({})
        before = to_bytes(policy.agent)
        with pytest.raises(TypeError, match="context"):
            policy.decide_many([{}, {}, object()])
        assert to_bytes(policy.agent) == before


def test_feedback_in_parts_and_nothing_seen_take_off_no_more_than_was_expected(tmp_path):
    problem = Problem(["a", "b", "c"], reveals="full-information")
    with Policy(tmp_path / "log.db", problem=problem, **QUICK) as policy:
        first, second, third = policy.decide_many([{}] * 3)
        before = waiting(policy)
        policy.feedback(first.decision_id, {"a": 0.5})
        policy.feedback(first.decision_id, {"a": 0.5, "b": 0.5})
        after = waiting(policy)
        np.testing.assert_allclose(before - after, [1.0, 1.0, 0.0], atol=1e-9)
        policy.feedback(second.decision_id, {})  # nothing was seen
        assert (waiting(policy) >= 0.0).all()
        policy.feedback(third.decision_id, {"a": 0.5, "b": 0.5, "c": 0.5})
        assert (waiting(policy) >= 0.0).all()


def test_the_default_after_waiting_is_an_answer(tmp_path):
    problem = Problem(["a", "b"], defaults={"waiting": 5.0, "loss": 1.0})
    with Policy(tmp_path / "log.db", problem=problem, **QUICK) as policy:
        made = policy.decide_many([{}] * 20)
        assert waiting(policy).sum() > 10.0
        assert policy.fill_in(time.time() + 60.0) == 20
        assert waiting(policy).sum() < 1.0
        policy.feedback(made[0].decision_id, {made[0].action: 0.0})  # it comes after all
        assert (waiting(policy) >= 0.0).all()


def test_what_never_comes_fades(tmp_path):
    with Policy(tmp_path / "log.db", problem=ARMS, **QUICK) as policy:
        play(policy, 4000, 0, batch=50, share=0.5)
        assert 0.7 * 0.5 * FADES < waiting(policy).sum() < 0.5 * FADES  # where it levels off


def test_decisions_that_were_removed_are_forgotten_in_time(tmp_path):
    with Policy(tmp_path / "log.db", problem=ARMS, **QUICK) as policy:
        policy.decide_many([{}] * 100)
        before = to_bytes(policy.agent)
        policy.prune(time.time() + 1.0)
        assert to_bytes(policy.agent) == before  # the model stays as it is
    with Policy(tmp_path / "log.db", durability="process-kill") as policy:
        assert to_bytes(policy.agent) == before
        play(policy, 3000, 0, batch=100)
        assert waiting(policy).sum() < 50.0
    with DecisionLog(tmp_path / "log.db") as log:
        replay(log)


def test_columns_that_move_take_their_looks_along(tmp_path):
    with Policy(tmp_path / "log.db", problem=Problem(["a", "b"]), **QUICK) as policy:
        made = policy.decide_many([{}] * 40)
        before = dict(zip("ab", waiting(policy), strict=True))
        policy.change(Problem(["b", "c", "a"]))
        np.testing.assert_allclose(waiting(policy), [before["b"], 0.0, before["a"]])
        for one in made:  # they are answered in the terms of their version
            policy.feedback(one.decision_id, {one.action: 0.5})
        assert waiting(policy).sum() < 1.0
    with DecisionLog(tmp_path / "log.db") as log:
        replay(log)


@pytest.mark.parametrize(
    "problem",
    [
        Problem("each round"),
        Problem(["a", "b"], reveals={"own": True, "answers": "learned"}),
        Problem(["a", "b"], baseline={"action": "a", "mode": "shadow"}),
        Problem(["a", "b"], baseline={"action": "a"}),
        Problem(["a", "b"], known={"a": 0.3}),
        Problem(["a", "b"], budgets={"b": {"costs": {"b": 1.0}, "at_most": 0.5}}),
    ],
    ids=["each round", "learned answers", "shadow", "baseline", "known", "budget"],
)
def test_other_problems_with_late_feedback_are_replayed(tmp_path, problem):
    with Policy(tmp_path / "log.db", problem=problem, checkpoint_every=50, **QUICK) as policy:
        open_ = deque()
        for k in range(120):
            offered = None if problem.has_fixed_actions else ["a", f"c{k % 4}", "b"]
            open_.append(policy.decide({"x": float(k % 5)}, actions=offered))
            if k >= 40:
                one = open_.popleft()
                policy.feedback(one.decision_id, {} if k % 7 == 0 else {one.action: 0.3})
        state = to_bytes(policy.agent)
    with DecisionLog(tmp_path / "log.db") as log:
        assert to_bytes(replay(log).agent) == state


def test_a_graph_that_reveals_by_chance_waits_for_what_is_expected(tmp_path):
    problem = Problem(["a", "b"], reveals={"own": True, "edges": [("a", "b", 0.25)]})
    with Policy(tmp_path / "log.db", problem=problem, **QUICK) as policy:
        made = [policy.decide({}) for _ in range(8)]
        n = [one.action for one in made].count("a")
        np.testing.assert_allclose(waiting(policy), [n, 8 - n + 0.25 * n], rtol=0.2)
