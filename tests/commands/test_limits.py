import pytest

from graphcb.cli import main


def test_reproduce_writes_tables_a_report_and_figures(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    command = ["reproduce", "limits", "--quick", "--seeds", "1", "--out", "new", "--jobs", "1"]
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert "holds: budgets: spending is never ahead by more than the band" in printed
    assert "14 runs, 5,600 rounds" in printed
    for ending in (".csv", "-table.csv", ".md", ".png", ".pdf", "-baseline.png", "-baseline.pdf"):
        assert (tmp_path / "new" / f"limits{ending}").stat().st_size > 0
    assert (tmp_path / "new" / "limits.md").read_text().startswith("# limits on a generated stream")
    assert main(command) == 0
    assert "limits: 14 runs were already finished" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--wide"], "`--wide` must not be given with limits"),
        (["--quick", "--seeds", "0"], "`--seeds` must be at least 1, got 0"),
        ([], "streams/mushroom.csv.gz, or use 'generated' as the file. --quick needs no data"),
    ],
)
def test_what_cannot_be_run_is_refused_before_the_first_run(
    tmp_path, monkeypatch, capsys, arguments, text
):
    from graphcb.datasets.streams import read_table
    from graphcb.experiments.prepared import _facts

    read_table.cache_clear()
    _facts.cache_clear()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GRAPHCB_DATA", raising=False)
    assert main(["reproduce", "limits", *arguments, "--out", "new"]) != 0
    assert text in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_a_picture_of_somebody_else_is_not_overwritten(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "limits-baseline.png").write_text("mine")
    assert main(["reproduce", "limits", "--quick", "--out", "."]) != 0
    assert "`limits-baseline.png` must not overwrite" in capsys.readouterr().err
    assert (tmp_path / "limits-baseline.png").read_text() == "mine"
