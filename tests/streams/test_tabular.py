"""From tables to examples: kinds of columns, labels and losses, graphs in cells, bad rows."""

import io

import numpy as np
import pytest

from graphcb.hashing import word_places
from graphcb.streams import BadRows, ReadOptions, Source, first_look
from graphcb.streams.source import FIRST_LOOK
from graphcb.streams.targets import MANY_ACTIONS, Targets, parse_edges


def write(path, text):
    (path / "a.csv").write_text(text)
    return Source(str(path / "a.csv"))


def read(source, *, skip=False, **options):
    reading = first_look(source, ReadOptions(**options))
    bad_rows = BadRows(source.name, skip=skip)
    pieces = list(reading.read(source, bad_rows))
    return reading, pieces, bad_rows


def test_numbers_and_words_are_told_apart(tmp_path):
    source = write(tmp_path, "n,w,id,y\n1,red,7,a\nNA,blue,7,b\n3,red,8,a\n")
    reading, (examples,), _ = read(source, label="y", categorical=("id",), bits=6, skip=True)
    assert reading.columns.numbers == ("n",)
    assert reading.columns.words == ("w", "id")
    assert reading.n_features == 1 + 1 + 64
    indices, values = examples.contexts[2].pair()
    assert list(examples.lines) == [2, 3, 4]
    places = [*word_places("red", 64, prefix="w="), *word_places("8", 64, prefix="id=")]
    assert indices.tolist() == [65, *places, 64]
    np.testing.assert_allclose(values, 0.5)  # a deviation, a constant, two words: four columns


def test_a_dense_row_has_a_constant_and_a_norm_of_about_one():
    rng = np.random.default_rng(0)
    lines = [",".join(f"{x:.3f}" for x in row) + f",{i % 2}" for i, row in
             enumerate(rng.normal(50, 9, size=(500, 8)))]  # fmt: skip
    names = ",".join("abcdefgh") + ",y"
    source = Source("-", stdin=io.StringIO("\n".join([names, *lines])))
    _, (examples,), _ = read(source, label="y")
    indices, values = zip(*(row.pair() for row in examples.contexts), strict=True)
    np.testing.assert_array_equal(indices, [[*range(1, 9), 0]] * 500)
    np.testing.assert_allclose(np.array(values)[:, -1], 1 / 3)
    assert 0.8 < np.linalg.norm(values[100:], axis=1).mean() < 1.2


def test_the_words_of_a_cell_weigh_together_as_much_as_a_number(tmp_path):
    source = write(tmp_path, "text,y\nwin a free prize,a\nhello,b\n")
    _, (examples,), _ = read(source, label="y")
    for row in examples.contexts:
        np.testing.assert_allclose(np.linalg.norm(row.values), 1.0)
        np.testing.assert_allclose(np.linalg.norm(row.pair()[1]), 1.0)


def test_labels_by_file_by_option_and_sorted_as_numbers(tmp_path):
    source = write(tmp_path, "x,y\n1, 10\n2,9\n3,10\n")
    reading, (examples,), _ = read(source, label="y")
    assert reading.targets.actions == ("9", "10")
    assert examples.losses.tolist() == [[1, 0], [0, 1], [1, 0]]
    reading, (examples,), _ = read(source, label="y", classes=("10", "9", "8"))
    assert examples.losses.tolist() == [[0, 1, 1], [1, 0, 1], [0, 1, 1]]


def test_losses_and_their_range(tmp_path):
    source = write(tmp_path, "x,p,q\n1,2,-3\n2,4,5\n")
    reading, (examples,), _ = read(source, losses=("q", "p"))
    assert reading.targets.actions == ("q", "p")
    assert reading.targets.loss_range == (-3.0, 5.0)
    assert examples.losses.tolist() == [[-3, 2], [5, 4]]
    assert reading.columns.numbers == ("x",)
    with pytest.raises(ValueError, match=r"line 2: the loss of 'q' must be between 0 and 9, got"):
        read(source, losses=("q", "p"), loss_range=(0.0, 9.0))
    reading, _, _ = read(write(tmp_path, "x,p,q\n1,2,2\n"), losses=("q", "p"))
    assert reading.targets.loss_range == (2.0, 3.0)  # all losses equal: any range will do


