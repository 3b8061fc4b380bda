"""Rows of features that were not declared: they are noted as they come."""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import LARGEST
from graphcb.contexts.encoded import EncodedRow
from graphcb.contexts.scaling import Floats, NumberScales, all_floats, as_table, first_beyond
from graphcb.contexts.times import is_other_date, with_times
from graphcb.contexts.values import (
    MISSING,
    NAN,
    ODD_SHARE,
    as_number,
    flat,
    has_comma,
    is_missing,
    is_number,
    not_finite,
    numeral,
)
from graphcb.contexts.words import SHORT, is_long, mark_of, places_of
from graphcb.loaded import Array, ByName, Count, Instance, Learned

NEVER_NUMBERS = ("text", "action")  # words, and the name of an action, also if it is a numeral
FEW_NUMBERS = 64  # each has its scale, whether or not a context has it;
MANY_NUMBERS = 4096  # of up to so many, if contexts have
GIVEN = 0.2  # of them, on average; measurements are lacked less often, counts of words more
_NO_TIMES = {float, int, np.ndarray}


class NotedRow(NamedTuple):
    """A context as it was read, once for both `encode` and `count`.

    `numbers` are all known numbers in their order, NaN for those that it lacks; None if most
    contexts lack most of them. If it has all of them and nothing else, the rest is empty. Else
    `given` are the numbers, `vectors` the lists of numbers, `others` the names of all other
    features, and `strings` those of short texts with whether each is a number. `n_given` counts
    the numbers, `n_new` those that have no place yet.
    """

    numbers: Floats | None
    row: Mapping[str, Any]
    given: Mapping[str, float]
    vectors: Mapping[str, Floats]
    others: Sequence[str]
    strings: Sequence[tuple[str, bool]]
    n_given: int
    n_new: int


