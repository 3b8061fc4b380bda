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
from collections.abc import Sequence
from itertools import chain
from operator import sub

import numpy as np

FLOAT = np.dtype("<f8")
_ONE = int(np.ones(1).view(np.int64)[0])
_NO_HEADER, _LITTLE_MEMORY = -15, 5  # 9, the most, takes ten times as long for a short text
MOST_VALUES = 255
HOLE = b"\0"  # in place of a number; no JSON text has one
_NUMBER = rb"(-?[0-9][-+.0-9e]*)"
_MEMBER = re.compile(rb'("(?:[^"\\]|\\.)*"\s*:\s*)' + _NUMBER + rb"(?=\s*[,}])")
_TO_HEX = bytes.maketrans(b".-e+,n", b"abcdef")  # n stands for ",0."
_FROM_HEX = bytes.maketrans(b"abcdef", b".-e+,n")


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
    n = values.size
    ends = [*((values[1:] != values[:-1]).nonzero()[0] + 1).tolist(), n]
    if values[action] == _ONE and len(ends) <= 3 and np.count_nonzero(values) == 1:
        return b"c" + whole(n)
    if 4 * len(ends) < 3 * n:
        starts = [0, *ends[:-1]]
        places: dict[int, int] = {}
        which = [places.setdefault(value, len(places)) for value in values[starts].tolist()]
        width = 1 if n < 2**8 else 2 if n < 2**16 else 4  # bytes for the length of a run
        if 8 * len(places) + (1 + width) * len(which) + 3 < 8 * n and len(places) <= MOST_VALUES:
            lengths = np.array(list(map(sub, ends, starts)), f"<u{width}")
            distinct = np.array(list(places), "<i8")
            head = bytes((ord("v"), width, len(places)))
            return head + distinct.tobytes() + bytes(which) + lengths.tobytes()
    return b"d" + probabilities


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


def pattern_of(shape: bytes) -> "re.Pattern[bytes]":
    """Finds the numbers in texts of a shape."""
    return re.compile(_NUMBER.join(map(re.escape, shape.split(HOLE))))


def pack_numbers(numbers: Sequence[bytes]) -> bytes:
    """Numbers as they are written, in half of the bytes.

    >>> pack_numbers((b"20", b"0.5")).hex()
    'e20f5e'
    """
    digits = (b"," + b",".join(numbers)).replace(b",0.", b"n").translate(_TO_HEX)
    return bytes.fromhex((digits + b"e" if len(digits) & 1 else digits).decode())


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
