"""Nothing is destroyed: not the input, not another output, not a file of somebody else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import graphcb
from graphcb import Policy, SquareCBG, graphs
from graphcb.cli import main
from graphcb.commands.outputs import Output, check_outputs
from graphcb.oracles import LinearOGD

DATA = "x,y\n" + "".join(f"{i % 2},{'ab'[i % 2]}\n" for i in range(20))
RUN = ["run", "data.csv", "--label", "y"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text(DATA)
    return tmp_path


def refused(capsys, arguments, text):
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert text in captured.err
    assert captured.out == ""


@pytest.mark.parametrize("option", ["--save", "--predictions", "--plot"])
def test_the_input_is_never_overwritten(folder, capsys, option):
    (folder / "sub").mkdir()
    (folder / "symbolic.csv").symlink_to("data.csv")
    os.link("data.csv", "hard.csv")
    for name in ("data.csv", "./data.csv", "sub/../data.csv", "symbolic.csv", "hard.csv"):
        for force in ([], ["--force"]):
            text = f"`{option}` must not be the file that is read: {Path(name)} is the data"
            refused(capsys, [*RUN, option, name, *force], text)
    assert (folder / "data.csv").read_text() == DATA


def test_the_graph_and_the_loaded_model_are_inputs(folder, capsys):
    (folder / "g.csv").write_text("1,0\n0,1\n")
    refused(capsys, [*RUN, "--graph", "g.csv", "--save", "g.csv", "--force"], "g.csv is the graph")
    assert main([*RUN, "--save", "m.npz"]) == 0
    capsys.readouterr()
    again = ["run", "data.csv", "--load", "m.npz"]
    refused(capsys, [*again, "--predictions", "m.npz", "--force"], "m.npz is the model")
    assert main([*again, "--save", "m.npz"]) == 0  # it goes on, and so may its file


def test_outputs_are_not_each_other(folder, capsys):
    (folder / "old").write_text("")
    os.link("old", "same")
    for one, other in (("new", "new"), ("new", "./new"), ("new", "NEW"), ("old", "same")):
        arguments = [*RUN, "--save", one, "--predictions", other]
        refused(capsys, arguments, "`--predictions` and `--save` must be two files, got")
    assert sorted(path.name for path in folder.iterdir()) == ["data.csv", "old", "same"]


@pytest.mark.parametrize(
    ("option", "name", "what"),
    [
        ("--save", "m.npz", "model"),
        ("--predictions", "p.csv", "table of predictions"),
        ("--plot", "f.png", "picture"),
        ("--plot", "f.svg", "picture"),
        ("--plot", "f.pdf", "picture"),
    ],
)
def test_what_graphcb_wrote_is_replaced_and_nothing_else(folder, capsys, option, name, what):
    if option == "--plot":
        pytest.importorskip("matplotlib")
    (folder / name).write_text("a,b\n1,2\n")
    text = f"`{option}` must not overwrite {name}, which is no {what} that graphcb wrote"
    refused(capsys, [*RUN, option, name], text)
    assert (folder / name).read_text() == "a,b\n1,2\n"
    assert main([*RUN, option, name, "--force"]) == 0
    assert main([*RUN, option, name]) == 0  # its own, without --force
    (folder / name).write_text("")
    assert main([*RUN, option, name]) == 0  # nothing to lose


def test_a_model_of_graphcb_save_may_be_replaced_by_a_model(folder):
    graphcb.save(LinearOGD(2, 1), "m.npz")
    assert main([*RUN, "--save", "m.npz"]) == 0


def test_a_picture_must_have_a_format(folder, capsys):
    refused(capsys, [*RUN, "--plot", "f.txt"], "`--plot` must end in .png, .svg, .pdf, got f.txt")


def test_appending_the_output_to_the_input(folder):
    with (folder / "data.csv").open("a") as file:
        done = subprocess.run(
            [sys.executable, "-m", "graphcb", *RUN],
            stdout=file,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 2
    text = "graphcb: standard output must not be the file that is read: data.csv is the data\n"
    assert done.stderr == text
    assert (folder / "data.csv").read_text() == DATA


@pytest.fixture
def log(folder):
    agent = SquareCBG(LinearOGD(2, 1), gamma=5.0)
    with Policy("decisions.db", agent, seed=0, durability="process-kill") as policy:
        policy.decide([1.0], graphs.bandit(2))
    return folder / "decisions.db"


def test_a_log_is_never_overwritten(log, capsys):
    pytest.importorskip("pyarrow")
    before = log.read_bytes()
    for name in ("decisions.db", "./decisions.db"):
        text = "must not be the file that is read: decisions.db is the log"
        export = ["log", "export", "decisions.db", "--parquet", name]
        refused(capsys, [*export, "--force"], text)
        refused(capsys, ["replay", "decisions.db", "--save", name, "--force"], text)
    assert log.read_bytes() == before


def test_an_export_replaces_an_export(log, capsys):
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow

    export = ["log", "export", "decisions.db", "--parquet", "rows.parquet"]
    assert main(export) == 0
    assert main(export) == 0
    capsys.readouterr()
    parquet.write_table(pyarrow.table({"x": [1.0]}), "rows.parquet")
    refused(capsys, export, "`--parquet` must not overwrite rows.parquet, which is no export of a")
    assert parquet.read_table("rows.parquet").num_rows == 1
    (log.parent / "rows.parquet").write_text("text")
    refused(capsys, export, "`--parquet` must not overwrite rows.parquet")
    assert main([*export, "--force"]) == 0


def test_the_picture_of_a_graph_replaces_only_its_like(folder, capsys):
    pytest.importorskip("matplotlib")
    (folder / "graph.png").write_bytes(b"\x89PNG somebody's")
    refused(capsys, ["inspect", "bandit:3"], "`--out` must not overwrite graph.png")
    (folder / "graph.png").unlink()
    assert main(["inspect", "bandit:3"]) == 0
    assert main(["inspect", "bandit:3"]) == 0
    capsys.readouterr()
    (folder / "g.csv").write_text("1,0\n0,1\n")
    refused(capsys, ["inspect", "g.csv", "--out", "g.csv"], "must not be the file that is read")


SETTINGS = """
title = "Short"
seeds = 1
n_rounds = 50
[grid]
learning_rate = [0.05]
c = [2.0]
[problem]
kind = "synthetic-inventory"
levels = 11
[[lines]]
agent = "SquareCB.G"
name = "11 levels"
alpha = 1.0
"""


def test_reproduce_overwrites_results_alone(folder, capsys):
    (folder / "data.toml").write_text(SETTINGS)
    reproduce = ["reproduce", "data.toml", "--out", ".", "--jobs", "1"]
    (folder / "data.csv").unlink()
    for ending in (".csv", ".jsonl", ".png", ".pdf"):
        (folder / f"data{ending}").write_text(DATA)
        refused(capsys, reproduce, f"`data{ending}` must not overwrite data{ending}")
        assert (folder / f"data{ending}").read_text() == DATA
        (folder / f"data{ending}").unlink()
    assert main(reproduce) == 0
    assert main(reproduce) == 0
    capsys.readouterr()


def test_two_figures_of_one_name(folder, capsys):
    for name in ("one", "two"):
        (folder / name).mkdir()
        (folder / name / "mine.toml").write_text(SETTINGS.replace("Short", name))
    text = "each figure must have its own name, got two that write mine.jsonl"
    refused(capsys, ["reproduce", "one/mine.toml", "two/mine.toml", "--out", "new"], text)
    (folder / "file").write_text("")
    text = "`--out` must be a folder, got file"
    refused(capsys, ["reproduce", "one/mine.toml", "--out", "file"], text)


def test_a_file_on_a_disk_that_ignores_case(folder, monkeypatch):
    """There, another spelling of the input exists, and is the same file."""
    os.link("data.csv", "DATA.CSV")
    outputs = [Output("--save", Path("DATA.CSV"), "model")]
    with pytest.raises(ValueError, match=r"`--save` must not be the file that is read: DATA\.CSV"):
        check_outputs(outputs, {"the data": "data.csv"}, force=True)
