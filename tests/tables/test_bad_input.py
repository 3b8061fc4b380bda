"""Tables that cannot be used: each error names the row and the column."""

import gzip
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphcb import FileError, evaluate_table
from tests.tables.shop import shop

COLUMNS = {
    "item": ["a", "b", "a", "b"],
    "p": [0.5, 0.5, 0.5, 0.5],
    "click": [1, 0, 0, 1],
    "new": ["a", "a", "b", "b"],
    "p_a": [0.5] * 4,
    "p_b": [0.5] * 4,
    "ps": [[0.5, 0.5]] * 4,
    "set": [["a", "b"]] * 4,
    "id": [1, 2, 3, 4],
}


def ask(table=None, **asked):
    asked = {"action": "item", "probability": "p", "reward": "click", "policy": "new", **asked}
    return evaluate_table({**COLUMNS, **(table or {})}, **asked)


NOT_A_PROBABILITY = "must be the probability of what was played, above 0 and at most 1, got"


@pytest.mark.parametrize(
    ("column", "values", "asked", "text"),
    [
        ("p", [0.5, 0.5, 0.0, 0.5], {}, f"row 3, column 'p': {NOT_A_PROBABILITY} 0"),
        ("p", [0.5, 1.5, 0.5, 0.5], {}, f"row 2, column 'p': {NOT_A_PROBABILITY} 1.5"),
        ("p", [0.5, 0.5, 0.5, None], {}, f"row 4, column 'p': {NOT_A_PROBABILITY} nothing"),
        ("p", [0.5, 0.5, 1e-300, 0.5], {}, "row 3, column 'p': must be at least 1e-150 for what "
         "was played, got 1e-300: nothing so unlikely ever is"),
        ("p", ["x"] * 4, {}, "row 1, column 'p': must be a number, got 'x'"),
        ("click", ["1", "0", "yes", "0"], {}, "row 3, column 'click': must be a number, got 'yes'"),
        ("click", [[1], [0], [1], [0]], {}, "row 1, column 'click': must be a number, got a value "
         "of type list"),
        ("click", [1.0, np.inf, 0.0, 0.0], {}, "row 2, column 'click': must be a finite number, "
         "got inf"),
        ("click", [1.0, 0.0, 0.0, 3.0], {"value_range": (0, 2)}, "row 4, column 'click': must lie "
         "in the range 0 to 2, got 3"),
        ("click", [None] * 4, {}, "must have rows with a reward, got none in 4 rows"),
        ("click", [2, 2, 2, 2], {}, "`value_range` must be given: all rewards in the table are 2"),
        ("item", ["a", None, "a", "b"], {}, "row 2, column 'item': must name an action, got "
         "nothing"),
        ("item", ["a", "", "a", "b"], {}, "row 2, column 'item': must name an action, got nothing"),
        ("new", ["a", "b", None, "b"], {}, "row 3, column 'new': must name an action"),
        ("p_b", [0.5, 0.5, 0.4, 0.5], {"probability": "p_*"}, "row 3, column 'p_a': must have "
         "probabilities that add up to 1, got 0.9"),
        ("p_b", [0.5, 0.5, -0.5, 0.5], {"probability": "p_*"}, "row 3, column 'p_a': must have a "
         "probability of 0 or more for each action, got [0.5, -0.5]"),
        ("ps", [[0.5, 0.5]] * 3 + [[1.0]], {"probability": "ps", "actions": ["a", "b"]},
         "row 4, column 'ps': must have 2 probabilities, one for each action, got 1"),
        ("ps", [[0.5, 0.5]] * 3 + [None], {"probability": "ps", "actions": ["a", "b"]},
         "row 4, column 'ps': must be a list, got nothing"),
        ("ps", [[0.5, 0.5], [1.0, 0.0]] * 2, {"probability": "ps", "actions": ["a", "b"]},
         "row 2, column 'ps': must be above 0 for 'b', which was played, got 0"),
        ("ps", [[0.5, 0.5], [1.0, 1e-300]] * 2, {"probability": "ps", "actions": ["a", "b"]},
         "row 2, column 'ps': must be at least 1e-150 for what was played, got 1e-300"),
        ("set", [["a", "b"], ["a"], ["a"], ["b"]], {"action_set": "set"},
         "row 2, column 'item': must be one of the actions in set, got 'b'"),
        ("set", [["a", "b"], [], ["a"], ["b"]], {"action_set": "set"},
         "row 2, column 'set': must list the actions, got none"),
        ("set", ["a"] * 4, {"action_set": "set"}, "row 1, column 'set': must be a list, got a "
         "value of type string"),
        ("id", [1, 2, 3, 2], {"identifier": "id"}, "row 4, column 'id': must be there once, got "
         "'2' as in row 2"),
        ("id", [1, 2, None, 2], {"identifier": "id"}, "row 3, column 'id': must name the row, got "
         "nothing"),
        ("new", ["a", "c", "b", "b"], {"probability": "p_*"}, "row 2, column 'new': must be one of "
         "the actions of this row, got 'c'"),
    ],
)  # fmt: skip
def test_values_that_cannot_be_used(column, values, asked, text):
    with pytest.raises(ValueError) as error:  # noqa: PT011  # compared as a whole
        ask({column: values}, **asked)
    assert text in str(error.value)


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ({"action": "itm"}, "the table: must have a column 'itm', it has item, p, click, new, p_a, "
         "p_b, ps, set, id; did you mean 'item'?"),
        ({"probability": "prob"}, "must have a column 'prob'"),
        ({"probability": "q_*"}, "`probability` must be a pattern of columns such as 'p_*', or a "
         "mapping from actions to columns; the table has no column like 'q_*'"),
        ({"probability": {"a": "p_a"}}, "`probability` must have a column for each action, got a"),
        ({"probability": "ps"}, "`actions` must be given: the names of all actions, in the order "
         "of the lists in 'ps'"),
        ({"probability": "p_*", "actions": ["a", "c"]}, "`probability` must have a column for each "
         "of a, c, got a, b"),
        ({"actions": ["a", "a"]}, "`actions` must be distinct, got a, a"),
        ({"loss": "click"}, "give either `reward` or `loss`, got both"),
        ({"reward": None}, "`reward` or `loss` must be given"),
        ({"policy": "nwe"}, "got 'nwe'; did you mean 'new'?"),
        ({"policy": []}, "`policy` must be given"),
        ({"policy": ["new", "new"]}, "each `policy` must be given once, got 'new' again"),
        ({"policy": "constant:c"}, "`policy` 'constant:c' plays 'c', of which the table has no row "
         "with a reward; it has a, b. Check the name, or allow it (unseen='bound', --unseen "
         "bound)"),
        ({"policy": "ps"}, "`actions` must be given: the names of all actions, in the order of the "
         "lists of probabilities"),
        ({"policy": lambda row: None}, "row 1, column 'policy': must return a name, a dict of "
         "probabilities or an array, got None"),
        ({"policy": lambda row: {"a": 0.5}}, "row 1, column 'policy': must have probabilities that "
         "add up to 1, got 0.5"),
        ({"policy": lambda row: [1.0]}, "`policy` must return a name or a dict of probabilities, "
         "got an array: give `actions`"),
        ({"policy": lambda row: [1.0], "actions": ["a", "b"]}, "row 1, column 'policy': must "
         "return 2 probabilities, one for each action, got 1"),
        ({"unseen": "allow"}, "`unseen` must be one of refuse, bound; got 'allow'"),
        ({"confidence": 1.0}, "`confidence` must lie between 0 and 1"),
        ({"value_range": (1, 0)}, "`value_range` must be (low, high) with low < high"),
        ({"graph": "full-information"}, "`reveals` must be given with `graph`"),
        ({"reveals": "p_*"}, "`probability` must be that of all actions where rows show several"),
        ({"reveals": "p_*", "probability": "ps", "action_set": "set"}, "`reveals` must not be "
         "given with `action_set`"),
        ({"reveals": {"a": "p_a"}, "probability": "p_*"}, "`reveals` must have a column for each "
         "action, got none for b"),
        ({"policy": "gone.npz"}, "`policy` must name a model that exists, got 'gone.npz'"),
        ({"policy": lambda row: "a", "resume": "state"}, "`resume` must not be given with a "
         "function as `policy`"),
    ],
)  # fmt: skip
def test_questions_that_cannot_be_asked(asked, text):
    with pytest.raises((ValueError, FileNotFoundError)) as error:
        ask(**asked)
    assert text in str(error.value)


