"""`graphcb predict` on rows without labels, and what a model file of `run` is good for."""

import csv
import io
import sys
from pathlib import Path

import numpy as np
import pytest

import graphcb
from graphcb import DecisionLog, Learner, Policy
from graphcb.cli import main

DATA = Path(__file__).parent / "data"
ROWS = [
    f"{i * 7 % 13},{i * 3 % 5 - 2},{'red' if i % 3 else 'blue'},{'xy'[i * 7 % 13 > 5]}\n"
    for i in range(120)
]
HEADER = "size,age,colour,y\n"


@pytest.fixture
def folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text(HEADER + "".join(ROWS))
    assert main(["run", "data.csv", "--label", "y", "--save", "m.npz"]) == 0
    capsys.readouterr()
    return tmp_path


def table(text):
    return list(csv.DictReader(text.splitlines()))


def test_rows_without_labels(folder, capsys):
    unlabelled = "".join(row.rpartition(",")[0] + "\n" for row in ROWS[:30])
    (folder / "new.csv").write_text("size,age,colour\n" + unlabelled)
    before = (folder / "m.npz").read_bytes()
    assert main(["predict", "m.npz", "new.csv"]) == 0
    found = table(capsys.readouterr().out)
    assert [int(row["line"]) for row in found] == list(range(2, 32))
    labels = [row.strip()[-1] for row in ROWS[:30]]
    assert np.mean([row["action"] == y for row, y in zip(found, labels, strict=True)]) > 0.9
    assert list(found[0]) == ["line", "action", "probability", "loss of x", "loss of y"]
    assert (folder / "m.npz").read_bytes() == before
    assert main(["predict", "m.npz", "data.csv", "--out", "p.csv"]) == 0  # a label is no harm
    assert capsys.readouterr().out == "120 rows: p.csv\n"
    assert table((folder / "p.csv").read_text())[:30] == found


def test_it_says_what_the_learner_says(folder, capsys):
    assert main(["predict", "m.npz", "data.csv"]) == 0
    learner = graphcb.load("m.npz")
    assert isinstance(learner, Learner)
    for row, text in zip(table(capsys.readouterr().out), ROWS, strict=True):
        size, age, colour, _ = text.split(",")
        context = {"size": float(size), "age": float(age), "colour": colour}
        fresh = graphcb.load("m.npz").act(context)
        assert float(row["probability"]) == fresh.max()
        assert row["action"] == "xy"[fresh.argmax()]
        expected = learner.predict(context).tolist()
        assert [float(row["loss of x"]), float(row["loss of y"])] == expected


def test_draws_go_on_exploring(folder, capsys):
    texts = []
    for seed in ("0", "0", "1"):
        assert main(["predict", "m.npz", "data.csv", "--draw", "--seed", seed]) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
    assert all(float(row["probability"]) > 0.0 for row in table(texts[2]))


def test_rewards_missing_values_and_unseen_categories(folder, capsys):
    rows = "".join(f"{i % 5},{'ab'[i % 2]},{4 * (i % 2)},{3 - 4 * (i % 2)}\n" for i in range(100))
    (folder / "r.csv").write_text("size,kind,low,high\n" + rows)
    assert main(["run", "r.csv", "--rewards", "low,high", "--save", "r.npz"]) == 0
    capsys.readouterr()
    (folder / "new.csv").write_text("kind,size\nb,3\na,n/a\nnever seen,12kB\n,\n")
    assert main(["predict", "r.npz", "new.csv"]) == 0
    found = table(capsys.readouterr().out)
    assert [row["action"] for row in found[:2]] == ["low", "high"]
    assert all(-1.0 <= float(row["reward of low"]) <= 4.0 for row in found)
    assert len(found) == 4


@pytest.mark.parametrize(
    ("name", "lines", "new"),
    [
        ("d.svm", ["1 1:1 5:2", "2 2:1 5:2"], ["1:1 5:2", "2:1 5:2 9:4"]),
        ("d.vw", ["1:0 2:1 |f left:1 size:3", "1:1 2:0 |f right:2 size:3"],
         ["|f left:1 size:3", "|f right:2 size:3 new:1"]),
        ("d.vw", ["1:0 2:1 |f left size:3", "1:1 2:0 |f right size:3"],
         ["|f left size:3", "|f right size:3"]),
    ],
)  # fmt: skip
def test_sparse_formats(folder, capsys, name, lines, new):
    (folder / name).write_text("\n".join(lines * 100))
    assert main(["run", name, "--save", "s.npz", "--predictions", "p.csv"]) == 0
    (folder / f"new-{name}").write_text("\n".join(new))
    capsys.readouterr()
    assert main(["predict", "s.npz", f"new-{name}"]) == 0
    assert [row["action"] for row in table(capsys.readouterr().out)] == ["1", "2"]
    (folder / f"both-{name}").write_text("\n".join(lines))
    assert main(["run", f"both-{name}", "--load", "s.npz"]) == 0
    assert "200 examples so far" in capsys.readouterr().out
    assert main(["predict", "s.npz", "data.csv"]) == 2
    assert "data.csv: must be" in capsys.readouterr().err


