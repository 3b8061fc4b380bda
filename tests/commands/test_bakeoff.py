import pytest

from graphcb.cli import main

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


def test_reproduce_writes_tables_a_report_and_a_figure(folder, capsys):
    assert main(["reproduce", "small.toml", "--out", "new", "--jobs", "1"]) == 0
    printed = capsys.readouterr().out
    assert "best constant action" in printed
    assert "4 runs, 240 rounds" in printed
    for name in ("small.csv", "small-table.csv", "small.md", "small.png", "small.pdf"):
        assert (folder / "new" / name).stat().st_size > 0
    assert (folder / "new" / "small.md").read_text().startswith("# small\n\nStreams: 1. Seeds: 2.")
    assert main(["reproduce", "small.toml", "--out", "new", "--jobs", "1"]) == 0
    assert "small: 4 runs were already finished" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["bakeoff", "--wide"], "`--wide` must not be given with a bake-off"),
        (["bakeoff", "--quick", "--seeds", "0"], "`--seeds` must be at least 1, got 0"),
        (["bakeoff"], "streams/australian.csv.gz, or use 'generated' as the file. --quick needs"),
    ],
)
def test_what_cannot_be_run_is_refused_before_the_first_run(
    folder, monkeypatch, capsys, arguments, text
):
    from graphcb.datasets.streams import read_table
    from graphcb.experiments.prepared import _facts

    read_table.cache_clear()
    _facts.cache_clear()
    monkeypatch.delenv("GRAPHCB_DATA", raising=False)
    assert main(["reproduce", *arguments, "--out", "new"]) != 0
    assert text in capsys.readouterr().err
    assert not (folder / "new").exists()
