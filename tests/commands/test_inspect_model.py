import re

import numpy as np
import pytest

import graphcb
from graphcb.cli import main
from graphcb.commands.inspect import model_facts
from graphcb.problems.learned import learned_facts


def facts_of(path):
    return dict(model_facts(str(path)))


@pytest.mark.parametrize("sign", ["--losses", "--rewards"])
def test_a_model_of_graphcb_run_says_how_good_it_was(tmp_path, capsys, sign):
    rng, rows = np.random.default_rng(0), ["x,a,b"]
    for x in rng.normal(size=1200):
        rows.append(f"{x},{int(x > 0)},{int(x <= 0)}")
    (tmp_path / "d.csv").write_text("\n".join(rows))
    model = tmp_path / "m.npz"
    words = ["run", str(tmp_path / "d.csv"), sign, "a,b", "--seed", "1", "--save", str(model)]
    assert main(words) == 0
    out = capsys.readouterr().out
    printed = next(
        line.split()[-1] for line in out.splitlines() if line.startswith("average") and "=" in line
    )
    facts = facts_of(model)
    unit = sign[2:-1] if sign == "--rewards" else "loss"
    mean, *rest = facts[f"mean {unit}"].split(" over 1,200 rows, ")
    assert float(mean) == pytest.approx(float(printed), abs=1e-5)
    assert " in the last " in rest[0]
    assert facts["played by"] == "InformationDirected"
    assert facts["learned from"].startswith("1,200 outcomes of 1,200 decisions")
    assert "seen" in facts["a"]
    assert main(["inspect", str(model)]) == 0
    assert "learned from" in capsys.readouterr().out


def test_models_of_other_kinds(tmp_path, capsys):
    graphcb.save(graphcb.oracles.LinearOGD(2, 1), tmp_path / "o.npz")
    assert facts_of(tmp_path / "o.npz") == {"oracle": "LinearOGD(2, 1)"}
    graphcb.save(graphcb.Uniform(), tmp_path / "u.npz")
    assert facts_of(tmp_path / "u.npz")["played by"] == "Uniform"
    graphcb.save(graphcb.SquareCBG(graphcb.oracles.LinearOGD(2, 1)), tmp_path / "s.npz")
    assert facts_of(tmp_path / "s.npz")["learned from"] == "0 decisions"
    np.savez(tmp_path / "graph.npz", np.eye(3))
    assert main(["inspect", str(tmp_path / "graph.npz"), "--no-picture"]) == 0
    (tmp_path / "bad.npz").write_bytes(b"no")
    assert main(["inspect", str(tmp_path / "bad.npz")]) != 0
    assert main(["inspect", str(tmp_path / "o.npz"), "bandit:3", "--no-picture"]) == 0
    out = capsys.readouterr().out
    assert "LinearOGD" in out
    assert "bandit:3" in out


def test_what_a_learner_says_of_itself():
    problem = graphcb.Problem(["a", "b"], feedback="rewards", range=(-10, 10))
    learner = graphcb.Learner(problem)
    for k in range(30):
        learner.learn({"x": float(k), "y": None}, ["a"], [float(k % 3)])
    facts = dict(learned_facts(learner))
    assert facts["a"] == "seen 30 times, mean reward 1"
    assert facts["b"] == "never seen"
    assert facts["missing"] == "y (30 times)"
    assert facts["learned from"] == "30 outcomes"
    shares = re.findall(
        r"(\d+) % (straight lines|products of features|curves)", facts["predicts by"]
    )
    assert sum(int(share) for share, _ in shares) == pytest.approx(100, abs=2)
    assert "a: seen 30 times" in str(learner)
    assert "warning" not in facts
    for k in range(30):
        learner.learn({"x": -999 if k % 9 == 4 else float(k), "y": None}, ["a"], [1.0])
    assert "\n  warning: the feature 'x' was -999 more than once, far from" in str(learner)
    assert repr(learner) == repr(graphcb.Learner(problem))