def test_a_graph_for_each_row(folder, capsys):
    rows = [f"{i % 2},{'ab'[i % 2]},{('a>a b>b', 'a>a a>b')[i % 3 == 0]}\n" for i in range(60)]
    (folder / "e.csv").write_text("x,y,shows\n" + "".join(rows))
    assert main(["run", "e.csv", "--label", "y", "--edges", "shows", "--save", "e.npz"]) == 0
    capsys.readouterr()
    assert main(["predict", "e.npz", "e.csv"]) == 0
    assert len(table(capsys.readouterr().out)) == 60
    (folder / "f.csv").write_text("x\n1\n")
    assert main(["predict", "e.npz", "f.csv"]) == 2
    assert "f.csv: must be a file with the column 'shows', which has the graph of each row" in (
        capsys.readouterr().err
    )


def test_a_model_file_is_an_ordinary_agent_file(folder, capsys):
    """`graphcb.load`, `Policy` and `evaluate --policy` take it."""
    learner = graphcb.load("m.npz")
    with Policy("log.db", learner, seed=0, durability="process-kill") as policy:
        for text in ROWS:
            size, age, colour, label = text.strip().split(",")
            context = {"size": float(size), "age": float(age), "colour": colour}
            decision = policy.decide(context)
            assert decision.action in ("x", "y")
            seen = {decision.action: float(decision.action != label)}
            policy.feedback(decision.decision_id, seen)
    with DecisionLog("log.db") as log:
        assert next(iter(log)).context == {"size": 0.0, "age": -2.0, "colour": "blue"}
    for policy in ("m.npz", "greedy:m.npz", "constant:x"):
        assert main(["evaluate", "log.db", "--policy", policy]) == 0
        assert f"mean loss of {policy}" in capsys.readouterr().out
    graphcb.save(learner, "later.npz")
    assert main(["run", "data.csv", "--load", "later.npz"]) == 0
    assert "120 examples so far" in capsys.readouterr().out


def test_the_standard_input_and_bad_rows(folder, capsys, monkeypatch):
    text = HEADER + ROWS[0] + "inf,1,red,x\n1,2\n" + ROWS[1]
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    assert main(["predict", "m.npz", "-", "--on-error", "skip"]) == 0
    captured = capsys.readouterr()
    assert [row["line"] for row in table(captured.out)] == ["2", "5"]
    assert "skipped: standard input, line 4: must have 4 cells" in captured.err
    assert "must be a finite number, got 'inf'" in captured.err
    (folder / "bad.csv").write_text(text)
    assert main(["predict", "m.npz", "bad.csv", "--out", "p.csv"]) == 2
    assert not (folder / "p.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["no.npz", "data.csv"], "no.npz"),
        (["data.csv", "data.csv"], "data.csv: "),
        (["m.npz", "no.csv"], "`DATA` must be an existing file, got 'no.csv'"),
        (["m.npz", "other.csv"], "other.csv: must have the columns size, age, colour; 'size' is"),
        (["m.npz", "data.csv", "--out", "data.csv"], "data.csv is the data"),
        (["m.npz", "data.csv", "--out", "m.npz", "--force"], "m.npz is the model"),
        (["m.npz", "data.csv", "--out", "other.csv"], "`--out` must not overwrite other.csv"),
        (["m.npz", "data.csv", "--seed", "-1"], "`--seed` must be at least 0, got -1"),
        (["oracle.npz", "data.csv"], "must be a model written by `graphcb run --save`, got a Lin"),
        (["plain.npz", "data.csv"], "got a Learner that has seen no file"),
    ],
)
def test_mistakes_end_with_a_message_and_code_2(folder, capsys, arguments, text):
    (folder / "other.csv").write_text("a,b\n1,2\n")
    graphcb.save(graphcb.oracles.LinearOGD(2, 2), "oracle.npz")
    graphcb.save(Learner(graphcb.Problem(["x", "y"])), "plain.npz")
    assert main(["predict", *arguments]) == 2
    captured = capsys.readouterr()
    assert text in captured.err
    assert captured.out == ""
