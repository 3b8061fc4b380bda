from dataclasses import replace

import pytest
from studies.prepared import _facts
from studies.streams import read_table
from studies.unknown_graphs import experiment as unknown_graphs
from study import main

SETTINGS = """
title = "small"
seeds = 2
[[contenders]]
name = "ours"
agent = "default"
[[contenders]]
name = "best constant action"
agent = "constant"
[streams]
"made/bandit" = { file = "generated", kind = "label", graph = "bandit", rows = 60 }
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(SETTINGS)
    return tmp_path


def test_a_bake_off_writes_tables_a_report_and_a_figure(folder, capsys):
    assert main(["small.toml", "--out", "new", "--jobs", "1"]) == 0
    printed = capsys.readouterr().out
    assert "best constant action" in printed
    assert "4 runs, 240 rounds" in printed
    for name in ("small.csv", "small-table.csv", "small.md", "small.png", "small.pdf"):
        assert (folder / "new" / name).stat().st_size > 0
    assert (folder / "new" / "small.md").read_text().startswith("# small\n\nStreams: 1. Seeds: 2.")
    table = (folder / "new" / "small-table.csv").read_text().splitlines()
    assert table[0] == "contender,choice,stream,setting,mean_loss,ratio"
    assert len(table) == 3
    assert main(["small.toml", "--out", "new", "--jobs", "1"]) == 0
    assert "small: 4 runs were already finished" in capsys.readouterr().out


@pytest.mark.slow
def test_limits_write_tables_a_report_and_figures(folder, capsys):
    command = ["limits", "--quick", "--seeds", "1", "--out", "new", "--jobs", "1"]
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert "holds: budgets: spending is never ahead by more than the band" in printed
    assert "14 runs, 5,600 rounds" in printed
    for ending in (".csv", "-table.csv", ".md", ".png", ".pdf", "-baseline.png", "-baseline.pdf"):
        assert (folder / "new" / f"limits{ending}").stat().st_size > 0
    assert (folder / "new" / "limits.md").read_text().startswith("# limits on a generated stream")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "claim"),
    [
        ("unknown-graphs", "where it matters: at c = 4, with which whoever knows the graph"),
        ("auctions", "SquareCB.G"),
    ],
)
def test_unknown_graphs_are_panels(name, claim, folder, monkeypatch, capsys):
    small = replace(unknown_graphs.read(name).made_quick(), n_rounds=60, n_seeds=1)
    monkeypatch.setattr(unknown_graphs, "read", lambda name: small)
    assert main([name, "--out", "new", "--jobs", "1"]) == 0
    assert claim in " ".join(capsys.readouterr().out.split())
    assert (folder / "new" / f"{name}.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_workers_know_the_problems_and_agents_of_a_study(folder, capsys):
    assert main(["auctions", "--quick", "--seeds", "1", "--out", "new", "--jobs", "2"]) == 0
    assert "with 2 processes" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            ["nothing"],
            "`STUDY` must be one of bakeoff, limits, coverage, obd, routing, unknown-graphs",
        ),
        (["bakeoff", "--wide"], "`--wide` must not be given with bakeoff"),
        (["limits", "--quick", "--seeds", "0"], "`--seeds` must be at least 1, got 0"),
        (["bakeoff"], "streams/australian.csv.gz, or use 'generated' as the file. --quick needs"),
        (["limits"], "streams/mushroom.csv.gz, or use 'generated' as the file. --quick needs no"),
        (["auctions"], "streams/auctions.csv.gz, or use generate_auctions"),
    ],
)
def test_what_cannot_be_run_is_refused_before_the_first_run(
    folder, monkeypatch, capsys, arguments, text
):
    read_table.cache_clear()
    _facts.cache_clear()
    monkeypatch.delenv("GRAPHCB_DATA", raising=False)
    assert main([*arguments, "--out", "new"]) != 0
    assert text in capsys.readouterr().err
    assert not (folder / "new").exists()


def test_a_picture_of_somebody_else_is_not_overwritten(folder, capsys):
    (folder / "limits-baseline.png").write_text("mine")
    assert main(["limits", "--quick", "--out", "."]) != 0
    assert "`limits-baseline.png` must not overwrite" in capsys.readouterr().err
    assert (folder / "limits-baseline.png").read_text() == "mine"
