"""Columns of a batch as arrays: numbers, and names as codes; errors say the row and the column."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import did_you_mean, first_not_finite, first_outside, listed
from graphcb.estimates.terms import Flags, Floats

Codes = NDArray[np.int64]
MISSING = -1

LEAST_PROBABILITY = 1e-150  # the square of a weight is still a number


class CellPlace(NamedTuple):
    """Where a batch stands: its file, if it has one, and how many rows come before it."""

    path: str
    first: int

    def wrong(self, row: int, column: str, text: str) -> NoReturn:
        """Refuse a value; rows are counted from 1."""
        where = f"{self.path}, row" if self.path else "row"
        raise ValueError(f"{where} {self.first + int(row) + 1:,}, column {column!r}: {text}")


def check_column(name: str, types: Mapping[str, Any], where: str) -> None:
    """Refuse a column that is not there, and name the one that was probably meant."""
    if name in types:
        return
    meant = did_you_mean(name, types)
    raise ValueError(f"{where}: must have a column {name!r}, it has {listed(types)}{meant}")


class Vocabulary:
    """Names of actions and their codes, which are given out as names come."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.names: list[str] = list(names)
        self._codes = {name: code for code, name in enumerate(self.names)}

    def code(self, name: str) -> int:
        """The code of a name, a new one if it is new."""
        code = self._codes.setdefault(name, len(self.names))
        if code == len(self.names):
            self.names.append(name)
        return code

    def find(self, name: str) -> int:
        """The code of a name, MISSING if it never came."""
        return self._codes.get(name, MISSING)


def as_name(value: Any) -> str:
    """What an action is called: a whole number as such, even if a frame has made it a float.

    >>> as_name(14.0), as_name(14), as_name("14"), as_name(0.5)
    ('14', '14', '14', '0.5')
    """
    if isinstance(value, float | np.floating) and float(value).is_integer():
        value = int(value)
    return str(value)


def names_of(batch: Any, column: str, vocabulary: Vocabulary, place: CellPlace) -> Codes:
    """Codes of the names in a column, all of which must be there."""
    codes = codes_of(batch.column(column), vocabulary)
    if codes.size and codes.min() < 0:
        place.wrong(int((codes < 0).argmax()), column, "must name an action, got nothing")
    return codes


def codes_of(array: Any, vocabulary: Vocabulary) -> Codes:
    """Codes of names, MISSING where there is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    array = _in_one_piece(array)
    if not pa.types.is_dictionary(array.type):
        array = pc.dictionary_encode(array)
    words = array.dictionary.to_pylist()
    place_of = np.array(
        [
            MISSING
            if word is None or word == "" or word != word
            else vocabulary.code(as_name(word))
            for word in words
        ]
        + [MISSING],
        dtype=np.int64,
    )
    indices = array.indices
    if indices.null_count:
        indices = pc.fill_null(indices, len(words))
    return np.asarray(place_of[indices.to_numpy(zero_copy_only=False)])


def _in_one_piece(array: Any) -> Any:
    import pyarrow as pa

    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def numbers_of(batch: Any, column: str, place: CellPlace) -> tuple[Floats, Flags | None]:
    """The numbers of a column, finite ones, and which are there if not all are."""
    values = as_floats(batch.column(column), column, place)
    here = ~np.isnan(values)
    if here.all():
        missing = None
    else:
        missing, values = here, np.where(here, values, 0.0)
    wrong = first_not_finite(values)
    if wrong >= 0:
        place.wrong(wrong, column, f"must be a finite number, got {values[wrong]}")
    return values, missing


def as_floats(array: Any, column: str, place: CellPlace) -> Floats:
    """Numbers, NaN where one is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    array = _in_one_piece(array)
    kind = array.type
    if pa.types.is_dictionary(kind):
        array = array.dictionary_decode()
        kind = array.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        array = _parsed(array, column, place)
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind)):
        if not (pa.types.is_boolean(kind) or pa.types.is_decimal(kind)):
            place.wrong(0, column, f"must be a number, got a value of type {kind}")
        array = pc.cast(array, pa.float64())
    return np.asarray(array.to_numpy(zero_copy_only=False), dtype=np.float64)


def _parsed(array: Any, column: str, place: CellPlace) -> Any:
    """Numbers that are written as texts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        return pc.cast(array, pa.float64())
    except pa.ArrowInvalid:
        for row, text in enumerate(array.to_pylist()):
            try:
                float(text or "nan")
            except ValueError:
                place.wrong(row, column, f"must be a number, got {text!r}")
    return pa.array([float(text or "nan") for text in array.to_pylist()])


def probabilities_of(batch: Any, column: str, place: CellPlace) -> Floats:
    """Probabilities of actions that were played: above 0, at most 1."""
    values = as_floats(batch.column(column), column, place)
    wrong = first_outside(values, 5e-324, 1.0 + 1e-9)
    if wrong >= 0:
        got = "nothing" if np.isnan(values[wrong]) else f"{values[wrong]:.17g}"
        place.wrong(
            wrong,
            column,
            f"must be the probability of what was played, above 0 and at most 1, got {got}",
        )
    check_likely(values, column, place)
    return values


def check_likely(values: Floats, column: str, place: CellPlace) -> None:
    """Refuse a probability with which nothing was ever played."""
    if values.size and values.min() < LEAST_PROBABILITY:
        row = int(values.argmin())
        least = f"must be at least {LEAST_PROBABILITY:g} for what was played"
        place.wrong(row, column, f"{least}, got {values[row]:g}: nothing so unlikely ever is")
