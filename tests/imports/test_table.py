import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphcb
from graphcb.decisions.export import export_parquet
from graphcb.imports import DecisionColumns, DecisionTable, import_log
from graphcb.problems import Problem
from graphcb.streams import BadRows, Source

SHOP = """id,item,propensity,click,age,city,when
1,tea,0.5,1,31,Rome,2026-01-01T10:00:00Z
2,milk,0.25,0,,"Oslo, N",2026-01-01 11:00:00
3,tea,0.75,,40,Rome,1767265200
"""
COLUMNS = DecisionColumns("item", "propensity", reward="click", time="when", identifier="id")


def write(folder, text, name="shop.csv"):
    path = folder / name
    path.write_text(text)
    return path


def read(path, columns=COLUMNS):
    source = Source(str(path))
    return list(DecisionTable(source, columns).read(BadRows(source.name)))


def rows_of(folder, *changes):
    """The table with cells replaced: (row, column, text)."""
    names, *rows = (line.split(",") for line in SHOP.replace('"Oslo, N"', "Oslo").splitlines())
    for row, column, text in changes:
        rows[row][names.index(column)] = text
    return write(folder, "\n".join(",".join(row) for row in (names, *rows)) + "\n")


class TestReading:
    def test_rows_become_decisions(self, tmp_path):
        first, second, third = read(write(tmp_path, SHOP))
        assert first.context == {"age": 31.0, "city": "Rome"}
        assert list(first.actions) == ["milk", "tea"]
        assert (first.chosen, first.cost, first.probability) == (1, -1.0, 0.5)
        assert (first.line, first.made_at, first.event_id) == (2, 1767261600.0, "1")
        assert second.context == {"age": None, "city": "Oslo, N"}
        assert (second.cost, second.probabilities) == (0.0, None)
        assert second.made_at == 1767265200.0
        assert third.cost is None

    def test_the_three_formats_give_the_same(self, tmp_path):
        pa = pytest.importorskip("pyarrow")
        pq = pytest.importorskip("pyarrow.parquet")
        rows = [
            {"item": "tea", "p": 0.5, "loss": 0.25, "age": 31.0, "city": "Rome"},
            {"item": "milk", "p": 0.5, "loss": None, "age": None, "city": "Oslo"},
        ]
        text = "item,p,loss,age,city\ntea,0.5,0.25,31.0,Rome\nmilk,0.5,,,Oslo\n"
        lines = "\n".join(json.dumps(row) for row in rows)
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
        columns = DecisionColumns("item", "p", loss="loss")
        found = [
            [one._replace(line=0) for one in read(path, columns)]
            for path in (
                write(tmp_path, text, "a.csv"),
                write(tmp_path, lines, "a.jsonl"),
                tmp_path / "a.parquet",
            )
        ]
        assert found[0] == found[1] == found[2]
        assert found[0][0].cost == 0.25

    @pytest.mark.parametrize(
        ("asked", "actions"),
        [("p_*", ()), ("p_tea,p_milk", ("p_tea", "p_milk")), ("p", ("tea", "milk"))],
    )
    def test_probabilities_of_all_actions(self, tmp_path, asked, actions):
        pa = pytest.importorskip("pyarrow")
        pq = pytest.importorskip("pyarrow.parquet")
        name = "p_tea" if asked == "p_tea,p_milk" else "tea"
        rows = [{"item": name, "p_tea": 0.25, "p_milk": 0.75, "p": [0.25, 0.75], "y": 1.0}]
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
        columns = DecisionColumns(
            "item", asked, loss="y", features=("p_tea", "p_milk") if asked == "p" else (),
            actions=actions,
        )  # fmt: skip
        if asked != "p":
            pq.write_table(
                pa.Table.from_pylist([{k: v for k, v in rows[0].items() if k != "p"}]),
                tmp_path / "a.parquet",
            )
        (one,) = read(tmp_path / "a.parquet", columns)
        assert one.probabilities == [0.25, 0.75]
        assert one.probability == 0.25

    def test_lists_and_objects_in_text(self, tmp_path):
        text = 'item,p,loss\ntea,"[0.25, 0.75]",1\n'
        columns = DecisionColumns("item", "p", loss="loss", actions=("tea", "milk"))
        (one,) = read(write(tmp_path, text), columns)
        assert one.probabilities == [0.25, 0.75]
        row = {"item": "tea", "p": [0.25, 0.75], "loss": 1}
        (one,) = read(write(tmp_path, json.dumps(row), "a.jsonl"), columns)
        assert one.probabilities == [0.25, 0.75]
        row["p"] = {"tea": 0.25, "milk": 0.75}
        columns = DecisionColumns("item", "p", loss="loss")
        (one,) = read(write(tmp_path, json.dumps(row), "b.jsonl"), columns)
        assert (list(one.actions), one.probabilities) == (["tea", "milk"], [0.25, 0.75])

    def test_kinds_and_odd_cells(self, tmp_path):
        cells = "".join(f"{'a' if n % 2 else 'b'},0.5,0,{n}\n" for n in range(30))
        path = write(tmp_path, f"item,p,loss,size\n{cells}a,0.5,0,12kB\n")
        report = import_log(
            path, tmp_path / "a.db", columns=DecisionColumns("item", "p", loss="loss")
        )
        assert report.problem.features == {"size": "number?"}
        assert report.warnings == (
            f"{path}, line 32: the column 'size' holds numbers, but '12kB' is none: "
            "it counts as missing",
        )


