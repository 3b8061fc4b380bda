"""Contexts and identifiers of actions as bytes, and back, with every bit.

One letter gives the form, and little-endian numbers follow: `n` nothing, `f` float64 numbers,
`i` int64 numbers, `p` a pair (int64 indices, float64 values), `s` a sparse row (its width, then
a pair), `j` a JSON text. An agent always gets what was decoded, the first time as well, so that
it gets the same when the log is replayed.
"""

import json
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

FLOAT, WHOLE = np.dtype("<f8"), np.dtype("<i8")
# A kind's bytes are a multiple of these, and a rest: its letter, and the width of a sparse row.
_UNIT = {b"f": 8, b"i": 8, b"p": 16, b"s": 16}
_REST = {b"f": 1, b"i": 1, b"p": 1, b"s": 9}
FORMS = "a row of numbers, a 1-by-d scipy row, a pair (indices, values), or a JSON value"


def encode(value: Any, name: str) -> bytes:
    """The bytes of a context or of a round's identifiers.

    >>> decode(encode(([2, 5], [1.0, 0.5]), "context"))
    (array([2, 5]), array([1. , 0.5]))
    """
    if value is None:
        return b"n"
    if isinstance(value, tuple):
        return b"p" + _pair_bytes(value, name)
    sparse = sys.modules.get("scipy.sparse")  # a caller with a sparse row has imported it
    if sparse is not None and sparse.issparse(value):
        return _sparse_bytes(value, name)
    if isinstance(value, np.ndarray | list):
        array = np.asarray(value) if _is_flat(value) else None
        if array is not None and array.ndim == 1 and array.dtype.kind in "fiub":
            if array.dtype.kind != "f" and not _is_too_large(array):
                return b"i" + array.astype(WHOLE).tobytes()
            if array.dtype.kind == "f" and not _has_rounded(value, array):
                return b"f" + array.astype(FLOAT).tobytes()
    return b"j" + _json_bytes(value, name)


def decode(content: bytes) -> Any:
    """What `encode` was given, with lists of numbers as int64 or float64 arrays."""
    kind = content[:1]
    if len(content) % _UNIT.get(kind, 1) != _REST.get(kind, 0):
        raise ValueError(f"damaged: {len(content)} bytes are no value of kind {kind!r}")
    if kind == b"f":
        return numbers(content, FLOAT, 1)
    if kind == b"i":
        return numbers(content, WHOLE, 1)
    if kind == b"n":
        return None
    if kind == b"p":
        return _pair(content, 1)
    if kind == b"s":
        return _sparse_row(content)
    if kind == b"j":
        return json.loads(content[1:].decode())
    raise ValueError(f"damaged: a value must begin with one of n, f, i, p, s, j, got {kind!r}")


def numbers(content: bytes, dtype: Any, begin: int = 0, end: int | None = None) -> NDArray[Any]:
    """A writable array of the numbers between two offsets."""
    stop = len(content) if end is None else end
    return np.frombuffer(content, dtype, (stop - begin) // 8, begin).copy()


def _is_flat(value: Any) -> bool:
    return isinstance(value, np.ndarray) or not any(isinstance(v, list | str | dict) for v in value)


def _is_too_large(array: NDArray[Any]) -> bool:
    """Whether a number has no int64."""
    return array.dtype == np.uint64 and bool((array > np.iinfo(np.int64).max).any())


def _has_rounded(value: Any, array: NDArray[Any]) -> bool:
    """Whether a list with whole numbers beyond 2**53 lost digits when it became an array."""
    if isinstance(value, np.ndarray) or array.size == 0 or not np.abs(array).max() > 2.0**53:
        return False
    return any(isinstance(v, int) and int(f) != v for v, f in zip(value, array, strict=True))


def _pair_bytes(value: tuple[Any, ...], name: str) -> bytes:
    if len(value) == 2:
        indices, values = np.asarray(value[0]), np.asarray(value[1])
        whole = (indices.dtype.kind in "iu" and not _is_too_large(indices)) or indices.size == 0
        if indices.ndim == 1 and indices.shape == values.shape and whole:
            return indices.astype(WHOLE).tobytes() + values.astype(FLOAT).tobytes()
    raise ValueError(
        f"`{name}` as a tuple must be a pair (indices, values) of the same length, whole numbers "
        f"first, got {_shown(value)}; a row of numbers is a list or an array"
    )


def _pair(content: bytes, begin: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
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
    if indices.size and not (indices.min() >= 0 and indices.max() < width):
        raise ValueError(f"damaged: an index of a sparse row is not below its width, {width}")
    return csr_array((values, indices, [0, indices.size]), shape=(1, width))


def _json_bytes(value: Any, name: str) -> bytes:
    plain = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
    try:
        return json.dumps(plain).encode()
    except (TypeError, ValueError) as reason:
        raise TypeError(
            f"`{name}` must be {FORMS} to be logged, got {type(value).__name__}: {reason}"
        ) from None


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
