import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from graphcb.decisions.encoding import decode, encode

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
    "values", [[2**63, 1], [2**64, 1], [2**63, -1], [2**60 + 1, 0.5], np.array([2**63, 1], "u8")]
)
def test_whole_numbers_that_no_int64_or_float_holds_are_kept(values):
    assert list(decode(encode(values, "actions"))) == list(values)


def test_indices_that_no_int64_holds_are_refused():
    with pytest.raises(ValueError, match="must be a pair"):
        encode((np.array([2**63], dtype="u8"), [1.0]), "context")


@pytest.mark.parametrize(
    "content", [b"f123", b"i1234567", b"p" + bytes(8), b"s" + bytes(8) + bytes(8), b"s12"]
)
def test_bytes_that_do_not_fit_are_damage(content):
    with pytest.raises(ValueError, match=r"damaged: \d+ bytes are no value of kind"):
        decode(content)


@pytest.mark.parametrize("index", [-1, 3])
def test_a_sparse_row_with_an_index_outside_is_damage(index):
    content = b"s" + np.array([3, index]).tobytes() + np.ones(1).tobytes()
    with pytest.raises(ValueError, match="damaged: an index of a sparse row is not below its"):
        decode(content)
