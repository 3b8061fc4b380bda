"""Categories and the words of texts as places, and the marks of missing values."""

from functools import lru_cache
from typing import Any

import numpy as np

from graphcb.contexts.times import whole_of
from graphcb.contexts.values import MISSING, as_text, is_missing, not_finite
from graphcb.hashing import category_place, place_of, word_places

LONG = 4  # words; a shorter text is one category
SHORT = 40  # characters; what is longer is unlikely to come again


def places_of(name: str, value: Any, kind: str, n_places: int) -> tuple[int, ...]:
    """The places of a category, of the words of a text, of a list, or of the mark if missing.

    `kind` is "category", "text", or "" if the value decides.
    """
    if type(value) is str:
        hashed = _short_places if len(value) <= SHORT else _text_places
        return hashed(name, value, kind, n_places)
    if is_missing(value):
        return (mark_of(name, n_places),)
    if isinstance(value, list | tuple | set | frozenset | np.ndarray):
        return tuple(
            sorted({category_place(x.strip(), n_places, prefix=f"{name}=") for x in value})
        )
    text = as_text(name, value)
    if text in ("inf", "-inf"):
        raise not_finite(name, float(text))
    return _text_places(name, text, kind, n_places)


@lru_cache(maxsize=2**14)
def mark_of(name: str, n_places: int) -> int:
    """The place of the mark that a feature is missing; the parts of a time share one."""
    return place_of(f"{whole_of(name)} is missing", n_places)


def is_long(name: str, value: Any) -> bool:
    """Whether a value is read word by word, if nothing is said of it."""
    if not isinstance(value, str):
        return False
    return name == "text" or len(value.split(maxsplit=LONG - 1)) == LONG


def _text_places(name: str, value: str, kind: str, n_places: int) -> tuple[int, ...]:
    text = value.strip()
    if text in MISSING:
        return (mark_of(name, n_places),)
    if kind == "text" or (not kind and is_long(name, text)):
        return tuple(word_places(text, n_places, prefix=f"{name}="))
    return (category_place(text, n_places, prefix=f"{name}="),)


_short_places = lru_cache(maxsize=2**14)(_text_places)
