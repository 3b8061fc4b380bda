"""libsvm and Vowpal Wabbit text, and what becomes of them."""

import numpy as np
import pytest

from graphcb.streams import BadRows, ReadOptions, Source, first_look
from graphcb.streams.sparse import labels_of, parse_libsvm, parse_vw


def write(path, name, text):
    (path / name).write_text(text)
    return Source(str(path / name))


def read(source, *, skip=False, **options):
    reading = first_look(source, ReadOptions(**options))
    bad_rows = BadRows(source.name, skip=skip)
    pieces = list(reading.read(source, bad_rows))
    return reading, pieces, bad_rows


def test_libsvm_lines():
    assert parse_libsvm("+1 3:1.5 7:-2 # note", 5)[:] == (["1"], {}, [3, 2], [1.5, -2.0])
    assert parse_libsvm("2,5,9\n", 5) == (["2", "5", "9"], {}, [], [])
    assert parse_libsvm(" 1:1", 5) == ([], {}, [1], [1.0])
    assert parse_libsvm("  # nothing", 5) is None
    assert labels_of("4,2 1:1") == ["4", "2"]
    assert labels_of("1:1 2:1") == []
    assert labels_of("") == []


@pytest.mark.parametrize("line", ["1 a:1", "1 3", "1 3:x", "1 3:", "1 1:2:3"])
def test_libsvm_lines_that_are_none(line):
    with pytest.raises(ValueError, match=r"must be LABEL INDEX:VALUE INDEX:VALUE .* got"):
        parse_libsvm(line, 8)
    with pytest.raises(ValueError, match="with indices from 0 or 1 on, got '-1:1'"):
        parse_libsvm("1 -1:1", 8)


def test_libsvm_with_one_label_and_with_several(tmp_path):
    source = write(tmp_path, "a.svm", "3 1:1\n10 1:2 2:1\n\n# note\n9 3:5\n")
    reading, (examples,), _ = read(source, bits=4)
    assert reading.targets.actions == ("3", "9", "10")
    assert examples.losses.tolist() == [[0, 1, 1], [1, 1, 0], [1, 0, 1]]
    assert list(examples.lines) == [1, 2, 5]
    indices, values = examples.contexts[1]
    assert indices.tolist() == [1, 2, 16]
    np.testing.assert_allclose(values, [0.5, 0.5, np.sqrt(0.5)])
    source = write(tmp_path, "b.svm", "a,b 1:1\n1:1\nc 2:1\n")
    _, (examples,), _ = read(source)
    assert examples.losses.tolist() == [[0, 0, 1], [1, 1, 1], [1, 1, 0]]


def test_vw_lines():
    row = parse_vw("1:0.5 2:-1 'tag|a x y:2 |b:3 x:2", 2**18)
    assert row.costs == {"1": 0.5, "2": -1.0}
    assert row.values == [1.0, 2.0, 6.0]
    assert len(set(row.places)) == 3  # x in two namespaces is two features
    assert parse_vw("1:0 | x", 2**18).places == parse_vw("2:0 |  x", 2**18).places
    assert parse_vw("1:0 |", 2**18)[2:] == ([], [])
    assert parse_vw("  \n", 8) is None


@pytest.mark.parametrize("line", ["1:0 2:1", "1 | x", "1:a | x", "1:0:0.5 | x", "1:0 | x:y"])
def test_vw_lines_that_are_none(line):
    with pytest.raises(ValueError, match=r"must be ACTION:COST ACTION:COST .* got"):
        parse_vw(line, 8)
    with pytest.raises(ValueError, match="with each action once, got '1' again"):
        parse_vw("1:0 1:1 | x", 8)


def test_vw_costs_in_any_order_and_their_range(tmp_path):
    source = write(tmp_path, "a.vw", "2:3 1:-1 | a\n1:5 2:0 | b\n")
    reading, (examples,), _ = read(source)
    assert reading.targets.actions == ("1", "2")
    assert reading.targets.loss_range == (-1.0, 5.0)
    assert examples.losses.tolist() == [[-1, 3], [5, 0]]
    reading, _, _ = read(source, loss_range=(-10.0, 10.0), classes=("2", "1"))
    assert reading.targets.actions == ("2", "1")
    assert reading.targets.loss_range == (-10.0, 10.0)


@pytest.mark.parametrize(
    ("name", "content", "options", "text"),
    [
        ("a.vw", "1:0 2:1 | a\n1:0 | a\n", {}, "line 2: there must be a cost for each of 1, 2"),
        ("a.vw", "1:0 2:1 | a\n1:0 2:nan | a\n", {}, "line 2: the loss of '2' must be between"),
        ("a.vw", "1:0 2:1 | a\n| a\n", {}, "line 2: .* got costs for none"),
        ("a.vw", "1:0 2:1 | a\n1:0 2:1 | a:inf\n", {}, "line 2: each value must be a finite"),
        ("a.svm", "1 1:1\n2 1:nan\n", {}, "line 2: each value must be a finite number, got nan"),
        (
            "a.svm",
            "1 1:1\n3 1:1\n",
            {"classes": ("1", "2")},
            "line 2: the label must be one of 1, 2; got '3'",
        ),
    ],
)
def test_bad_rows_stop_with_their_line_or_are_skipped(tmp_path, name, content, options, text):
    source = write(tmp_path, name, content)
    with pytest.raises(ValueError, match=f"{name}, {text}"):
        read(source, **options)
    _, (examples,), bad_rows = read(source, skip=True, **options)
    assert list(examples.lines) == [1]
    assert bad_rows.count == 1


def test_options_for_tables_are_refused(tmp_path):
    source = write(tmp_path, "a.svm", "1 1:1\n2 1:1\n")
    with pytest.raises(ValueError, match="`--label` is for CSV and Parquet, got it with libsvm"):
        read(source, label="x")
    with pytest.raises(ValueError, match="`--loss-range` is for losses in the file"):
        read(source, loss_range=(0.0, 1.0))
    reading, _, _ = read(source)
    with pytest.raises(ValueError, match=r"a\.vw: must be libsvm, got vw"):
        list(reading.read(write(tmp_path, "a.vw", "1:0 2:1 | a\n"), BadRows("x")))
