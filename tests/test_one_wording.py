"""A guardrail has one sentence: `inspect`, `run`, `log summary` and the page say the same."""

import json
import re

import pytest

pytest.importorskip("msgspec", reason="needs the extra `serve`")

from graphcb import Policy, Problem
from graphcb.cli import main
from graphcb.service.standing import rules_of
from graphcb.service.watching import Watch

ACTIONS = ["approve", "call", "review"]
LOSSES = {"approve": 0.5, "call": 0.6, "review": 0.2}
REVIEWS = {"costs": {"review": 1, "call": 0.5}, "at_most": 5}


def linear(**limit):
    return {"limits": {"linear": [limit]}}


def reviews(**settings):
    return {"budgets": {"reviews": REVIEWS | settings}}


CASES = {
    "weights": (
        linear(weights={"call": 1, "review": 2}, at_most=0.6),
        {"limits": "call + 2 * review at most 0.6"},
    ),
    "negative weights": (
        linear(weights={"call": 1, "review": -0.5}, at_least=-0.1, at_most=0.6, name="people"),
        {"limits": "people: call - 0.5 * review at least -0.1 and at most 0.6"},
    ),
    "floors": (
        {"limits": {"floors": {"call": 0.02, "review": 0.01}}},
        {"limits": "probability of call at least 0.02; probability of review at least 0.01"},
    ),
    "one floor and one cap for all": (
        {"limits": {"floors": 0.05, "caps": 0.8}},
        {"limits": "every probability at least 0.05; every probability at most 0.8"},
    ),
    "caps and a group": (
        {"limits": {"caps": [1.0, 0.3, 1.0], **linear(actions=ACTIONS[1:], at_most=0.5)["limits"]}},
        {
            "limits": "probability of approve at most 1; probability of call at most 0.3; "
            "probability of review at most 1; call + review at most 0.5"
        },
    ),
    "per round": (
        reviews(at_most=0.1),
        {"budget reviews": "at most 0.1 per round, where call costs 0.5, review costs 1"},
    ),
    "per rounds": (
        reviews(per=100),
        {"budget reviews": "at most 5 per 100 rounds, where call costs 0.5, review costs 1"},
    ),
    "per hour": (
        reviews(per="hour"),
        {"budget reviews": "at most 5 per hour, where call costs 0.5, review costs 1"},
    ),
    "a hard stop per day": (
        reviews(per="day", hard=True),
        {"budget reviews": "never more than 5 per day, where call costs 0.5, review costs 1"},
    ),
    "a cost in the context, per seconds": (
        reviews(per=90.0, costs={"review": "minutes"}),
        {"budget reviews": "at most 5 per 90 s, where review costs minutes"},
    ),
    "a baseline": (
        {"baseline": {"action": "approve", "loss": 0.4, "epsilon": 0.2, "confidence": 0.9}},
        {
            "baseline": "approve, a loss of 0.4 per round; the learner loses at most 1.2 times as "
            "much, with a confidence of 90 %"
        },
    ),
    "a shadow": (
        {"baseline": {"action": "approve", "mode": "shadow"}},
        {"baseline": "approve is always played; what the learner would have played is worked out"},
    ),
    "explore": (
        {"explore": 0.01},
        {
            "explore": "up to 0.01 of every decision's probability goes to outcomes that are "
            "seldom seen"
        },
    ),
    "defaults": (
        {"defaults": {"waiting": 86400, "loss": 0.5, "keep_days": 30}},
        {
            "defaults": "a decision without feedback after 86,400 s has a loss of 0.5; decisions "
            "may be removed after 30 days"
        },
    ),
}


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "1000")  # no cell of a table is broken

    def called(*arguments):
        assert main(list(arguments)) == 0
        return capsys.readouterr().out

    return called


def cells(text):
    """The first two cells of the rows of a table."""
    rows = [line.strip("│ \n").split("│") for line in text.splitlines() if "│" in line]
    return {row[0].strip(): row[1].strip() for row in rows if len(row) > 1}


def on_the_page(problem):
    with Policy("log.db") as policy:
        watch = Watch(policy.location, policy.versions)
        watch.look()
        found = rules_of(watch.tally, None)
        watch.close()
    return found


@pytest.mark.parametrize("case", CASES)
def test_all_four_places_say_the_same(case, call, tmp_path):
    changes, said = CASES[case]
    problem = Problem(ACTIONS, reveals={"all": ["review"], "own": True}, **changes)
    problem.write("problem.toml")
    (tmp_path / "data.csv").write_text("x,approve,call,review\n" + "1,0.5,0.6,0.2\n" * 9)
    with Policy("log.db", problem=problem, seed=0) as policy:
        for _ in range(3):
            made = policy.decide({"x": 1.0, "minutes": 2.0})
            shown = LOSSES if made.action == "review" else {made.action: LOSSES[made.action]}
            policy.feedback(made.decision_id, shown)

    (name,) = said
    assert {one.name: one.says for one in on_the_page(problem)} == said
    assert cells(call("inspect", "problem.toml", "--no-picture"))[name] == said[name]
    assert cells(call("log", "summary", "log.db"))[name] == said[name]
    if not re.search("hour|day|seconds", case):  # rows of a file have no time
        assert f"{name}: {said[name]}" in call("run", "data.csv", "--problem", "problem.toml")


def test_how_a_guardrail_stands_is_one_sentence_too(call):
    rules = CASES["weights"][0] | CASES["per rounds"][0] | CASES["defaults"][0]
    problem = Problem(ACTIONS, reveals={"all": ["review"], "own": True}, **rules)
    with Policy("log.db", problem=problem, seed=0) as policy:
        for _ in range(5):
            policy.decide({"x": 1.0})
    found = json.loads(call("log", "summary", "log.db", "--json"))["guardrails"]
    page = on_the_page(problem)
    assert [(one["name"], one["stands"], one["held"]) for one in found] == [
        (one.name, one.stands, one.held) for one in page
    ]
    assert page[0].stands == "held in all 5 decisions"
    assert (page[2].stands, page[2].held) == ("", None)
