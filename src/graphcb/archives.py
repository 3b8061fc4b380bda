"""Arrays from files that may lie: nothing is unpacked or allocated before its size is known.

Both forms of numpy, .npy and .npz, are read here and not by `numpy.load`, which believes what a
file says of itself. Every refusal is a ValueError without the name of the file.
"""

import io
import math
import tokenize
import zipfile
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

AT_LEAST = 2**30  # bytes that any file may unpack to; a larger one, its own size

_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    tokenize.TokenError,
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    NotImplementedError,
    OSError,
    RecursionError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)


def size_limit(size: int, max_bytes: int | None) -> int:
    """How many bytes a file of this size may unpack to."""
    return max(AT_LEAST, size) if max_bytes is None else max_bytes


def check_size(size: int, limit: int) -> None:
    """Refuse what takes more than `limit` bytes."""
    if size > limit:
        raise ValueError(
            f"it unpacks to {size:,} bytes, more than the limit of {limit:,}; "
            "if you trust it, give a larger max_bytes"
        )


def read_archive(content: bytes, *, max_bytes: int | None = None) -> dict[str, NDArray[Any]]:
    """The arrays of an .npz file by name, as numpy.savez wrote them."""
    limit = size_limit(len(content), max_bytes)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
            check_size(sum(member.file_size for member in members), limit)
            arrays: dict[str, NDArray[Any]] = {}
            for member in members:
                name = member.filename.removesuffix(".npy")
                if name in arrays:
                    raise ValueError(f"it holds {name!r} twice")
                # A member never gives more bytes than it says, and they are checked by their sum.
                arrays[name] = read_array(archive.read(member))
            return arrays
    except _DAMAGED as reason:
        raise ValueError(_shortly(reason)) from None


def read_array(content: bytes) -> NDArray[Any]:
    """The array of an .npy file; it shares the memory of `content`."""
    try:
        return _read_array(content)
    except _DAMAGED as reason:
        raise ValueError(_shortly(reason)) from None


def _read_array(content: bytes) -> NDArray[Any]:
    file = io.BytesIO(content)
    version = np.lib.format.read_magic(file)
    read_header = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if read_header is None:
        raise ValueError(f"an array of version {version} of the format cannot be read")
    shape, by_columns, dtype = read_header(file)
    if dtype.hasobject:
        raise ValueError("it holds Python objects, which only code could rebuild")
    begin = file.tell()
    if any(size < 0 for size in shape) or len(content) - begin != math.prod(shape) * dtype.itemsize:
        raise ValueError(
            f"an array of shape {shape} must take {math.prod(shape) * dtype.itemsize:,} bytes, "
            f"got {len(content) - begin:,}"
        )
    if dtype.itemsize == 0:
        return np.empty(shape, dtype)
    flat = np.frombuffer(content, dtype, offset=begin).astype(dtype.newbyteorder("="), copy=False)
    return flat.reshape(shape, order="F" if by_columns else "C")


def _shortly(reason: BaseException) -> str:
    """The reason as a text that is never empty or long."""
    text = str(reason) or type(reason).__name__
    return text if len(text) <= 300 else f"{text[:297]}..."
