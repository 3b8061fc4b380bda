"""Probabilities and texts in few bytes, and back with every bit.

A letter gives the form. Probabilities are `c` and their number where the drawn action was certain;
`v`, the distinct values and runs of equal neighbours; or `d`, every number. A JSON object of
numbers is `k`, the number of its shape, and its digits, two to a byte. Another text is `z`, the
number of a text with its keys, and what zlib makes of it with that one at hand. Text that is
stored once for all is `r` and its number.
"""

import json
import re
import zlib
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.compilation import compiled, inner

FLOAT = np.dtype("<f8")
_ONE = int(np.ones(1).view(np.int64)[0])
_NO_HEADER, _LITTLE_MEMORY = -15, 5  # 9, the most, takes ten times as long for a short text
MOST_VALUES = 255
HOLE = b"\0"  # in place of a number; no JSON text has one
_NUMBER = rb"(-?[0-9][-+.0-9e]*)"
_MEMBER = re.compile(rb'("(?:[^"\\]|\\.)*"\s*:\s*)' + _NUMBER + rb"(?=\s*[,}])")
_DIGITS = b"0123456789.-e+,n"  # as hexadecimal digits; n stands for ",0."
_FROM_HEX = bytes.maketrans(b"abcdef", _DIGITS[10:])
_OTHER, _COMMA, _ZERO_POINT = 16, 14, 15
_HOLE, _MINUS, _ZERO, _POINT = b"\0-0."
_AS_DIGIT = np.full(256, _OTHER)
_AS_DIGIT[[*_DIGITS[:14]]] = range(14)
_EMPTY, _SLOTS = -1, 1024  # of a table of values, of which at most a quarter is taken
Bytes = NDArray[Any]


def pack_probabilities(probabilities: bytes, action: int) -> bytes:
    """The bytes of float64 probabilities, shorter where values repeat.

    >>> some = np.array([1e-6, 1e-6, 0.5, 1e-6, 1e-6])
    >>> packed = pack_probabilities(some.tobytes(), 2)
    >>> len(packed), unpack_probabilities(packed, 2) == some.tobytes()
    (25, True)
    >>> pack_probabilities(np.array([0.0, 1.0]).tobytes(), 1)
    b'c\\x02'
    """
    values = np.frombuffer(probabilities, "<i8")  # as bits: -0.0 is not 0.0
    packed = np.empty(len(probabilities) + 1, np.uint8)
    size = _pack_values(values, action, packed)
    if size == 0:
        return b"c" + whole(values.size)
    return packed[:size].tobytes() if size > 0 else b"d" + probabilities


def unpack_probabilities(packed: bytes, action: int) -> bytes:
    """What `pack_probabilities` was given; a ValueError if the bytes are not of that form."""
    form = packed[:1]
    if form == b"d":
        return packed[1:]
    if form == b"c":
        certain = np.zeros(read_whole(packed, 1)[0], FLOAT)
        certain[action] = 1.0
        return certain.tobytes()
    if form != b"v":
        raise ValueError(f"probabilities must begin with c, v or d, got {form!r}")
    width, n = packed[1], packed[2]
    begin = 3 + 8 * n
    n_runs = (len(packed) - begin) // (1 + width)
    distinct = np.frombuffer(packed, FLOAT, n, 3)
    which = np.frombuffer(packed, np.uint8, n_runs, begin)
    lengths = np.frombuffer(packed, f"<u{width}", n_runs, begin + n_runs)
    return np.repeat(distinct[which], lengths).tobytes()


@compiled
def _pack_values(values: Bytes, action: int, packed: Bytes) -> int:
    """Fill in form `v` and return its size; 0 for form `c`, and -1 for form `d`."""
    n, n_runs, n_others = values.size, 0, 0
    for k in range(n):
        n_runs += k == 0 or values[k] != values[k - 1]
        n_others += values[k] != 0
    if n_others == 1 and values[action] == _ONE:
        return 0
    if 4 * n_runs >= 3 * n:
        return -1
    width = 1 if n < 2**8 else 2 if n < 2**16 else 4  # bytes for the length of a run
    distinct, table = np.empty(MOST_VALUES, np.int64), np.full(_SLOTS, _EMPTY)
    which, lengths, n_distinct, r = np.empty(n_runs, np.int64), np.zeros(n_runs, np.int64), 0, -1
    for k in range(n):
        if k == 0 or values[k] != values[k - 1]:
            r += 1
            at = (values[k] ^ (values[k] >> 23) ^ (values[k] >> 45)) & (_SLOTS - 1)
            while table[at] != _EMPTY and distinct[table[at]] != values[k]:
                at = (at + 1) & (_SLOTS - 1)
            if table[at] == _EMPTY:
                if n_distinct == MOST_VALUES:
                    return -1
                distinct[n_distinct], table[at] = values[k], n_distinct
                n_distinct += 1
            which[r] = table[at]
        lengths[r] += 1
    if 8 * n_distinct + (1 + width) * n_runs + 3 >= 8 * n:
        return -1
    packed[0], packed[1], packed[2] = ord("v"), width, n_distinct
    size = _put(distinct[:n_distinct], 8, packed, 3)
    return _put(lengths, width, packed, _put(which, 1, packed, size))


