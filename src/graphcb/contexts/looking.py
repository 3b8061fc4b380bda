"""A first look at rows: which features are numbers, categories or texts, and what is missing."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.contexts.times import time_parts
from graphcb.contexts.values import MISSING, ODD_SHARE, as_number, flat, is_missing, is_number
from graphcb.contexts.words import is_long


@dataclass(frozen=True)
class Look:
    """What a first look found in the values of one feature.

    `odd` are the positions of values that are words although the feature is a number or a time.
    """

    kind: str
    missing: int
    odd: tuple[int, ...]
    distinct: int

    @property
    def declared(self) -> str:
        """The kind as an `Encoder` takes it, with ? where values may be missing."""
        return f"{self.kind}?" if self.missing or self.odd else self.kind


def look(rows: Iterable[Any]) -> dict[str, str]:
    """The kind of each feature in some contexts, for an `Encoder`.

    A feature is a number, or a time, if at most one in ten of its values is something else. Words
    make a category, and a text if a value has four of them. A feature that some contexts lack
    may be missing.

    >>> note = "please call me back"
    >>> look([{"age": "31", "city": "New York"}, {"age": None, "city": "Oslo", "note": note}])
    {'age': 'number?', 'city': 'category', 'note': 'text?'}
    """
    contexts = [flat(row) for row in rows]
    names = dict.fromkeys(name for context in contexts for name in context)
    return {name: look_at([context.get(name) for context in contexts]).declared for name in names}


def look_at(values: Sequence[Any] | NDArray[np.float64]) -> Look:
    """What the values of one feature are."""
    if isinstance(values, np.ndarray):
        missing = int(np.isnan(values).sum())
        return Look("number", missing, (), len(np.unique(values[~np.isnan(values)])))
    numbers = _all_numbers(values)
    if numbers is not None:
        return Look("number", len(values) - len(numbers), (), len(set(numbers)))
    present = [i for i, value in enumerate(values) if not is_missing(value)]
    distinct = len({_as_key(values[i]) for i in present})
    missing = len(values) - len(present)
    odd = tuple(i for i in present if not _is_numeric(values[i]))
    if len(odd) <= ODD_SHARE * len(present):
        return Look("number", missing, odd, distinct)
    odd = tuple(i for i in present if time_parts(values[i]) is None)
    if len(odd) <= ODD_SHARE * len(present):
        return Look("time", missing, odd, distinct)
    texts = [values[i] for i in present if isinstance(values[i], str)]
    kind = "text" if any(is_long("", text) for text in texts) else "category"
    return Look(kind, missing, (), distinct)


def _all_numbers(values: Sequence[Any]) -> list[Any] | None:
    """The values that are not missing if all of them are numbers: the usual case, made fast."""
    try:
        present = [value for value in values if value not in MISSING]
        return present if math.isfinite(sum(map(float, present))) else None
    except (ValueError, TypeError, OverflowError):
        return None


def _is_numeric(value: Any) -> bool:
    if is_number(value):
        return True
    try:
        as_number("", value)
    except ValueError:
        return False
    return True


def _as_key(value: Any) -> Any:
    return tuple(value) if isinstance(value, list | tuple | set | np.ndarray) else value
