import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphcb.streams import Source
from graphcb.streams.tables import column_names, read_batches


def stdin(text, **options):
    return Source("-", stdin=io.StringIO(text, newline=""), **options)


def read(text, columns, n_rows=2, **options):
    tables = list(read_batches(stdin(text, **options), columns, n_rows))
    cells = [[c for t in tables for c in t.columns[i]] for i in range(len(columns))]
    lines = [line for t in tables for line in t.lines]
    broken = {line: text for t in tables for line, text in t.broken.items()}
    return cells, lines, broken


def test_columns_by_name_in_pieces():
    cells, lines, broken = read("a,b,c\n1,x,2\n3,y,4\n5,z,6\n", ["c", "a"])
    assert cells == [["2", "4", "6"], ["1", "3", "5"]]
    assert lines == [2, 3, 4]
    assert broken == {}


def test_numbers_come_as_numbers_where_all_of_them_are():
    text = "a,b\n1, x\n 2.5e3 ,y\nNA,z\n4,\n"
    tables = list(read_batches(stdin(text), ["b", "a"], 2, numbers={"a"}))
    assert [list(t.columns[0]) for t in tables] == [[" x", "y"], ["z", ""]]
    assert tables[0].columns[1].tolist() == [1.0, 2500.0]
    assert list(tables[1].columns[1]) == ["NA", "4"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("delimiter", [",", "\t", ";"])
def test_ends_of_lines_and_delimiters(end, delimiter):
    text = end.join(("a,b", "1,x # y", "2,z")).replace(",", delimiter)
    cells, lines, broken = read(text, ["a", "b"], delimiter=delimiter)
    assert (cells, lines, broken) == ([["1", "2"], ["x # y", "z"]], [2, 3], {})


def test_a_line_that_is_too_long_is_broken_whatever_is_asked_of_it():
    cells, lines, broken = read("a,b\n1,x\n2,y,9\n3,z\n", ["a"], n_rows=10)
    assert (cells, lines) == ([["1", "3"]], [2, 4])
    assert broken == {3: "must have 2 cells like the first line, got 3"}


def test_a_single_column_and_its_empty_lines():
    assert read("a\n1\n\n3\n", ["a"], n_rows=10) == ([["1", "3"]], [2, 4], {})


def test_many_columns_come_the_same_way():
    cells, _, _ = read("a,b,c\n1,x,2\n3,y,4\n", ["c", "b", "a"])
    assert cells == [["2", "4"], ["x", "y"], ["1", "3"]]
    assert read("a,b,c\n", ["c", "b", "a"]) == ([[], [], []], [], {})


def test_without_a_header_columns_are_numbered():
    cells, lines, _ = read("1,x\n3,y\n", ["2"], header=False)
    assert cells == [["x", "y"]]
    assert lines == [1, 2]


def test_lines_are_those_of_the_file_even_where_cells_go_over_several():
    text = 'a,b\n1,"two\nlines"\n\n2,y\n3\n4,"a, ""b"""\n'
    cells, lines, broken = read(text, ["a", "b"], n_rows=10)
    assert cells == [["1", "2", "4"], ["two\nlines", "y", 'a, "b"']]
    assert lines == [2, 5, 7]
    assert broken == {6: "must have 2 cells like the first line, got 1"}


def test_a_quote_that_is_wrong_breaks_its_line_alone():
    cells, _, broken = read('a,b\n1,x\n2,"y"z\n3,w\n', ["a"], n_rows=10)
    assert cells == [["1", "3"]]
    assert list(broken) == [3]
    assert broken[3].startswith("must be CSV: ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "standard input: must start with the names of its columns, got nothing"),
        ("\n1,2\n", "standard input: must start with the names of its columns, got nothing"),
        ("a,b, a\n", "line 1: must name each column once, got 'a' again"),
        ('"a"b\n', "standard input, line 1: "),
    ],
)
def test_a_bad_header_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        column_names(stdin(text))


def test_a_quoted_cell_without_an_end_is_told_where_it_begins():
    cells, _, broken = read('a,b\n1,x\n2,"y\nz\n3,w\n', ["a"], n_rows=10)
    assert cells == [["1"]]
    assert broken == {3: "must be CSV: unexpected end of data"}


NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=20))
def test_numbers_keep_every_bit_with_and_without_quotes(rows):
    for quote in ("", '"'):
        lines = [f"{quote}{a!r}{quote},{b!r}" for a, b in rows]
        source = stdin("\n".join(["a,b", *lines]))
        (table,) = read_batches(source, ["a", "b"], 50, numbers={"a", "b"})
        for cells, values in zip(table.columns, zip(*rows, strict=True), strict=True):
            assert tuple(float(cell) for cell in cells) == values


@given(
    st.lists(
        st.tuples(*[st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1)] * 2),
        min_size=1,
        max_size=9,
    )
)
def test_what_csv_writes_is_read(rows):
    text = io.StringIO(newline="")
    csv.writer(text).writerows([("a", "b"), *rows])
    cells, lines, broken = read(text.getvalue(), ["a", "b"])
    assert list(zip(*cells, strict=True)) == rows
    assert lines == list(range(2, 2 + len(rows)))
    assert broken == {}