def test_one_graph_per_row(tmp_path):
    source = write(tmp_path, "x,y,e\n1,a,a>a b>b\n2,b,a>a a>b:0.5\n3,b,a>a b>b\n")
    _, (examples,), _ = read(source, label="y", edges="e")
    assert [row.indices.tolist() for row in examples.contexts] == [[1]] * 3  # no edges
    assert examples.graphs[1].matrix.tolist() == [[1, 0.5], [0, 0]]
    assert examples.graphs[0] is examples.graphs[2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a>a a>c", r"names a, b; got 'a>c'"),
        ("a", r"an edge must be played>revealed .* got 'a'"),
        ("a>b:2 a>a", r"must have a probability in \[0, 1\]"),
        ("a>b:x a>a", r"must have a probability in \[0, 1\]"),
        ("a>a", r"some action must reveal 'b', got the edges 'a>a'"),
        ("a>a a>a b>b", r"must name each pair once"),
        ("", r"some action must reveal 'a'"),
    ],
)
def test_bad_edges_are_told(text, message):
    with pytest.raises(ValueError, match=message):
        parse_edges(text, ("a", "b"))


BAD_ROWS = [
    ("x,y\n1,a\n2,\n3,b\n", {}, "line 3: the label is missing"),
    ("x,y\n1,a\n2,b,3\n", {"classes": ("a", "b")}, "line 3: must have 2 cells"),
    ('x,y\n1,a\n"2"2,b\n', {"classes": ("a", "b")}, "line 3: must be CSV"),
    (
        "x,y\n1,a\n2,c\n",
        {"classes": ("a", "b")},
        "line 3: the label must be one of a, b; got 'c'; name all",
    ),
    ("x,y\n1,a\ninf,b\n", {}, "line 3: the value of 'x' must be a finite number, got 'inf'"),
    ("x,y,e\n1,a,a>a b>b\n2,b,a>b\n", {"edges": "e"}, "line 3: in the column 'e' some action"),
]


@pytest.mark.parametrize(("content", "options", "text"), BAD_ROWS)
def test_bad_rows_stop_with_their_line_or_are_skipped(tmp_path, content, options, text):
    source = write(tmp_path, content)
    with pytest.raises(ValueError, match=f"a.csv, {text}"):
        read(source, label="y", **options)
    _, pieces, bad_rows = read(source, label="y", skip=True, **options)
    assert bad_rows.count == 1
    assert text in bad_rows.shown[0]
    assert sum(len(p.lines) for p in pieces) == content.count("\n") - 2


@pytest.mark.parametrize(
    "content", ["x,y\n1,\ninf,b\n", "w,y\nred,\n ,c\n", "w,x,y\nred,inf,a\nblue,1,\n"]
)
def test_a_piece_in_which_all_rows_are_skipped_is_empty(tmp_path, content):
    options = {"label": "y", "classes": ("a", "b")}
    _, (examples,), bad_rows = read(write(tmp_path, content), **options, skip=True)
    assert bad_rows.count == 2
    assert len(examples.contexts) == len(examples.lines) == 0
    assert examples.losses.shape == (0, 2)


