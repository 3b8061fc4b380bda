"""Checks at the public edge: each returns the clean value or raises an error with the remedy."""

import operator
from collections.abc import Collection, Hashable, Iterable
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphcb.compilation import compiled

Value = TypeVar("Value", bound=Hashable)

SUM_TOLERANCE = 1e-6
FLOAT64 = np.dtype(np.float64)
LARGEST = 1e50  # of a context's entries and of losses: their squares and products stay finite


class DivergenceError(FloatingPointError, ValueError):
    """A prediction or an update would leave the finite numbers; nothing has changed."""


def as_count(name: str, value: Any, *, at_least: int = 1) -> int:
    """A whole number not below `at_least`."""
    try:
        count = operator.index(value)
    except TypeError:
        raise TypeError(f"`{name}` must be a whole number, got {value!r}") from None
    if count < at_least:
        raise ValueError(f"`{name}` must be at least {at_least}, got {count}")
    return count


def listed(values: Iterable[object], *, at_most: int = 10) -> str:
    """Values for a message, cut after `at_most`.

    >>> listed("abc"), listed(range(100), at_most=2), listed([])
    ('a, b, c', '0, 1 and 98 more', 'none')
    """
    texts = list(map(str, values))
    more = f" and {len(texts) - at_most:,} more" if len(texts) > at_most else ""
    return ", ".join(texts[:at_most]) + more or "none"


def first_twice(values: Iterable[Value]) -> Value | None:
    """The first value that has come before, or None."""
    seen: set[Value] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None


def as_one_of(name: str, value: Any, known: Collection[str]) -> str:
    """One of the known names; the error suggests the one that was probably meant."""
    if isinstance(value, str) and value in known:
        return value
    meant = did_you_mean(value, known)
    raise ValueError(f"`{name}` must be one of {listed(known)}; got {value!r}{meant}")


def did_you_mean(value: Any, known: Collection[str]) -> str:
    """The end of an error about an unknown name: the one that was probably meant.

    >>> did_you_mean("amont", ["amount", "country"]), did_you_mean("x", ["amount"])
    ("; did you mean 'amount'?", '')
    """
    from difflib import get_close_matches

    by_lower = {name.lower(): name for name in known}
    close = get_close_matches(str(value).lower(), list(by_lower), n=1)
    return f"; did you mean {by_lower[close[0]]!r}?" if close else ""


def refuse_action(place: str, name: object, known: Collection[object]) -> NoReturn:
    """Refuse the name of an action that is not among the known ones."""
    meant = did_you_mean(name, [one for one in known if isinstance(one, str)])
    others = meant or f"; there are {listed(known)}"
    raise ValueError(f"{place} must name actions, got {name!r}, which is not one{others}")


def as_action(action: Any, n_actions: int, *, name: str = "action", of: str = "graph") -> int:
    """An index of an action; negative indices are refused rather than wrapped."""
    try:
        index = operator.index(action)
    except TypeError:
        raise TypeError(f"`{name}` must be a whole number, got {action!r}") from None
    if not 0 <= index < n_actions:
        raise IndexError(
            f"`{name}` must be between 0 and {n_actions - 1} "
            f"(the {of} has {n_actions} actions, counted from 0), got {index}"
        )
    return index


def as_actions(actions: ArrayLike, n_actions: int) -> NDArray[np.intp]:
    """Distinct indices of actions, at least one, in the order given."""
    indices = np.asarray(actions)
    if indices.ndim != 1 or indices.size == 0:
        raise ValueError(
            f"`actions` must be a non-empty list of action indices, got shape {indices.shape}"
        )
    if indices.dtype.kind not in "iu":
        raise TypeError(
            f"`actions` must be whole numbers, got {indices.dtype}; "
            "turn a mask into indices with np.flatnonzero(mask)"
        )
    wrong = np.flatnonzero((indices < 0) | (indices >= n_actions))
    if wrong.size:
        raise IndexError(
            f"`actions` must be between 0 and {n_actions - 1}, "
            f"got {indices[wrong[0]]} at position {wrong[0]}"
        )
    indices = indices.astype(np.intp)
    values, first, counts = np.unique(indices, return_index=True, return_counts=True)
    if values.size != indices.size:
        twice = values[counts > 1][0]
        again = np.flatnonzero(indices == twice)[1]
        raise ValueError(
            f"`actions` must be distinct, got {twice} again at position {again} "
            f"(first at {first[counts > 1][0]}); remove the repetition"
        )
    return indices


def as_numbers(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """A float64 array in C order; no copy when it is one already."""
    if type(values) is np.ndarray and values.dtype == FLOAT64 and values.flags.c_contiguous:
        return values  # the usual case, three times as fast as asking numpy
    if isinstance(values, np.ndarray) and values.dtype.kind == "c":  # numpy would only warn
        raise TypeError(f"`{name}` must be an array of real numbers, got complex ones")
    try:
        return np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError) as reason:
        raise TypeError(f"`{name}` must be an array of real numbers: {reason}") from None