@inner
def _put(numbers: Bytes, width: int, packed: Bytes, begin: int) -> int:
    """Write whole numbers, so many bytes each, the lowest first; where they end."""
    for k in range(numbers.size):
        for b in range(width):
            packed[begin + k * width + b] = (numbers[k] >> (8 * b)) & 255
    return begin + numbers.size * width


def keys_of(text: bytes) -> bytes:
    """The keys of a JSON object, without any value, as zlib finds them in objects like it.

    >>> keys_of(b'{"hour": 20, "country": "de"}')
    b'{"hour": , "country": "'
    """
    try:
        found = json.loads(text)
    except ValueError:
        return b""
    if not isinstance(found, dict):
        return b""
    begins = [f"{json.dumps(k)}: {_BEGIN.get(type(v), '')}" for k, v in found.items()]
    return ("{" + ", ".join(begins)).encode()


def shape_of(text: bytes) -> bytes:
    """A JSON object of numbers without them, b"" for any other text.

    >>> shape_of(b'{"hour": 20, "spent": 0.5}')
    b'{"hour": \\x00, "spent": \\x00}'
    """
    shape, n_numbers = _MEMBER.subn(rb"\1" + HOLE, text)
    try:
        found = json.loads(text)
    except ValueError:
        return b""
    values = list(found.values()) if isinstance(found, dict) else []
    is_flat = all(type(value) in (int, float) for value in values)
    return shape if is_flat and n_numbers == len(values) > 0 else b""


def pack_numbers(text: bytes, shape: bytes) -> bytes | None:
    """The numbers of a text of this shape in half of the bytes; None for any other text.

    >>> pack_numbers(b'{"hour": 20, "spent": 0.5}', b'{"hour": \\x00, "spent": \\x00}').hex()
    'e20f5e'
    """
    packed = np.empty(len(text), np.uint8)  # a number takes at most one more than its digits
    content, between = np.frombuffer(text, np.uint8), np.frombuffer(shape, np.uint8)
    size = _pack_numbers(content, between, _AS_DIGIT, packed)
    return None if size < 0 else packed[:size].tobytes()


@compiled
def _pack_numbers(text: Bytes, shape: Bytes, as_digit: Bytes, packed: Bytes) -> int:
    """Fill in the digits and return their size; -1 if the text is not of this shape."""
    at = n_digits = 0
    for k in range(shape.size):
        if shape[k] != _HOLE:
            if at >= text.size or text[at] != shape[k]:
                return -1
            at += 1
            continue
        begin = at + (at < text.size and text[at] == _MINUS)
        if begin >= text.size or as_digit[text[begin]] > 9:
            return -1
        follows = _COMMA
        if begin == at and text[at] == _ZERO and at + 1 < text.size and text[at + 1] == _POINT:
            follows, at = _ZERO_POINT, at + 2
        n_digits = _put_digit(follows, packed, n_digits)
        while at < text.size and as_digit[text[at]] != _OTHER:
            n_digits = _put_digit(as_digit[text[at]], packed, n_digits)
            at += 1
    if at < text.size:
        return -1
    if n_digits & 1:
        n_digits = _put_digit(_COMMA, packed, n_digits)
    return n_digits // 2


@inner
def _put_digit(digit: int, packed: Bytes, place: int) -> int:
    """Write one digit, two to a byte; the next place."""
    if place & 1:
        packed[place // 2] |= digit
    else:
        packed[place // 2] = digit << 4
    return place + 1


def fill_shape(shape: bytes, packed: bytes) -> bytes:
    """The text of this shape whose numbers `pack_numbers` was given."""
    digits = packed.hex().encode().translate(_FROM_HEX).replace(b"n", b",0.")
    numbers, pieces = digits.rstrip(b",").split(b","), shape.split(HOLE)
    if len(numbers) != len(pieces) or numbers[0]:
        raise ValueError(f"a text must have {len(pieces) - 1} numbers, got {len(numbers) - 1}")
    return b"".join(chain.from_iterable(zip(numbers, pieces, strict=True)))


_BEGIN = {str: '"', dict: "{", list: "[", float: ""}


def compress(text: bytes, keys: bytes) -> bytes:
    """A text in few bytes, for `decompress` with the same keys."""
    work = zlib.compressobj(6, zlib.DEFLATED, _NO_HEADER, _LITTLE_MEMORY, zdict=keys)
    return work.compress(text) + work.flush()


def decompress(packed: bytes, keys: bytes) -> bytes:
    """What `compress` was given."""
    try:
        return zlib.decompressobj(_NO_HEADER, zdict=keys).decompress(packed)
    except zlib.error as problem:
        raise ValueError(f"a text must be compressed by zlib: {problem}") from None


def whole(number: int) -> bytes:
    """A whole number of at least 0, seven bits to a byte.

    >>> whole(300), read_whole(b"r" + whole(300), 1)
    (b'\\xac\\x02', (300, 3))
    """
    found = bytearray()
    while number >= 128:
        found.append(128 | number & 127)
        number >>= 7
    found.append(number)
    return bytes(found)


def read_whole(content: bytes, begin: int) -> tuple[int, int]:
    """A number that `whole` wrote, and where it ends."""
    number = shift = 0
    for place in range(begin, len(content)):
        number |= (content[place] & 127) << shift
        if content[place] < 128:
            return number, place + 1
        shift += 7
    raise ValueError("a number must end")
