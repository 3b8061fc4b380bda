import json
import math
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from graphcb.contexts import EncodedRow
from graphcb.decisions.encoding import as_encoded, decode, encode, is_plain, plain_context

floats = arrays(np.float64, st.integers(0, 9), elements=st.floats(allow_nan=True))
wholes = arrays(np.int64, st.integers(0, 9), elements=st.integers(-(2**63), 2**63 - 1))
texts = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(floats)
def test_floats_keep_every_bit(values):
    assert decode(encode(values, "context")).tobytes() == values.tobytes()
    assert decode(encode(values[::-1], "context")).tobytes() == values[::-1].tobytes()


@given(wholes)
def test_whole_numbers_stay_whole(values):
    read = decode(encode(values, "actions"))
    assert read.dtype == np.int64
    np.testing.assert_array_equal(read, values)


@given(wholes.flatmap(lambda i: st.tuples(st.just(i), arrays(np.float64, i.size))))
def test_pairs(pair):
    indices, values = decode(encode(pair, "context"))
    np.testing.assert_array_equal(indices, pair[0])
    assert values.tobytes() == pair[1].tobytes()


@given(texts.filter(lambda value: not isinstance(value, list)))
def test_whatever_json_holds(value):
    assert decode(encode(value, "context")) == value


numerals = st.from_regex(
    r"-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,25})?([eE][-+]?[0-9]{1,3})?", fullmatch=True
)


@given(st.lists(numerals | texts.map(json.dumps) | st.sampled_from(["NaN", r'"\ud800"', "-0"])))
def test_json_is_read_as_python_reads_it(pieces):
    text = f"[{', '.join(pieces)}]"
    assert repr(decode(b"j" + text.encode())) == repr(json.loads(text))


def test_lists_are_arrays_and_tables_stay_tables():
    np.testing.assert_array_equal(decode(encode([1, 2], "actions")), [1, 2])
    np.testing.assert_array_equal(decode(encode([1, 0.5], "context")), [1.0, 0.5])
    np.testing.assert_array_equal(decode(encode([True, False], "context")), [1, 0])
    assert decode(encode([[1.0, 2.0], [3.0, 4.0]], "context")) == [[1.0, 2.0], [3.0, 4.0]]
    assert decode(encode(np.eye(2), "context")) == [[1.0, 0.0], [0.0, 1.0]]
    assert decode(encode(["a", "b"], "actions")) == ["a", "b"]
    assert decode(encode([], "actions")).size == 0


def test_what_is_read_can_be_written_to():
    read = decode(encode(np.ones(3), "context"))
    read[0] = 2.0
    assert read.flags.aligned


def test_an_unknown_letter_is_damage():
    with pytest.raises(ValueError, match="damaged: a value must begin with one of n, f, i, p, s"):
        decode(b"z" + json.dumps(1).encode())


@pytest.mark.parametrize(
    "values",
    [
        [2**63, 5],
        [2**63, -1],
        [2**64 + 1, 3],
        [2**53 + 1, 0.5],
        [10**30],
        np.array([2**63, 2**64 - 1], dtype=np.uint64),
    ],
)
def test_whole_numbers_beyond_an_int64_are_kept(values):
    read = decode(encode(values, "actions"))
    assert [int(value) if value == int(value) else value for value in read] == [
        int(value) if value == int(value) else value for value in values
    ]


def test_indices_beyond_an_int64_are_refused():
    pair = (np.array([2**63], dtype=np.uint64), np.ones(1))
    with pytest.raises(ValueError, match=r"`context` must have indices below 2\*\*63, got 9223"):
        encode(pair, "context")


@given(st.binary(max_size=40), st.sampled_from([b"", b"f", b"i", b"p", b"s", b"j", b"n"]))
def test_bytes_of_any_kind_are_read_or_damaged(content, letter):
    try:
        read = decode(letter + content)
    except ValueError as problem:
        damage = str(problem)
    else:
        damage = "damaged"
        if letter == b"s":
            read.toarray() if read.shape[1] < 10**6 else read.sum()
    assert damage.startswith("damaged")


@pytest.mark.parametrize(
    "content",
    [
        b"f1234567",
        b"i123456789",
        b"p" + bytes(24),
        b"s" + bytes(3),
        b"s" + np.array([3, 9], "<i8").tobytes() + bytes(8),
        b"j" + b"[" * 10**5,
        b"j\xff",
        b"",
    ],
)
def test_damage_is_said(content):
    with pytest.raises(ValueError, match=r"^damaged: "):
        decode(content)


def test_what_an_encoder_made_is_kept_as_a_pair():
    row = EncodedRow(np.array([5, 6, 2]), np.array([0.0, -1.5, 1.0]), 2, 4)
    indices, values = decode(encode(row, "context"))
    np.testing.assert_array_equal(indices, row.pair()[0])
    np.testing.assert_array_equal(values, row.pair()[1])


KEYS = st.text() | st.just("\\ude00") | st.just("\ud83d\ude00")
PLAIN = st.one_of(KEYS, st.floats(), st.integers(), st.booleans(), st.none(), st.just(-math.nan))


@given(st.dictionaries(KEYS, PLAIN))
def test_what_is_decided_on_is_what_a_replay_reads(context):
    assert is_plain(context)
    assert plain_context(context) is context
    made, read = as_encoded(context), decode(encode(context, "context"))
    assert made.content == encode(context, "context")
    assert made.value is not context
    assert list(map(repr, made.value.items())) == list(map(repr, read.items()))
    signs = [[math.copysign(1.0, v) for v in d.values() if v != v] for d in (made.value, read)]
    assert signs[0] == signs[1]


@pytest.mark.parametrize(
    "context",
    [{1: 2.0}, {"a": np.float64(1.0)}, {"a": [1]}, {"a": {}}, {"a": date(2024, 1, 1)}, [], "a"],
)
def test_a_context_that_is_not_plain(context):
    assert not is_plain(context)
