"""Dicts, rows of data frames and texts as rows for an oracle, scaled and hashed as they come."""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import as_count
from graphcb.contexts.scaling import Floats, first_infinite, scale_row, standardise
from graphcb.contexts.values import (
    KINDS,
    as_number,
    as_text,
    flat,
    is_missing,
    is_number,
    passes,
)
from graphcb.describing import describe
from graphcb.hashing import category_place, place_of, word_places

LONG = 4  # words; a shorter text is one category


class Encoder:
    """Turns contexts as people have them into rows that an oracle takes.

    A context is a dict (dicts may hold dicts), a row of a data frame, a named tuple or a text.
    A value is a number, a text, a list of texts, or missing: None, NaN, "" or "n/a". Infinity is
    refused. Dense rows, sparse rows and pairs (indices, values) pass through unchanged.

    Numbers become standard deviations from the mean so far. Categories and words are hashed to
    2**bits places, so new ones need no preparation. A missing number becomes 0, the mean, and
    each missing value leaves a mark that it is missing.

    `features` gives the kind of each feature: "number", "category" or "text", with "?" appended
    where values may be missing. All other features of a context are ignored. If all features are
    numbers, rows are dense: the numbers, a mark for each "?", and a constant. Otherwise they are
    pairs. Without `features`, every feature of a context is used; rows are always pairs, and a
    text of four words or more is read word by word.

    `encode` changes nothing. It scales a context as if it were counted; `learn` counts it.

    >>> encoder = Encoder({"amount": "number?", "age": "number"})
    >>> for amount in (10.0, 30.0, None):
    ...     encoder.learn({"amount": amount, "age": 40})
    >>> encoder.encode({"amount": 40.0, "age": 40}).round(3)
    array([0.617, 0.   , 0.   , 0.577])
    >>> encoder.missing
    {'amount': 1}
    >>> encoder = Encoder()
    >>> encoder.encode({"country": "DE", "device": "phone"})
    (array([262144,  94181, 186859]), array([0.57735027, 0.57735027, 0.57735027]))
    """

    def __init__(self, features: Mapping[str, str] | None = None, *, bits: int = 18) -> None:
        if not 1 <= as_count("bits", bits) <= 30:
            raise ValueError(f"`bits` must be between 1 and 30, got {bits}")
        self.features = None if features is None else _as_kinds(features)
        self.bits = bits
        self.kinds: dict[str, str] = {}  # of each feature, declared or noted as they came
        self.places: dict[str, int] = {}  # of each number, in `means`, `squares` and `counts`
        self.words: dict[str, bool] = {}  # declared categories and texts: whether a text
        self.marks: list[int] = []  # the places of the numbers that have a mark in dense rows
        self.n_missing: dict[str, int] = {}
        for name, kind in (self.features or {}).items():
            self.kinds[name] = kind
            self.n_missing[name] = 0
            if kind.startswith("number"):
                if kind.endswith("?"):
                    self.marks.append(len(self.places))
                self.places[name] = len(self.places)
            else:
                self.words[name] = kind.startswith("text")
        self.means = np.zeros(len(self.places))
        self.squares = np.zeros(len(self.places))
        self.counts = np.zeros(len(self.places))

    __repr__ = describe

    @property
    def is_dense(self) -> bool:
        """Whether rows are dense: all features are declared to be numbers."""
        return self.features is not None and not self.words

    @property
    def n_features(self) -> int | None:
        """How many features a row has, None if that is not limited."""
        if self.features is None:
            return None
        if self.is_dense:
            return len(self.places) + len(self.marks) + 1
        return len(self.places) + 1 + (1 << self.bits)

    @property
    def missing(self) -> dict[str, int]:
        """How often each feature was missing, where it was."""
        return {name: count for name, count in self.n_missing.items() if count}

    def encode(self, context: Any) -> Any:
        """The row of a context; the encoder does not change."""
        if passes(context):
            return context
        row = flat(context)
        if self.features is None:
            return self._encode_all(row)
        numbers = self._numbers(row)
        if not self.words:
            return self._dense(numbers)
        weight = 1.0 / math.sqrt(len(self.kinds) + 1.0)
        n_numbers = numbers.size
        places, values = self._hashed(numbers, [row.get(name) for name in self.words], weight)
        indices = np.empty(n_numbers + 1 + len(places), dtype=np.int64)
        indices[: n_numbers + 1] = np.arange(n_numbers + 1)
        indices[n_numbers + 1 :] = places
        scaled = np.empty(indices.size)
        scale_row(numbers, self.means, self.squares, self.counts, weight, scaled)
        scaled[n_numbers] = weight
        scaled[n_numbers + 1 :] = values
        return indices, scaled

    def learn(self, context: Any) -> None:
        """Count a context: the scale of its numbers, its missing values, its new features."""
        if passes(context):
            return
        row = flat(context)
        if self.features is None:
            self._learn_all(row)
            return
        numbers = self._numbers(row)
        words = [row.get(name) for name in self.words]
        self._hashed(numbers, words, 1.0)  # refuses bad values before anything is counted
        self._count_missing(numbers[None], [[value] for value in words])
        standardise(numbers[None], self.means, self.squares, self.counts, 1.0)

    def encode_columns(self, numbers: Floats, words: Sequence[Sequence[Any]]) -> Any:
        """Encode and learn many rows, one after the other, given as columns.

        `numbers` (n, d) holds the declared numbers with NaN where one is missing and is changed;
        `words` holds the declared categories and texts. The result is a dense array or a list of
        pairs, and the same as that of `encode` and `learn` row by row.
        """
        weight = 1.0 / math.sqrt(len(self.kinds) + 1.0)
        self._count_missing(numbers, words)
        if not self.words:
            marks = weight * np.isnan(numbers[:, self.marks])
            standardise(numbers, self.means, self.squares, self.counts, weight)
            return np.column_stack((numbers, marks, np.full(len(numbers), weight)))
        hashed = [
            self._hashed(row, cells, weight)
            for row, cells in zip(numbers, zip(*words, strict=True), strict=True)
        ]
        standardise(numbers, self.means, self.squares, self.counts, weight)
        return _join(np.column_stack((numbers, np.full(len(numbers), weight))), hashed)

    def _numbers(self, row: Mapping[str, Any]) -> Floats:
        """The declared numbers of a row, NaN where one is missing."""
        values = []
        get = row.get
        for name in self.places:
            value = get(name)
            values.append(value if type(value) is float else as_number(name, value))
        numbers = np.array(values, dtype=np.float64)
        wrong = first_infinite(numbers)
        if wrong >= 0:
            raise _not_finite(list(self.places)[wrong], numbers[wrong])
        return numbers

    def _dense(self, numbers: Floats) -> Floats:
        weight = 1.0 / math.sqrt(len(self.kinds) + 1.0)
        row = np.empty(numbers.size + len(self.marks) + 1)
        scale_row(numbers, self.means, self.squares, self.counts, weight, row)
        for k, place in enumerate(self.marks):
            row[numbers.size + k] = weight * math.isnan(numbers[place])
        row[-1] = weight
        return row

    def _hashed(
        self, numbers: Floats, words: Iterable[Any], weight: float
    ) -> tuple[list[int], list[float]]:
        """Places and values of the marks of missing numbers, then of the words."""
        n_places, first = 2**self.bits, len(self.places) + 1
        places: list[int] = []
        values: list[float] = []
        for name, number in zip(self.places, numbers.tolist(), strict=True):
            if number != number:
                places.append(first + place_of(f"{name} is missing", n_places))
                values.append(weight)
        for (name, is_text), value in zip(self.words.items(), words, strict=True):
            found = _word_places(name, value, is_text, n_places)
            if len(found) == 1:
                places.append(first + found[0])
                values.append(weight)
            elif found:
                places += [first + place for place in found]
                values += [weight / len(found) ** 0.5] * len(found)
        return places, values

    def _count_missing(self, numbers: Floats, words: Sequence[Sequence[Any]]) -> None:
        for name, count in zip(self.places, np.isnan(numbers).sum(axis=0).tolist(), strict=True):
            self.n_missing[name] += count
        for name, cells in zip(self.words, words, strict=True):
            self.n_missing[name] += sum(map(is_missing, cells))

    def _encode_all(self, row: Mapping[str, Any]) -> tuple[NDArray[np.int64], Floats]:
        """A pair of all features: known numbers, the constant, then marks and words."""
        n_places = 2**self.bits
        weight = 1.0 / math.sqrt(len(row) + 1.0)
        known: list[int] = []
        numbers: list[float] = []
        places: list[int] = [n_places]
        values: list[float] = [weight]
        for name, value in row.items():
            if type(value) is float or is_number(value):
                number = _as_finite(name, value)
                place = self.places.get(name, -1)
                if number != number:
                    places.append(place_of(f"{name} is missing", n_places))
                    values.append(weight)
                elif place >= 0:
                    known.append(place)
                    numbers.append(number)
            else:
                is_text = _is_text(value) or self.kinds.get(name) == "text" or name == "text"
                found = _word_places(name, value, is_text, n_places)
                places += found
                values += [weight / len(found) ** 0.5] * len(found) if found else []
        at = np.array(known, dtype=np.int64)
        scaled = np.empty(at.size + len(values))
        means, squares, counts = self.means[at], self.squares[at], self.counts[at]
        scale_row(np.array(numbers), means, squares, counts, weight, scaled)
        scaled[at.size :] = values
        return np.concatenate((at + (n_places + 1), np.array(places, dtype=np.int64))), scaled

    def _learn_all(self, row: Mapping[str, Any]) -> None:
        """Count all features of a row, and note the kinds of new ones."""
        self._encode_all(row)  # refuses bad values before anything is counted
        at: list[int] = []
        numbers: list[float] = []
        for name, value in row.items():
            if is_missing(value):
                self.n_missing[name] = self.n_missing.get(name, 0) + 1
            elif is_number(value):
                self.kinds.setdefault(name, "number")
                at.append(self.places.setdefault(name, len(self.places)))
                numbers.append(float(value))
            elif _is_text(value) or name == "text":
                self.kinds[name] = "text"
            else:
                self.kinds.setdefault(name, "category")
        new = np.zeros(len(self.places) - self.means.size)
        if new.size:
            self.means = np.append(self.means, new)
            self.squares = np.append(self.squares, new)
            self.counts = np.append(self.counts, new)
        means, squares, counts = self.means[at], self.squares[at], self.counts[at]
        standardise(np.array([numbers]), means, squares, counts, 1.0)
        self.means[at], self.squares[at], self.counts[at] = means, squares, counts


