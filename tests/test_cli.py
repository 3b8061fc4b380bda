import subprocess
import sys

import numpy as np
import pytest

from graphcb.cli import main


def test_inspect_a_family(tmp_path, capsys):
    out = tmp_path / "picture.png"
    assert main(["inspect", "apple-tasting:4", "--out", str(out)]) == 0
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "observability weak, because of actions 1, 2, 3" in text
    assert "independence number 3" in text
    assert "weak domination number 1" in text
    assert "closed form none" in text
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
    assert "closed form none: SquareCB.G refuses a graph it cannot learn from" in text


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
        (["inspect", "no.csv"], "graphcb: `graph` must name a file that is there, got 'no.csv'"),
        (["inspect", "cops-and-robbers:1"], "`n_actions` must be at least 2, got 1"),
        (["reproduce", "figure-9"], "`FIGURE` must be one of inventory-fixed, inventory-adaptive"),
    ],
)
def test_mistakes_end_with_a_message_and_code_2(arguments, text, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert text in capsys.readouterr().err


def test_reproduce_writes_a_table_a_figure_and_what_holds(tmp_path, capsys, monkeypatch):
    from dataclasses import replace

    from graphcb.experiments import inventory

    short = {
        name: replace(e, learning_rates=(0.05,), cs=(4.0,), seeds=(0, 1), n_rounds=300)
        for name, e in inventory.EXPERIMENTS.items()
    }
    monkeypatch.setattr(inventory, "EXPERIMENTS", short)
    assert main(["reproduce", "all", "--out", str(tmp_path / "new"), "--jobs", "1"]) == 0
    text = capsys.readouterr().out
    for name in ("inventory-fixed", "inventory-adaptive"):
        assert f"{name}: progressive validation loss" in text
        assert (tmp_path / "new" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        table = np.genfromtxt(tmp_path / "new" / f"{name}.csv", delimiter=",", names=True)
        assert table["round"].max() == 300
    assert text.count("SquareCB.G does not depend on K") == 1


def test_the_command_is_installed():
    done = subprocess.run(
        [sys.executable, "-m", "graphcb", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("graphcb ")
