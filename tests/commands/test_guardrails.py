"""Limits, budgets and a baseline on the command line."""

import json

import numpy as np
import pytest

from graphcb import Policy, Problem
from graphcb.cli import main

TOML = """\
[problem]
actions = ["approve", "call", "review"]

[reveals]
all = ["review"]
own = true

[limits]
caps = { call = 0.2 }

[[limits.linear]]
actions = ["call", "review"]
at_most = 0.5
name = "people"

[budgets.reviews]
costs = { review = 1 }
at_most = 0.1
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = ["amount,approve,call,review"]
    for _ in range(400):
        amount = rng.normal()
        rows.append(f"{amount:.3f},{float(amount > 0.5)},0.6,0.2")
    (tmp_path / "data.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "problem.toml").write_text(TOML)
    return tmp_path


def call(capsys, *arguments):
    code = main(list(arguments))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def flat(text):
    """The words of a table, without its lines."""
    return " ".join(text.replace("│", " ").split())


def test_inspect_says_what_must_hold(folder, capsys):
    code, out, _ = call(capsys, "inspect", "problem.toml", "--no-picture")
    assert code == 0
    words = flat(out)
    assert "limits probability of call at most 0.2; people: call + review at most 0.5" in words
    assert "budget reviews at most 0.1 per round, where review costs 1" in words
    (folder / "more.toml").write_text(
        TOML.replace("caps = { call = 0.2 }", "floors = 0.01")
        + 'per = 2\n\n[baseline]\naction = "approve"\nloss = 0.4\n'
    )
    code, out, err = call(capsys, "inspect", "more.toml", "--no-picture")
    assert code == 2
    assert "more.toml: `baseline.action` must be one that can always be played" in err
    assert "floor of 'call' is 0.01" in err


COST = (
    "every outcome is seen with a probability of at least 0.01, for at most 0.01 of the range of "
    "losses per decision"
)


def test_inspect_and_run_say_what_exploring_costs(folder, capsys):
    free = TOML.partition("[limits]")[0].replace("\n\n[reveals]", "\nexplore = 0.01\n\n[reveals]")
    limited = TOML.replace("\n\n[reveals]", "\nexplore = 0.01\n\n[reveals]")
    for text, cost in ((free, COST), (limited, f"{COST}, as far as limits and budgets allow")):
        (folder / "problem.toml").write_text(text)
        inspected = flat(call(capsys, "inspect", "problem.toml", "--no-picture")[1])
        assert f"cost of exploring {cost}" in inspected
        lines = call(capsys, "run", "data.csv", "--problem", "problem.toml")[1].splitlines()
        assert lines.count(f"cost of exploring: {cost}") == 1
        assert sum("is seen with" in line for line in lines) == 1


def test_inspect_names_what_clashes(folder, capsys):
    clashing = TOML.replace("caps = { call = 0.2 }", "floors = { call = 0.3, review = 0.3 }")
    (folder / "problem.toml").write_text(clashing)
    code, _, err = call(capsys, "inspect", "problem.toml", "--no-picture")
    assert code == 2
    assert "problem.toml: " in err
    assert "'call'" in err
    assert "'people' (at most 0.5)" in err


def test_inspect_says_what_limits_cost(folder, capsys):
    (folder / "problem.toml").write_text(TOML.replace("caps = { call", "caps = { review"))
    words = flat(call(capsys, "inspect", "problem.toml", "--no-picture")[1])
    assert "cost of the limits gamma * DEC at equal predictions" in words
    (folder / "problem.toml").write_text(
        TOML.replace("caps = { call = 0.2 }", "caps = { review = 0 }").replace("own = true", "")
    )
    words = flat(call(capsys, "inspect", "problem.toml", "--no-picture")[1])
    assert "no loss of 'approve', 'call', 'review' can be revealed within them" in words


def test_inspect_says_how_far_the_baseline_binds(folder, capsys):
    plain = TOML.partition("[limits]")[0] + '[baseline]\naction = "approve"\n'
    (folder / "problem.toml").write_text(plain)
    words = flat(call(capsys, "inspect", "problem.toml", "--no-picture")[1])
    assert "baseline approve; the learner loses at most 1.1 times as much" in words
    (folder / "problem.toml").write_text(plain.replace("own = true", ""))
    words = flat(call(capsys, "inspect", "problem.toml", "--no-picture")[1])
    assert "approve, which can never be left: playing it does not reveal its loss" in words
    (folder / "problem.toml").write_text(plain.replace("own = true", "") + "loss = 0.4\n")
    words = flat(call(capsys, "inspect", "problem.toml", "--no-picture")[1])
    assert "approve, a loss of 0.4 per round; the learner loses at most 1.1 times" in words
    (folder / "problem.toml").write_text(plain + 'mode = "shadow"\n')
    words = flat(call(capsys, "inspect", "problem.toml", "--no-picture")[1])
    assert "approve is always played; what the learner would have played is worked out" in words


def test_run_keeps_the_budget_and_says_so(folder, capsys):
    code, out, err = call(capsys, "run", "data.csv", "--problem", "problem.toml")
    assert (code, err) == (0, "")
    assert "budget reviews: at most 0.1 per round, where review costs 1" in out
    (line,) = (line for line in out.splitlines() if line.startswith("budget reviews  "))
    assert line.endswith(" per round")
    arguments = ("run", "data.csv", "--problem", "problem.toml", "--json", "--seeds", "2")
    found = json.loads(call(capsys, *arguments)[1])["budgets"]["reviews"]
    assert found["allowed"] == pytest.approx(40.0)
    assert 30 <= found["spent"] <= 45
    assert found["rate"] == pytest.approx(found["spent"] / 400)


def test_a_run_goes_on_where_it_stopped(folder, capsys):
    arguments = ("--problem", "problem.toml", "--json")
    whole = json.loads(call(capsys, "run", "data.csv", *arguments)[1])
    lines = (folder / "data.csv").read_text().splitlines()
    (folder / "one.csv").write_text("\n".join(lines[:151]) + "\n")
    (folder / "two.csv").write_text("\n".join([lines[0], *lines[151:]]) + "\n")
    assert call(capsys, "run", "one.csv", *arguments, "--save", "model.npz")[0] == 0
    rest = json.loads(call(capsys, "run", "two.csv", "--load", "model.npz", "--json")[1])
    assert rest["budgets"] == whole["budgets"]
    assert rest["average_loss"] == whole["average_loss"]


def test_predictions_of_a_saved_model_are_within_the_limits(folder, capsys):
    call(capsys, "run", "data.csv", "--problem", "problem.toml", "--save", "model.npz")
    assert call(capsys, "predict", "model.npz", "data.csv", "--out", "out.csv")[0] == 0
    rows = (folder / "out.csv").read_text().splitlines()[1:]
    assert not any(row.split(",")[1] == "call" and float(row.split(",")[2]) > 0.2 for row in rows)


def test_rows_that_bring_their_own_actions(folder, capsys):
    rng = np.random.default_rng(0)
    rows = []
    for n in range(300):
        actions = {
            "new": {"price": float(rng.random())},
            f"old-{n}": {"price": float(rng.random())},
        }
        losses = {name: 0.2 if name == "new" else 0.7 for name in actions}
        row = {"context": {"x": float(rng.normal()), "effort": 2.0}, "actions": actions}
        rows.append(json.dumps({**row, "losses": losses}))
    (folder / "rows.jsonl").write_text("\n".join(rows) + "\n")
    (folder / "rows.toml").write_text(
        '[problem]\nactions = "each round"\n[limits]\ncaps = { new = 0.9 }\n'
        '[budgets.work]\ncosts = { new = "effort" }\nat_most = 0.5\n'
    )
    code, out, err = call(capsys, "run", "rows.jsonl", "--problem", "rows.toml", "--json")
    assert (code, err) == (0, "")
    work = json.loads(out)["budgets"]["work"]
    assert 0.4 < work["rate"] < 0.56
    assert (
        "budget work          = " in call(capsys, "run", "rows.jsonl", "--problem", "rows.toml")[1]
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("at_most = 0.1", 'at_most = 0.1\nper = "day"', "whose rows have no time; got per = 'day'"),
        ("{ review = 1 }", '{ review = "amount" }', "must be numbers to be run on the columns of"),
    ],
)
def test_what_a_file_cannot_be_run_with(folder, capsys, old, new, message):
    (folder / "problem.toml").write_text(TOML.replace(old, new))
    code, _, err = call(capsys, "run", "data.csv", "--problem", "problem.toml")
    assert code == 2
    assert message in err


def test_the_summary_of_a_log(folder, capsys):
    problem = Problem.read("problem.toml")
    with Policy("log.db", problem=problem, seed=0) as policy:
        for n in range(60):
            made = policy.decide({"amount": float(n % 5)})
            shown = {"approve": 0.5, "call": 0.6, "review": 0.2}
            row = problem.graph.row(made.action_index)
            policy.feedback(
                made.decision_id,
                {
                    name: shown[name]
                    for name, seen in zip(problem.actions, row, strict=True)
                    if seen
                },
            )
    words = flat(call(capsys, "log", "summary", "log.db")[1])
    assert "held in all 60 decisions" in words
    found = json.loads(call(capsys, "log", "summary", "log.db", "--json")[1])["kept"]
    assert found["n_broken"] == 0
    assert found["budgets"][0]["name"] == "reviews"
    assert found["budgets"][0]["allowed"] == pytest.approx(6.0)
    assert found["baseline"] is None
    assert call(capsys, "log", "verify", "log.db")[0] == 0


def test_the_summary_of_a_log_without_is_as_before(folder, capsys):
    with Policy("log.db", problem=Problem(["a", "b"]), seed=0) as policy:
        policy.feedback(policy.decide({}).decision_id, {})
    assert "kept" not in json.loads(call(capsys, "log", "summary", "log.db", "--json")[1])
    assert "what must hold" not in call(capsys, "log", "summary", "log.db")[1]


KNOWN = TOML.partition("[limits]")[0] + "[known]\nreview = 0.2\n"


def test_what_is_known_is_shown_and_used_by_inspect_and_run(folder, capsys):
    (folder / "problem.toml").write_text(KNOWN)
    words = flat(call(capsys, "inspect", "problem.toml", "--no-picture")[1])
    assert "known the loss of review is 0.2; needs no feedback" in words
    assert "review reveals everything" in words
    assert "call reveals call" in words  # what feedback shows
    code, out, _ = call(capsys, "run", "data.csv", "--problem", "problem.toml", "--seed", "1")
    assert code == 0
    assert "known: the loss of review is 0.2; needs no feedback" in out
    (folder / "problem.toml").write_text(KNOWN.replace("0.2", "0.3"))
    code, _, err = call(capsys, "run", "data.csv", "--problem", "problem.toml", "--seed", "1")
    assert code != 0
    assert "`losses` must agree with what the problem knows: action 'review' has loss 0.3" in err


def test_columns_have_no_features_that_say_what_is_known(folder, capsys):
    (folder / "problem.toml").write_text(KNOWN.replace("0.2", '"amount"'))
    code, _, err = call(capsys, "run", "data.csv", "--problem", "problem.toml")
    assert code != 0
    assert "what is known of 'review' must be a number to be run on the columns of a file" in err


def test_what_nobody_reveals_may_be_inspected_if_it_is_known(folder, capsys):
    text = '[problem]\nactions = ["a", "b"]\n[reveals]\nedges = [["a", "a"]]\n[known]\nb = 0.5\n'
    (folder / "problem.toml").write_text(text)
    code, out, _ = call(capsys, "inspect", "problem.toml", "--no-picture")
    assert code == 0
    assert "b reveals nothing" in flat(out)
