"""Rows of features that are declared."""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from graphcb.contexts.encoded import EncodedRow
from graphcb.contexts.scaling import Floats, NumberScales, all_floats, as_table, first_beyond
from graphcb.contexts.times import (
    NOTHING,
    Parts,
    columns_of,
    numbers_of,
    time_parts,
    whole_of,
    words_of,
)
from graphcb.contexts.values import as_number, flat, is_missing, not_finite
from graphcb.contexts.words import mark_of, places_of
from graphcb.loaded import ByName, Count, Instance, Learned, Made


class DeclaredRow(NamedTuple):
    """A context as it was read: its numbers, NaN where one is missing, and its words.

    `words` is None for a context that has all numbers, and nothing else.
    """

    numbers: Floats
    words: list[Any] | None


class DeclaredFeatures:
    """What is known of declared features: the scale of the numbers, and what was missing.

    If all are numbers, the marks of those that may be missing have places of their own. Otherwise
    marks are hashed, as words are. A time is in its parts, numbers and words (`times`).
    """

    learned = Learned(kinds=ByName(Instance(str)), missing=ByName(Count()), scales=Made())

    def __init__(self, kinds: Mapping[str, str], bits: int) -> None:
        self.kinds, self.bits = dict(kinds), bits
        self.numbers = _names_of("number", kinds)
        self.times = _names_of("time", kinds)
        self.others = [name for name in kinds if name not in self.numbers]
        self.words = [name for name in self.others if name not in self.times]
        self.word_kinds = [kinds[name].removesuffix("?") for name in self.words]
        for name in self.times:
            self.numbers += numbers_of(name)
            self.words += words_of(name)
            self.word_kinds += ["category"] * len(words_of(name))
        self.marks = [name for name in self.numbers if kinds.get(name, "").endswith("?")]
        self.constant = 2**bits if self.words else len(self.marks)
        self.indices = self.constant + 1 + np.arange(len(self.numbers))  # of the numbers
        self.scales = NumberScales(len(self.numbers))
        self.missing = dict.fromkeys(kinds, 0)
        self.needed = frozenset(name for name, kind in kinds.items() if not kind.endswith("?"))

    @property
    def n_features(self) -> int:
        """How many features a row has."""
        return self.constant + 1 + len(self.numbers)

    def check_loaded(self) -> None:
        """Refuse counts of other features."""
        if list(self.missing) != list(self.kinds):
            raise ValueError("`missing` must be counted for each feature")

    def read(self, context: Any) -> DeclaredRow:
        """The context for `encode` and `count`."""
        if type(context) is dict and not self.words and len(context) == len(self.numbers):
            usual = all_floats(context) if list(context) == self.numbers else None
            if usual is not None:
                return DeclaredRow(usual, None)
        row = flat(context)
        if not row.keys() >= self.needed:
            check_spelling(self.needed - row.keys(), row.keys() - self.kinds.keys())
        row = self._in_parts(row)
        return DeclaredRow(self._numbers(row), [row.get(name) for name in self.words])

    def encode(self, read: DeclaredRow) -> EncodedRow:
        """The row as if it were counted."""
        scaled = self.scales.scale(read.numbers)
        if read.words is None:
            return EncodedRow(self.indices, scaled, scaled.size, self.constant)
        return self._row(scaled, *self._others(read.numbers.tolist(), read.words))

    def encode_usual(self, contexts: Sequence[Any]) -> list[EncodedRow] | None:
        """`read` and `encode` for contexts with all numbers and nothing else; None for any others.

        This is a shortcut for the usual case.
        """
        numbers = None if self.words else as_table(contexts, self.numbers)
        if numbers is None:
            return None
        scaled = self.scales.scale_each(numbers)
        return [EncodedRow(self.indices, row, row.size, self.constant) for row in scaled]

    def count(self, read: DeclaredRow) -> None:
        """Count a row that `encode` has taken."""
        self.scales.count(read.numbers)
        if read.words is None:
            return
        found = zip(self.numbers, read.numbers.tolist(), strict=True)
        missing = [name for name, x in found if x != x]
        missing += [n for n, x in zip(self.words, read.words, strict=True) if is_missing(x)]
        for name in {self._counted_as(name) for name in missing}:
            self.missing[name] += 1

    def encode_columns(self, numbers: Floats, words: Sequence[Sequence[Any]]) -> list[EncodedRow]:
        """Encode and learn many rows, one after the other; `numbers` (n, d) is overwritten."""
        self._count_missing(numbers, words)
        if self.times:
            numbers, words = self._columns_in_parts(numbers, words)
        cells = zip(*words, strict=True) if words else ((),) * len(numbers)
        rows = zip(numbers.tolist(), cells, strict=True)
        others = [self._others(row, texts) for row, texts in rows]
        self.scales.scale_rows(numbers)
        return [self._row(row, *rest) for row, rest in zip(numbers, others, strict=True)]

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

    def _row(self, numbers: Floats, places: list[int], values: list[float]) -> EncodedRow:
        if not places:
            return EncodedRow(self.indices, numbers, numbers.size, self.constant)
        indices = np.append(self.indices, np.array(places, dtype=np.int64))
        return EncodedRow(indices, np.append(numbers, values), numbers.size, self.constant)

    def _others(self, numbers: list[float], words: Iterable[Any]) -> tuple[list[int], list[float]]:
        """Places and values of the marks of missing numbers, then of the words."""
        places: list[int] = []
        values: list[float] = []
        if math.isnan(sum(numbers)):
            missing = [name for name, x in zip(self.numbers, numbers, strict=True) if x != x]
            if self.words:
                places = list(dict.fromkeys(mark_of(name, self.constant) for name in missing))
            else:
                places = [self.marks.index(name) for name in missing if name in self.marks]
            values = [1.0] * len(places)
        for name, value, kind in zip(self.words, words, self.word_kinds, strict=True):
            if value is None and self._counted_as(name) in self.times:
                continue  # its numbers have left the mark
            found = places_of(name, value, kind, self.constant)
            if len(found) == 1:
                places.append(found[0])
                values.append(1.0)
            elif found:
                places += found
                values += [1.0 / len(found) ** 0.5] * len(found)
        return places, values

    def _count_missing(self, numbers: Floats, words: Sequence[Sequence[Any]]) -> None:
        counts = np.isnan(numbers).sum(axis=0).tolist()
        for name, count in zip(self.numbers[: len(counts)], counts, strict=True):
            self.missing[name] += count
        for name, cells in zip(self.others, words, strict=True):
            self.missing[name] += sum(map(is_missing, cells))

    def _in_parts(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """The row with the parts of its times, which have to be times or missing."""
        if not self.times:
            return row
        whole = dict(row)
        for name in self.times:
            numbers, words = _as_time(name, row.get(name))
            whole |= zip(numbers_of(name), numbers, strict=True)
            whole |= zip(words_of(name), words, strict=True)
        return whole

    def _columns_in_parts(
        self, numbers: Floats, words: Sequence[Sequence[Any]]
    ) -> tuple[Floats, list[Sequence[Any]]]:
        cells = dict(zip(self.others, words, strict=True))
        more = [columns_of(cells.pop(name)) for name in self.times]
        columns: list[Any] = [*numbers.T, *(column for parts, _ in more for column in parts)]
        others: list[Sequence[Any]] = [*cells.values()]
        for _, parts in more:
            others += parts
        return np.array(columns, dtype=np.float64).T.copy(), others

    def _counted_as(self, name: str) -> str:
        """The declared feature that a number or a word is, or is a part of."""
        return name if name in self.kinds else whole_of(name)


def _names_of(wanted: str, kinds: Mapping[str, str]) -> list[str]:
    return [name for name, kind in kinds.items() if kind.removesuffix("?") == wanted]


def check_spelling(lacking: Iterable[str], others: Iterable[str]) -> None:
    """Refuse a feature that is not declared beside one that is and is not there, if one is meant.

    >>> check_spelling({"amount"}, {"amont"})
    Traceback (most recent call last):
    ValueError: `context` must have the feature 'amount', which is declared, got 'amont'; ...
    """
    for name in sorted(lacking):
        for other in sorted(others):
            if is_slip(other, name):
                raise ValueError(
                    f"`context` must have the feature {name!r}, which is declared, got {other!r}; "
                    f"declare {name!r} with a ? if it may be missing"
                )


@lru_cache(maxsize=2**12)
def is_slip(written: str, meant: str) -> bool:
    """Whether a name is another with one letter more, less, swapped or in another case.

    >>> is_slip("amont", "amount"), is_slip("Amount", "amount"), is_slip("x1", "x2")
    (True, True, False)
    """
    one, other = written.lower(), meant.lower()
    if one == other:
        return True
    if len(one) == len(other):
        odd = [i for i in range(len(one)) if one[i] != other[i]]
        return len(odd) == 2 and odd[1] == odd[0] + 1 and sorted(one) == sorted(other)
    longer, shorter = (one, other) if len(one) > len(other) else (other, one)
    if len(longer) - len(shorter) > 1 or len(shorter) < 4:
        return False
    cuts = (i for i in range(len(longer)) if longer[:i] + longer[i + 1 :] == shorter)
    return any(longer[i].isalpha() for i in cuts)


def _as_time(name: str, value: Any) -> Parts:
    if is_missing(value):
        return NOTHING
    parts = time_parts(value)
    if parts is None:
        raise ValueError(
            f"`context[{name!r}]` must be a time: a datetime, a date, or a text in ISO 8601 such "
            f"as '2024-05-01 18:30'; got {value!r}"
        )
    return parts