def test_a_skipped_row_leaves_no_trace(tmp_path):
    rows = [f"{i},{i % 3},{'ab'[i % 2]}" for i in range(60)]
    clean, _, _ = read(write(tmp_path, "\n".join(["x,z,y", *rows])), label="y")
    rows.insert(20, "1e9,inf,a")
    rows.insert(40, "-1e9,oops,")
    source = write(tmp_path, "\n".join(["x,z,y", *rows]))
    list(clean.read(source, BadRows("", skip=True)))
    del rows[40], rows[20]
    twice, _, _ = read(write(tmp_path, "\n".join(["x,z,y", *rows, *rows])), label="y")
    one, other = clean.encoder.known.scales, twice.encoder.known.scales
    for name in ("means", "squares", "samples", "shapes", "ends"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert one.counts.tolist() == [120, 120]
    assert clean.report.columns["z"].odd == 0


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "give either --label COLUMN or --losses .* the columns are x, y"),
        ({"label": "y", "losses": ("x",)}, "give either --label COLUMN or --losses"),
        ({"label": "z"}, r"`--label` must name a column of the file \(x, y\), got 'z'"),
        ({"losses": ("x", "z")}, r"`--losses` must name a column"),
        ({"label": "y", "features": ("q",)}, "`--features` must name a column"),
        ({"label": "y", "categorical": ("q",)}, "`--categorical` must name a column"),
        ({"label": "y", "edges": "q"}, "`--edges` must name a column"),
        ({"label": "y", "classes": ("a",)}, "there must be at least two actions, got a"),
        ({"label": "y", "classes": ("a", "a")}, "each action must be named once, got 'a' again"),
        ({"label": "y", "bits": 31}, "`--bits` must be between 1 and 30, got 31"),
        ({"losses": ("x", "y"), "loss_range": (1.0, 1.0)}, "`--loss-range` must be LOW,HIGH"),
        ({"label": "y", "loss_range": (0.0, 2.0)}, "`--loss-range` is for --losses, got it with"),
        ({"losses": ("x", "y"), "classes": ("a", "b")}, "`--classes` is for --label; with"),
        (
            {"label": "y", "features": ("x", "y")},
            "must not name the label, losses or edges, got 'y'",
        ),
        ({"label": "y", "categorical": ("y",)}, "`--categorical` must name features, got 'y'"),
        ({"losses": ("y", "y")}, "must have losses that are numbers, got none"),
    ],
)
def test_options_that_do_not_fit_are_refused(tmp_path, options, text):
    source = write(tmp_path, "x,y\n1,a\n2,b\n")
    with pytest.raises(ValueError, match=text):
        first_look(source, ReadOptions(**options))


def test_numbers_are_no_labels(tmp_path):
    source = write(tmp_path, "x,y\n" + "".join(f"1,{i}\n" for i in range(MANY_ACTIONS + 1)))
    with pytest.raises(ValueError, match=r"`--label y` has more than 10,000 different values"):
        first_look(source, ReadOptions(label="y"))


def test_a_label_late_in_the_standard_input_is_told():
    rows = "".join(f"1,{'ab'[i % 2]}\n" for i in range(FIRST_LOOK + 10))
    source = Source("-", stdin=io.StringIO("x,y\n" + rows + "1,c\n"))
    with pytest.raises(ValueError, match=f"standard input, line {FIRST_LOOK + 12}: .* got 'c'"):
        read(source, label="y")


def test_a_label_late_in_a_file_is_known(tmp_path):
    rows = "".join(f"1,{'ab'[i % 2]}\n" for i in range(FIRST_LOOK + 10))
    reading = first_look(write(tmp_path, "x,y\n" + rows + "1,c\n"), ReadOptions(label="y"))
    assert reading.targets.actions == ("a", "b", "c")


def test_another_file_must_have_the_same_columns(tmp_path):
    reading = first_look(write(tmp_path, "x,z,y\n1,1,a\n2,2,b\n"), ReadOptions(label="y"))
    with pytest.raises(ValueError, match="must have the columns x, z, y; 'z' is not among x, y"):
        list(reading.read(write(tmp_path, "x,y\n1,a\n"), BadRows("a.csv")))


def test_many_labels_are_cut_in_the_message():
    _, wrong = Targets([str(i) for i in range(20)]).of_labels([["x"]])
    assert "one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 10 more;" in wrong[0]


def test_problems_show_the_first_three():
    bad_rows = BadRows("f", place="row", skip=True)
    bad_rows.report_all({5 - i: "bad" for i in range(5)})
    assert bad_rows.count == 5
    assert bad_rows.shown == ["f, row 1: bad", "f, row 2: bad", "f, row 3: bad"]
    with pytest.raises(ValueError, match=r"f, line 4: bad \(use --on-error skip to leave out such"):
        BadRows("f").report_all({7: "worse", 4: "bad"})
