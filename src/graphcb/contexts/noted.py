"""Rows of features that were not declared: they are noted as they come."""

import warnings
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import LARGEST
from graphcb.compilation import compiled
from graphcb.contexts.encoded import EncodedRow
from graphcb.contexts.scaling import Floats, NumberScales
from graphcb.contexts.times import whole_of, with_times
from graphcb.contexts.values import (
    MISSING,
    NAN,
    ODD_SHARE,
    as_number,
    as_text,
    is_missing,
    is_number,
    not_finite,
    numeral,
)
from graphcb.hashing import category_place, place_of, word_places
from graphcb.loaded import Array, ByName, Count, Instance, Learned

LONG = 4  # words; a shorter text is one category
NEVER_NUMBERS = ("text", "action")  # words, and the name of an action, also if it is a numeral
SHORT = 40  # characters; what is longer is unlikely to come again
FEW_NUMBERS = 64  # each has its scale, whether or not a context has it;
MANY_NUMBERS = 1024  # of up to so many, if a context has half of them
_PLAIN_NUMBERS = {float, int}


class NotedFeatures:
    """What is known of the features so far: their kinds, their scale, and what was missing.

    Numbers have places in the order in which they were first learned. If there are few, each
    is brought to one scale, and one that a context lacks is missing. If there are many and most
    contexts lack most of them, as with counts of words, a number that is not there is 0, and the
    others are divided by their largest value. Whether a value is a number, a word or a time is
    seen from the value; a string that is a number, as in rows of `csv.DictReader`, is one as long
    as at most one in ten of the feature's strings so far is a word.
    """

    learned = Learned(
        kinds=ByName(Instance(str)),
        numbers=ByName(Count()),
        texts=ByName(Instance(bool)),
        missing=ByName(Count()),
        numerals=ByName(Count()),
        words=ByName(Count()),
        scales=Instance(NumberScales),
        largest=Array(None, least=0.0, most=LARGEST),
        n_rows=Count(),
        n_given=Count(),
    )

    def __init__(self, bits: int) -> None:
        self.bits = bits
        self.constant = 2**bits
        self.kinds: dict[str, str] = {}
        self.numbers: dict[str, int] = {}  # their order
        self.texts: dict[str, bool] = {}
        self.missing: dict[str, int] = {}
        self.numerals: dict[str, int] = {}  # how often a string of each feature was a number,
        self.words: dict[str, int] = {}  # and how often it was none
        self.scales = NumberScales(0)
        self.largest = np.zeros(0)  # of each number, in size; there may be room for more
        self.n_rows = 0
        self.n_given = 0  # numbers in all rows together

    def check_loaded(self) -> None:
        """Refuse numbers that have no place of their own."""
        if list(self.numbers.values()) != list(range(len(self.numbers))):
            raise ValueError("`numbers` must be counted from 0")
        if self.largest.size < len(self.numbers):
            raise ValueError(f"`largest` must have {len(self.numbers)} entries or more")
        if self.scales.n_numbers > len(self.numbers):
            raise ValueError(f"`scales` must be of {len(self.numbers)} numbers or fewer")

    def usual(self, context: dict[Any, Any]) -> Floats | None:
        """The numbers of a context that has all known ones in their order, and nothing else.

        None for any other: this is a shortcut for the usual case.
        """
        if len(context) != self.scales.n_numbers or len(context) > FEW_NUMBERS:
            return None
        return all_floats(context) if list(context) == list(self.numbers) else None

    def encode_usual(self, numbers: Floats) -> EncodedRow:
        """As `encode`, for what `usual` gave."""
        indices = every_place(self.constant + 1, numbers.size)
        return EncodedRow(indices, self.scales.scale(numbers), numbers.size, self.constant)

    def count_usual(self, numbers: Floats) -> None:
        """As `count`, for what `usual` gave."""
        self.n_rows += 1
        self.n_given += numbers.size
        self.scales.count(numbers)

    def encode(self, row: Mapping[str, Any]) -> EncodedRow:
        """The row as if it were counted."""
        row = with_times(row) if _may_have_times(row) else row
        given, others = self._numbers(row)
        places: list[int] = []
        values: list[float] = []
        for name in others:
            if name in self.numerals and name not in self.words:
                self._warn_of(name, row[name])
            found = places_of(name, row[name], "text" if name in self.texts else "", self.constant)
            places += found
            values += [1.0 / len(found) ** 0.5] * len(found) if found else ()
        if not self._is_dense(given):
            return self._sparse_row(given, places, values)
        numbers = self._dense(given)
        size = numbers.size
        if len(given) < size:  # a number that is missing has its mark already if the row says so
            marked = {*places}
            for name in self.numbers:
                mark = None if name in given else mark_of(name, self.constant)
                if mark is not None and mark not in marked:
                    marked.add(mark)  # the parts of a time share theirs
                    places.append(mark)
                    values.append(1.0)
        scaled = self.scales.scale(numbers[: self.scales.n_numbers])
        indices = every_place(self.constant + 1, size)
        if size > scaled.size or places:  # a number that is new is the mean of all that were seen
            scaled = np.concatenate((scaled, np.zeros(size - scaled.size), values))
            indices = np.append(indices, np.array(places, dtype=np.int64))
        return EncodedRow(indices, scaled, size, self.constant)

    def learn(self, row: Mapping[str, Any]) -> None:
        """Count the row, and note its new features."""
        self.encode(row)  # refuses bad values before anything is counted
        self.count(row)

    def count(self, row: Mapping[str, Any]) -> None:
        """As `learn`, for a row that `encode` has taken."""
        row = with_times(row) if _may_have_times(row) else row
        given, others = self._numbers(row)
        is_dense = self._is_dense(given)
        self.n_rows += 1
        self.n_given += len(given)
        if others or not given.keys() <= self.numbers.keys():
            self._note(row, given)
        self._count_strings(row)
        if len(self.numbers) > self.largest.size:
            more = 2 * len(self.numbers) - self.largest.size
            self.largest = np.append(self.largest, np.zeros(more))
        if is_dense:
            numbers = self._dense(given)
            if numbers.size > self.scales.n_numbers:
                self.scales.grow(numbers.size)
            self.scales.count(numbers)
        else:
            at = np.array([self.numbers[name] for name in given], dtype=np.int64)
            sizes = np.abs(np.array(list(given.values()), dtype=np.float64))
            self.largest[at] = np.maximum(self.largest[at], sizes)

    def _note(self, row: Mapping[str, Any], given: Mapping[str, float]) -> None:
        """Note new features, and what is missing."""
        for name, value in row.items():
            if name in given:
                self.kinds.setdefault(name, "number")
                self.numbers.setdefault(name, len(self.numbers))
            elif is_missing(value):
                self.missing[name] = self.missing.get(name, 0) + 1
            elif is_long(name, value):
                self.kinds[name] = "text"
                self.texts[name] = True
            else:
                self.kinds.setdefault(name, "category")

    def _numbers(self, row: Mapping[str, Any]) -> tuple[dict[str, float], list[str]]:
        """The numbers of a row, and the names of all other features."""
        given: dict[str, float] = {}
        others: list[str] = []
        for name, value in row.items():
            if type(value) is float and -LARGEST <= value <= LARGEST:
                given[name] = value
                continue
            if type(value) is str:
                number = numeral(value) if self._holds_numerals(name, value) else None
            else:
                number = _as_finite(name, value)
            if number is None:
                others.append(name)
            else:
                given[name] = number
        return given, others

    def _holds_numerals(self, name: str, value: str) -> bool:
        """Whether a string of a feature is a number if it looks like one."""
        if len(value) > SHORT or name in NEVER_NUMBERS or name in self.texts:
            return False
        words = self.words.get(name, 0)
        return words == 0 or words <= ODD_SHARE * (words + self.numerals.get(name, 0))

    def _count_strings(self, row: Mapping[str, Any]) -> None:
        """Count for each feature how often its strings are numbers, and how often they are not."""
        for name, value in row.items():
            if name in NEVER_NUMBERS:
                continue
            if type(value) is str and len(value) <= SHORT and value not in MISSING:
                counts = self.words if numeral(value) is None else self.numerals
                counts[name] = counts.get(name, 0) + 1

    def _warn_of(self, name: str, value: Any) -> None:
        """Say that it is open what a feature is: its strings were all numbers, and this is none."""
        if type(value) is str and not is_missing(value):
            warnings.warn(
                f"the feature {name!r} was {self.numerals[name]} times a string that is a number, "
                f"and is {value!r} now: strings in it are read as words from here on, unless nine "
                f"in ten are numbers; say what it is, features={{{name!r}: 'number?'}} or "
                "'category', to decide it",
                stacklevel=2,
            )

    def _is_dense(self, given: Mapping[str, float]) -> bool:
        """Whether each number has its scale, this row counted."""
        n_numbers = len(self.numbers.keys() | given.keys())
        if n_numbers <= FEW_NUMBERS:
            return True
        mean = (self.n_given + len(given)) / (self.n_rows + 1)
        return n_numbers <= min(MANY_NUMBERS, 2.0 * mean)

    def _dense(self, given: Mapping[str, float]) -> Floats:
        """The numbers in their order, those that are new at the end, NaN for those not given."""
        values = [given.get(name, NAN) for name in self.numbers]
        if not given.keys() <= self.numbers.keys():
            values += [value for name, value in given.items() if name not in self.numbers]
        return np.array(values, dtype=np.float64)

    def _sparse_row(
        self, given: Mapping[str, float], places: list[int], values: list[float]
    ) -> EncodedRow:
        """The numbers that are not 0 among the words, as shares of their largest value."""
        first, new = self.constant + 1, len(self.numbers)
        for name, value in given.items():
            place = self.numbers.get(name)
            largest = abs(value) if place is None else max(abs(value), self.largest[place])
            if place is None:
                place, new = new, new + 1
            if value:
                places.append(first + place)
                values.append(float(value / largest))
        return EncodedRow(np.array(places, dtype=np.int64), np.array(values), 0, self.constant)