def test_policies_are_texts_or_functions():
    with pytest.raises(TypeError, match="`policy` must be a text or a function of a row, got 3"):
        ask(policy=3)


@pytest.mark.parametrize("table", [{"item": []}, pa.table({"item": pa.array([], pa.string())})])
def test_empty_tables(table):
    with pytest.raises(ValueError, match="the table must have rows, got an empty one"):
        evaluate_table(table, action="item", reward="r", policy="uniform")


def test_tables_of_another_kind():
    with pytest.raises(TypeError, match="`table` must be a path, a frame of pandas, polars"):
        evaluate_table(3, action="item", reward="r", policy="uniform")
    with pytest.raises(ValueError, match="each column of the table must have values of one type"):
        evaluate_table({"item": ["a", 1.5, {}]}, action="item", reward="r", policy="uniform")


def test_columns_that_come_twice():
    table = pa.table([[1], [2]], names=["item", "item"])
    with pytest.raises(ValueError, match="must have each column once, got 'item' again"):
        evaluate_table(table, action="item", reward="r", policy="uniform")


def ask_file(path, **asked):
    asked = {"action": "item", "probability": "p", "reward": "r", "policy": "uniform", **asked}
    return evaluate_table(path, **asked)


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [
        ("t.csv", "", "Empty CSV file"),
        ("t.csv", "item,p,r\n", "must have rows"),
        ("t.csv", "item,p,r\na,0.5,1\nb,half,0\n", "row 2, column 'p': must be a number, got "
         "'half'"),
        ("t.csv", "item,p,r\na,0.5,1\nb,0.5\n", "row 2: CSV parse error"),
        ("t.csv", "item,p,r\na,0.5,1\nb,0,0\n", "t.csv, row 2, column 'p': must be the "
         "probability"),
        ("t.csv", "item,item,p,r\na,a,0.5,1\n", "must have each column once, got 'item' again"),
        ("t.jsonl", "", "must have rows, got an empty file"),
        ("t.jsonl", '{"item": "a", "p": 0.5, "r": 1}\n{"item": "a", "p": "x", "r": 1}\n',
         "row 2, column 'p'"),
        ("t.jsonl", '{"item": "a", "p": 0.5, "r": 1}\n{"item": "a", "p"\n', "row 2"),
        ("t.jsonl", '{"item": "a", "p": 0.5, "r": 1}\n{"item": 3, "p": 0.5, "r": 1}\n',
         "row 2, column 'item'"),
        ("t.txt", "item\n", "t.txt: must end in .parquet, .csv, .csv.gz, .jsonl"),
    ],
)  # fmt: skip
def test_files_that_cannot_be_used(tmp_path, name, text, error):
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # compared as a whole
        ask_file(tmp_path / name)
    assert error in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / name))