def _as_kinds(features: Mapping[str, str]) -> dict[str, str]:
    for name, kind in features.items():
        if str(kind).removesuffix("?") not in KINDS:
            raise ValueError(
                f"`features[{name!r}]` must be one of {', '.join(KINDS)}, with ? appended where "
                f"values may be missing; got {kind!r}"
            )
    return dict(features)


def _as_finite(name: str, value: Any) -> float:
    number = as_number(name, value) if type(value) is not float else value
    if number - number != 0.0 and number == number:
        raise _not_finite(name, number)
    return number


def _not_finite(name: str, number: float) -> ValueError:
    return ValueError(
        f"`context[{name!r}]` must be a finite number, got {number}; None says that it is missing"
    )


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value.split(maxsplit=LONG - 1)) == LONG


def _word_places(name: str, value: Any, is_text: bool, n_places: int) -> list[int]:
    """The places of a category, of the words of a text, of a list, or of the mark."""
    if is_missing(value):
        return [place_of(f"{name} is missing", n_places)]
    prefix = f"{name}="
    if isinstance(value, list | tuple | set | frozenset | np.ndarray):
        return sorted({category_place(x.strip(), n_places, prefix=prefix) for x in value})
    text = as_text(name, value)
    if text in ("inf", "-inf"):
        raise _not_finite(name, float(text))
    if is_text:
        return word_places(text, n_places, prefix=prefix)
    return [category_place(text, n_places, prefix=prefix)]


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