def all_floats(context: dict[Any, Any]) -> Floats | None:
    """The values if all of them are plain numbers that can be learned from."""
    values = list(context.values())
    if not {*map(type, values)} <= _PLAIN_NUMBERS:
        return None
    try:
        numbers = np.array(values, dtype=np.float64)
    except OverflowError:
        return None
    return numbers if are_within(numbers) else None


@compiled
def are_within(row: Floats) -> bool:
    """Whether no number is missing or beyond LARGEST."""
    for j in range(row.size):
        if not abs(row[j]) <= LARGEST:
            return False
    return True


def _may_have_times(row: Mapping[str, Any]) -> bool:
    """Whether some value is neither a plain number nor a text that begins as no time does."""
    for value in row.values():
        if type(value) is str:
            if value[:1].isdigit() and len(value) >= 5:
                return True
        elif type(value) not in _PLAIN_NUMBERS and value is not None:
            return True
    return False


@lru_cache(maxsize=64)
def every_place(first: int, size: int) -> NDArray[np.int64]:
    """first, first + 1, ..., made once for all rows; it is never written to."""
    return first + np.arange(size)


def _as_finite(name: str, value: Any) -> float | None:
    """The value as a finite number, None if it is missing or no number."""
    kind = type(value)
    if value is None:
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