def test_missing_files(tmp_path):
    for name in ("gone.csv", "*.parquet"):
        with pytest.raises(FileNotFoundError, match="a folder or a pattern of files, got no file"):
            ask_file(tmp_path / name)
    with pytest.raises(FileNotFoundError, match=r"got a folder without \.parquet"):
        ask_file(tmp_path)


def test_a_parquet_file_cut_short(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"item": ["a", "b"] * 500, "p": [0.5] * 1000, "r": [1, 0] * 500}), path)
    whole = path.read_bytes()
    for left in (0, 10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:left])
        with pytest.raises(FileError, match="must be a whole Parquet file; it cannot be read"):
            ask_file(path)


def test_a_damaged_page_of_a_parquet_file(tmp_path):
    path = tmp_path / "t.parquet"
    draws = np.random.default_rng(0)
    table = {"item": draws.choice(["a", "b"], 5000), "p": draws.random(5000), "r": [1, 0] * 2500}
    pq.write_table(pa.table(table), path, compression="zstd")
    damaged = bytearray(path.read_bytes())
    damaged[100:30_000] = bytes(29_900)
    path.write_bytes(damaged)
    with pytest.raises(FileError, match="rows after row 0 cannot be read"):
        ask_file(path)


def test_a_cut_gzip_file(tmp_path):
    path = tmp_path / "t.csv.gz"
    text = "item,p,r\n" + "".join(f"a,0.5,{k % 7}\n" for k in range(50_000))
    path.write_bytes(gzip.compress(text.encode())[:-2000])
    with pytest.raises(ValueError, match=r"t\.csv\.gz"):
        ask_file(path, policy="logged")


def test_one_file_lacks_a_column(tmp_path):
    pq.write_table(pa.table({"item": ["a"], "p": [0.5], "r": [1]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"item": ["a"], "r": [1]}), tmp_path / "2.parquet")
    with pytest.raises(ValueError, match="must have a column 'p', it has item, r"):
        ask_file(tmp_path)


def test_twins_in_two_files(tmp_path):
    for number in (1, 2):
        columns = {"item": ["a", "b"], "p": [0.5, 0.5], "r": [1, 0], "id": [f"x{number}", "y"]}
        pq.write_table(pa.table(columns), tmp_path / f"{number}.parquet")
    with pytest.raises(ValueError, match=r"2\.parquet, row 2, column 'id'.*'y' as in row 2 of .*1"):
        ask_file(tmp_path, identifier="id")


@pytest.mark.parametrize(
    ("package", "text"),
    [("pyarrow", r"needs pyarrow: pip install 'graphcb\[parquet\]'"),
     ("sklearn.exceptions", r"needs scikit-learn: pip install 'graphcb\[sklearn\]'")],
)  # fmt: skip
def test_without_a_package_the_extra_is_named(monkeypatch, package, text):
    table = shop(200)
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    with pytest.raises(ValueError, match=text):
        evaluate_table(table, action="item", reward="click", features=["x"], policy="constant:a")
