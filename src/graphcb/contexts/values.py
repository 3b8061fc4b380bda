"""A context as a flat dict of features, and a value as a number, as text, or as missing."""

import math
import re
import sys
from collections.abc import Mapping
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import LARGEST
from graphcb.contexts.encoded import EncodedRow

KINDS = ("number", "category", "text", "time")
# What people and programs write where there is no value.
MISSING = frozenset(
    "? - NA N/A na n/a #N/A <NA> NaT None nan NaN NAN -nan null NULL Null".split()  # noqa: SIM905
) | {""}
NAN = float("nan")
ODD_SHARE = 0.1  # of the values that are there; a feature with more words than that is no number
VECTOR = 16  # numbers in a list that is read as one
_LISTS = (list, tuple, set, frozenset, np.ndarray)
_GROUPS = (*_LISTS, Mapping)
_PLAIN = frozenset((float, int, str, bool, type(None)))
_NOTHING = ("NAType", "NaTType")  # of pandas
# As float() reads it, but without "1_000" and without the leading zeros of a code such as "00501".
_NUMERAL = re.compile(r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_WITH_COMMA = re.compile(
    r"[+-]?(?:[0-9]+|[1-9][0-9]{0,2}(?:[. '\u00a0\u202f][0-9]{3})+)(?:,[0-9]*(?:[eE][+-]?[0-9]+)?)?"
)
_NO_GROUPS = str.maketrans("", "", ". '\u00a0\u202f")
_GROUPED = re.compile(r"[+-]?[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]*)?")


def passes(context: Any) -> bool:
    """Whether a context is a row for an oracle already: dense, sparse, a pair, or encoded."""
    kind = type(context)
    if kind is dict:
        return False
    if kind in (np.ndarray, list, tuple, EncodedRow):
        return True
    if hasattr(context, "__array__") and not hasattr(context, "to_dict"):  # of another package
        return True
    sparse = sys.modules.get("scipy.sparse")  # a caller with a sparse row has imported it
    return sparse is not None and bool(sparse.issparse(context))


def flat(context: Any, *, whole_vectors: bool = False) -> Mapping[str, Any]:
    """The features of a context by name; those of a dict inside it are called "outer.inner".

    With `whole_vectors`, a list of 16 numbers or more, such as an embedding, is one array.

    >>> flat({"user": {"age": 31}, "tags": ["new"], "size": [2.0, 3.0]})
    {'user.age': 31, 'tags': ['new'], 'size.0': 2.0, 'size.1': 3.0}
    """
    row = context if type(context) is dict else _as_mapping(context)
    for name, value in row.items():
        if type(value) in _PLAIN and type(name) is str:
            continue
        if type(name) is not str or isinstance(value, _GROUPS):
            features: dict[str, Any] = {}
            _flatten(row, "", features, whole_vectors)
            return features
    return row


def features_of(context: Any) -> Mapping[str, Any]:
    """The features of any context by name; a row for an oracle has none."""
    return {} if passes(context) else flat(context)


def as_given(features: Any, name: str, why: str) -> Any:
    """The value of a feature that has to be there; `why` is what it says."""
    if not isinstance(features, Mapping) or features.get(name) is None:
        raise ValueError(f"`context` must have the feature {name!r}, which {why}; got none")
    return features[name]


def _as_mapping(context: Any) -> Mapping[Any, Any]:
    if context is None:
        return {}
    if isinstance(context, Mapping):
        return context
    if isinstance(context, str):
        return {"text": context}
    if len(getattr(context, "shape", ())) == 2:
        raise ValueError(
            f"`context` must be one row, got a {type(context).__name__} of shape {context.shape}; "
            "give its rows one by one"
        )
    for method in ("_asdict", "to_dict"):  # a named tuple, a row of a data frame
        if hasattr(context, method):
            row: Mapping[Any, Any] = getattr(context, method)()
            return row
    raise TypeError(
        "`context` must be a dict or a row of a data frame, a text, a row of numbers, a sparse "
        f"row or a pair (indices, values), got {type(context).__name__}"
    )


def _flatten(
    row: Mapping[Any, Any], prefix: str, features: dict[str, Any], whole_vectors: bool
) -> None:
    for key, value in row.items():
        name = f"{prefix}{key}"
        if type(value) in _PLAIN:
            features[name] = value
        elif isinstance(value, Mapping):
            _flatten(value, f"{name}.", features, whole_vectors)
        elif isinstance(value, _LISTS):
            vector = as_vector(value) if whole_vectors else None
            if vector is not None:
                features[name] = vector
            elif _are_texts(value):
                features[name] = value
            else:
                _flatten(dict(enumerate(value)), f"{name}.", features, whole_vectors)
        else:
            features[name] = value


def as_vector(value: Any) -> NDArray[np.float64] | None:
    """A list of 16 numbers or more as an array; None for any other."""
    if isinstance(value, set | frozenset) or len(value) < VECTOR or isinstance(value[0], str):
        return None
    try:
        array = np.asarray(value)
    except ValueError:  # lists of different lengths
        return None
    is_vector = array.ndim == 1 and array.dtype.kind in "fiu"
    return array.astype(np.float64, copy=False) if is_vector else None


def _are_texts(value: Any) -> bool:
    return all(isinstance(item, str) for item in value)


def is_missing(value: Any) -> bool:
    """Whether a value says that there is none: None, NaN, or a text such as "" and "n/a"."""
    if value is None:
        return True
    if isinstance(value, str):
        return value in MISSING or value.strip() in MISSING
    if isinstance(value, _LISTS):
        return False
    if type(value).__name__ in _NOTHING:
        return True
    return bool(value != value)


def as_number(name: str, value: Any) -> float:
    """The value of a feature as a number, NaN if it is missing."""
    if value is None:
        return NAN
    try:
        if type(value) is int:
            return float(value)
        if is_missing(value):
            return NAN
        if isinstance(value, str | int | float | np.generic | Decimal | Fraction):
            number = float(ungrouped(value) if isinstance(value, str) else value)
            if number == number:
                return number
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError(
        f"`context[{name!r}]` must be a number, got {value!r}; words are for features declared "
        "as category or text"
    )


@lru_cache(maxsize=2**14)
def numeral(text: str) -> float | None:
    """The number that a text is, written as programs write it; None if it is none, or not finite.

    >>> numeral(" 12.5"), numeral("1e3"), numeral("00501"), numeral("12kB")
    (12.5, 1000.0, None, None)
    """
    plain = text.strip()
    if not _NUMERAL.fullmatch(plain):
        return None
    number = float(plain)
    return number if abs(number) <= LARGEST else None


def with_point(text: str) -> str:
    """A text with a decimal comma, and perhaps points or blanks between thousands, as a number.

    >>> with_point("1.234,5"), with_point("33,6"), with_point("3.5"), with_point("a, b")
    ('1234.5', '33.6', '3.5', 'a, b')
    """
    plain = text.strip()
    if not _WITH_COMMA.fullmatch(plain):
        return text
    return plain.translate(_NO_GROUPS).replace(",", ".")


def ungrouped(text: str) -> str:
    """A text without the commas between thousands, if it is a number with them.

    >>> ungrouped("1,234,567.5"), ungrouped("33,6")
    ('1234567.5', '33,6')
    """
    return text.replace(",", "") if "," in text and _GROUPED.fullmatch(text.strip()) else text


def has_comma(text: str) -> bool:
    """Whether a text is a number but for its commas, decimal or between thousands.

    >>> has_comma("33,6"), has_comma("1,204.50"), has_comma("3.5"), has_comma("a, b")
    (True, True, False, False)
    """
    return "," in text and any(numeral(f(text)) is not None for f in (with_point, ungrouped))


def as_text(name: str, value: Any) -> str:
    """The value of a feature as text; whole numbers without a decimal point, as people write."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool | int):
        return str(int(value))
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else str(value)
    if isinstance(value, date | datetime | time | Decimal | Fraction):
        return str(value)
    raise TypeError(
        f"`context[{name!r}]` must be a number, a text, a list of texts or None, "
        f"got {type(value).__name__}"
    )


def is_number(value: Any) -> bool:
    """Whether a value that is not missing is a number without being told so."""
    return isinstance(value, int | float | np.number | np.bool_ | Decimal | Fraction)


def not_finite(name: str, number: float) -> ValueError:
    """The error for an infinite value, or one whose square would be."""
    expected = "a finite number"
    if math.isfinite(number):
        expected = f"at most {LARGEST:g} in size"
    return ValueError(
        f"`context[{name!r}]` must be {expected}, got {number}; None says that it is missing"
    )