class NotedFeatures:
    """What is known of the features so far: their kinds, their scale, and what was missing.

    Numbers have places in the order in which they were first learned, those of a list such as an
    embedding side by side. If there are few, each is brought to one scale, and one that a context
    lacks is missing. If there are many and most contexts lack most of them, as with counts of
    words, a number that is not there is 0, and the others are divided by their largest value.
    Whether a value is a number, a word or a time is seen from the value; a string that is a number,
    as in rows of `csv.DictReader`, is one as long as at most one in ten of the feature's strings so
    far is a word.
    """

    learned = Learned(
        kinds=ByName(Instance(str)),
        numbers=ByName(Count()),
        vectors=ByName(Count(1)),
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
        self.vectors: dict[str, int] = {}  # how many numbers each list has
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
        for name, size in self.vectors.items():
            parts = parts_of(name, min(size, len(self.numbers)))
            first = self.numbers.get(f"{name}.0", 0)
            if [self.numbers.get(part) for part in parts] != [*range(first, first + size)]:
                raise ValueError(f"`vectors` must have their numbers side by side, not {name!r}")
        if self.largest.size < len(self.numbers):
            raise ValueError(f"`largest` must have {len(self.numbers)} entries or more")
        if self.scales.n_numbers > len(self.numbers):
            raise ValueError(f"`scales` must be of {len(self.numbers)} numbers or fewer")

    def read(self, context: Any) -> NotedRow:
        """The context for `encode` and `count`, before which nothing else may be counted."""
        usual = self._usual(context) if type(context) is dict else None
        if usual is not None:
            return NotedRow(usual, {}, {}, {}, (), (), usual.size, 0)
        row = flat(context, whole_vectors=True)
        row = with_times(row) if _may_have_times(row) else row
        given: dict[str, float] = {}
        vectors: dict[str, Floats] = {}
        others: list[str] = []
        strings: list[tuple[str, bool]] = []
        for name, value in row.items():
            if type(value) is float and -LARGEST <= value <= LARGEST:
                given[name] = value
                continue
            number = None
            if type(value) is str:
                if len(value) <= SHORT and name not in NEVER_NUMBERS and value not in MISSING:
                    number = numeral(value)
                    strings.append((name, number is not None))
                    number = number if self._holds_numerals(name) else None
            elif type(value) is np.ndarray and value.dtype.kind == "f":
                parts = parts_of(name, value.size)
                if self._is_vector(name, value, parts):
                    vectors[name] = value
                else:
                    found = zip(parts, value.tolist(), strict=True)
                    given |= {part: x for part, x in found if x == x}
                continue
            else:
                number = _as_finite(name, value)
            if number is None:
                others.append(name)
            else:
                given[name] = number
        n_given, n_new = len(given), len(given.keys() - self.numbers.keys())
        for name, vector in vectors.items():
            n_given += vector.size
            n_new += 0 if name in self.vectors else vector.size
        numbers = self._dense(given, vectors) if self._is_dense(n_given, n_new) else None
        return NotedRow(numbers, row, given, vectors, others, strings, n_given, n_new)

    def encode(self, read: NotedRow) -> EncodedRow:
        """The row as if it were counted."""
        if read.numbers is not None and not read.row and read.n_given == read.numbers.size:
            indices, size = every_place(self.constant + 1, read.n_given), read.n_given
            return EncodedRow(indices, self.scales.scale(read.numbers), size, self.constant)
        places: list[int] = []
        values: list[float] = []
        for name in read.others:
            value = read.row[name]
            if type(value) is str and name not in NEVER_NUMBERS:
                if name in self.numerals and name not in self.words:
                    self._warn_of(name, value)
                elif name not in self.kinds:
                    _warn_of_writing(name, value)
            found = places_of(name, value, "text" if name in self.texts else "", self.constant)
            places += found
            values += [1.0 / len(found) ** 0.5] * len(found) if found else ()
        if read.numbers is None:
            return self._sparse_row(read, places, values)
        size = read.numbers.size + read.n_new
        if read.n_given < size:  # what is missing has its mark already if the row says so
            marked = {*places}
            for name in self._lacking(read):
                mark = mark_of(name, self.constant)
                if mark not in marked:
                    marked.add(mark)  # the parts of a time share theirs
                    places.append(mark)
                    values.append(1.0)
        scaled = self.scales.scale(read.numbers[: self.scales.n_numbers])
        indices = every_place(self.constant + 1, size)
        if size > scaled.size or places:  # a number that is new is the mean of all that were seen
            known, numbers = scaled.size, scaled
            scaled, indices = np.zeros(size + len(places)), np.empty(size + len(places), np.int64)
            scaled[:known], scaled[size:] = numbers, values
            indices[:size], indices[size:] = every_place(self.constant + 1, size), places
        return EncodedRow(indices, scaled, size, self.constant)

    def encode_usual(self, rows: Sequence[Any]) -> list[EncodedRow] | None:
        """`read` and `encode` for rows with all known numbers, and else known words, all alike.

        None for any others: this is a shortcut for the usual case.
        """
        size = len(self.numbers)
        if not rows or size != self.scales.n_numbers or size > FEW_NUMBERS or self.vectors:
            return None
        table = as_table(rows, [*self.numbers])
        if table is not None:
            at = every_place(self.constant + 1, size)
            return [EncodedRow(at, x, size, self.constant) for x in self.scales.scale_each(table)]
        numbers: list[float] = []
        places: list[int] = []
        names = list(rows[0]) if type(rows[0]) is dict else []
        words = [name for name in names if name not in self.numbers]
        if len(names) != size + len(words) or not all(map(self._is_word, words)):
            return None
        kinds = [(name, "text" if name in self.texts else "") for name in words]
        for row in rows:
            if type(row) is not dict or list(row) != names:
                return None
            for name in self.numbers:
                value = row[name]
                if type(value) is not float or not -LARGEST <= value <= LARGEST:
                    return None
                numbers.append(value)
            for name, kind in kinds:
                value = row[name]
                if type(value) is not str or len(value) > SHORT:
                    return None
                found = _place_of_word(name, value, kind, self.constant)
                if found is None:
                    return None
                places.append(found)
        n = len(rows)
        scaled = self.scales.scale_each(np.array(numbers, dtype=np.float64).reshape(n, size))
        indices, values = np.empty((n, len(names)), np.int64), np.ones((n, len(names)))
        indices[:, :size], values[:, :size] = every_place(self.constant + 1, size), scaled
        indices[:, size:] = np.array(places, dtype=np.int64).reshape(n, len(words))
        pairs = zip(indices, values, strict=True)
        return [EncodedRow(*pair, size, self.constant) for pair in pairs]

    def _is_word(self, name: Any) -> bool:
        """Whether a feature is known to be no number, so that there is nothing to warn of."""
        if type(name) is not str or name in NEVER_NUMBERS:
            return type(name) is str
        return name in self.kinds and (name not in self.numerals or name in self.words)

    def count(self, read: NotedRow) -> None:
        """Count a row that `encode` has taken, and note its new features."""
        self.n_rows += 1
        self.n_given += read.n_given
        numbers = read.numbers
        for name in read.row if read.n_new else read.others:
            self._note(name, read.row[name], read)
        if read.n_new and numbers is not None:
            numbers = self._dense(read.given, read.vectors)
        for name, is_numeral in read.strings:
            counts = self.numerals if is_numeral else self.words
            counts[name] = counts.get(name, 0) + 1
        if len(self.numbers) > self.largest.size:
            more = 2 * len(self.numbers) - self.largest.size
            self.largest = np.append(self.largest, np.zeros(more))
        if numbers is not None:
            if numbers.size > self.scales.n_numbers:
                self.scales.grow(numbers.size)
            self.scales.count(numbers)
        else:
            given = _one_by_one(read)
            at = np.array([self.numbers[name] for name in given], dtype=np.int64)
            sizes = np.abs(np.array(list(given.values()), dtype=np.float64))
            self.largest[at] = np.maximum(self.largest[at], sizes)

    def _usual(self, context: dict[Any, Any]) -> Floats | None:
        """The numbers of a context that has all known ones in their order, and nothing else.

        None for any other: this is a shortcut for the usual case.
        """
        if len(context) != self.scales.n_numbers or len(context) > FEW_NUMBERS:
            return None
        return all_floats(context) if list(context) == list(self.numbers) else None

    def _is_vector(self, name: str, value: Floats, parts: tuple[str, ...]) -> bool:
        """Whether a list of numbers is as long as it was first; any other is read one by one."""
        wrong = first_beyond(value)
        if wrong >= 0:
            raise not_finite(parts[wrong], value[wrong])
        if name in self.vectors:
            return self.vectors[name] == value.size
        return self.numbers.keys().isdisjoint(parts)

    def _note(self, name: str, value: Any, read: NotedRow) -> None:
        """Give a feature that has no place its place, or its kind, or note that it is missing."""
        if name in read.given:
            self._note_numbers((name,))
        elif name in read.vectors:
            self.vectors.setdefault(name, value.size)
            self._note_numbers(parts_of(name, value.size))
        elif name not in read.others:
            self._note_numbers(x for x in parts_of(name, value.size) if x in read.given)
        elif is_missing(value):
            self.missing[name] = self.missing.get(name, 0) + 1
        elif is_long(name, value):
            self.kinds[name] = "text"
            self.texts[name] = True
        else:
            self.kinds.setdefault(name, "category")

    def _note_numbers(self, names: Iterable[str]) -> None:
        for name in names:
            self.kinds.setdefault(name, "number")
            self.numbers.setdefault(name, len(self.numbers))

    def _holds_numerals(self, name: str) -> bool:
        """Whether a short string of a feature is a number if it looks like one."""
        if name in self.texts:
            return False
        words = self.words.get(name, 0)
        return words == 0 or words <= ODD_SHARE * (words + self.numerals.get(name, 0))

    def _warn_of(self, name: str, value: Any) -> None:
        """Say that it is open what a feature is: its strings were all numbers, and this is none."""
        if not is_missing(value):
            warnings.warn(
                f"the feature {name!r} was {self.numerals[name]} times a string that is a number, "
                "and is a word now: strings in it are read as words from here on, unless nine "
                f"in ten are numbers; say what it is, features={{{name!r}: 'number?'}} or "
                "'category', to decide it",
                stacklevel=2,
            )

    def _is_dense(self, n_given: int, n_new: int) -> bool:
        """Whether each number has its scale, with a row that has so many, counted."""
        n_numbers = len(self.numbers) + n_new
        n_all = self.n_given + n_given
        few = n_numbers <= FEW_NUMBERS
        return few or not (n_numbers > MANY_NUMBERS or lack_most(n_numbers, n_all, self.n_rows + 1))

    def _dense(self, given: Mapping[str, float], vectors: Mapping[str, Floats]) -> Floats:
        """The known numbers in their order, NaN for those that are not given."""
        places = self.numbers
        if not vectors:
            return np.array([given.get(name, NAN) for name in places], dtype=np.float64)
        numbers = np.full(len(places), NAN)
        for name, value in given.items():
            if name in places:
                numbers[places[name]] = value
        for name, vector in vectors.items():
            if name in self.vectors:
                first = places[f"{name}.0"]
                numbers[first : first + vector.size] = vector
        return numbers

    def _lacking(self, read: NotedRow) -> Iterator[str]:
        """The numbers that a row does not have; a list of them counts as one."""
        inside: set[str] = set()
        for name, size in self.vectors.items():
            parts = parts_of(name, size)
            inside |= {*parts}
            if name not in read.vectors and parts[0] not in read.given:
                yield name
        yield from (x for x in self.numbers if x not in read.given and x not in inside)

    def _sparse_row(self, read: NotedRow, places: list[int], values: list[float]) -> EncodedRow:
        """The numbers that are not 0 among the words, as shares of their largest value."""
        first, new = self.constant + 1, len(self.numbers)
        for name, value in _one_by_one(read).items():
            place = self.numbers.get(name)
            largest = abs(value) if place is None else max(abs(value), self.largest[place])
            if place is None:
                place, new = new, new + 1
            if value:
                places.append(first + place)
                values.append(float(value / largest))
        return EncodedRow(np.array(places, dtype=np.int64), np.array(values), 0, self.constant)


def lack_most(n_numbers: int, n_given: int, n_rows: int) -> bool:
    """Whether rows lack more than four in five of many numbers, as with counts of words.

    `n_given` are the numbers in all rows together.
    """
    return n_numbers > FEW_NUMBERS and n_given < GIVEN * n_numbers * n_rows


@lru_cache(maxsize=2**14)
def _place_of_word(name: str, value: str, kind: str, n_places: int) -> int | None:
    """The place of a short text, None if it may be anything else than one word."""
    if value[:1].isdigit():
        return None
    if name not in NEVER_NUMBERS and value not in MISSING and numeral(value) is not None:
        return None
    found = places_of(name, value, kind, n_places)
    return found[0] if len(found) == 1 else None


def _warn_of_writing(name: str, text: str) -> None:
    """Say that numbers or dates are read as words, without the text: Python then says it once."""
    written = ""
    if has_comma(text):
        written = "numbers with commas, which are read as words; give them as 33.6 or 1204.5"
    elif is_other_date(text):
        written = "dates, which are read as words; give a datetime, or ISO 8601: 2024-05-01 18:30"
    if written:
        warnings.warn(
            f"the feature {name!r} looks like {written}, or declare features={{{name!r}: "
            "'category'}",
            stacklevel=3,
        )


def _one_by_one(read: NotedRow) -> Mapping[str, float]:
    """All numbers of a row by name."""
    given = dict(read.given)
    for name, vector in read.vectors.items():
        numbers = zip(parts_of(name, vector.size), vector.tolist(), strict=True)
        given |= {part: x for part, x in numbers if x == x}
    return given


@lru_cache(maxsize=256)
def parts_of(name: str, size: int) -> tuple[str, ...]:
    """What the numbers of a list are called.

    >>> parts_of("embedding", 3)
    ('embedding.0', 'embedding.1', 'embedding.2')
    """
    return tuple(f"{name}.{i}" for i in range(size))


def _may_have_times(row: Mapping[str, Any]) -> bool:
    """Whether some value is neither a plain number nor a text that begins as no time does."""
    for value in row.values():
        if type(value) is str:
            if value[:1].isdigit() and len(value) >= 5:
                return True
        elif type(value) not in _NO_TIMES and value is not None:
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
