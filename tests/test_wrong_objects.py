"""Things given where others belong: refused in the words of who gave them, and nothing is left."""

import sys

import numpy as np
import pytest

import graphcb
from graphcb.cli import main
from graphcb.contexts.declared import is_slip
from graphcb.decisions import LogError
from graphcb.problems import Learner, Problem

PROBLEM = Problem(["approve", "review"], reveals={"all": ["review"]}, range=(0, 1))


def test_a_problem_is_no_agent(tmp_path):
    with pytest.raises(TypeError, match=r"got a Problem; write Policy\(log, problem=...\)"):
        graphcb.Policy(tmp_path / "log.db", PROBLEM)
    assert not list(tmp_path.iterdir())
    with pytest.raises(TypeError, match="got a Problem; the problem comes first"):
        Learner(PROBLEM, PROBLEM)


def test_memory_is_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="a log must be a file, got ':memory:'"):
        graphcb.Policy(":memory:", problem=PROBLEM)
    assert not list(tmp_path.iterdir())


def test_a_log_in_postgresql_without_its_driver_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, "graphcb.decisions.postgresql", raising=False)
    with pytest.raises(LogError, match=r"needs psycopg: pip install 'graphcb\[postgres\]'"):
        graphcb.Policy("postgresql://localhost/x", problem=PROBLEM)


def test_a_misspelt_feature_is_refused_and_others_are_ignored():
    kinds = {"amount": "number", "country": "category", "age": "number?"}
    learner = Learner(Problem(["a", "b"], features=kinds))
    for wrong in ({"amont": 3.0}, {"Amount": 3.0}, {"amuont": 3.0}):
        with pytest.raises(ValueError, match="must have the feature 'amount', which is declared"):
            learner.act({**wrong, "country": "DE"})
    assert learner.act({"amount": 3.0, "country": "DE", "amont": 4.0}).shape == (2,)
    assert learner.act({"country": "DE", "total": 4.0}).shape == (2,)  # it is just missing
    assert learner.act({"amount": 3.0, "country": "DE", "agee": 4.0}).shape == (2,)  # may be


@pytest.mark.parametrize(
    ("one", "other"), [("x1", "x2"), ("feature_12", "feature_13"), ("price_a", "price_b"),
                       ("size", "sizes2"), ("x_1", "x_12"), ("item1", "item")]
)  # fmt: skip
def test_names_that_differ_by_more_than_a_slip(one, other):
    assert not is_slip(one, other)
    assert not is_slip(other, one)


def test_features_that_are_no_mapping():
    with pytest.raises(
        TypeError, match=r"`features` must be a mapping .* got ndarray; leave it out"
    ):
        Problem(["a", "b"], features=np.array([1, 2]))
    assert Problem(["a", "b"], features={}).features is None


def test_actions_that_are_none_or_one_text():
    learner = Learner(Problem("each round"))
    for nothing in ([], {}):
        with pytest.raises(ValueError, match="`actions` must have at least one name, got none"):
            learner.act({"x": 1}, actions=nothing)
    with pytest.raises(TypeError, match=r"list of names, got 'review'; write \['review'\]"):
        Learner(PROBLEM).learn({"x": 1}, "review", -2)


def test_what_is_revealed_by_action_or_as_a_matrix():
    expected = PROBLEM.graph.matrix
    everything = ["approve", "review"]
    for reveals in (
        {"review": everything},
        {"review": dict.fromkeys(everything, 1.0), "approve": []},
        [[0, 0], [1, 1]],
        np.array([[0.0, 0.0], [1.0, 1.0]]),
    ):
        problem = Problem(everything, reveals=reveals)
        assert np.array_equal(problem.graph.matrix, expected)
        assert Problem.from_toml(problem.to_toml()) == problem
    half = Problem(everything, reveals={"review": {"approve": 0.5, "review": 1.0}})
    assert half.graph.matrix[1].tolist() == [0.5, 1.0]
    with pytest.raises(TypeError, match=r"`reveals\['review'\]` must be a list of actions"):
        Problem(everything, reveals={"review": "approve"})
    with pytest.raises(ValueError, match="one of approve, review; got 'aprove'; did you mean"):
        Problem(everything, reveals={"review": ["aprove"]})
    with pytest.raises(ValueError, match="one of approve, review; got 'revue'"):
        Problem(everything, reveals={"review": everything, "revue": everything})


def test_nothing_is_pruned_unasked(tmp_path, capsys):
    path = str(tmp_path / "log.db")
    with graphcb.Policy(path, problem=PROBLEM, seed=0) as policy:
        policy.decide({"x": 1.0})
    assert main(["log", "prune", path, "--days", "0"]) == 2
    assert "`--days` must be positive, got 0; --all removes every" in capsys.readouterr().err
    assert main(["log", "prune", path]) == 2
    assert "`--days` must be given, as the problem does not say" in capsys.readouterr().err
    assert main(["log", "prune", path, "--days", "1", "--all"]) == 2
    assert "give either --days or --all" in capsys.readouterr().err
    assert main(["log", "prune", path, "--all"]) == 0
    assert "1 decisions and 0 feedbacks removed" in capsys.readouterr().out
