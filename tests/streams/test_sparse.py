"""What becomes of libsvm and Vowpal Wabbit text."""

import numpy as np
import pytest

from graphcb.contexts import Encoder
from graphcb.streams import BadRows, ReadOptions, Source, first_look
from graphcb.streams.sparse import MANY_FEATURES, shrink


def write(path, name, text):
    (path / name).write_text(text)
    return Source(str(path / name))


def read(source, *, skip=False, **options):
    reading = first_look(source, ReadOptions(**options))
    bad_rows = BadRows(source.name, skip=skip)
    pieces = list(reading.read(source, bad_rows))
    return reading, pieces, bad_rows


def test_libsvm_with_one_label_and_with_several(tmp_path):
    others = "".join(f"9 {i}:0\n" for i in range(100, 101 + MANY_FEATURES))  # sparse then
    source = write(tmp_path, "a.svm", f"3 1:1\n10 1:2 2:1\n\n# note\n9 3:5\n{others}")
    reading, (examples,), _ = read(source, bits=4)
    assert reading.targets.actions == ("3", "9", "10")
    assert examples.losses[:3].tolist() == [[0, 1, 1], [1, 1, 0], [1, 0, 1]]
    assert list(examples.lines)[:3] == [1, 2, 5]
    indices, values = examples.contexts[1]
    assert indices.tolist() == [1, 2, 16]
    np.testing.assert_allclose(values, [0.5, 0.5, np.sqrt(0.5)])
    source = write(tmp_path, "b.svm", "a,b 1:1\n1:1\nc 2:1\n")
    _, (examples,), _ = read(source)
    assert examples.losses.tolist() == [[0, 0, 1], [1, 1, 1], [1, 1, 0]]


def test_few_numbers_are_dense_and_what_a_line_leaves_out_is_zero(tmp_path):
    table = Encoder({"300": "number", "700": "number"})
    expected = table.encode_columns(np.array([[1.0, 0.0], [0.0, 3.0]]), [])
    for name, text in (
        ("a.svm", "1 300:1\n2 700:3\n"),
        ("a.vw", "1:0 2:1 | 300:1\n1:1 2:0 | 700:3 300:0\n"),
    ):
        reading, (examples,), _ = read(write(tmp_path, name, text))
        for one, other in zip(examples.contexts, expected, strict=True):
            np.testing.assert_array_equal(one.values, other.values)
        assert reading.n_features == 3
        assert list(reading.report.columns) == ["300", "700"]


def test_indices_in_between_count_as_in_a_table(tmp_path):
    for text, names in (("1 2:1\n2 4:3\n", "1234"), ("1 0:1\n2 2:3\n", "012")):
        reading, (examples,), _ = read(write(tmp_path, "a.svm", text))
        assert list(reading.encoder.kinds) == list(names)
        assert [row.n_numbers for row in examples.contexts] == [len(names)] * 2


def test_a_feature_that_was_not_in_the_first_look_is_left_out_and_counted(tmp_path):
    reading, _, _ = read(write(tmp_path, "a.svm", "1 1:1\n2 2:3\n"))
    later = write(tmp_path, "b.svm", "1 2:1 9:4 11:2\n")
    (examples,) = reading.read(later, BadRows(later.name))
    assert [row.n_numbers for row in examples.contexts] == [2]
    assert reading.report.unknown == 2


def test_words_and_many_features_stay_sparse(tmp_path):
    reading, _, _ = read(write(tmp_path, "a.vw", "1:0 2:1 | x:1\n1:1 2:0 | y\n"))
    assert reading.encoder is None
    many = " ".join(f"{i}:1" for i in range(MANY_FEATURES + 1))
    reading, _, _ = read(write(tmp_path, "a.svm", f"1 {many}\n2 1:1\n"))
    assert reading.encoder is None


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
    with pytest.raises(
        ValueError, match="`--label` is for CSV, Parquet and JSON lines, got it with"
    ):
        read(source, label="x")
    with pytest.raises(ValueError, match="`--loss-range` is for losses in the file"):
        read(source, loss_range=(0.0, 1.0))
    reading, _, _ = read(source)
    with pytest.raises(ValueError, match=r"a\.vw: must be libsvm, got vw"):
        list(reading.read(write(tmp_path, "a.vw", "1:0 2:1 | a\n"), BadRows("x")))


def test_sparse_values_by_the_largest_so_far_and_rows_to_norm_one():
    starts, places = np.array([0, 2, 2, 4]), np.array([0, 1, 0, 1])
    values, largest = np.array([3.0, 0.0, -6.0, 5.0]), np.zeros(2)
    shrink(starts, places, values, largest)
    np.testing.assert_allclose(values, [1.0, 0.0, -np.sqrt(0.5), np.sqrt(0.5)])
    assert largest.tolist() == [6.0, 5.0]
