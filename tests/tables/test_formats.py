"""Files and frames of every kind give the same result."""

import gzip
import json

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from graphcb import evaluate_table
from tests.tables.shop import shop

TABLE = shop(400).drop_columns(["shares"])
ASKED = {"action": "item", "probability": "p", "reward": "click", "slot": "slot",
         "policy": ["new", "uniform", "p_*"], "features": ["x", "country"]}  # fmt: skip
EXPECTED = evaluate_table(TABLE, **ASKED).to_dict()


def as_csv(path):
    pyarrow.csv.write_csv(TABLE, path)


def as_lines(path):
    path.write_text("".join(json.dumps(row) + "\n" for row in TABLE.to_pylist()))


@pytest.mark.parametrize(
    ("name", "write"),
    [("t.csv", as_csv), ("t.jsonl", as_lines), ("t.parquet", lambda p: pq.write_table(TABLE, p))],
)
def test_files(tmp_path, name, write):
    path = tmp_path / name
    write(path)
    assert evaluate_table(path, **ASKED).to_dict() == EXPECTED
    if name != "t.parquet":
        packed = tmp_path / "folder" / f"{name}.gz"
        packed.parent.mkdir()
        packed.write_bytes(gzip.compress(path.read_bytes()))
        assert evaluate_table(packed.parent, **ASKED).to_dict() == EXPECTED


@pytest.mark.parametrize(
    "made",
    [
        lambda table: table,
        lambda table: table.combine_chunks().to_batches()[0],
        lambda table: table.to_pydict(),
        lambda table: pytest.importorskip("pandas") and table.to_pandas(),
        lambda table: pytest.importorskip("polars").from_arrow(table),
    ],
)
def test_frames(made):
    assert evaluate_table(made(TABLE), **ASKED).to_dict() == EXPECTED


def test_an_object_with_an_arrow_stream():
    class Frame:
        def __arrow_c_stream__(self, requested_schema=None):
            return TABLE.__arrow_c_stream__(requested_schema)

    assert evaluate_table(Frame(), **ASKED).to_dict() == EXPECTED


def test_texts_as_views():
    """As polars hands them over."""
    kinds = [pa.string_view() if kind == pa.string() else kind for kind in TABLE.schema.types]
    views = TABLE.cast(pa.schema(list(zip(TABLE.schema.names, kinds, strict=True))))
    assert evaluate_table(views, **ASKED).to_dict() == EXPECTED


@pytest.mark.parametrize("kind", [pa.large_list(pa.float64()), pa.list_(pa.float64(), 4)])
def test_lists_of_every_kind(kind):
    table = shop(400)
    asked = {"action": "item", "probability": "shares", "reward": "click", "policy": "shares",
             "actions": "abcd", "features": ["x"]}  # fmt: skip
    expected = evaluate_table(table, **asked).to_dict()
    place = table.column_names.index("shares")
    other = table.set_column(place, "shares", table["shares"].cast(kind))
    assert evaluate_table(other, **asked).to_dict() == expected


def test_actions_are_the_same_as_numbers_and_as_texts():
    columns = {"p": [0.5] * 4, "r": [1, 0, 0, 1]}
    asked = {"action": "item", "probability": "p", "reward": "r", "policy": "constant:14"}
    found = [
        evaluate_table({"item": pa.array([14, 15, 14, 15], kind), **columns}, **asked).to_dict()
        for kind in (pa.int8(), pa.int64(), pa.float64())
    ]
    texts = pa.array(["14", "15", "14", "15"])
    found.append(evaluate_table({"item": texts, **columns}, **asked).to_dict())
    found.append(evaluate_table({"item": texts.dictionary_encode(), **columns}, **asked).to_dict())
    assert all(one == found[0] for one in found)


def test_na_is_an_action_and_an_empty_cell_is_missing(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("country,p,r\nNA,0.5,1\nDE,0.5,\nNA,0.5,0\nDE,0.5,NA\nDE,0.5,1\n")
    asked = {"action": "country", "probability": "p", "reward": "r", "policy": "constant:NA"}
    found = evaluate_table(path, **asked)
    assert found.actions == {"DE": 3, "NA": 2}
    assert found.n_missing == 2


def test_hidden_files_of_a_folder_are_left_alone(tmp_path):
    pq.write_table(TABLE, tmp_path / "part.parquet")
    (tmp_path / "_unfinished.parquet").write_bytes(b"half")
    (tmp_path / ".part.parquet").write_bytes(b"half")
    assert evaluate_table(tmp_path, **ASKED).to_dict() == EXPECTED


def test_several_files_of_texts_agree_on_their_types(tmp_path):
    (tmp_path / "1.csv").write_text("item,p,r,x\na,0.5,1,3\nb,0.5,0,4\n")
    (tmp_path / "2.csv").write_text("item,p,r,x\na,0.5,1,3.5\nb,0.5,0,4\n")
    asked = {"action": "item", "probability": "p", "reward": "r", "policy": "uniform"}
    assert evaluate_table(tmp_path, features=["x"], **asked).n_rows == 4
