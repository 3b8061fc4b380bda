"""`graphcb run` from the command line to its files."""

import csv
import gc
import io
import json
import re
import sys
import tracemalloc

import numpy as np
import pytest

import graphcb
from graphcb.cli import main

HEADER = "a,b,c,colour,topic\n"


def write(folder, n_rows=400, *, name="data.csv", seed=0):
    """Three classes that a linear map tells apart, a column in odd units, and one of words."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_rows, 3))
    y = np.argmax(x + 0.3 * rng.normal(size=x.shape), axis=1)
    x *= [1e4, 1.0, 1e-4]
    lines = [f"{a!r},{b!r},{c!r},{'red' if a > 0 else 'blue'},{'xyz'[k]}\n" for (a, b, c), k in
             zip(x.tolist(), y, strict=True)]  # fmt: skip
    (folder / name).write_text(HEADER + "".join(lines))
    return lines


def table_of(path):
    return list(csv.DictReader(path.read_text().splitlines()))


def run(folder, *arguments, data="data.csv"):
    return main(["run", str(folder / data), *arguments])


def final(text, what="average loss"):
    return float(re.search(rf"^{what} += ([-\d.]+)", text, flags=re.MULTILINE)[1])


def test_a_csv_file_and_its_label_are_enough(tmp_path, capsys):
    write(tmp_path, 3000)
    assert run(tmp_path, "--label", "topic") == 0
    text = capsys.readouterr().out
    assert "3 actions: x, y, z" in text
    assert "graph: bandit(n_actions=3)" in text
    assert "examples             = 3,000" in text
    assert final(text) < 0.25
    assert final(text, "best constant action") > 0.6
    counts = [int(line.split()[2]) for line in text.splitlines() if re.match(r"\d\.\d{6} ", line)]
    assert counts == [2**k for k in range(12)]


def test_the_table_of_progress_is_right(tmp_path, capsys):
    write(tmp_path, 64)
    out = tmp_path / "p.csv"
    assert run(tmp_path, "--label", "topic", "--predictions", str(out)) == 0
    text = capsys.readouterr().out
    labels = [row["topic"] for row in table_of(tmp_path / "data.csv")]
    rows = table_of(out)
    losses = np.array([float(r["action"] != y) for r, y in zip(rows, labels, strict=True)])
    table = [line.split() for line in text.splitlines() if re.match(r"\d\.\d{6} ", line)]
    before = 0
    for average, since, counter, label, action, features in table:
        count = int(counter)
        assert float(average) == pytest.approx(losses[:count].mean(), abs=1e-6)
        assert float(since) == pytest.approx(losses[before:count].mean(), abs=1e-6)
        assert (label, action) == (labels[count - 1], rows[count - 1]["action"])
        assert features == ("1" if count == 1 else "4")  # at first no number differs from its mean
        before = count
    assert final(text) == pytest.approx(losses.mean(), abs=1e-6)
    assert [int(row["line"]) for row in rows] == list(range(2, 66))
    assert all(0.0 < float(row["probability"]) <= 1.0 for row in rows)


def test_a_run_that_stops_and_goes_on_is_the_run_that_never_stopped(tmp_path, capsys):
    lines = write(tmp_path, 300)
    (tmp_path / "one.csv").write_text(HEADER + "".join(lines[:170]))
    (tmp_path / "two.csv").write_text(HEADER + "".join(lines[170:]))
    asked = ["--label", "topic", "--seed", "5", "--graph", "cops-and-robbers"]
    model, p = str(tmp_path / "m.npz"), str(tmp_path / "p.csv")
    assert run(tmp_path, *asked, "--predictions", p, "--save", str(tmp_path / "all.npz")) == 0
    whole = [(row["action"], row["probability"]) for row in table_of(tmp_path / "p.csv")]
    said = capsys.readouterr().out
    assert run(tmp_path, *asked, "--predictions", p, "--save", model, data="one.csv") == 0
    parts = [(row["action"], row["probability"]) for row in table_of(tmp_path / "p.csv")]
    capsys.readouterr()
    assert run(tmp_path, "--load", model, "--predictions", p, "--save", model, data="two.csv") == 0
    parts += [(row["action"], row["probability"]) for row in table_of(tmp_path / "p.csv")]
    assert parts == whole  # actions, and every bit of their probabilities
    assert "170 examples so far" in (again := capsys.readouterr().out)
    assert final(again) == final(said)
    with np.load(tmp_path / "all.npz") as one, np.load(model) as other:
        assert sorted(one) == sorted(other)
        for name in one:
            np.testing.assert_array_equal(one[name], other[name])


def test_the_seed_decides_the_draws(tmp_path, capsys):
    write(tmp_path)
    files = []
    for seed in ("1", "1", "2"):
        assert run(tmp_path, "--label", "topic", "--seed", seed, "--predictions",
                   str(tmp_path / "p.csv")) == 0  # fmt: skip
        files.append((tmp_path / "p.csv").read_text())
    assert files[0] == files[1] != files[2]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--oracle", "linear"],
        ["--oracle", "adagrad", "--learning-rate", "0.3"],
        ["--oracle", "ridge", "--features", "a,b,c"],
        ["--gamma", "100", "--method", "solver"],
        ["--graph", "full-information:3"],
        ["--graph", "random-self-aware:3,0.5"],
        ["--categorical", "a", "--bits", "10"],
    ],
    ids=" ".join,
)
def test_options_of_the_learner(tmp_path, capsys, arguments):
    write(tmp_path, 600)
    assert run(tmp_path, "--label", "topic", *arguments) == 0
    text = capsys.readouterr().out
    assert final(text) < final(text, "best constant action")


def test_more_feedback_loses_less(tmp_path, capsys):
    x, noise = np.random.default_rng(2).normal(size=(2, 2000, 10))
    y = np.argmax(x + 0.3 * noise, axis=1)
    rows = [",".join(map(repr, row)) + f",{k}\n" for row, k in zip(x.tolist(), y, strict=True)]
    names = ",".join("abcdefghij") + ",topic\n"
    (tmp_path / "data.csv").write_text(names + "".join(rows))
    losses = {}
    for graph in ("bandit", "full-information"):
        assert run(tmp_path, "--label", "topic", "--graph", graph) == 0
        losses[graph] = final(capsys.readouterr().out)
    assert losses["full-information"] < 0.9 * losses["bandit"]


def test_losses_in_columns(tmp_path, capsys):
    (tmp_path / "data.csv").write_text(
        "x,cheap,dear\n" + "".join(f"{i % 2},{5 + i % 2},{8 - 4 * (i % 2)}\n" for i in range(500))
    )
    assert run(tmp_path, "--losses", "cheap,dear") == 0
    text = capsys.readouterr().out
    assert "2 actions: cheap, dear" in text
    assert final(text, "best constant action") == 5.5
    assert 4.5 <= final(text) < 4.8


STOCK = "".join(f"{i % 2},{5 + i % 2},{8 - 4 * (i % 2)}\n" for i in range(500))


def test_columns_by_a_pattern(tmp_path, capsys):
    (tmp_path / "data.csv").write_text("x,stock_2,stock_1\n" + STOCK)
    assert run(tmp_path, "--losses", "stock*") == 0
    assert "2 actions: stock_2, stock_1" in capsys.readouterr().out  # in the order of the file
    assert run(tmp_path, "--losses", "stock_1,stock*", "--features", "[x]") == 0
    assert "2 actions: stock_1, stock_2" in capsys.readouterr().out
    (tmp_path / "data.csv").write_text("x,stock*,stock_1\n" + STOCK)
    assert run(tmp_path, "--losses", "stock*,stock_1") == 0  # the column of that very name
    assert "2 actions: stock*, stock_1" in capsys.readouterr().out
    assert run(tmp_path, "--losses", "shelf*") == 2
    text = "`--losses` must name a column of the file (x, stock*, stock_1), got 'shelf*'"
    assert text in capsys.readouterr().err


def test_rewards(tmp_path, capsys):
    (tmp_path / "data.csv").write_text("x,cheap,dear\n" + STOCK)
    turned = "".join(f"{i % 2},{-5 - i % 2},{4 * (i % 2) - 8}\n" for i in range(500))
    (tmp_path / "rewards.csv").write_text("x,cheap,dear\n" + turned)
    p, q = tmp_path / "p.csv", tmp_path / "q.csv"
    assert run(tmp_path, "--losses", "cheap,dear", "--predictions", str(p)) == 0
    losses = capsys.readouterr().out
    asked = ["--rewards", "cheap,dear", "--predictions", str(q)]
    assert run(tmp_path, *asked, data="rewards.csv") == 0
    rewards = capsys.readouterr().out
    assert final(rewards, "average reward") == -final(losses)
    assert final(rewards, "best constant action") == -5.5
    assert "average loss" not in rewards
    assert p.read_text() == q.read_text()
    for forms in (["--reward-range", "-8", "-4"], ["--loss-range", "-8,-4"]):
        assert run(tmp_path, *asked, *forms, data="rewards.csv") == 0
        assert final(capsys.readouterr().out, "average reward") == final(rewards, "average reward")


def test_seeds(tmp_path, capsys):
    write(tmp_path)
    alone = []
    for seed in ("3", "4", "5"):
        assert run(tmp_path, "--label", "topic", "--seed", seed) == 0
        alone.append(final(capsys.readouterr().out))
    assert run(tmp_path, "--label", "topic", "--seed", "3", "--seeds", "3") == 0
    text = capsys.readouterr().out
    assert final(text) == pytest.approx(np.mean(alone), abs=1e-6)
    spread = re.search(r"^average loss .* \+- ([\d.]+) over 3 seeds$", text, flags=re.MULTILINE)
    assert float(spread[1]) == pytest.approx(np.std(alone, ddof=1), abs=1e-6)


def test_json_and_nothing_else(tmp_path, capsys):
    write(tmp_path, 300)
    assert run(tmp_path, "--label", "topic", "--save", str(tmp_path / "m.npz")) == 0
    printed = capsys.readouterr().out
    arguments = ["--label", "topic", "--json", "--seeds", "2", "--metric-window", "100"]
    assert run(tmp_path, *arguments) == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert captured.err == ""
    assert found["examples"] == 300
    assert found["rows_skipped"] == 0
    assert found["by_seed"][0] == pytest.approx(final(printed), abs=1e-6)
    assert found["average_loss"] == pytest.approx(np.mean(found["by_seed"]))
    assert found["deviation"] == pytest.approx(np.std(found["by_seed"], ddof=1))
    assert found["best_constant_action"]["action"] in "xyz"
    assert found["actions"] == ["x", "y", "z"]
    assert found["graph"] == "bandit(n_actions=3)"
    assert [(w["from"], w["to"]) for w in found["windows"]] == [(1, 100), (101, 200), (201, 300)]
    mean = np.mean([window["mean"] for window in found["windows"]])
    assert mean == pytest.approx(found["by_seed"][0])


def test_metric_window(tmp_path, capsys):
    write(tmp_path, 250)
    out = tmp_path / "p.csv"
    asked = ["--label", "topic", "--metric-window", "100", "--predictions", str(out)]
    assert run(tmp_path, *asked) == 0
    text = capsys.readouterr().out
    labels = [row["topic"] for row in table_of(tmp_path / "data.csv")]
    losses = np.array([r["action"] != y for r, y in zip(table_of(out), labels, strict=True)])
    table = [line.split() for line in text.splitlines() if re.match(r"\d\.\d{6} ", line)]
    assert [int(line[2]) for line in table] == [100, 200]
    assert float(table[1][1]) == pytest.approx(losses[100:200].mean(), abs=1e-6)


MESSY = [f"{i % 5},{'red' if i % 2 else 'blue'},{'xy'[i % 2]}\n" for i in range(200)]


def test_it_says_what_it_made_of_the_file(tmp_path, capsys):
    rows = list(MESSY)
    rows[6], rows[9], rows[11] = "n/a,red,x\n", "12kB,,y\n", "about 3,blue,x\n"
    (tmp_path / "data.csv").write_text("size,colour,y\n" + "".join(rows))
    assert run(tmp_path, "--label", "y") == 0
    text = capsys.readouterr().out
    assert "features: 1 number (size), 1 category (colour)" in text
    odd = "data.csv, line 11: the column 'size' holds numbers, but '12kB' is none: it counts as"
    assert text.count(odd) == 1
    assert "missing values       = 4 (size 3, colour 1)" in text
    assert "examples             = 200" in text
    assert run(tmp_path, "--label", "y", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["features"] == [
        {"name": "size", "kind": "number", "missing": 3, "odd": 2},
        {"name": "colour", "kind": "category", "missing": 1, "odd": 0},
    ]
    assert odd in found["warnings"][0]


def test_an_odd_cell_after_the_first_look_is_reported_in_the_end(tmp_path, capsys):
    (tmp_path / "data.csv").write_text("size,colour,y\n" + "".join(MESSY) * 51 + "3kB,red,x\n")
    assert run(tmp_path, "--label", "y") == 0
    text = capsys.readouterr().out
    assert "line 10202: the column 'size' holds numbers, but '3kB' is none" in text
    assert text.index("finished run") < text.index("'3kB'")


def test_hints(tmp_path, capsys):
    (tmp_path / "data.csv").write_text("size;colour;y\n" + "".join(MESSY).replace(",", ";"))
    assert run(tmp_path, "--label", "y") == 2
    assert "--delimiter ';'" in capsys.readouterr().err
    (tmp_path / "data.csv").write_text("".join(MESSY))
    assert run(tmp_path, "--label", "x") == 0 or "--no-header" in capsys.readouterr().err


def test_one_graph_per_row(tmp_path, capsys):
    rows = "".join(f"{i % 2},{'ab'[i % 2]},{('a>a b>b', 'a>a a>b')[i % 3 == 0]}\n"
                   for i in range(600))  # fmt: skip
    (tmp_path / "data.csv").write_text("x,y,shows\n" + rows)
    assert run(tmp_path, "--label", "y", "--edges", "shows") == 0
    text = capsys.readouterr().out
    assert "graph: one per row" in text
    assert final(text) < 0.2


@pytest.mark.parametrize(
    ("name", "lines", "arguments"),
    [
        ("d.svm", ["1 1:1 5:2", "2 2:1 5:2"], []),
        ("d.libsvm", ["1,3 1:1 5:2", "2,3 2:1 5:2"], ["--classes", "1,2,3,4"]),
        ("d.vw", ["1:0 2:1 |f left size:3", "1:1 2:0 |f right size:3"], []),
    ],
)
def test_sparse_formats(tmp_path, capsys, name, lines, arguments):
    (tmp_path / name).write_text("\n".join(lines * 300))
    assert run(tmp_path, *arguments, data=name) == 0
    assert final(capsys.readouterr().out) < 0.15


def test_the_standard_input(tmp_path, capsys, monkeypatch):
    write(tmp_path)
    assert run(tmp_path, "--label", "topic") == 0
    file = final(capsys.readouterr().out)
    monkeypatch.setattr(sys, "stdin", io.StringIO((tmp_path / "data.csv").read_text()))
    assert main(["run", "-", "--label", "topic"]) == 0
    assert final(capsys.readouterr().out) == file


def test_the_figure_has_the_three_curves(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    write(tmp_path, 1500)
    out = tmp_path / "curve.svg"
    assert run(tmp_path, "--label", "topic", "--plot", str(out)) == 0
    text = capsys.readouterr().out
    assert f"figure: {out}" in text
    assert final(text, "full information") < final(text)
    assert "<svg" in out.read_text()
    assert run(tmp_path, "--label", "topic", "--graph", "full-information", "--plot", str(out)) == 0
    text = capsys.readouterr().out
    assert final(text, "full information") == final(text)  # the same learner, graph and draws


def test_bad_rows_are_skipped_and_counted_when_asked(tmp_path, capsys):
    lines = write(tmp_path, 50)
    bad = ["1,2,3,red,\n", "1,2,3,red\n", "inf,2,3,red,y\n", "1,2,3,red,w\n"]
    (tmp_path / "bad.csv").write_text(HEADER + "".join(lines[:30] + bad + lines[30:]))
    classes = ["--label", "topic", "--classes", "x,y,z"]
    model = ["--save", str(tmp_path / "m.npz")]
    (tmp_path / "clean.csv").write_text(HEADER + "".join(lines[:30]))
    assert run(tmp_path, *classes, *model, data="clean.csv") == 0
    (tmp_path / "rest.csv").write_text(HEADER + "".join(bad + lines[30:]))
    load = ["--load", str(tmp_path / "m.npz")]
    capsys.readouterr()
    assert run(tmp_path, *load, data="rest.csv") == 2
    assert "rest.csv, line 2: the label is missing" in capsys.readouterr().err
    assert run(tmp_path, *load, "--on-error", "skip", data="rest.csv") == 0
    skipped = capsys.readouterr().out
    assert "rows skipped         = 4" in skipped
    assert "rest.csv, line 4: the value of 'a' must be a finite number, got 'inf'" in skipped
    assert "skipped: 1 more" in skipped
    assert run(tmp_path, *classes) == 0
    assert final(capsys.readouterr().out) == final(skipped)


def test_a_run_that_fails_leaves_old_files_as_they_were(tmp_path, capsys):
    write(tmp_path, 5000)
    with (tmp_path / "data.csv").open("a") as file:
        file.write("1,2,inf,red,x\n")
    for name in ("p.csv", "m.npz", "f.png"):
        (tmp_path / name).write_text("old")
    before = sorted(p.name for p in tmp_path.iterdir())
    outputs = ["--predictions", str(tmp_path / "p.csv"), "--save", str(tmp_path / "m.npz"),
               "--plot", str(tmp_path / "f.png"), "--force"]  # fmt: skip
    assert run(tmp_path, "--label", "topic", *outputs) == 2
    assert "line 5002: the value of 'c' must be a finite" in capsys.readouterr().err
    assert sorted(p.name for p in tmp_path.iterdir()) == before
    assert {(tmp_path / name).read_text() for name in ("p.csv", "m.npz", "f.png")} == {"old"}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            ["--label", "nothing"],
            "`--label` must name a column of the file (a, b, c, colour, topic",
        ),
        ([], "give either --label COLUMN or --losses"),
        (
            ["--label", "topic", "--oracle", "deep"],
            "`--oracle` must be one of default, logistic, linear",
        ),
        (["--label", "topic", "--oracle", "ridge"], "`--oracle ridge` is for columns of numbers"),
        (
            ["--label", "topic", "--features", "a", "--oracle", "ridge", "--learning-rate", "1"],
            "`--learning-rate` must not be given with --oracle ridge",
        ),
        (["--label", "topic", "--graph", "inventory:4"], "must have 3 actions, one for each of x"),
        (["--label", "topic", "--graph", "g.csv"], "`graph` must name an existing file"),
        (["--label", "topic", "--graph", "bandit", "--edges", "c"], "either --graph or --edges"),
        (["--label", "topic", "--gamma", "-1"], "`gamma` must be a positive finite number"),
        (["--label", "topic", "--method", "guess"], "`method` must be"),
        (["--label", "topic", "--seed", "-1"], "`--seed` must be at least 0, got -1"),
        (["--label", "topic", "--delimiter", "ab"], "`--delimiter` must be one character"),
        (
            ["--label", "topic", "--oracle", "adagrad", "--learning-rate", "1.7e308"],
            "data.csv, line 2 or later: the predictions are no longer finite: the steps diverge",
        ),
        (["--label", "topic", "--save", "no/m.npz"], "`--save` must be in an existing folder"),
        (["--label", "topic", "--plot", "."], "`--plot` must name a file, got ."),
        (["--label", "topic", "--seeds", "0"], "`--seeds` must be at least 1, got 0"),
        (["--label", "topic", "--metric-window", "0"], "`--metric-window` must be at least 1"),
        (
            ["--label", "topic", "--seeds", "2", "--save", "n.npz"],
            "`--save` must not be given with --seeds: it is for one run",
        ),
        (["--losses", "a,b", "--rewards", "a,b"], "give either --losses or --rewards, got both"),
        (["--load", "m.npz", "--rewards", "a,b"], "`--rewards` must not be given with --load"),
        (["--load", "m.npz", "--plot", "p.png"], "`--plot` must not be given with --load"),
        (["--load", "m.npz", "--label", "y"], "`--label` must not be given with --load: the model"),
        (["--load", "m.npz", "--loss-range", "0,1"], "`--loss-range` must not be given with"),
        (["--load", "m.npz"], "m.npz: not a file written by graphcb.save, or damaged"),
        (["--load", "oracle.npz"], "must be a model written by `graphcb run --save`, got a Linear"),
    ],
)
def test_mistakes_end_with_a_message_and_code_2(tmp_path, monkeypatch, capsys, arguments, text):
    write(tmp_path, 20)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.npz").write_text("no model")
    graphcb.save(graphcb.oracles.LinearOGD(2, 2), tmp_path / "oracle.npz")
    assert main(["run", "data.csv", *arguments]) == 2
    assert text in capsys.readouterr().err


def test_a_range_that_is_none(tmp_path, capsys):
    write(tmp_path, 20)
    with pytest.raises(SystemExit):
        run(tmp_path, "--losses", "a,b", "--loss-range", "5")
    error = capsys.readouterr().err
    assert "--loss-range/--reward-range: must be two numbers LOW,HIGH; got '5'" in error
    assert len(error.splitlines()) == 1


def test_a_graph_file_of_the_wrong_size(tmp_path, capsys):
    write(tmp_path, 20)
    (tmp_path / "g.csv").write_text("1,1\n0,1\n")
    assert run(tmp_path, "--label", "topic", "--graph", str(tmp_path / "g.csv")) == 2
    assert "must have 3 actions, one for each of x, y, z; got 2" in capsys.readouterr().err


def test_a_model_of_another_version(tmp_path, capsys, monkeypatch):
    write(tmp_path, 20)
    model = str(tmp_path / "m.npz")
    monkeypatch.setattr("graphcb.saving.FORMAT", 99)
    assert run(tmp_path, "--label", "topic", "--save", model) == 0
    monkeypatch.undo()
    assert run(tmp_path, "--load", model) == 2
    assert "m.npz: must have format 1, got 99; it was written by another" in capsys.readouterr().err


def test_a_file_without_rows(tmp_path, capsys):
    (tmp_path / "data.csv").write_text("x,y\n")
    assert run(tmp_path, "--label", "y", "--classes", "a,b") == 2
    assert "must have at least one row that can be used, got none" in capsys.readouterr().err


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path, capsys):
    lines = write(tmp_path, 4000)
    assert run(tmp_path, "--label", "topic") == 0  # what is imported and compiled is not counted
    peaks = []
    for times in (3, 9):
        (tmp_path / "long.csv").write_text(HEADER)
        with (tmp_path / "long.csv").open("a") as file:
            for _ in range(times):
                file.writelines(lines)
        gc.collect()  # empties the interpreter's lists of free tuples, 0.7 MB, for both alike
        tracemalloc.start()
        assert run(tmp_path, "--label", "topic", "--predictions", str(tmp_path / "p.csv"),
                   data="long.csv") == 0  # fmt: skip
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.02 * peaks[0]


def test_shuffle_is_seeded_and_keeps_the_lines(tmp_path, capsys):
    lines = write(tmp_path, 300)
    (tmp_path / "data.csv").write_text(HEADER + "".join(sorted(lines, key=lambda x: x[-2])))
    found = {}
    for seed in ("0", "0", "1"):
        out = tmp_path / "p.csv"
        asked = ["--label", "topic", "--shuffle", "--seed", seed, "--predictions", str(out)]
        assert run(tmp_path, *asked) == 0
        rows = table_of(out)
        assert found.setdefault(seed, rows) == rows
        assert sorted(int(row["line"]) for row in rows) == list(range(2, 302))
    assert [r["line"] for r in found["0"]] != [r["line"] for r in found["1"]]
    assert [int(r["line"]) for r in found["0"]] != list(range(2, 302))
    capsys.readouterr()


def test_shuffled_rows_are_those_of_a_shuffled_file(tmp_path, capsys):
    """Also with quotes, which another reader reads, missing cells, and more than one batch."""
    lines = write(tmp_path, 5000)
    lines[7] = '1.5,2.5,3.5,"red, or so",x\n'
    lines[4500] = "1.5,,3.5,red,y\n"
    (tmp_path / "data.csv").write_text(HEADER + "".join(lines))
    p, q = tmp_path / "p.csv", tmp_path / "q.csv"
    assert run(tmp_path, "--label", "topic", "--shuffle", "--predictions", str(p)) == 0
    order = [int(row["line"]) for row in table_of(p)]
    (tmp_path / "other.csv").write_text(HEADER + "".join(lines[line - 2] for line in order))
    assert run(tmp_path, "--label", "topic", "--predictions", str(q), data="other.csv") == 0
    played = [[(r["action"], r["probability"]) for r in table_of(out)] for out in (p, q)]
    assert played[0] == played[1]


@pytest.mark.parametrize("name", ["d.svm", "d.jsonl", "d.parquet"])
def test_every_format_can_be_shuffled(tmp_path, capsys, name):
    if name == "d.svm":
        rows = [f"{i % 2} 1:{i % 2} 2:{i}\n" for i in range(50)]
        (tmp_path / name).write_text("".join(rows))
    elif name == "d.jsonl":
        rows = [json.dumps({"x": i, "y": "ab"[i % 2]}) + "\n" for i in range(50)]
        (tmp_path / name).write_text("".join(rows))
    else:
        parquet = pytest.importorskip("pyarrow.parquet")
        import pyarrow

        columns = {"x": list(range(50)), "y": ["ab"[i % 2] for i in range(50)]}
        parquet.write_table(pyarrow.table(columns), tmp_path / name)
    out = tmp_path / "p.csv"
    label = [] if name == "d.svm" else ["--label", "y"]
    assert run(tmp_path, *label, "--shuffle", "--predictions", str(out), data=name) == 0
    lines = [int(row["line"]) for row in table_of(out)]
    assert sorted(lines) == list(range(1, 51))
    assert lines != sorted(lines)


def test_standard_input_cannot_be_shuffled(capsys):
    assert main(["run", "-", "--label", "y", "--shuffle"]) == 2
    assert "`--shuffle` must be given with a file" in capsys.readouterr().err


def test_bad_rows_of_a_shuffled_file_are_named_by_their_lines(tmp_path, capsys):
    lines = write(tmp_path, 50)
    (tmp_path / "data.csv").write_text(HEADER + "".join(lines) + "inf,1,1,red,x\n1,2\n")
    assert run(tmp_path, "--label", "topic", "--shuffle", "--on-error", "skip") == 0
    text = capsys.readouterr().out
    assert "rows skipped         = 2" in text
    assert "data.csv, line 52: the value of 'a' must be a finite number" in text
    assert "data.csv, line 53: must have 5 cells" in text


PROBLEM = """
[problem]
name = "fraud review"
actions = ["approve", "review"]
feedback = "rewards"
range = [-50.0, 20.0]
[reveals]
all = ["review"]
[features]
amount = "number"
country = "category"
"""


@pytest.fixture
def fraud(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = "".join(
        f"{i},{a:.2f},{'DE' if a > 0 else 'FR'},{20.0 if a > 0 else -50.0},-2.0\n"
        for i, a in enumerate(rng.normal(size=400))
    )
    (tmp_path / "data.csv").write_text("id,amount,country,approve,review\n" + rows)
    (tmp_path / "problem.toml").write_text(PROBLEM)
    return tmp_path


def test_a_problem_says_what_the_options_would(fraud, capsys):
    assert run(fraud, "--problem", "problem.toml", "--save", "m.npz") == 0
    text = capsys.readouterr().out
    assert "2 actions: approve, review" in text
    assert "graph: apple_tasting(n_actions=2, revealing_action=1)" in text
    assert "features: 1 number (amount), 1 category (country)" in text
    assert final(text, "average reward") > 7.0
    learner = graphcb.load("m.npz")
    assert learner.problem == graphcb.Problem.read("problem.toml")
    assert learner.act({"amount": 1.0, "country": "DE"}).argmax() == 0
    asked = ["--rewards", "approve,review", "--reward-range", "-50,20", "--features",
             "amount,country", "--graph", "apple-tasting:2,1"]  # fmt: skip
    (fraud / "g.csv").write_text("0,0\n1,1\n")
    asked[-1] = "g.csv"
    assert run(fraud, *asked) == 0
    assert final(capsys.readouterr().out, "average reward") == final(text, "average reward")
    assert run(fraud, "--load", "m.npz") == 0


def test_without_a_range_it_is_what_the_file_spans(fraud, capsys):
    assert run(fraud, "--problem", "problem.toml") == 0
    text = capsys.readouterr().out
    (fraud / "problem.toml").write_text(PROBLEM.replace("range = [-50.0, 20.0]", ""))
    assert run(fraud, "--problem", "problem.toml", "--save", "m.npz") == 0
    assert final(capsys.readouterr().out, "average reward") == final(text, "average reward")
    assert graphcb.load("m.npz").problem.range == (-50.0, 20.0)


def test_a_problem_without_features_and_with_labels(fraud, capsys):
    text = PROBLEM.partition("[features]")[0].replace("range = [-50.0, 20.0]", "")
    (fraud / "problem.toml").write_text(text)
    rows = "".join(f"{i % 2},{('approve', 'review')[i % 2]}\n" for i in range(50))
    (fraud / "data.csv").write_text("x,right\n" + rows)
    assert run(fraud, "--problem", "problem.toml", "--label", "right", "--save", "m.npz") == 0
    text = capsys.readouterr().out
    assert "features: 1 number (x)" in text
    assert final(text, "average reward") > 0.8
    assert graphcb.load("m.npz").problem.features == {"x": "number"}


@pytest.mark.parametrize(
    ("change", "arguments", "text"),
    [
        (("", ""), ["--graph", "bandit"], "`--graph` must not be given with --problem, which says"),
        (("", ""), ["--loss-range", "0,1"], "`--loss-range` must not be given with --problem"),
        (("", ""), ["--edges", "country"], "`--edges` must not be given: this problem has one"),
        (("", ""), ["--label", "country"], "labels are for problems with the range 0 to 1"),
        (('"review"]\nfeed', '"ask"]\nfeed'), [], "problem.toml: "),
        (('all = ["review"]', "each_round = true"), [], "`--edges` must name a column: in this"),
        (
            ('["approve", "review"]', '"each round"'),
            [],
            "problem.toml: `reveals` must be a family",
        ),
        (("-50.0", "-40.0"), [], "the reward of 'approve' must be between -40 and 20, got -50"),
        (("amount", "price"), [], "`--features` must name a column of the file"),
    ],
)
def test_mistakes_with_a_problem(fraud, capsys, change, arguments, text):
    (fraud / "problem.toml").write_text(PROBLEM.replace(*change))
    assert run(fraud, "--problem", "problem.toml", *arguments) == 2
    assert text in capsys.readouterr().err


def test_the_problem_is_an_input(fraud, capsys):
    arguments = ["--problem", "problem.toml", "--save", "problem.toml", "--force"]
    assert run(fraud, *arguments) == 2
    assert "problem.toml is the problem" in capsys.readouterr().err


def test_steps_that_diverge_with_another_seed(tmp_path, capsys, monkeypatch):
    from graphcb.experiments.comparison import Comparison

    def diverge(*_):
        raise FloatingPointError("the predictions are no longer finite")

    monkeypatch.setattr(Comparison, "add", diverge)
    write(tmp_path, 20)
    assert run(tmp_path, "--label", "topic", "--seeds", "2") == 2
    assert capsys.readouterr().err == "graphcb: the predictions are no longer finite\n"


def test_a_value_that_looks_like_a_code_for_missing_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    ages = np.where(rng.random(300) < 0.03, -999, rng.integers(20, 60, 300))
    rows = "".join(f"{age},{age + 0.5},{'ab'[age > 40]}\n" for age in ages.tolist())
    rows = rows.replace("-998.5", "35.5")
    (tmp_path / "data.csv").write_text(f"age,other,right\n{rows}")
    assert run(tmp_path, "--label", "right") == 0
    said = "the feature 'age' was -999 more than once, far from all its other values"
    out = capsys.readouterr().out
    assert f"warning: {said}: if that stands for missing, leave it empty" in out
    assert "the feature 'other'" not in out
    assert run(tmp_path, "--label", "right", "--json") == 0
    (text,) = json.loads(capsys.readouterr().out)["warnings"]
    assert text.startswith(said)


def test_the_index_that_to_csv_writes_is_left_out_with_a_note(tmp_path, capsys):
    rows = write(tmp_path, 50)
    text = "," + HEADER + "".join(f"{n},{row}" for n, row in enumerate(rows))
    (tmp_path / "indexed.csv").write_text(text)
    assert run(tmp_path, "--label", "topic") == 0
    plain = final(capsys.readouterr().out)
    assert run(tmp_path, "--label", "topic", data="indexed.csv") == 0
    out = capsys.readouterr().out
    assert final(out) == plain
    assert "hint: a column without a name is left out, such as the index that to_csv writes" in out


def test_a_misspelt_column_is_guessed(tmp_path, capsys):
    write(tmp_path, 50)
    assert run(tmp_path, "--label", "Topik") == 2
    assert "got 'Topik'; did you mean 'topic'?" in capsys.readouterr().err


def test_decimal_commas_and_another_encoding(tmp_path, capsys):
    rows = [f"{n % 7},5;{n}.000;{'größer' if n % 7 > 3 else 'klein'}\n" for n in range(1, 200)]
    (tmp_path / "german.csv").write_text("x;n;label\n" + "".join(rows), encoding="cp1252")
    options = ("--label", "label", "--delimiter", ";")
    assert run(tmp_path, *options, data="german.csv") == 2
    assert "another encoding is named with --encoding, such as cp1252" in capsys.readouterr().err
    assert run(tmp_path, *options, "--encoding", "latin-17", data="german.csv") == 2
    assert "`--encoding` must be one that Python knows" in capsys.readouterr().err
    options += ("--encoding", "cp1252")
    assert run(tmp_path, *options, data="german.csv") == 0
    out = capsys.readouterr().out
    assert "hint: the column 'x' looks like numbers with a decimal comma: --decimal ," in out
    assert run(tmp_path, *options, "--decimal", ",", data="german.csv") == 0
    out = capsys.readouterr().out
    assert "features: 2 numbers (x, n)" in out
    assert final(out) < 0.2
    assert run(tmp_path, *options, "--decimal", ";", data="german.csv") == 2
    assert "`--decimal` must be one of ., ,; got ';'" in capsys.readouterr().err


def test_a_column_of_dates_and_what_is_none(tmp_path, capsys):
    days = [f"2024-{1 + n // 28:02d}-{1 + n % 28:02d}" for n in range(28 * 12)]
    rows = [f"{day},{'open' if int(day[5:7]) % 12 < 6 else 'closed'}\n" for day in days]
    rows[5] = "soon,open\n"
    (tmp_path / "days.csv").write_text("day,door\n" + "".join(rows))
    assert run(tmp_path, "--label", "door", "--shuffle", data="days.csv") == 0
    out = capsys.readouterr().out
    assert "features: 1 time (day)" in out
    assert "line 7: the column 'day' holds times, but 'soon' is none: it counts as missing" in out
    assert final(out) < 0.15
    assert final(out, "best constant action") > 0.4


def test_dates_that_are_not_read_are_named(tmp_path, capsys):
    rows = [f"{1 + n % 28}.{1 + n % 12}.2024,{n % 2}\n" for n in range(100)]
    (tmp_path / "days.csv").write_text("day,door\n" + "".join(rows))
    assert run(tmp_path, "--label", "door", data="days.csv") == 0
    out = capsys.readouterr().out
    assert "hint: the column 'day' looks like dates, which are read as words; write them as" in out


def test_vw_text_of_several_classes(tmp_path, capsys):
    rows = [f"{1 + n % 3} |w {['free', 'good', 'dear'][n % 3]}\n" for n in range(150)]
    (tmp_path / "words.vw").write_text("".join(rows))
    assert run(tmp_path, data="words.vw") == 0
    out = capsys.readouterr().out
    assert "3 actions: 1, 2, 3" in out
    assert final(out) < 0.2
    assert run(tmp_path, "--loss-range", "0,2", data="words.vw") == 2
    assert "`--loss-range` is for losses in the file" in capsys.readouterr().err
    (tmp_path / "words.vw").write_text("".join(rows) + "1:0 2:0.5 3:1 |w free\n")
    assert run(tmp_path, data="words.vw") == 0  # costs for one line alone are as good
    (tmp_path / "words.vw").write_text("".join(rows) + "1:0 2:0.5 |w free\n")
    assert run(tmp_path, data="words.vw") == 2
    assert "line 151: there must be a cost for each of 1, 2, 3" in capsys.readouterr().err


def test_the_agent_can_be_chosen(tmp_path, capsys):
    write(tmp_path, 100)
    found = {}
    for agent in ("greedy", "epsilon-greedy", "squarecbg", "information-directed"):
        assert run(tmp_path, "--label", "topic", "--agent", agent) == 0
        found[agent] = final(capsys.readouterr().out)
    assert len(set(found.values())) > 1
    assert run(tmp_path, "--label", "topic") == 0
    assert final(capsys.readouterr().out) == found["information-directed"]
    assert run(tmp_path, "--label", "topic", "--agent", "greedy", "--seeds", "2") == 0
    assert "with each of 2 seeds: no draw made a difference" in capsys.readouterr().out
    for wrong, text in (
        (("--agent", "thompson"), "`--agent` must be one of information-directed, squarecbg"),
        (("--agent", "greedy", "--gamma", "3"), "`--gamma` must not be given with --agent greedy"),
        (("--agent", "information-directed", "--oracle", "linear"), "needs an oracle that says"),
    ):
        assert run(tmp_path, "--label", "topic", *wrong) == 2
        assert text in capsys.readouterr().err


def write_counts(folder, n_rows=240, *, seed=0):
    """Rows with a few of 120 counts of words, a category at times, and a label."""
    rng, rows = np.random.default_rng(seed), []
    for _ in range(n_rows):
        topic = int(rng.integers(3))
        counts = rng.poisson(np.where(np.arange(120) % 3 == topic, 0.3, 0.03))
        row = {f"w{i}": int(count) for i, count in enumerate(counts) if count}
        row |= {"colour": str(rng.choice(["red", "blue"]))} if rng.random() < 0.7 else {}
        rows.append(json.dumps(row | {"topic": "xyz"[topic]}) + "\n")
    (folder / "data.jsonl").write_text("".join(rows))
    return rows


def test_rows_that_lack_most_numbers_are_learned_stopped_and_predicted(tmp_path, capsys):
    rows = write_counts(tmp_path)
    wide = json.dumps({f"w{i}": 1 for i in range(120)} | {"colour": "red", "topic": "x"}) + "\n"
    (tmp_path / "one.jsonl").write_text("".join(rows[:150]))
    (tmp_path / "two.jsonl").write_text("".join(rows[150:]))
    p, whole, model = (str(tmp_path / name) for name in ("p.csv", "all.npz", "m.npz"))
    asked = ["--label", "topic", "--predictions", p]
    assert run(tmp_path, *asked, "--save", whole, data="data.jsonl") == 0
    said = capsys.readouterr().out
    assert "hint: rows lack most of many numbers: one that is not there is 0" in said
    assert re.search(r"^missing values       = \d\d \(colour \d\d\)$", said, flags=re.MULTILINE)
    assert final(said) < 0.4
    expected = [row["probability"] for row in table_of(tmp_path / "p.csv")]
    assert run(tmp_path, *asked, "--save", model, data="one.jsonl") == 0
    parts = [row["probability"] for row in table_of(tmp_path / "p.csv")]
    load = ["--load", model, "--predictions", p, "--save", model]
    assert run(tmp_path, *load, data="two.jsonl") == 0
    assert parts + [row["probability"] for row in table_of(tmp_path / "p.csv")] == expected
    with np.load(whole) as one, np.load(model) as other:
        for name in one:
            np.testing.assert_array_equal(one[name], other[name])
    capsys.readouterr()
    (tmp_path / "new.jsonl").write_text("".join(rows[:60]) + wide)
    assert main(["predict", model, str(tmp_path / "new.jsonl"), "--out", p]) == 0
    right = [row["action"] == json.loads(text)["topic"]
             for row, text in zip(table_of(tmp_path / "p.csv"), rows, strict=False)]  # fmt: skip
    assert np.mean(right) > 0.8


def test_declared_numbers_stay_declared_if_rows_lack_most_of_them(tmp_path, capsys):
    write_counts(tmp_path, 60)
    assert run(tmp_path, "--label", "topic", "--oracle", "logistic", data="data.jsonl") == 0
    assert run(tmp_path, "--label", "topic", "--oracle", "ridge", data="data.jsonl") == 2
    assert "`--oracle ridge` is for columns of numbers only, of which" in capsys.readouterr().err
    features = {f"w{i}": "number?" for i in range(120)} | {"colour": "category?"}
    graphcb.Problem(["x", "y", "z"], range=(0, 1), features=features).write(tmp_path / "p.toml")
    for asked in (["--problem", str(tmp_path / "p.toml")], ["--categorical", "colour"]):
        assert run(tmp_path, "--label", "topic", *asked, data="data.jsonl") == 0
        said = capsys.readouterr().out
        assert "hint" not in said
        assert re.search(r"^missing values       = \d,\d{3} \(w", said, flags=re.MULTILINE)
