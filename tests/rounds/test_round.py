"""The round stands in one place, and puts a context into the oracle's terms once."""

import ast
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import graphcb
from graphcb import Learner, Policy, Problem, graphs
from graphcb.contexts import Encoder
from graphcb.rounds import Played, play_round, would_play

# Rooms in which an agent may ask another one inside it.
INSIDE = ("rounds", "agents", "problems")
# Steps of a round. Whatever plays rounds calls `play_round` and `learn_revealed` instead.
STEPS = {"act_on", "action_at", "at_time", "hook", "learn_from"}
ELSEWHERE = {
    "decisions/lessons.py": {"hook"},  # whether an agent may have judged before it failed
    "decisions/versions.py": {"learn_from"},  # a round of another version is not judged
    "decisions/explaining.py": {"at_time", "hook"},  # the rules of a round that was played
    "commands/predict.py": {"action_at"},  # nothing is revealed, so there is no round
}


def steps_in(path):
    """The steps of a round that a module calls by itself."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            found.add(getattr(node.func, "attr", getattr(node.func, "id", "")))
    return found & STEPS


def test_the_round_stands_in_one_place():
    package = Path(graphcb.__file__).parent
    found = {
        str(path.relative_to(package)): steps
        for path in sorted(package.rglob("*.py"))
        if path.relative_to(package).parts[0] not in INSIDE and (steps := steps_in(path))
    }
    assert found == ELSEWHERE


PROBLEM = Problem(
    ["approve", "review"],
    reveals={"all": ["review"]},
    limits={"floors": {"approve": 0.05}},
    budgets={"effort": {"costs": {"review": 1.0}, "at_most": 0.5, "per": "round"}},
)
CONTEXT = {"amount": 30.0, "country": "DE"}


@pytest.fixture
def encoded(monkeypatch):
    counts, one, each = Counter(), Encoder.encode, Encoder.encode_each

    def encode_one(self, context):
        counts["contexts"] += 1
        return one(self, context)

    def encode_each(self, contexts):
        so_far = counts["contexts"]
        rows = each(self, contexts)  # by the other, or together
        counts["contexts"] = so_far + len(contexts)
        return rows

    monkeypatch.setattr(Encoder, "encode", encode_one)
    monkeypatch.setattr(Encoder, "encode_each", encode_each)
    return counts


def test_a_decision_with_a_budget_encodes_its_context_once(tmp_path, encoded):
    with Policy(tmp_path / "a.db", problem=PROBLEM, seed=0) as policy:
        for number in range(1, 4):
            policy.decide(CONTEXT)
            assert encoded["contexts"] == number


def test_so_does_a_round_that_is_settled_by_a_baseline_in_other_terms(encoded):
    learner = Learner(Problem("each round", reveals="full_information", baseline="a"))
    play_round(learner, CONTEXT, graphs.full_information(2), ["a", "b"], 0.5, seconds=1.0)
    assert encoded["contexts"] == 1 + 2  # and each of two actions once


def test_what_was_logged_is_settled_in_the_terms_of_the_agent_inside():
    learner, twin = Learner(PROBLEM), Learner(PROBLEM)
    graph = PROBLEM.graph
    played = play_round(learner, CONTEXT, graph, None, 0.999)
    other = Played(CONTEXT, graph, None, np.array([1.0, 0.0]), 0)
    again = play_round(twin, CONTEXT, graph, None, 0.999, logged=other)
    assert again.action == played.action == 1
    np.testing.assert_array_equal(again.probabilities, played.probabilities)
    spent = [one.agent.rules.spending.accounts[0].spent for one in (learner, twin)]
    assert spent == [1.0, 0.0]


def test_asking_what_would_be_played_changes_nothing():
    learner = Learner(PROBLEM)
    expected = play_round(Learner(PROBLEM), CONTEXT, PROBLEM.graph, None, 0.5)
    for _ in range(2):
        p = would_play(learner, CONTEXT, PROBLEM.graph, None)
        np.testing.assert_array_equal(p, expected.probabilities)
    assert learner.agent.rules.spending.costs is None
