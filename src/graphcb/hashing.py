"""Text as numbered places, by a hash that is the same on every machine and needs no first pass."""

import re
import zlib

_WORDS = re.compile(r"\w+|[^\w\s]")


def word_places(text: str, column: str, n_places: int) -> list[int]:
    """The places of the words and signs of a cell, each once, in increasing order.

    A cell of one word is a category: one place, whatever the size of the file. The same word
    in another column has another place.

    >>> word_places("FREE free prize!", "message", 2**18)
    [97852, 174391, 187003]
    """
    found = set(_WORDS.findall(text.lower()))
    return sorted({zlib.crc32(f"{column}={word}".encode()) % n_places for word in found})
