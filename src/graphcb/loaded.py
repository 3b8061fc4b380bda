"""Checks of what a file gave to an object, for the methods `check_loaded` of its classes.

Kernels trust the attributes of the objects that they work for: an array with the wrong shape
would be read, or written, outside its memory. A constructor makes them fit, and so does all that
an object does later. `graphcb.load` calls no constructor, so it asks instead.
"""

from typing import Any

import numpy as np

LARGEST_STATE = 1e250  # of a number in a state: what is learned from it stays finite
MOST = 2**53  # of a count: as floats, whole numbers are exact up to here


def check_counts(thing: Any, **at_least: int) -> None:
    """Refuse attributes that are not whole numbers of at least this much."""
    for name, least in at_least.items():
        value = getattr(thing, name)
        if type(value) is not int or not least <= value <= MOST:
            raise ValueError(
                f"`{name}` must be a whole number from {least} to 2**53, got {_shown(value)}"
            )


def check_numbers(thing: Any, *names: str, least: float = -LARGEST_STATE, most: float = LARGEST_STATE) -> None:
    """Refuse attributes that are not real numbers between these."""
    for name in names:
        value = getattr(thing, name)
        if type(value) not in (int, float) or not least <= value <= most:
            raise ValueError(
                f"`{name}` must be a number from {least:g} to {most:g}, got {_shown(value)}"
            )


def check_array(
    thing: Any,
    name: str,
    shape: tuple[int, ...],
    *,
    dtype: Any = np.float64,
    least: float = -LARGEST_STATE,
    most: float = LARGEST_STATE,
) -> None:
    """Refuse an attribute that is not an array of this shape and type, with entries in a range."""
    array = getattr(thing, name)
    if not isinstance(array, np.ndarray) or array.dtype != dtype or array.shape != shape:
        found = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else _shown(array)
        raise ValueError(f"`{name}` must be an array {np.dtype(dtype)} {shape}, got {found}")
    wrong = np.flatnonzero(~((array >= least) & (array <= most)))
    if wrong.size:
        raise ValueError(
            f"`{name}` must have entries from {least:g} to {most:g}, got "
            f"{array.flat[wrong[0]]} at position {wrong[0]}"
        )


def check_kind(thing: Any, name: str, *kinds: type) -> None:
    """Refuse an attribute that is none of these kinds; `type(None)` stands for nothing."""
    value = getattr(thing, name)
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        expected = " or ".join(kind.__name__ for kind in kinds)
        raise ValueError(f"`{name}` must be a {expected}, got {_shown(value)}")


def check_pair(thing: Any, name: str) -> None:
    """Refuse an attribute that is not a tuple of two floats."""
    value = getattr(thing, name)
    if type(value) is not tuple or [type(part) for part in value] != [float, float]:
        raise ValueError(f"`{name}` must be a pair of numbers, got {_shown(value)}")


def _shown(value: Any) -> str:
    text = repr(value) if isinstance(value, int | float | str) else f"a {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."
