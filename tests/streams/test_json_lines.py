"""JSON lines as a table: nested or flat, labels or losses, values that are absent."""

import json

import numpy as np
import pytest

from graphcb.streams import BadRows, ReadOptions, Source, first_look
from graphcb.streams.json_lines import parse_json


def write(path, *rows):
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    (path / "a.jsonl").write_text("\n".join(lines) + "\n")
    return Source(str(path / "a.jsonl"))


def read(source, *, skip=False, **options):
    reading = first_look(source, ReadOptions(**options))
    bad_rows = BadRows(source.name, skip=skip)
    pieces = list(reading.read(source, bad_rows))
    return reading, pieces[0], bad_rows


def test_flat_and_nested_rows_are_the_same(tmp_path):
    features = [{"age": 31, "home": {"city": "Rome"}}, {"age": 42, "home": {"city": "Oslo"}}]
    reading, flat, _ = read(
        write(tmp_path, *({"y": y, **row} for y, row in zip("ab", features, strict=True))),
        label="y",
    )
    assert reading.encoder.kinds == {"age": "number", "home.city": "category"}
    for key in ("context", "features"):
        rows = ({key: row, "y": y, "id": 7} for y, row in zip("ab", features, strict=True))
        reading, nested, _ = read(write(tmp_path, *rows), label="y")
        assert list(reading.encoder.kinds) == ["age", "home.city"]  # the identifier is no feature
        for one, other in zip(flat.contexts, nested.contexts, strict=True):
            np.testing.assert_array_equal(one[0], other[0])
            np.testing.assert_array_equal(one[1], other[1])


def test_labels_are_named_as_people_write_them(tmp_path):
    reading, examples, _ = read(write(tmp_path, {"x": 1, "y": 2}, {"x": 2, "y": 10.0}), label="y")
    assert reading.targets.actions == ("2", "10")
    assert examples.losses.tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize("option", ["losses", "rewards"])
def test_losses_in_an_object_of_their_own(tmp_path, option):
    rows = [
        {"x": 1.0, "money": {"stay": 3, "go": -1}},
        {"x": 2.0, "money": {"go": 4, "stay": 0.5}},
    ]
    reading, examples, _ = read(write(tmp_path, *rows), **{option: ("money",)})
    assert reading.targets.actions == ("stay", "go")
    assert list(reading.encoder.kinds) == ["x"]
    values = reading.targets.as_losses(examples.losses)  # which turns losses back, too
    assert values.tolist() == [[3, -1], [0.5, 4]]


def test_what_is_absent_is_missing(tmp_path):
    rows = [{"x": 1, "y": "a"}, {"y": "b"}, {"x": None, "y": "a"}, {"x": "n/a", "y": "b"}]
    reading, examples, _ = read(write(tmp_path, *rows), label="y")
    assert reading.encoder.kinds == {"x": "number?"}
    assert reading.report.columns["x"].missing == 3
    assert [row.indices.tolist() for row in examples.contexts] == [[2], *[[2, 0]] * 3]


def test_lists_and_true_and_false(tmp_path):
    rows = [
        {"tags": ["jazz", "live"], "new": True, "size": [1.0, 2.0], "y": "a"},
        {"tags": [], "new": False, "size": [3.0, 2.0], "y": "b"},
    ]
    reading, examples, _ = read(write(tmp_path, *rows), label="y")
    assert reading.encoder.kinds == {
        "tags": "category",
        "new": "number",
        "size.0": "number",
        "size.1": "number",
    }
    assert [row.indices.size for row in examples.contexts] == [3 + 2, 3]


def test_lines_that_hold_no_row_are_told(tmp_path):
    source = write(tmp_path, {"x": 1, "y": "a"}, '{"x": 2,', "[1, 2]", "", {"x": 3, "y": "b"})
    with pytest.raises(ValueError, match=r"a\.jsonl, line 2: must be a JSON object: Expecting"):
        read(source, label="y")
    _, examples, bad_rows = read(source, label="y", skip=True)
    assert list(examples.lines) == [1, 5]
    assert bad_rows.count == 2
    with pytest.raises(ValueError, match=r"must be a JSON object, got '\[1, 2\]'"):
        parse_json("[1, 2]")
    with pytest.raises(ValueError, match="must start with JSON objects, one per line, got none"):
        read(write(tmp_path, "no"), label="y")


def test_infinities_are_refused_by_name(tmp_path):
    source = write(tmp_path, {"x": 1, "y": "a"}, '{"x": -Infinity, "y": "b"}')
    with pytest.raises(ValueError, match="line 2: the value of 'x' must be a finite number, got"):
        read(source, label="y")


def test_a_number_too_large_to_be_one_counts_as_missing(tmp_path):
    rows = [{"x": i, "y": "ab"[i % 2]} for i in range(20)]
    source = write(tmp_path, *rows, {"x": 10**400, "y": "a"})
    reading, _, _ = read(source, label="y")
    assert reading.report.columns["x"].odd == 1