class TestRefusals:
    @pytest.mark.parametrize(
        ("change", "text"),
        [
            ((1, "propensity", "0"), "the probability in 'propensity' must be above 0 and at most"),
            ((1, "propensity", "1.5"), "the probability in 'propensity' must be above 0.*'1.5'"),
            ((1, "propensity", "-0.5"), "the probability in 'propensity' must be above 0"),
            ((1, "propensity", ""), "the probability in 'propensity' is missing"),
            ((1, "propensity", "high"), "the probability in 'propensity' must be above.*'high'"),
            ((1, "click", "yes"), "the reward in 'click' must be a finite number, got 'yes'"),
            ((1, "click", "inf"), "the reward in 'click' must be a finite number, got 'inf'"),
            ((1, "item", ""), "the action in 'item' is missing"),
            ((1, "when", "noon"), "the time in 'when' must be seconds since 1970.*got 'noon'"),
            ((1, "when", ""), "the time in 'when' is missing"),
            ((1, "id", "1"), "the identifier in 'id' must not come twice, got '1' as in line 2"),
            ((1, "id", ""), "the identifier in 'id' is missing"),
        ],
    )
    def test_each_names_row_and_column_and_leaves_no_log(self, tmp_path, change, text):
        path = rows_of(tmp_path, change)
        with pytest.raises(ValueError, match=rf"shop\.csv, line 3: {text}"):
            import_log(path, tmp_path / "log.db", columns=COLUMNS)
        assert [file.name for file in tmp_path.iterdir()] == ["shop.csv"]
        report = import_log(path, tmp_path / "log.db", columns=COLUMNS, skip_odd=True)
        assert (report.n_decisions, report.n_odd) == (2, 1)

    @pytest.mark.parametrize(
        ("columns", "text"),
        [
            ({"action": "thing"}, "`--action` must name a column of the file .*got 'thing'"),
            ({"probability": "q"}, "`--probability` must name a column of the file"),
            ({"reward": "q"}, "`--reward` must name a column of the file"),
            ({"time": "q"}, "`--time` must name a column of the file"),
            ({"identifier": "q"}, "`--id` must name a column of the file"),
            ({"features": ("q",)}, "`--features` must name a column of the file"),
            ({"features": ("click",)}, "`--features` must not name a column that says"),
            ({"loss": "click"}, "give either --reward COLUMN or --loss COLUMN"),
            ({"reward": None}, "give either --reward COLUMN or --loss COLUMN"),
            ({"actions": ("tea",)}, "line 3: the action in 'item' must be one of tea, got 'milk'"),
        ],
    )
    def test_columns(self, tmp_path, columns, text):
        given = {"action": "item", "probability": "propensity", "reward": "click", **columns}
        with pytest.raises(ValueError, match=text):
            read(write(tmp_path, SHOP), DecisionColumns(**given))

    @pytest.mark.parametrize(
        ("cell", "actions", "text"),
        [
            ([0.5, 0.5], (), "`--probability p` must have the probabilities of all actions, or"),
            ({"tea": 0.5, "milk": 0.3}, (), "the probabilities in .*must sum to 1, got 0.8"),
            ({"tea": -0.5, "milk": 1.5}, (), "the probability in 'p.tea' must be between 0 and 1"),
            ({"tea": 0, "milk": 1}, (), "the probability in 'p.tea' must be above 0"),
            ({"tea": 1, "milk": None}, (), "the probability in 'p.milk' is missing"),
        ],
    )
    def test_probabilities_of_all(self, tmp_path, cell, actions, text):
        path = write(tmp_path, json.dumps({"item": "tea", "p": cell, "loss": 0.5}), "a.jsonl")
        with pytest.raises(ValueError, match=text):
            read(path, DecisionColumns("item", "p", loss="loss", actions=actions))

    @pytest.mark.parametrize(
        ("cell", "actions", "text"),
        [
            ("[0.5, 0.5]", (), "line 2: the probabilities in 'p' are lists: name the actions in"),
            ("[0.5]", ("tea", "milk"), r"in 'p' must be 2 numbers between 0 and 1, got \[0.5\]"),
            ("[0.5, x]", ("tea", "milk"), "in 'p' must be 2 numbers between 0 and 1"),
            ("[0, 1]", ("tea", "milk"), "the probability in 'p' must be above 0"),
        ],
    )
    def test_lists(self, tmp_path, cell, actions, text):
        path = write(tmp_path, f'item,p,loss\ntea,"{cell}",0.5\n')
        with pytest.raises(ValueError, match=text):
            read(path, DecisionColumns("item", "p", loss="loss", actions=actions))

    def test_too_many_actions(self, tmp_path):
        rows = "".join(f"{n},0.5,1\n" for n in range(10_001))
        with pytest.raises(ValueError, match="`--action item` has more than 10,000 different"):
            read(write(tmp_path, f"item,p,y\n{rows}"), DecisionColumns("item", "p", loss="y"))

    def test_what_is_no_table(self, tmp_path):
        path = write(tmp_path, "1:0.5:0.5 | x\n", "a.vw")
        with pytest.raises(ValueError, match="columns are for a file in CSV, Parquet or JSON"):
            import_log(path, tmp_path / "a.db", columns=COLUMNS)

    def test_a_cut_parquet_file(self, tmp_path):
        pa = pytest.importorskip("pyarrow")
        pq = pytest.importorskip("pyarrow.parquet")
        rng = np.random.default_rng(0)
        table = {"item": ["a", "b"] * 5000, "p": [0.5] * 10_000, "y": rng.random(10_000)}
        pq.write_table(pa.table(table), tmp_path / "a.parquet")
        content = (tmp_path / "a.parquet").read_bytes()
        columns = DecisionColumns("item", "p", loss="y")
        (tmp_path / "a.parquet").write_bytes(content[: len(content) // 2])
        with pytest.raises(ValueError, match=r"a\.parquet: must be a Parquet file"):
            import_log(tmp_path / "a.parquet", tmp_path / "a.db", columns=columns)
        middle = len(content) // 2
        damaged = content[: middle - 3000] + bytes(6000) + content[middle + 3000 :]
        (tmp_path / "a.parquet").write_bytes(damaged)
        try:
            import_log(tmp_path / "a.parquet", tmp_path / "a.db", columns=columns)
        except ValueError:
            assert not (tmp_path / "a.db").exists()


def test_an_imported_table_is_a_log(tmp_path):
    report = import_log(write(tmp_path, SHOP), tmp_path / "log.db", columns=COLUMNS)
    assert report.format == "csv"
    assert (report.n_decisions, report.n_without_outcome) == (3, 1)
    assert not report.all_probabilities
    features = {"age": "number?", "city": "category"}
    assert report.problem == Problem(
        ["milk", "tea"], feedback="rewards", range=(0, 1), features=features
    )
    with graphcb.DecisionLog(tmp_path / "log.db") as log:
        first, _, third = log
        assert (log.n_imported, log.is_imported) == (3, True)
    assert first.feedback.losses.tolist() == [1.0]
    assert first.probabilities.tolist() == [0.5, 0.5]
    assert third.feedback is None


WORDS = st.text(st.sampled_from("xyzé, "), min_size=1, max_size=5).filter(str.strip).map(str.strip)
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "item": st.sampled_from(["a", "b", "c"]),
            "p": st.floats(0.01, 1.0),
            "click": st.none() | st.floats(0.0, 1.0),
            "when": st.integers(0, 2_000_000_000_000_000),
            "age": st.none() | st.floats(-1e6, 1e6),
            "city": st.none() | WORDS,
        }
    ),
    min_size=1,
    max_size=20,
)


@settings(max_examples=25, deadline=None)
@given(rows=ROWS)
def test_import_then_export_gives_back_the_columns(tmp_path_factory, rows):
    pq = pytest.importorskip("pyarrow.parquet")
    folder = tmp_path_factory.mktemp("table")
    named = [row | {"when": row["when"] / 1e6} for row in rows]
    path = write(folder, "\n".join(map(json.dumps, named)), "a.jsonl")
    columns = DecisionColumns("item", "p", reward="click", time="when")
    import_log(path, folder / "a.db", columns=columns)
    with graphcb.DecisionLog(folder / "a.db") as log:
        export_parquet(log, folder / "a.parquet")
    found = pq.read_table(folder / "a.parquet").to_pylist()
    for row, given_row in zip(found, named, strict=True):
        assert row["action"] == given_row["item"]
        assert row["probability"] == (given_row["p"] if len({r["item"] for r in rows}) > 1 else 1.0)
        assert row["reward"] == given_row["click"]
        assert row["made_at"].timestamp() == pytest.approx(given_row["when"], abs=2e-6)
        assert row["context.age"] == given_row["age"]
        assert row["context.city"] == given_row["city"]
