"""Rows of features that were not declared: they are noted as they come, in pairs."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import LARGEST
from graphcb.contexts.places import is_long, places_of
from graphcb.contexts.scaling import Floats, scale_row, standardise, sums_of
from graphcb.contexts.values import as_number, is_missing, is_number, not_finite
from graphcb.loaded import ByName, Count, Instance, Learned


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
