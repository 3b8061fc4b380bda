"""`graphcb evaluate TABLE`."""

import json

import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from graphcb import evaluate_table
from graphcb.cli import main
from graphcb.commands.evaluate_table import looks_like_a_table
from tests.tables.shop import shop

TABLE = shop(2000)
ASKED = ("--action", "item", "--probability", "p", "--reward", "click")


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "shop.parquet"
    pq.write_table(TABLE, found)
    return found


def run(*words):
    return main(["evaluate", *map(str, words)])


def test_estimates_and_notes(path, capsys):
    assert run(path, *ASKED, "--policy", "new", "--policy", "constant:b") == 0
    text = capsys.readouterr().out
    found = evaluate_table(
        TABLE, action="item", probability="p", reward="click", policy=["new", "constant:b"]
    )
    assert "mean reward of new, constant:b (larger is better)" in text
    assert f"{found['new'].estimate.value:.4f}" in text
    gain = found["constant:b"].difference.value
    assert f"gain of constant:b on new: {gain:.4f} per decision (normal 95 %: " in text
    assert "2,000 rows; rewards between 0 and 1" in text


def test_json_has_every_number(path, capsys):
    assert run(path, *ASKED, "--policy", "new", "--slot", "slot", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["n_rows"] == 2000
    assert found["estimates"][0]["estimate"] == "self-normalised"
    assert sorted(found["slots"]) == ["1", "2", "3"]


def test_csv_and_plot(path, tmp_path, capsys):
    table, picture = tmp_path / "found.csv", tmp_path / "found.svg"
    policies = ("--policy", "new", "--policy", "uniform")
    assert run(path, *ASKED, *policies, "--all", "--csv", table, "--plot", picture) == 0
    rows = pyarrow.csv.read_csv(table).to_pylist()
    assert {row["estimate"] for row in rows} == {
        "self-normalised", "ips", "clipped", "doubly robust"
    }  # fmt: skip
    assert "constant" not in picture.read_text()
    assert "uniform" in picture.read_text()


def test_a_pattern_of_files_and_probabilities_that_are_estimated(tmp_path, capsys):
    for number in (1, 2):
        part = TABLE.slice(1000 * (number - 1), 1000).drop_columns(["shares"])
        pyarrow.csv.write_csv(part, tmp_path / f"{number}.csv")
    words = ("--action", "item", "--reward", "click", "--policy", "new", "--features", "x,country")
    assert run(tmp_path / "*.csv", *words, "--jobs", 2) == 0
    text = capsys.readouterr().out
    assert "the probabilities were not in the table: estimated from x, country" in text


def test_bounds_of_what_was_never_seen(path, capsys):
    assert run(path, *ASKED, "--policy", "constant:z") == 2
    assert "plays 'z', of which the table has no row" in capsys.readouterr().err
    assert run(path, *ASKED, "--policy", "constant:z", "--unseen", "bound") == 0
    text = capsys.readouterr().out
    assert "not known" in text
    assert "100.0% of what it plays could not have been seen" in text


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--policy", "new"), "`--action` must be given: the column with what was played"),
        ((*ASKED, "--policy", "new", "--after", "3"), "`--after` must not be given for a table"),
        ((*ASKED, "--policy", "new", "--engine", "spark"), "`engine` must be one of joblib, ray"),
    ],
)
def test_options_that_do_not_fit(path, capsys, words, text):
    assert run(path, *words) == 2
    assert text in capsys.readouterr().err


def test_a_log_takes_no_options_of_tables(tmp_path, capsys):
    assert run(tmp_path / "decisions.db", "--policy", "uniform", "--action", "item") == 2
    text = "`--action` must not be given for a decision log: it is for tables"
    assert text in capsys.readouterr().err


def test_tables_are_told_from_logs_by_their_names(tmp_path):
    assert looks_like_a_table("logs/*.parquet")
    assert looks_like_a_table(str(tmp_path))
    assert not looks_like_a_table("postgresql://user@host/database")


def test_continued_in_a_folder(path, tmp_path, capsys):
    for _ in range(2):
        assert run(path, *ASKED, "--policy", "new", "--resume", tmp_path / "state") == 0
    assert len(list((tmp_path / "state").iterdir())) == 1
    first, second = capsys.readouterr().out.split("mean reward")[1:]
    assert first == second
