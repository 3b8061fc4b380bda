"""Hints for files and options that are probably not what was meant."""

import pytest

from graphcb.streams import ReadOptions, Source, first_look


def write(path, text, **options):
    (path / "a.csv").write_text(text)
    return Source(str(path / "a.csv"), **options)


def test_another_delimiter_is_seen(tmp_path):
    for mark, shown in ((";", "';'"), ("\t", r"'\\t'"), ("|", r"'\|'")):
        source = write(tmp_path, "x,y\n1,a\n2,b\n".replace(",", mark))
        hint = f"the first line has {shown} between its cells: --delimiter {shown}"
        with pytest.raises(ValueError, match=hint):
            first_look(source, ReadOptions(label="y"))
        with pytest.raises(ValueError, match=f"the columns are .*; {hint}"):
            first_look(source, ReadOptions())
    source = write(tmp_path, "x;y\n1;a\n2;b\n", delimiter=";")
    assert first_look(source, ReadOptions(label="y")).report.hints == []


def test_a_header_that_is_data_is_seen(tmp_path):
    text = "5.1,3.5,setosa\n4.9,3.0,setosa\n6.3,2.5,virginica\n"
    hint = "the first line looks like data, not like names of columns: --no-header"
    reading = first_look(write(tmp_path, text), ReadOptions(label="setosa", classes=("a", "b")))
    assert reading.report.hints == [hint]
    with pytest.raises(ValueError, match=f"got 'species'; {hint}"):
        first_look(write(tmp_path, text), ReadOptions(label="species"))
    source = write(tmp_path, text, header=False)
    assert first_look(source, ReadOptions(label="3")).report.hints == []


def test_thousands_of_labels_are_seen(tmp_path):
    text = "x,y\n" + "".join(f"1,k{i}\n" for i in range(2500))
    (hint,) = first_look(write(tmp_path, text), ReadOptions(label="y")).report.hints
    assert hint == (
        "the column 'y' has 2,500 different labels, and each is an action: is it the right column?"
    )
    (tmp_path / "a.svm").write_text("".join(f"{i} 1:1\n" for i in range(1000)))
    (hint,) = first_look(Source(str(tmp_path / "a.svm")), ReadOptions()).report.hints
    assert hint.startswith("the file has 1,000 different labels")
