"""Contexts and identifiers of actions as bytes, and back, with every bit.

One letter gives the form, and little-endian numbers follow: `n` nothing, `f` float64 numbers,
`i` int64 numbers, `p` a pair (int64 indices, float64 values), `s` a sparse row (its width, then
a pair), `j` a JSON text. An agent always gets what was decoded, the first time as well, so that
it gets the same when the log is replayed.
"""

import json
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.contexts import EncodedRow
from graphcb.contexts.values import flat, is_missing, passes
from graphcb.rounds.identifiers import Identifiers

_read_json: Callable[[bytes], Any] = json.loads
with suppress(ImportError):  # the extra `serve` has it: the same values in a tenth of the time
    from msgspec.json import decode as _read_json

FLOAT, WHOLE = np.dtype("<f8"), np.dtype("<i8")
FORMS = "a row of numbers, a 1-by-d scipy row, a pair (indices, values), or a JSON value"


_READY = frozenset((str, int, float, bool, type(None)))
_TEXT = frozenset((str,))


class Encoded(NamedTuple):
    """A context as bytes, with what `decode` makes of them; both are believed."""

    content: bytes
    value: Any


def as_encoded(context: Any) -> Encoded:
    """A context with its bytes.

    JSON gives a plain one back as it is, so that it need not be read, unless it has half of a
    surrogate pair or a number that is none.
    """
    content = encode(context, "context")
    is_same = is_plain(context) and b"\\ud" not in content and b"NaN" not in content
    return Encoded(content, dict(context) if is_same else decode(content))


def encode(value: Any, name: str) -> bytes:
    """The bytes of a context or of a round's identifiers.

    >>> decode(encode(([2, 5], [1.0, 0.5]), "context"))
    (array([2, 5]), array([1. , 0.5]))
    """
    if value is None:
        return b"n"
    if isinstance(value, tuple):
        pair = value.pair() if isinstance(value, EncodedRow) else value
        return b"p" + _pair_bytes(pair, name)
    sparse = sys.modules.get("scipy.sparse")  # a caller with a sparse row has imported it
    if sparse is not None and sparse.issparse(value):
        return _sparse_bytes(value, name)
    if isinstance(value, np.ndarray | list):
        array = np.asarray(value) if _is_flat(value) else None
        if array is not None and array.ndim == 1 and _keeps_all(array, value):
            letter, dtype = (b"f", FLOAT) if array.dtype.kind == "f" else (b"i", WHOLE)
            return letter + array.astype(dtype).tobytes()
    return b"j" + _json_bytes(value, name)


def decode(content: bytes) -> Any:
    """What `encode` was given, with lists of numbers as int64 or float64 arrays.

    A ValueError that begins with "damaged" if the bytes are not of that form.
    """
    kind = bytes(content[:1])
    if kind == b"f":
        return numbers(content, FLOAT, 1)
    if kind == b"i":
        return numbers(content, WHOLE, 1)
    if kind == b"n" and len(content) == 1:
        return None
    if kind == b"p":
        return _pair(content, 1)
    if kind == b"s":
        return _sparse_row(content)
    if kind == b"j":
        try:
            return _read_json(bytes(content[1:]))
        except Exception:  # json takes some of what it refuses: NaN, half of a surrogate pair
            pass
        try:
            return json.loads(bytes(content[1:]).decode())
        except (ValueError, RecursionError) as reason:
            raise ValueError(f"damaged: a value must be JSON: {reason}") from None
    raise ValueError(f"damaged: a value must begin with one of n, f, i, p, s, j, got {kind!r}")


read_once = lru_cache(maxsize=16)(decode)  # for those who do not write to what they get


@lru_cache(maxsize=16)
def read_identifiers(actions: bytes, n_actions: int) -> Identifiers:
    """The identifiers of a round from the bytes that a log holds."""
    return Identifiers(read_once(actions), n_actions)


