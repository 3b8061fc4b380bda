"""Names: texts that are not empty and differ from each other."""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, TypeVar

Value = TypeVar("Value", bound=Hashable)


def as_names(name: str, values: Any) -> tuple[str, ...]:
    """A list of distinct names."""
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise TypeError(f"`{name}` must be a list of names, got {values!r}")
    for place, value in enumerate(values):
        as_name(f"{name}[{place}]", value)
    twice = first_twice(values)
    if twice is not None:
        raise ValueError(f"`{name}` must be distinct, got {twice!r} twice; remove one")
    return tuple(values)


def as_name(name: str, value: Any) -> str:
    """A text with something in it that a file can hold."""
    if not isinstance(value, str):
        raise TypeError(f"`{name}` must be a text, got {value!r}; write it in quotes")
    if not value.strip():
        raise ValueError(f"`{name}` must not be empty, got {value!r}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"`{name}` must be a text that UTF-8 can hold, got {value!r}") from None
    return value


def first_twice(values: Iterable[Value]) -> Value | None:
    """The first value that has come before, or None."""
    seen: set[Value] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None
