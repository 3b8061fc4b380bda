"""`graphcb run --gamma` bounds its regret."""

import json
import re

import numpy as np
import pytest

import graphcb
from graphcb.cli import main


@pytest.fixture
def costs(tmp_path):
    """Losses of three actions between 0 and 4 that are linear in two features, with noise."""
    rng = np.random.default_rng(0)
    x = rng.random((300, 2))
    means = 4.0 * np.column_stack((x, 1.0 - x[:, 0]))
    losses = np.clip(means + 0.2 * rng.standard_normal(means.shape), 0.0, 4.0)
    path = tmp_path / "costs.csv"
    np.savetxt(path, np.hstack((x, losses)), delimiter=",", header="u,v,a,b,c", comments="")
    return path


def run(path, *arguments):
    return main(["run", str(path), "--losses", "a,b,c", "--loss-range", "0,4", *arguments])


def as_json(capsys, path, *arguments):
    assert run(path, "--json", *arguments) == 0
    return json.loads(capsys.readouterr().out)


def test_the_bound_is_that_of_the_agent_in_the_units_of_the_file(costs, capsys, tmp_path):
    model = tmp_path / "model.npz"
    assert run(costs, "--gamma", "20", "--oracle", "linear", "--save", str(model)) == 0
    text = capsys.readouterr().out
    found = re.search(r"^regret bound +=\s+([\d.]+) \+ ([\d.]+) \* \(the", text, re.MULTILINE)
    assert [float(number) for number in found.groups()] == pytest.approx([4.0 * 30.0, 4.0 * 5.0])
    certificate = graphcb.load(model).agent.certificate
    assert certificate.exploration == pytest.approx(300 * 2 / 20.0)  # bandit: (K - 1) / gamma
    assert certificate.n_rounds == 300


def test_with_a_bound_on_the_regression_regret_it_is_a_number_and_it_holds(costs, capsys):
    arguments = ("--gamma", "20", "--oracle", "ridge", "--regression-regret", "1.5")
    assert run(costs, *arguments) == 0
    assert "= 150, of which exploration 120, if it can represent" in capsys.readouterr().out
    results = as_json(capsys, costs, *arguments)
    assert results["regret_bound"] == {
        "exploration": pytest.approx(120.0),
        "per_regression_regret": 20.0,
        "regression_regret": 1.5,
        "whole": pytest.approx(150.0),
    }
    rows = np.loadtxt(costs, delimiter=",", skiprows=1)
    regret = 300 * results["average_loss"] - rows[:, 2:].min(axis=1).sum()
    assert 10.0 < regret <= 150.0


def test_a_model_goes_on_adding(costs, capsys, tmp_path):
    model = tmp_path / "model.npz"
    assert run(costs, "--gamma", "20", "--save", str(model)) == 0
    capsys.readouterr()
    assert main(["run", str(costs), "--load", str(model), "--regression-regret", "0"]) == 0
    assert "= 240, of which exploration 240" in capsys.readouterr().out


def test_rows_that_bring_their_actions_have_a_bound_too(tmp_path, capsys):
    rows = [
        {"context": {"u": i / 10}, "actions": {"a": {"p": 0.1}, "b": {"p": 0.9}}, "losses": [0, 1]}
        for i in range(10)
    ]
    path = tmp_path / "rounds.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["run", str(path), "--gamma", "10"]) == 0
    assert "regret bound         = 1 + 2.5 * (the oracle's" in capsys.readouterr().out
    assert main(["run", str(path), "--gamma", "10", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["regret_bound"]["whole"] is None


def test_without_gamma_there_is_none(costs, capsys):
    assert as_json(capsys, costs)["regret_bound"] is None
    assert run(costs) == 0
    assert "regret bound" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--regression-regret", "2"], "`--regression-regret` must be given with --gamma, or with"),
        (
            ["--gamma", "20", "--regression-regret", "-1"],
            "`regression_regret` must be finite and not negative, got -1.0",
        ),
    ],
)
def test_what_is_refused(costs, capsys, arguments, text):
    assert run(costs, *arguments) != 0
    captured = capsys.readouterr()
    assert text in captured.err
    assert "finished run" not in captured.out
