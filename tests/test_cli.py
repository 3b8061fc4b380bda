import csv
import subprocess
import sys

import pytest

from graphcb import __version__
from graphcb.cli import main


def test_inspect_a_family(tmp_path, capsys):
    out = tmp_path / "picture.png"
    assert main(["inspect", "apple-tasting:4", "--out", str(out)]) == 0
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "observability weak, because of actions 1, 2, 3" in text
    assert "independence number 3" in text
    assert "weak domination number 1" in text
    assert "the optimum in closed form, exact to rounding: one action reveals everything" in text
    assert out.read_bytes().startswith(b"\x89PNG")


def test_inspect_takes_name_and_size_apart_too(capsys):
    assert main(["inspect", "inventory", "1000000", "--no-picture"]) == 0
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "actions 1,000,000" in text
    assert "closed form cover_levels" in text


def test_inspect_recognises_a_file(tmp_path, capsys):
    (tmp_path / "g.csv").write_text("0,1,1\n1,0,1\n1,1,0\n")
    out = tmp_path / "g.svg"
    assert main(["inspect", str(tmp_path / "g.csv"), "--out", str(out)]) == 0
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "family cops_and_robbers(n_actions=3)" in text
    assert "<svg" in out.read_text()


def test_inspect_an_unobservable_graph(tmp_path, capsys):
    (tmp_path / "g.csv").write_text("1,0\n1,0\n")
    assert main(["inspect", str(tmp_path / "g.csv"), "--no-picture"]) == 0
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "unobservable: nothing reveals action 1" in text
    assert "weak domination" not in text
    assert "explored by refused: no action reveals action 1" in text


def test_inspect_prints_bounds_when_time_runs_out(capsys):
    assert (
        main(["inspect", "random-self-aware:150,0.05", "--no-picture", "--time-limit", "0.01"]) == 0
    )
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "between" in text
    assert "(time ran out)" in text


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["inspect", "ring:4"], "graphcb: `graph` must be a family with its size"),
        (["inspect", "no.csv"], "graphcb: `graph` must name an existing file, got 'no.csv'"),
        (["inspect", "cops-and-robbers:1"], "`n_actions` must be at least 2, got 1"),
        (["reproduce", "spam", "--quick", "--seeds", "0"], "`--seeds` must be at least 1, got 0"),
        (["reproduce", "figure-9"], "`FIGURE` must be one of rcv1-graphs, rcv1-random"),
    ],
)
def test_mistakes_end_with_a_message_and_code_2(arguments, text, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert text in capsys.readouterr().err


SHORT = """
title = "Short"
seeds = 2
n_rounds = 300
[grid]
learning_rate = [0.05]
c = [2.0, 4.0]
[wide]
c = [8.0]
[problem]
kind = "synthetic-inventory"
levels = 11
[[lines]]
agent = "SquareCB.G"
name = "11 levels"
alpha = 1.0
[[lines]]
agent = "SquareCB"
name = "11 levels"
alpha = "n_actions"
[[claims]]
text = "SquareCB.G is better"
kind = "increasing"
lines = ["SquareCB.G, 11 levels", "SquareCB, 11 levels"]
[[claims]]
text = "SquareCB is better"
kind = "increasing"
lines = ["SquareCB, 11 levels", "SquareCB.G, 11 levels"]
"""


@pytest.fixture
def short(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("one", "two"):
        (tmp_path / f"{name}.toml").write_text(SHORT)
    return tmp_path


def test_reproduce_writes_a_table_a_figure_and_what_holds(short, capsys):
    assert main(["reproduce", "one.toml", "two.toml", "--out", "new", "--jobs", "1"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    for name in ("one", "two"):
        assert f"{name}: progressive validation loss" in text
        with (short / "new" / f"{name}.csv").open() as file:
            lines = list(csv.DictReader(file))
        assert max(int(line["round"]) for line in lines) == 300
        assert {line["version"] for line in lines} == {__version__}
        assert {line["data"] for line in lines} == {"drawn from the seed"}
    for name in ("one", "two", "panels"):
        assert (short / "new" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (short / "new" / f"{name}.pdf").read_bytes().startswith(b"%PDF")
    assert "holds: SquareCB.G is better" in text
    assert "DOES NOT HOLD: SquareCB is better" in text
    assert "16 runs, 4,800 rounds" in text
    assert "* at the end of the grid: a value beyond it may be better; try --wide" in text


def test_reproduce_goes_on_and_widens(short, capsys):
    arguments = ["reproduce", "one.toml", "--out", "new", "--jobs", "1"]
    assert main(arguments) == 0
    capsys.readouterr()
    assert main([*arguments, "--wide", "--seeds", "3"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "one: 8 runs were already finished" in text
    assert "18 runs" in text


def test_missing_data_is_said_with_both_ways_before_anything_runs(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("GRAPHCB_DATA", str(tmp_path / "nowhere"))
    arguments = ["reproduce", "inventory-fixed", "rcv1-graphs", "--out", str(tmp_path / "new")]
    assert main(arguments) == 2
    message = capsys.readouterr().err
    assert "which does not contain rcv1/rcv1_28k_X.npz" in message
    assert "fetch_rcv1" in message
    assert "--quick" in message
    assert not (tmp_path / "new").exists()


def test_the_command_is_installed():
    done = subprocess.run(
        [sys.executable, "-m", "graphcb", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("graphcb ")
