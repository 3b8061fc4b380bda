"""The hashing trick: words as numbered places, the same on every machine, without a dictionary."""

import re
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from graphcb.checks import as_count
from graphcb.compilation import inner

_WORDS = re.compile(r"\w+|[^\w\s]")


def place_of(name: str, n_places: int) -> int:
    """The place of a feature by its name.

    >>> place_of("free", 2**18)
    180680
    """
    return zlib.crc32(name.encode()) % n_places


def word_places(text: str, n_places: int, *, prefix: str = "") -> list[int]:
    """The places of the words and signs of a text, each once, in increasing order.

    Upper and lower case are the same. The same word under another prefix has another place.

    >>> word_places("FREE free prize!", 2**18, prefix="message=")
    [97852, 174391, 187003]
    """
    found = set(_WORDS.findall(text.lower()))
    return sorted({place_of(prefix + word, n_places) for word in found})


def category_place(value: str, n_places: int, *, prefix: str = "") -> int:
    """The place of a whole value; that of a single word is the one `word_places` gives it.

    >>> category_place("New York", 2**18, prefix="city=")
    199988
    >>> [category_place("DE", 2**18)] == word_places("DE", 2**18)
    True
    """
    return place_of(prefix + value.lower(), n_places)


def hash_words(texts: Iterable[str], n_features: int) -> Any:
    """Texts as a CSR array (n, n_features): rows of norm 1, with a constant in the last column.

    >>> hash_words(["free free prize"], 16).shape
    (1, 16)
    """
    from scipy.sparse import csr_array

    size = as_count("n_features", n_features, at_least=2)
    starts, columns, values = [0], [], []
    for text in texts:
        places = [*word_places(text, size - 1), size - 1]
        columns += places
        values += [1.0 / np.sqrt(float(len(places)))] * len(places)
        starts.append(len(columns))
    return csr_array((values, columns, starts), shape=(len(starts) - 1, size))


@inner
def mixed(state: np.uint64) -> np.uint64:
    """The hash of a number: the finaliser of splitmix64."""
    z = state + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
