import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphcb.imports.vw_text import largest_action, read_cb, read_cb_adf, read_features
from graphcb.streams import BadRows

CB = """2:0.5:0.25 | rainy price:3
1:-1:0.75 'tag1| sunny
ca 3:2:1 |user age:31 |place city^Rome near
1 2:0:0.5 3 | all three were possible
"""
ADF = """shared |user young city^Rome
0:1.5:0.5 |item price:3
 'jazz|item price:4 new

|a one
0:0.0:0.25 |a two


shared | alone
| x
"""


def cb(text, n_actions=3, *, skip=False):
    bad = BadRows("log.vw", skip=skip)
    return list(read_cb(text.splitlines(keepends=True), n_actions, bad)), bad


def adf(text, *, skip=False):
    bad = BadRows("log.ldf", skip=skip)
    return list(read_cb_adf(text.splitlines(keepends=True), bad)), bad


class TestFeatures:
    def test_marks_numbers_and_categories(self):
        assert read_features(" a b:2 c^red") == {"features": ["a"], "b": 2.0, "c": "red"}

    def test_namespaces_and_their_weights(self):
        assert read_features("user young age:3 |item:2 price:1.5 |empty") == {
            "user": ["young"],
            "user.age": 3.0,
            "item.price": 3.0,
        }

    def test_no_features(self):
        assert read_features("") == read_features("  ") == {}

    @given(st.dictionaries(st.from_regex(r"[a-z]{1,5}", fullmatch=True), st.floats(-1e6, 1e6)))
    def test_numbers_come_back(self, features):
        text = " " + " ".join(f"{name}:{value!r}" for name, value in features.items())
        assert read_features(text) == features


class TestCb:
    def test_reads_labels_tags_and_prefixes(self):
        found, _ = cb(CB)
        assert [(one.chosen, one.cost, one.probability) for one in found] == [
            (1, 0.5, 0.25),
            (0, -1.0, 0.75),
            (2, 2.0, 1.0),
            (1, 0.0, 0.5),
        ]
        assert found[0].context == {"features": ["rainy"], "price": 3.0}
        assert found[2].context == {"user.age": 31.0, "place.city": "Rome", "place": ["near"]}
        assert found[0].actions == {"1": None, "2": None, "3": None}
        assert [one.line for one in found] == [1, 2, 3, 4]
        assert found[0].probabilities is None
        assert found[0].made_at is None

    def test_the_largest_action(self):
        assert largest_action(CB.splitlines()) == 3
        assert largest_action(["junk", "| x", "7 | y"]) == 7

    @pytest.mark.parametrize(
        ("line", "text"),
        [
            ("1:0:0.5 no bar", "must have features after a `|`"),
            ("| x", "must have one label action:cost:probability before the `|`, got ''"),
            ("1:0:0.5 2:0:0.5 | x", "must have one label"),
            ("1:0 | x", "a label must be action:cost:probability, got '1:0'"),
            ("a:0:0.5 | x", "the action of a label must be a whole number, got 'a'"),
            ("0:0:0.5 | x", "actions must be counted from 1, got 0"),
            ("4:0:0.5 | x", "the action must be between 1 and 3, got 4"),
            ("1:nan:0.5 | x", "the cost must be a finite number, got 'nan'"),
            ("1:0:0 | x", "must be a probability above 0 and at most 1, got 0.0"),
            ("1:0:1.5 | x", "must be a probability above 0 and at most 1, got 1.5"),
            ("1:0:0.5 | x:two", "feature 'x' must be a finite number, got 'two'"),
            ("1:0:0.5 |a:b x", "the weight of a namespace must be a finite number, got 'b'"),
        ],
    )
    def test_odd_lines_are_named(self, line, text):
        with pytest.raises(ValueError, match=r"log\.vw, line 2: ") as caught:
            cb(f"1:0:1 | fine\n{line}\n")
        assert text in str(caught.value)
        found, bad = cb(f"1:0:1 | fine\n{line}\n1:0:1 | fine\n", skip=True)
        assert (len(found), bad.count) == (2, 1)


class TestCbAdf:
    def test_reads_blocks(self):
        found, _ = adf(ADF)
        first, second, third = found
        assert first.context == {"user": ["young"], "user.city": "Rome"}
        assert first.actions == {
            "1": {"item.price": 3.0},
            "jazz": {"item.price": 4.0, "item": ["new"]},
        }
        assert (first.chosen, first.cost, first.probability, first.line) == (0, 1.5, 0.5, 1)
        assert second.context == {}
        assert (second.chosen, second.cost, second.probability, second.line) == (1, 0.0, 0.25, 5)
        assert (third.chosen, third.cost, third.probability) == (None, None, None)

    def test_names_that_come_twice_are_told_apart(self):
        (found,), _ = adf("'a| x\n'a| y\n'a| z\n")
        assert list(found.actions) == ["a", "a (2)", "a (3)"]

    @pytest.mark.parametrize(
        ("block", "line", "text"),
        [
            ("| x\nshared | y\n", 2, "a shared line must be the first of its block"),
            ("0:1:1 | x\n0:1:1 | y\n", 2, "only one action of a block may have a label"),
            ("shared | x\n", 1, "at least one action, got a shared line alone"),
            ("0:1:1 0:1:1 | x\n", 1, "must have one label 0:cost:probability"),
            ("| x\n0:1:0 | y\n", 2, "must be a probability above 0"),
        ],
    )
    def test_odd_blocks_are_named(self, block, line, text):
        with pytest.raises(ValueError, match=f"log.ldf, line {line + 2}: ") as caught:
            adf(f"0:1:1 | x\n\n{block}")
        assert text in str(caught.value)
        found, bad = adf(f"0:1:1 | x\n\n{block}\n0:1:1 | x\n", skip=True)
        assert (len(found), bad.count) == (2, 1)
