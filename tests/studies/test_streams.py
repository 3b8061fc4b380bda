import csv
import gzip
import os

import numpy as np
import pytest
from studies.streams import load_stream, read_table

from graphcb.datasets import DataNotFoundError

needs_data = pytest.mark.skipif(
    "GRAPHCB_DATA" not in os.environ, reason="GRAPHCB_DATA is not set: real data is not here"
)
FLOWERS = [["x", "label"], ["1", "b"], ["2", "a"], ["3", "c"], ["4", "a"]]


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a table as a file of streams, and forget what was read before."""
    monkeypatch.setenv("GRAPHCB_DATA", str(tmp_path))
    read_table.cache_clear()
    (tmp_path / "streams").mkdir()

    def write(rows, name="table.csv.gz"):
        with gzip.open(tmp_path / "streams" / name, "wt", newline="") as file:
            csv.writer(file).writerows(rows)

    yield write
    read_table.cache_clear()


def in_order(**spec):
    return load_stream({"file": "table.csv.gz", "shuffle": False, **spec}, seed=0)


def test_labels_are_losses_and_the_graph_is_named(write):
    write(FLOWERS)
    stream = in_order(kind="label", graph="bandit")
    assert stream.feature_names == ("x",)
    assert stream.features == [["1"], ["2"], ["3"], ["4"]]
    assert stream.actions == ("a", "b", "c")
    assert stream.losses.tolist() == [[1, 0, 1], [0, 1, 1], [1, 1, 0], [0, 1, 1]]
    assert stream.graph.matrix.tolist() == np.eye(3).tolist()
    cops = in_order(kind="label", graph="cops").graph
    assert cops.matrix.tolist() == (1 - np.eye(3)).tolist()
    assert in_order(kind="label", graph="full").graph.matrix.all()


def test_a_class_of_a_cycle_reveals_the_next(write):
    write(FLOWERS)
    assert in_order(kind="cycle").graph.matrix.tolist() == [[0, 1, 0], [0, 0, 1], [1, 0, 0]]


def test_only_a_review_reveals(write):
    write(FLOWERS)
    stream = in_order(kind="review", price=0.3)
    assert stream.actions == ("a", "b", "c", "review")
    assert stream.losses[0].tolist() == [1, 0, 1, 0.3]
    assert stream.graph.matrix.tolist() == [[0] * 4, [0] * 4, [0] * 4, [1] * 4]


def test_acting_reveals_both_losses(write):
    write([["income", "default"], ["9", "1"], ["8", "0"]])
    costs = {"act": [1, 0], "let_go": [0, 0.3]}
    stream = in_order(kind="approve", target="default", value="1", **costs)
    assert stream.feature_names == ("income",)
    assert stream.losses.tolist() == [[1, 0], [0, 0.3]]
    assert stream.graph.matrix.tolist() == [[1, 1], [0, 0]]


def test_a_level_of_stock_reveals_the_lower_ones(write):
    write([["hour", "id", "cnt"], ["0", "a", "10"], ["1", "b", "20"], ["2", "c", "40"]])
    stream = in_order(kind="stock", target="cnt", levels=3, over=0.25, drop=["id"])
    assert stream.feature_names == ("hour",)
    np.testing.assert_allclose(
        stream.losses, [[0.25, 0.0625, 0.1875], [0.5, 0.0, 0.125], [1.0, 0.5, 0.0]]
    )
    assert stream.graph.matrix.tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]


@pytest.mark.parametrize(
    ("feedback", "actions", "matrix"),
    [
        ("bandit", ("s", "l"), [[1, 0], [0, 1]]),
        ("cascade", ("s", "l"), [[1, 0], [1, 1]]),
        ("audit", ("s", "l", "audit"), [[0, 0, 0], [0, 0, 0], [1, 1, 1]]),
    ],
)
def test_the_model_that_answers(write, feedback, actions, matrix):
    head = ["prompt", "input_tokens", "correct_s", "cost_s", "correct_l", "cost_l"]
    write([head, ["one two", "2", "0", "1", "1", "3"], ["three", "1", "1", "1", "1", "5"]])
    numbers = {"weight": 0.5, "largest": 1.5, "price": 0.6}
    stream = in_order(kind="route", models=["s", "l"], feedback=feedback, **numbers)
    assert stream.feature_names == ("prompt", "input_tokens")
    assert stream.actions == actions
    assert stream.largest_loss == 1.5
    np.testing.assert_allclose(stream.losses[:, :2], [[1.125, 0.375], [0.125, 0.625]])
    assert stream.graph.matrix.tolist() == matrix


def test_the_seed_decides_the_order_and_rows_are_cut_after_it(write):
    write([["x", "label"], *([str(i), "ab"[i % 2]] for i in range(50))])
    spec = {"file": "table.csv.gz", "kind": "label", "graph": "bandit", "rows": 10}
    first, again, other = (load_stream(spec, seed).features for seed in (0, 0, 1))
    assert first == again != other
    assert len(first) == 10
    assert {int(row[0]) for row in first} - set(range(10))


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"kind": "guess"}, "`kind` must be one of label, cycle, review"),
        ({"kind": "review"}, "a stream of kind 'review' must have 'price'"),
        ({"kind": "label", "graph": "some"}, "`graph` must be one of bandit, cops, full"),
        ({"kind": "stock", "target": "cnt"}, "`column` must be one of x, label"),
    ],
)
def test_a_description_that_makes_no_sense_is_refused(write, spec, text):
    write(FLOWERS)
    with pytest.raises(ValueError, match=text):
        in_order(**spec)


def test_a_bad_file_is_refused(write, tmp_path):
    write([["x", "label"], ["1", "a"], ["2"]])
    with pytest.raises(ValueError, match="each row must have x, label, got 1 in row 2"):
        read_table("table.csv.gz")
    write([["x", "label"]])
    with pytest.raises(ValueError, match="each row must have x, label, got no row"):
        read_table("table.csv.gz")
    (tmp_path / "streams" / "text.csv.gz").write_text("x,label\n")
    with pytest.raises(ValueError, match="must be a gzipped CSV with a header"):
        read_table("text.csv.gz")


def test_where_it_is_absent_the_stand_in_is_named(write, monkeypatch):
    with pytest.raises(DataNotFoundError, match=r"does not contain streams/ring\.csv\.gz"):
        read_table("ring.csv.gz")
    monkeypatch.delenv("GRAPHCB_DATA")
    with pytest.raises(DataNotFoundError, match="use 'generated' as the file"):
        read_table("ring.csv.gz")


@needs_data
def test_a_real_stream():
    spec = {"file": "vehicle.csv.gz", "kind": "label", "graph": "bandit"}
    stream = load_stream(spec, seed=0)
    assert stream.losses.shape == (846, 4)
    assert stream.losses.mean(axis=0).min() == pytest.approx(0.74232, abs=1e-5)


@pytest.mark.parametrize(
    ("drift", "changed"),
    [("swap", range(4, 8)), ("return", [2, 3, 6, 7]), ("slide", range(6, 8))],
)
def test_a_planted_change_gives_classes_the_name_of_the_next(write, drift, changed):
    write([["x", "label"], *[[str(i), "abc"[i % 3]] for i in range(8)]])
    still, moving = (in_order(kind="cycle", **more) for more in ({}, {"drift": drift}))
    assert moving.features == still.features
    played = {i: moving.losses[i].argmin() - still.losses[i].argmin() for i in range(8)}
    assert all(played[i] % 3 == 1 for i in changed)
    assert all(played[i] == 0 for i in range(2))


def test_a_change_must_be_known(write):
    write(FLOWERS)
    with pytest.raises(ValueError, match="`drift` must be one of swap, slide, return; got 'jump'"):
        in_order(kind="cycle", drift="jump")
