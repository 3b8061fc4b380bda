"""Lines of libsvm and Vowpal Wabbit text."""

import pytest

from graphcb.streams.lines import labels_of, name_of, parse_libsvm, parse_vw


def test_libsvm_lines():
    assert parse_libsvm("+1 3:1.5 7:-2 # note")[:4] == (["1"], {}, [3, 7], [1.5, -2.0])
    assert parse_libsvm("2,5,9\n")[:4] == (["2", "5", "9"], {}, [], [])
    assert parse_libsvm(" 1:1")[:4] == ([], {}, [1], [1.0])
    assert parse_libsvm("  # nothing") is None
    assert labels_of("4,2 1:1") == ["4", "2"]
    assert labels_of("1:1 2:1") == []
    assert labels_of("") == []


@pytest.mark.parametrize("line", ["1 a:1", "1 3", "1 3:x", "1 3:", "1 1:2:3"])
def test_libsvm_lines_that_are_none(line):
    with pytest.raises(ValueError, match=r"must be LABEL INDEX:VALUE INDEX:VALUE .* got"):
        parse_libsvm(line)
    with pytest.raises(ValueError, match="with indices from 0 or 1 on, got '-1:1'"):
        parse_libsvm("1 -1:1")


def test_vw_lines():
    row = parse_vw("1:0.5 2:-1 'tag|a x y:2 |b:3 x:2")
    assert row.costs == {"1": 0.5, "2": -1.0}
    assert row.values == [1.0, 2.0, 6.0]
    assert row.features == ["a^x", "a^y", "b^x"]
    assert row.has_words
    assert not parse_vw("1:0 | x:2 y:1").has_words
    assert parse_vw("1:0 | x").features == parse_vw("2:0 |  x").features
    assert parse_vw("1:0 |")[2:4] == ([], [])
    assert parse_vw("  \n") is None


@pytest.mark.parametrize("line", ["1:0 2:1", "1 2:0 | x", "1:a | x", "1:0:0.5 | x", "1:0 | x:y"])
def test_vw_lines_that_are_none(line):
    with pytest.raises(ValueError, match=r"must be LABEL or ACTION:COST ACTION:COST .* got"):
        parse_vw(line)
    with pytest.raises(ValueError, match="with each action once, got '1' again"):
        parse_vw("1:0 1:1 | x")


def test_vw_labels_of_several_classes():
    assert parse_vw("2 'tag |w free").labels == ["2"]
    assert parse_vw("spam 1.0 |w free")[:2] == (["spam"], {})
    assert parse_vw("|w free")[:2] == ([], {})
    for line in ("2 0.5 |w free", "2 1 0.5 |w free"):
        with pytest.raises(ValueError, match="with no weight but 1, got '2 "):
            parse_vw(line)


def test_features_as_people_call_them():
    assert [name_of(f) for f in (3, "^x", "user^age")] == ["3", "x", "user^age"]
