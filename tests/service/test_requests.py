import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("msgspec", reason="needs the extra `serve`")
pytest.importorskip("uvicorn", reason="needs the extra `serve`")
pytest.importorskip("prometheus_client", reason="needs the extra `serve`")

import msgspec

from graphcb.decisions.encoding import Encoded, decode
from graphcb.service.admission import RequestLimits
from graphcb.service.requests import as_context

LIMITS = RequestLimits()
PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()


def same(one, other):
    """Equal, of the same types, to the last bit, and in the same order."""
    return repr(one) == repr(other)


@given(st.dictionaries(st.text(), PLAIN), st.sampled_from([None, 1, "\t"]), st.booleans())
def test_what_is_logged_reads_back_as_what_was_decided_on(context, indent, ascii_only):
    text = json.dumps(context, indent=indent, ensure_ascii=ascii_only)
    try:
        content = text.encode()
        read = as_context(content, LIMITS)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return  # infinity, or half a surrogate pair
    assert isinstance(read, Encoded)
    assert same(decode(read.content), read.value)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1e5, "b": -0, "c": -0.0, "d": 1E-320, "e": 0.1e1}',
        '{"a": 123456789012345678901234567890, "b": 9223372036854775808, "c": -1e999999}',
        '{"a": 18446744073709551616.0, "a": 2, "b": 1, "a": 3}',
        '{"\\u00e9": "\\ud83d\\ude00", "x": "\\u0000"}',
        '{"a": 2.2250738585072011e-308, "b": 1.7976931348623159e308, "c": 9007199254740993}',
    ],
)
def test_odd_numbers_and_names_read_back_the_same(text):
    try:
        read = as_context(text.encode(), LIMITS)
    except msgspec.DecodeError:
        return
    if isinstance(read, Encoded):
        assert same(decode(read.content), read.value)


def test_what_has_to_be_flattened_is_not_logged_as_it_came():
    assert as_context(b'{"user": {"age": 3}}', LIMITS) == {"user": {"age": 3}}
    assert as_context(b"[1.0, 2.5]", LIMITS) == [1.0, 2.5]
    assert as_context(b'"a text"', LIMITS) == "a text"
    assert as_context(b"null", LIMITS) is None
