import numpy as np
import pytest

pa = pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
from pyarrow import parquet as pq  # noqa: E402

from graphcb.streams import BadRows, ReadOptions, Source, first_look  # noqa: E402
from graphcb.streams.tables import column_names, read_batches  # noqa: E402


def write(path, **columns):
    pq.write_table(pa.table(columns), path / "a.parquet", row_group_size=2)
    return Source(str(path / "a.parquet"))


def test_columns_by_name_in_pieces(tmp_path):
    source = write(
        tmp_path,
        x=pa.array([1, 2, None]),
        city=pa.array(["a", "b", None]).dictionary_encode(),
        flag=[True, False, True],
        day=pa.array([0, 1, None], pa.date32()),
    )
    assert column_names(source) == ("x", "city", "flag", "day")
    tables = list(read_batches(source, ["city", "x", "flag", "day"], 2))
    assert [list(t.lines) for t in tables] == [[1, 2], [3]]
    assert [list(t.columns[0]) for t in tables] == [["a", "b"], [""]]
    np.testing.assert_array_equal(np.concatenate([t.columns[1] for t in tables]), [1, 2, np.nan])
    np.testing.assert_array_equal(np.concatenate([t.columns[2] for t in tables]), [1, 0, 1])
    assert [list(t.columns[3]) for t in tables] == [["1970-01-01", "1970-01-02"], [""]]


def test_a_parquet_file_gives_the_same_examples_as_the_csv(tmp_path):
    rng = np.random.default_rng(0)
    x, label = rng.normal(size=50), rng.integers(0, 3, size=50)
    city = [f"c{i % 4}" for i in range(50)]
    write(tmp_path, x=x, city=city, label=label)
    lines = [f"{a!r},{b},{c}" for a, b, c in zip(x.tolist(), city, label, strict=True)]
    (tmp_path / "a.csv").write_text("\n".join(["x,city,label", *lines]))
    read = []
    for name in ("a.parquet", "a.csv"):
        source = Source(str(tmp_path / name))
        reading = first_look(source, ReadOptions(label="label"))
        assert reading.targets.actions == ("0", "1", "2")
        (examples,) = reading.read(source, BadRows(name, place=source.place))
        read.append(examples)
    np.testing.assert_array_equal(read[0].losses, read[1].losses)
    for one, other in zip(read[0].contexts, read[1].contexts, strict=True):
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])


def test_rows_that_lack_most_numbers_are_the_same_in_both(tmp_path):
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.1, size=(80, 100))
    columns = {f"w{j}": [int(x) or None for x in counts[:, j]] for j in range(100)}
    write(tmp_path, **columns, label=["ab"[i % 2] for i in range(80)])
    rows = zip(*columns.values(), ["ab"[i % 2] for i in range(80)], strict=True)
    lines = [",".join("" if cell is None else str(cell) for cell in row) for row in rows]
    (tmp_path / "a.csv").write_text("\n".join([",".join([*columns, "label"]), *lines]))
    read = []
    for name in ("a.parquet", "a.csv"):
        source = Source(str(tmp_path / name))
        reading = first_look(source, ReadOptions(label="label"))
        (examples,) = reading.read(source, BadRows(name, place=source.place))
        read.append(examples.contexts)
        assert reading.encoder.features is None
    for one, other in zip(*read, strict=True):
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])
    assert len(read[0][-1][0]) == (counts[-1] > 0).sum()  # no marks for what is not there


def test_bad_files_and_columns_are_named(tmp_path):
    source = write(tmp_path, x=[[1, 2]], y=[1])
    with pytest.raises(ValueError, match="the column 'x' must hold numbers or text, got list"):
        list(read_batches(source, ["x"], 2))
    (tmp_path / "b.parquet").write_text("no")
    with pytest.raises(ValueError, match=r"b\.parquet: must be a Parquet file"):
        column_names(Source(str(tmp_path / "b.parquet")))
    with pytest.raises(ValueError, match="cannot be read from standard input"):
        column_names(Source("-", format="parquet"))


def test_a_missing_value_is_missing_and_an_infinity_is_told_with_its_row(tmp_path):
    source = write(tmp_path, x=pa.array([1.0, None, 2.0]), label=["a", "b", "a"])
    reading = first_look(source, ReadOptions(label="label"))
    (examples,) = reading.read(source, BadRows(source.name, place=source.place))
    assert reading.report.columns["x"].missing == 1
    assert examples.contexts[1].values.tolist() == [0.0, 1.0]
    source = write(tmp_path, x=[1.0, np.inf], label=["a", "b"])
    text = r"a\.parquet, row 2: the value of 'x' must be a finite number, got 'inf'"
    with pytest.raises(ValueError, match=text):
        list(reading.read(source, BadRows(source.name, place=source.place)))


def test_without_pyarrow_the_extra_is_named(tmp_path, monkeypatch):
    import sys

    source = write(tmp_path, x=[1.0])
    monkeypatch.setitem(sys.modules, "pyarrow", None)  # as if it were not installed
    with pytest.raises(ValueError, match=r"reading Parquet needs pyarrow: pip install 'graphcb\[p"):
        column_names(source)
