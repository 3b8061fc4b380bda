"""What was made of a file: missing and odd cells in tables, counted and told."""

import numpy as np
import pytest

from graphcb.hashing import place_of
from graphcb.streams import BadRows, ReadOptions, Source, first_look
from graphcb.streams.source import FIRST_LOOK


def look(path, text, name="a.csv", **options):
    (path / name).write_text(text)
    source = Source(str(path / name))
    return source, first_look(source, ReadOptions(label="y", **options))


def read(source, reading):
    return list(reading.read(source, BadRows(source.name)))


def rows(n, **cells):
    """n rows "i,y" of numbers; `cells` replace some of them by their row, as r3="n/a"."""
    values = [cells.get(f"r{i}", str(i)) for i in range(n)]
    return "x,y\n" + "".join(f"{value},{'ab'[i % 2]}\n" for i, value in enumerate(values))


@pytest.mark.parametrize("cell", ["", "n/a", "NA", "?", "null", "-", " "])
def test_no_row_is_dropped_for_a_missing_number(tmp_path, cell):
    source, reading = look(tmp_path, rows(30, r7=cell))
    assert reading.encoder.kinds == {"x": "number?"}
    assert reading.report.columns["x"].missing == 1  # in the first look
    (examples,) = read(source, reading)
    assert len(examples.lines) == 30
    assert examples.contexts[7].values.tolist() == [0.0, 1.0]
    assert examples.contexts[8].indices.tolist() == [2]
    column = reading.report.columns["x"]
    assert (column.kind, column.missing, column.odd) == ("number", 1, 0)
    assert reading.report.warnings() == []


def test_a_stray_word_leaves_a_column_of_numbers(tmp_path):
    source, reading = look(tmp_path, rows(40, r7="12kB", r20="13kB"))
    column = reading.report.columns["x"]
    assert (column.kind, column.odd, column.first_odd) == ("number", 2, ("12kB", 9))
    (text,) = reading.report.warnings()
    assert text.endswith(
        "a.csv, line 9: the column 'x' holds numbers, but '12kB' is none: it counts as missing, "
        "like 1 more"
    )
    (examples,) = read(source, reading)
    assert len(examples.contexts) == 40
    assert (column.odd, column.missing, column.first_odd) == (2, 2, ("12kB", 9))
    _, other = look(tmp_path, rows(40, r7="", r20=""), name="b.csv")
    (expected,) = read(Source(str(tmp_path / "b.csv")), other)
    for one, another in zip(examples.contexts, expected.contexts, strict=True):
        np.testing.assert_array_equal(one.indices, another.indices)
        np.testing.assert_array_equal(one.values, another.values)


def test_a_word_after_the_first_look_is_missing_without_a_mark(tmp_path):
    n = FIRST_LOOK + 20
    source, reading = look(tmp_path, rows(n, **{f"r{n - 5}": "oops"}))
    assert reading.report.warnings() == []
    examples = read(source, reading)
    assert sum(len(piece.lines) for piece in examples) == n
    assert examples[-1].contexts[-5].values.tolist() == [0.0]
    assert reading.report.columns["x"].first_odd == ("oops", n - 3)
    assert reading.report.n_rows == n


def test_missing_words_leave_a_mark(tmp_path):
    text = "x,w,y\n1,red,a\n2,,b\n3,NA,a\n,blue,b\n"
    source, reading = look(tmp_path, text, bits=10)
    (examples,) = read(source, reading)
    mark = place_of("w is missing", 1024)
    assert [examples.contexts[i].indices.tolist() for i in (1, 2)] == [[1025, mark]] * 2
    assert examples.contexts[3].indices.tolist() == [
        1025,
        place_of("x is missing", 1024),
        place_of("w=blue", 1024),
    ]
    assert reading.encoder.missing == {"x": 1, "w": 2}


def test_what_the_columns_are(tmp_path):
    text = "n,c,t,i,y\n1,red,win now,7,a\n2,blue,hi,8,b\n3,red,hi there all of you,7,a\n"
    source, reading = look(tmp_path, text, categorical=("i",))
    report = reading.report
    assert [(c.name, c.kind, c.distinct) for c in report.columns.values()] == [
        ("n", "number", 3),
        ("c", "category", 2),
        ("t", "text", 3),
        ("i", "category", 2),
    ]
    assert report.n_rows == 3
    read(source, reading)
    assert reading.report.n_rows == 3


def test_rows_without_labels_have_contexts_and_teach_nothing(tmp_path):
    text = "x,w,y\n1,red,a\n2,,b\n3,green,a\n"
    source, reading = look(tmp_path, text)
    read(source, reading)
    before = reading.encoder.known.scales.counts.copy()
    (tmp_path / "b.csv").write_text("w,x\nred,5\n,\nblue,inf\n")
    later = Source(str(tmp_path / "b.csv"))
    bad_rows = BadRows("b.csv", skip=True)
    ((contexts, lines),) = reading.contexts(later, bad_rows)
    assert list(lines) == [2, 3]
    assert bad_rows.count == 1
    for found, row in zip(contexts, ({"x": 5.0, "w": "red"}, {}), strict=True):
        expected = reading.encoder.encode(row)
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])
    np.testing.assert_array_equal(reading.encoder.known.scales.counts, before)
    assert {name: c.missing for name, c in reading.report.columns.items()} == {"x": 1, "w": 1}


@pytest.mark.parametrize(
    "text", ["1 1:2\n2 2:1\n", "1 1:2\n2 2:1 " + "".join(f"{i}:1 " for i in range(300))]
)
def test_sparse_rows_without_labels_too(tmp_path, text):
    (tmp_path / "a.svm").write_text(text)
    source = Source(str(tmp_path / "a.svm"))
    reading = first_look(source, ReadOptions(bits=9))
    read(source, reading)
    largest = reading.largest.copy()
    (tmp_path / "b.svm").write_text("1:9\n9 2:5\n")
    twice = [
        next(reading.contexts(Source(str(tmp_path / "b.svm")), BadRows("b.svm"))) for _ in range(2)
    ]
    assert list(twice[0][1]) == [1, 2]
    for one, other in zip(twice[0][0], twice[1][0], strict=True):
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])
    np.testing.assert_array_equal(reading.largest, largest)