def as_probabilities(probabilities: ArrayLike, n_actions: int) -> NDArray[np.float64]:
    """A distribution over the actions: shape (n_actions,), no negative entry, sum 1."""
    p = as_numbers("probabilities", probabilities)
    if p.shape != (n_actions,):
        raise ValueError(
            f"`probabilities` must have shape ({n_actions},) to match the graph, got {p.shape}"
        )
    wrong, total = _first_negative_and_sum(p)
    if wrong >= 0:
        raise ValueError(
            f"`probabilities` must be non-negative numbers, got {p[wrong]} at index {wrong}"
        )
    if not abs(total - 1.0) <= SUM_TOLERANCE:
        raise ValueError(
            f"`probabilities` must sum to 1 (within {SUM_TOLERANCE:g}), got a sum of {total:.9g}; "
            "divide by the sum if they are weights"
        )
    return p


@compiled
def _first_negative_and_sum(p: NDArray[np.float64]) -> tuple[int, float]:
    total = 0.0
    for i in range(p.size):
        if not p[i] >= 0.0:  # also true for NaN
            return i, total
        total += p[i]
    return -1, total


def as_losses(
    losses: ArrayLike, n_actions: int, *, name: str = "predicted_losses"
) -> NDArray[np.float64]:
    """One finite loss for each action: shape (n_actions,)."""
    f = as_numbers(name, losses)
    if f.shape != (n_actions,):
        raise ValueError(
            f"`{name}` must have shape ({n_actions},) to match the graph, got {f.shape}"
        )
    wrong = first_not_finite(f)
    if wrong >= 0:
        raise ValueError(f"`{name}` must be finite, got {f[wrong]} at index {wrong}")
    return f


def as_gamma(gamma: float) -> float:
    """A positive finite number."""
    value = float(gamma)
    if not 0.0 < value < float("inf"):
        raise ValueError(
            f"`gamma` must be a positive finite number, got {gamma}; it grows as you trust "
            "the predictions more"
        )
    return value


def too_large(name: str, value: float, where: str) -> ValueError:
    """The error for a number that is not finite, or too large to calculate with."""
    if not np.isfinite(value):
        return ValueError(f"`{name}` must be finite, got {value} at {where}")
    return ValueError(
        f"`{name}` must be at most {LARGEST:g} in size, got {value} at {where}; scale it down"
    )


@compiled
def first_too_large(values: NDArray[np.float64]) -> int:
    """Index of the first entry that is NaN or larger than LARGEST in size, or -1."""
    for i in range(values.size):
        if not abs(values[i]) <= LARGEST:
            return i
    return -1


@compiled
def first_not_finite(values: NDArray[np.float64]) -> int:
    """Index of the first NaN or infinity, or -1."""
    for i in range(values.size):
        if not np.isfinite(values[i]):
            return i
    return -1


def as_number(name: str, value: Any) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"`{name}` must be a number, got {value!r}")
    if not abs(value) < float("inf"):
        raise ValueError(f"`{name}` must be finite, got {value!r}")
    return float(value)


def as_positive(name: str, value: float) -> float:
    """A positive finite number."""
    if not 0.0 < value < float("inf"):
        raise ValueError(f"`{name}` must be a positive finite number, got {value}")
    return float(value)


def as_range(name: str, bounds: Any) -> tuple[float, float]:
    """A pair of finite numbers, the smaller one first."""
    try:
        low, high = map(float, bounds)
    except (TypeError, ValueError, OverflowError):
        low = high = 0.0
    if -np.inf < low < high < np.inf:
        if max(-low, high) <= LARGEST and high - low >= 1.0 / LARGEST:
            return low, high
        raise ValueError(
            f"`{name}` must lie within {LARGEST:g} of 0 and be at least {1.0 / LARGEST:g} wide, "
            f"got {bounds!r}; scale it"
        )
    raise ValueError(f"`{name}` must be (low, high) with low < high, both finite; got {bounds!r}")


def check_in_range(
    name: str, values: NDArray[np.float64], range_name: str, bounds: tuple[float, float]
) -> None:
    """Refuse a value outside the range that was given as `range_name`."""
    wrong = first_outside(values, *bounds)
    if wrong >= 0:
        raise ValueError(
            f"`{name}` must lie in {range_name} {bounds}, got {values[wrong]} at index {wrong}; "
            f"give {range_name}=(low, high), or scale the {name}"
        )


@compiled
def first_outside(values: NDArray[np.float64], low: float, high: float) -> int:
    """Index of the first value outside the range, or NaN, or -1."""
    for i in range(values.size):
        if not (values[i] >= low and values[i] <= high):
            return i
    return -1
