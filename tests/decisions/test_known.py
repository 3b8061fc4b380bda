"""Feedback of problems that know some outcomes without it."""

import subprocess
import sys
import time

import numpy as np
import pytest

from graphcb import DecisionLog, Learner, Policy, Problem
from graphcb.decisions import replay, verify
from graphcb.saving import to_bytes

FRAUD = Problem(
    ["approve", "review"],
    reveals={"all": ["review"]},
    feedback="rewards",
    range=(-50.0, 1.0),
    known={"review": -2.0},
)
BY_FEATURE = Problem(["skip", "call"], feedback="rewards", range=(-9.0, 9.0), known={"skip": "fee"})


def context(n):
    return {"amount": float(n % 7), "country": "DE" if n % 2 else "XX", "fee": -(n % 3) / 2}


def play(policy, n_rounds, first=0):
    for n in range(first, first + n_rounds):
        decision = policy.decide(context(n))
        if decision.action == "review":
            policy.feedback(decision.decision_id, {"approve": 1.0 if n % 2 else -50.0})


def decide_until(policy, action):
    decision = policy.decide(context(0))
    while decision.action != action:
        decision = policy.decide(context(0))
    return decision


def test_feedback_may_name_it_or_not(tmp_path):
    with Policy(tmp_path / "log.db", problem=FRAUD, seed=0) as policy:
        with_it, without = decide_until(policy, "review"), decide_until(policy, "review")
        assert policy.feedback(with_it.decision_id, {"approve": 1.0, "review": -2.0}).counted
        assert policy.feedback(without.decision_id, {"approve": 1.0}).counted
        again = policy.feedback(with_it.decision_id, {"review": -2.0 + 1e-9})
        assert not again.counted
        assert "already has its feedback" in again.message
        model = to_bytes(policy.agent)
    with DecisionLog(tmp_path / "log.db") as log:
        rows = [row for row in log if row.feedback is not None]
        assert [row.feedback.losses.tolist() for row in rows] == [[1.0], [1.0]]
        assert all(row.known == {1: -2.0} for row in log)
        assert rows[0].graph == FRAUD.graph  # what feedback reveals
        assert to_bytes(replay(log).agent) == model
    assert verify(tmp_path / "log.db") == []


def test_what_disagrees_is_refused_and_changes_nothing(tmp_path):
    with Policy(tmp_path / "log.db", problem=FRAUD, seed=0) as policy:
        made = decide_until(policy, "review")
        before = policy.n_events, to_bytes(policy.agent)
        message = (
            "`rewards` must agree with what the problem knows: action 'review' has reward -2, "
        )
        with pytest.raises(ValueError, match=f"{message}got -3"):
            policy.feedback(made.decision_id, {"approve": 1.0, "review": -3.0})
        assert (policy.n_events, to_bytes(policy.agent)) == before


def test_what_an_action_does_not_reveal_may_be_named_if_it_is_known(tmp_path):
    problem = Problem(["approve", "review", "block"], reveals={"all": ["review"]},
                      known={"review": 0.2}, limits={"floors": {"approve": 0.9}})  # fmt: skip
    with Policy(tmp_path / "log.db", problem=problem, seed=0) as policy:
        made = decide_until(policy, "approve")
        assert policy.feedback(made.decision_id, {"review": 0.2}).counted
        with pytest.raises(
            ValueError, match="must be of actions that playing 'approve' can reveal"
        ):
            policy.feedback(made.decision_id, {"block": 0.2})
    with DecisionLog(tmp_path / "log.db") as log:
        assert [row.feedback.losses.tolist() for row in log if row.feedback] == [[]]


def test_it_may_stand_in_the_context(tmp_path):
    with Policy(tmp_path / "log.db", problem=BY_FEATURE, seed=0) as policy:
        with pytest.raises(
            ValueError, match="`context` must have the feature 'fee', which says the "
        ):
            policy.decide({"amount": 1.0})
        assert policy.n_events == 0
        made = [policy.decide(context(n)) for n in range(4)]
        policy.feedback(made[2].decision_id, {made[2].action: -1.0})
        with pytest.raises(ValueError, match=r"action 'skip' has reward -0.5, got -1"):
            policy.feedback(made[1].decision_id, {"skip": -1.0})
    with DecisionLog(tmp_path / "log.db") as log:
        assert [row.known for row in log] == [{0: 0.0}, {0: -0.5}, {0: -1.0}, {0: 0.0}]


