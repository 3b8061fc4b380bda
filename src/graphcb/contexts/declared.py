"""Rows of features that are declared: dense if all are numbers, else pairs (indices, values)."""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from graphcb.checks import LARGEST
from graphcb.compilation import compiled
from graphcb.contexts.noted import Floats, mark_of, places_of, scale_row, standardise, sums_of
from graphcb.contexts.values import as_number, is_missing, not_finite
from graphcb.loaded import ByName, Count, Instance, Learned


class DeclaredFeatures:
    """What is known of declared features: the scale of the numbers, and what was missing.

    A dense row holds the numbers, a mark for each number that may be missing, and a constant. A
    pair holds the numbers, the constant, and at hashed places the marks of missing numbers, then
    the words of each other feature or its mark. A feature that is one number, one category or
    one text has the same weight as each other one, and the row a norm of about 1.
    """

    learned = Learned(
        kinds=ByName(Instance(str)),
        missing=ByName(Count()),
        **sums_of(lambda self: (len(_numbers_in(self.kinds)),)),
    )

    def __init__(self, kinds: Mapping[str, str], bits: int) -> None:
        self.kinds, self.bits = dict(kinds), bits
        self.numbers = _numbers_in(kinds)
        self.words = [name for name in kinds if name not in self.numbers]
        self.word_kinds = [kinds[name].removesuffix("?") for name in self.words]
        self.marks = [i for i, name in enumerate(self.numbers) if kinds[name].endswith("?")]
        self.n_places = 2**bits
        self.weight = 1.0 / math.sqrt(len(kinds) + 1.0)
        self.means = np.zeros(len(self.numbers))
        self.squares = np.zeros(len(self.numbers))
        self.counts = np.zeros(len(self.numbers))
        self.missing = dict.fromkeys(kinds, 0)

    @property
    def n_features(self) -> int:
        """How many features a row has."""
        return len(self.numbers) + 1 + (self.n_places if self.words else len(self.marks))

    def check_loaded(self) -> None:
        """Refuse counts of other features."""
        if list(self.missing) != list(self.kinds):
            raise ValueError("`missing` must be counted for each feature")

    def encode(self, row: Mapping[str, Any]) -> Any:
        """The row as if it were counted."""
        numbers = self._numbers(row)
        size = numbers.size
        if not self.words:
            dense = np.empty(self.n_features)
            scale_row(numbers, self.means, self.squares, self.counts, self.weight, dense)
            for k, place in enumerate(self.marks):
                dense[size + k] = self.weight * math.isnan(numbers[place])
            dense[-1] = self.weight
            return dense
        places, values = self._hashed(numbers, [row.get(name) for name in self.words])
        indices = np.array([*range(size + 1), *places])
        scaled = np.array([*numbers.tolist(), self.weight, *values])
        scale_row(numbers, self.means, self.squares, self.counts, self.weight, scaled)
        return indices, scaled

    def learn(self, row: Mapping[str, Any]) -> None:
        """Count the row."""
        self.count(row)

    def count(self, row: Mapping[str, Any]) -> None:
        """As `learn`, for a row that `encode` has taken."""
        numbers = self._numbers(row)
        missing = [name for name, x in zip(self.numbers, numbers.tolist(), strict=True) if x != x]
        for name in self.words:
            value = row.get(name)
            if is_missing(value):
                missing.append(name)
            elif type(value) is not str:
                places_of(name, value, "category", self.n_places)  # refuses what is no word
        standardise(numbers[None], self.means, self.squares, self.counts, self.weight)
        for name in missing:
            self.missing[name] += 1

    def encode_columns(self, numbers: Floats, words: Sequence[Sequence[Any]]) -> Any:
        """Encode and learn many rows, one after the other; `numbers` (n, d) is overwritten."""
        self._count_missing(numbers, words)
        if not self.words:
            marks = self.weight * np.isnan(numbers[:, self.marks])
            standardise(numbers, self.means, self.squares, self.counts, self.weight)
            return np.column_stack((numbers, marks, np.full(len(numbers), self.weight)))
        rows = zip(numbers, zip(*words, strict=True), strict=True)
        hashed = [self._hashed(row, cells) for row, cells in rows]
        standardise(numbers, self.means, self.squares, self.counts, self.weight)
        return _join(np.column_stack((numbers, np.full(len(numbers), self.weight))), hashed)

    def _numbers(self, row: Mapping[str, Any]) -> Floats:
        """The numbers of a row, NaN where one is missing."""
        get = row.get
        values = []
        for name in self.numbers:
            value = get(name)
            values.append(value if type(value) is float else as_number(name, value))
        numbers = np.array(values, dtype=np.float64)
        wrong = first_beyond(numbers)
        if wrong >= 0:
            raise not_finite(self.numbers[wrong], numbers[wrong])
        return numbers

    def _hashed(self, numbers: Floats, words: Iterable[Any]) -> tuple[list[int], list[float]]:
        """Places and values of the marks of missing numbers, then of the words."""
        n_places, first, weight = self.n_places, len(self.numbers) + 1, self.weight
        places: list[int] = []
        values: list[float] = []
        for name, number in zip(self.numbers, numbers.tolist(), strict=True):
            if number != number:
                places.append(first + mark_of(name, n_places))
                values.append(weight)
        for name, value, kind in zip(self.words, words, self.word_kinds, strict=True):
            found = places_of(name, value, kind, n_places)
            if len(found) == 1:
                places.append(first + found[0])
                values.append(weight)
            elif found:
                places += [first + place for place in found]
                values += [weight / len(found) ** 0.5] * len(found)
        return places, values

    def _count_missing(self, numbers: Floats, words: Sequence[Sequence[Any]]) -> None:
        counts = np.isnan(numbers).sum(axis=0).tolist()
        for name, count in zip(self.numbers, counts, strict=True):
            self.missing[name] += count
        for name, cells in zip(self.words, words, strict=True):
            self.missing[name] += sum(map(is_missing, cells))


def _numbers_in(kinds: Mapping[str, str]) -> list[str]:
    return [name for name, kind in kinds.items() if kind.startswith("number")]


def _join(dense: Floats, hashed: list[tuple[list[int], list[float]]]) -> list[Any]:
    """A pair (indices, values) for each row: its numbers and constant, then what is hashed."""
    width = dense.shape[1]
    counts = np.array([len(places) for places, _ in hashed], dtype=np.int64)
    starts = np.append(0, np.cumsum(width + counts)).astype(np.intp)
    numbers = (starts[:-1, None] + np.arange(width)).ravel()
    are_words = np.ones(starts[-1], dtype=bool)
    are_words[numbers] = False
    all_places = np.empty(starts[-1], dtype=np.int64)
    all_places[numbers] = np.tile(np.arange(width), len(dense))
    all_places[are_words] = [place for places, _ in hashed for place in places]
    all_values = np.empty(starts[-1])
    all_values[numbers] = dense.ravel()
    all_values[are_words] = [value for _, values in hashed for value in values]
    return [
        (all_places[begin:end], all_values[begin:end]) for begin, end in pairwise(starts.tolist())
    ]


@compiled
def first_beyond(row: Floats) -> int:
    """Index of the first number beyond LARGEST, or -1; a missing one is none."""
    for j in range(row.size):
        if abs(row[j]) > LARGEST:
            return j
    return -1