def numbers(content: bytes, dtype: Any, begin: int = 0, end: int | None = None) -> NDArray[Any]:
    """A writable array of the numbers between two offsets."""
    stop = len(content) if end is None else end
    if (stop - begin) % 8 or not 0 <= begin <= stop <= len(content):
        raise ValueError(f"damaged: numbers must take 8 bytes each, got {stop - begin} bytes")
    return np.frombuffer(content, dtype, (stop - begin) // 8, begin).copy()


def _is_flat(value: Any) -> bool:
    return isinstance(value, np.ndarray) or not any(isinstance(v, list | str | dict) for v in value)


def _keeps_all(array: NDArray[Any], value: Any) -> bool:
    """Whether int64 or float64 numbers are what was given; JSON keeps larger whole numbers."""
    if array.dtype.kind in "ib":
        return True
    if array.dtype.kind == "u":
        return array.size == 0 or int(array.max()) < 2**63
    if array.dtype.kind != "f":
        return False
    if isinstance(value, np.ndarray) or not (np.abs(array) >= 2.0**53).any():
        return True
    return not any(isinstance(v, int | np.integer) and int(float(v)) != int(v) for v in value)


def _pair_bytes(value: tuple[Any, ...], name: str) -> bytes:
    if len(value) == 2:
        indices, values = np.asarray(value[0]), np.asarray(value[1])
        whole = indices.dtype.kind in "iu" or indices.size == 0
        if indices.dtype.kind == "u" and indices.size and int(indices.max()) >= 2**63:
            raise ValueError(f"`{name}` must have indices below 2**63, got {indices.max()}")
        if indices.ndim == 1 and indices.shape == values.shape and whole:
            return indices.astype(WHOLE).tobytes() + values.astype(FLOAT).tobytes()
    raise ValueError(
        f"`{name}` as a tuple must be a pair (indices, values) of the same length, whole numbers "
        f"first, got {_shown(value)}; a row of numbers is a list or an array"
    )


def _pair(content: bytes, begin: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    if (len(content) - begin) % 16:
        raise ValueError(
            f"damaged: a pair must take 16 bytes per entry, got {len(content) - begin} bytes"
        )
    middle = begin + (len(content) - begin) // 2
    return numbers(content, WHOLE, begin, middle), numbers(content, FLOAT, middle)


def _sparse_bytes(value: Any, name: str) -> bytes:
    width = value.shape[-1]
    if value.shape not in ((1, width), (width,)):
        raise ValueError(f"`{name}` must be one row, got a sparse array of shape {value.shape}")
    row = value.tocsr()
    return b"s" + np.int64(width).astype(WHOLE).tobytes() + _pair_bytes((row.indices, row.data), "")


def _sparse_row(content: bytes) -> Any:
    from scipy.sparse import csr_array

    width = int(numbers(content, WHOLE, 1, 9)[0])
    indices, values = _pair(content, 9)
    if width < 0 or (indices.size and not 0 <= indices.min() <= indices.max() < width):
        raise ValueError(f"damaged: a row of {width} must have indices that exist")
    return csr_array((values, indices, [0, indices.size]), shape=(1, width))


def _json_bytes(value: Any, name: str) -> bytes:
    plain = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
    try:
        return json.dumps(plain).encode()
    except (TypeError, ValueError, RecursionError) as reason:
        raise TypeError(
            f"`{name}` must be {FORMS} to be logged, got {type(value).__name__}: {reason}"
        ) from None


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def is_plain(context: Any) -> bool:
    """Whether a context is a dict of texts and numbers."""
    return (
        type(context) is dict
        and _READY.issuperset(map(type, context.values()))
        and _TEXT.issuperset(map(type, context))
    )


def plain_context(context: Any) -> Any:
    """A context that can be logged: rows and texts as they are, anything else as a dict.

    >>> plain_context({"user": {"age": np.int64(31)}, "seen": date(2024, 5, 1), "tags": ("a", "b")})
    {'user.age': 31, 'seen': '2024-05-01', 'tags': ['a', 'b']}
    """
    if context is None or isinstance(context, str) or is_plain(context) or passes(context):
        return context
    whole = flat(context, whole_vectors=True)
    return {name: _plain(value) for name, value in whole.items()}


def plain_actions(actions: Mapping[str, Any]) -> dict[str, Any]:
    """Features of actions by name, each like a context."""
    return {name: plain_context(features) for name, features in actions.items()}


def _plain(value: Any) -> Any:
    if type(value) in _READY:
        return value
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else str(value.astype("datetime64[us]"))
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, set | frozenset):
        return sorted(value)
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return value.tolist()
    if isinstance(value, list | tuple | np.ndarray):
        return list(map(str, value))
    if is_missing(value):
        return None
    if isinstance(value, Decimal | Fraction):
        return float(value)
    return str(value) if isinstance(value, date | datetime | time) else value