def test_no_default_after_waiting_takes_its_place(tmp_path):
    problem = Problem(["skip", "call"], feedback="rewards", known={"skip": 0.0},
                      limits={"floors": {"skip": 0.4, "call": 0.4}},
                      defaults={"waiting": 60, "reward": 0.5})  # fmt: skip
    with Policy(tmp_path / "log.db", problem=problem, seed=0) as policy:
        played = [policy.decide(context(n)).action for n in range(30)]
        assert policy.fill_in(time.time() + 100.0) == played.count("call") > 0
        assert policy.fill_in(time.time() + 100.0) == 0
    with DecisionLog(tmp_path / "log.db") as log:
        assert {row.action for row in log if row.feedback is not None} == {"call"}


def test_another_version_may_know_it(tmp_path):
    plain = Problem.from_toml(FRAUD.to_toml().partition("\n[known]")[0])
    assert plain.known is None
    with Policy(tmp_path / "log.db", problem=plain, seed=0) as policy:
        late = decide_until(policy, "review")
        change = policy.change(FRAUD)
        assert "the reward of 'review' is known from now on" in change.said
        made = decide_until(policy, "review")
        policy.feedback(late.decision_id, {"approve": 1.0, "review": -3.0})  # true of its version
        assert policy.agent.agent.oracle.blend.counts[0].tolist() == [1.0, 1.0]
        policy.feedback(made.decision_id, {"approve": 1.0})
        model = to_bytes(policy.agent)
    with DecisionLog(tmp_path / "log.db") as log:
        by_version = {row.version: row.known for row in log}
        assert by_version == {1: None, 2: {1: -2.0}}
        assert to_bytes(replay(log).agent) == model


PROGRAM = """
import os, sys
sys.path.insert(0, {folder!r})
from test_known import FRAUD, Policy, play
policy = Policy({log!r}, problem=FRAUD, seed=3, durability="process-kill")
play(policy, 60)
os._exit(9)
"""


def test_a_killed_policy_goes_on_bit_for_bit(tmp_path):
    with Policy(tmp_path / "whole.db", problem=FRAUD, seed=3) as policy:
        play(policy, 100)
        expected = to_bytes(policy.agent)
    folder = str(__file__).rpartition("/")[0]
    program = PROGRAM.format(folder=folder, log=str(tmp_path / "killed.db"))
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 9
    with Policy(tmp_path / "killed.db") as policy:
        play(policy, 40, first=60)
        assert to_bytes(policy.agent) == expected
    assert verify(tmp_path / "killed.db") == []


def test_a_policy_earns_no_less_by_knowing_it():
    """The program of the README over eight seeds, without a log; a payment is worth 1."""

    def earned(known, seed):
        problem = Problem(["approve", "review"], reveals={"all": ["review"]}, feedback="rewards",
                          range=(-50, 1), known=known)  # fmt: skip
        learner, rng, total = Learner(problem), np.random.default_rng(seed), 0.0
        for _ in range(300):
            country = str(rng.choice(["DE", "FR", "XX"]))
            fraud = rng.random() < (0.5 if country == "XX" else 0.005)
            rewards = {"approve": -50.0 if fraud else 1.0, "review": -2.0}
            x = {"amount": rng.lognormal(3.0, 1.0), "country": country}
            action = problem.actions[int(learner.act(x).argmax())]
            total += rewards[action]
            if action == "review":
                learner.learn(x, list(rewards), list(rewards.values()))
        return total / 300

    gains = [earned({"review": -2.0}, seed) - earned(None, seed) for seed in range(8)]
    assert np.mean(gains) > -0.02  # -0.002 with a standard error of 0.007 over 40 seeds
