"""Rows of features that were not declared: they are noted as they come, in pairs.

Numbers are brought to one scale, each row by the rows up to it. Categories, texts and lists are
hashed. The kernels go row by row, so batches of rows may be cut anywhere.
"""

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import LARGEST
from graphcb.compilation import compiled
from graphcb.contexts.values import (
    MISSING,
    as_number,
    as_text,
    is_missing,
    is_number,
    not_finite,
)
from graphcb.hashing import category_place, place_of, word_places
from graphcb.loaded import MOST, Array, ByName, Count, Instance, Learned, Rule
from graphcb.standardising import counted, standard, standard_with

Floats = NDArray[np.float64]

LONG = 4  # words; a shorter text is one category
SHORT = 40  # characters; what is longer is unlikely to come again


def sums_of(sizes: Any) -> dict[str, Rule]:
    """The rules for running sums of these numbers in a file."""
    return {
        "means": Array(sizes, least=-LARGEST, most=LARGEST),
        "squares": Array(sizes, least=0.0),
        "counts": Array(sizes, least=0.0, most=MOST),
    }


class NotedFeatures:
    """What is known of the features so far: their kinds, their scale, and what was missing.

    A pair holds the numbers, in the order in which they were first learned, behind the hashed
    places; then the constant; then words and marks. A number that was never learned is left out:
    it would be 0, the mean. Whether a value is a number or a word is seen from the value.
    """

    learned = Learned(
        kinds=ByName(Instance(str)),
        numbers=ByName(Count()),
        texts=ByName(Instance(bool)),
        missing=ByName(Count()),
        **sums_of("numbers"),
    )

    def __init__(self, bits: int) -> None:
        self.bits = bits
        self.n_places = 2**bits
        self.kinds: dict[str, str] = {}
        self.numbers: dict[str, int] = {}  # their order
        self.texts: dict[str, bool] = {}
        self.means = np.zeros(0)
        self.squares = np.zeros(0)
        self.counts = np.zeros(0)
        self.missing: dict[str, int] = {}

    def check_loaded(self) -> None:
        """Refuse numbers that have no place of their own."""
        if list(self.numbers.values()) != list(range(len(self.numbers))):
            raise ValueError("`numbers` must be counted from 0")

    def encode(self, row: Mapping[str, Any]) -> tuple[NDArray[np.int64], Floats]:
        """The row as if it were counted."""
        n_places = self.n_places
        weight = 1.0 / math.sqrt(len(row) + 1.0)
        known: list[int] = []
        numbers: list[float] = []
        places = [n_places]
        values = [weight]
        for name, value in row.items():
            number = None if type(value) is str else _as_finite(name, value)
            if number is not None:
                place = self.numbers.get(name)
                if place is not None:
                    known.append(place)
                    numbers.append(number)
                continue
            found = places_of(name, value, "text" if name in self.texts else "", n_places)
            places += found
            values += [weight / len(found) ** 0.5] * len(found) if found else ()
        first = n_places + 1
        indices = np.array([first + place for place in known] + places)
        scaled = np.array(numbers + values)
        if known:
            at = indices[: len(known)] - first
            sums = self.means[at], self.squares[at], self.counts[at]
            scale_row(scaled[: len(known)].copy(), *sums, weight, scaled)
        return indices, scaled

    def learn(self, row: Mapping[str, Any]) -> None:
        """Count the row, and note its new features."""
        self.encode(row)  # refuses bad values before anything is counted
        self.count(row)

    def count(self, row: Mapping[str, Any]) -> None:
        """As `learn`, for a row that `encode` has taken."""
        at: list[int] = []
        numbers: list[float] = []
        for name, value in row.items():
            number = _as_finite(name, value)
            if number is not None:
                self.kinds.setdefault(name, "number")
                at.append(self.numbers.setdefault(name, len(self.numbers)))
                numbers.append(number)
            elif is_missing(value):
                self.missing[name] = self.missing.get(name, 0) + 1
            elif is_long(name, value):
                self.kinds[name] = "text"
                self.texts[name] = True
            else:
                self.kinds.setdefault(name, "category")
        if not numbers:
            return
        if len(self.numbers) > self.means.size:
            new = np.zeros(len(self.numbers) - self.means.size)
            self.means = np.append(self.means, new)
            self.squares = np.append(self.squares, new)
            self.counts = np.append(self.counts, new)
        order = np.array(at)
        sums = self.means[order], self.squares[order], self.counts[order]
        standardise(np.array([numbers]), *sums, 1.0)
        self.means[order], self.squares[order], self.counts[order] = sums


def _as_finite(name: str, value: Any) -> float | None:
    """The value as a finite number, None if it is missing or no number."""
    kind = type(value)
    if kind is str or value is None:
        return None
    if kind is int:
        value = as_number(name, value)
    elif kind is not float:
        if not is_number(value):
            return None
        value = as_number(name, value)
    if -LARGEST <= value <= LARGEST:
        return float(value)
    if value != value:
        return None
    raise not_finite(name, value)


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
    """The place of the mark that a feature is missing."""
    return place_of(f"{name} is missing", n_places)


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


@compiled
def standardise(
    rows: Floats, means: Floats, squares: Floats, counts: Floats, weight: float
) -> None:
    """Replace each cell by its distance from the column's mean, in deviations times `weight`.

    `means`, `squares` (sums of squared deviations) and `counts` are updated row by row. A missing
    value (NaN) becomes 0, the mean, and is not counted.
    """
    for i in range(rows.shape[0]):
        row = rows[i]
        for j in range(row.size):
            if row[j] != row[j]:
                row[j] = 0.0
                continue
            counts[j] += 1.0
            means[j], squares[j] = counted(row[j], means[j], squares[j], counts[j])
            row[j] = weight * standard(row[j], means[j], squares[j], counts[j])


@compiled
def scale_row(
    row: Floats, means: Floats, squares: Floats, counts: Floats, weight: float, scaled: Floats
) -> None:
    """Fill `scaled` with what `standardise` would make of the row, and count nothing."""
    for j in range(row.size):
        missing = row[j] != row[j]
        distance = 0.0 if missing else standard_with(row[j], means[j], squares[j], counts[j])
        scaled[j] = weight * distance
