"""Objects from files: through the constructor, with what was learned checked by a table.

Kernels trust the attributes of the objects that they work for: an array with the wrong shape
would be read, or written, outside its memory. So a file holds the arguments of the constructor,
which checks them as it does for everybody, and what the object has learned since. For the latter a
class has a table:

    learned = Learned(n_updates=Count(), weights=Array("n_features", "n_actions"))

The table is checked first: a constructor never allocates more than the file holds arrays for.
What a table cannot say, such as that two parts fit together, is for a method `check_loaded`, which
is called before the constructor is. A class without a table is rebuilt attribute by attribute,
and then has to check all of them in `check_loaded`.

An argument that a class got later, named in its `added`, is in a file only if it is not at its
default: files of before are read, and those that do not use it are the same bytes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from inspect import signature
from types import SimpleNamespace
from typing import Any

import numpy as np

LARGEST_STATE = 1e250  # of a number in a state: what is learned from it stays finite
MOST = 2**53  # of a count: as floats, whole numbers are exact up to here


Rule = Callable[[Any, str], None]  # refuses the attribute of this name, or does nothing


class Learned(dict[str, Rule]):
    """Attributes that no argument gives, each with the rule that it obeys.

    An argument may be here too, if its constructor would believe more than a file deserves.
    """


@dataclass(frozen=True)
class Count:
    """A whole number."""

    least: int = 0
    most: int = MOST

    def __call__(self, thing: Any, name: str) -> None:
        """Refuse anything else."""
        check_counts(thing, **{name: self.least})
        check_numbers(thing, name, most=self.most)


@dataclass(frozen=True)
class Number:
    """A real number, or None if it is `optional`."""

    least: float = -LARGEST_STATE
    most: float = LARGEST_STATE
    optional: bool = False

    def __call__(self, thing: Any, name: str) -> None:
        """Refuse anything else."""
        if not (self.optional and getattr(thing, name) is None):
            check_numbers(thing, name, least=self.least, most=self.most)


class Array:
    """An array of this shape and type, with entries in a range.

    A size is a number, an attribute that is a number or has a length, or None for any; or a
    function of the object gives the shape.
    """

    def __init__(
        self,
        *sizes: int | str | Callable[[Any], tuple[int, ...]] | None,
        dtype: Any = np.float64,
        least: float = -LARGEST_STATE,
        most: float = LARGEST_STATE,
    ) -> None:
        self.sizes = sizes
        self.limits: dict[str, Any] = {"dtype": dtype, "least": least, "most": most}

    def __call__(self, thing: Any, name: str) -> None:
        """Refuse anything else."""
        found = np.shape(getattr(thing, name))
        shape = [_size(thing, size, found, i) for i, size in enumerate(self.sizes)]
        whole: Any = shape[0] if shape and isinstance(shape[0], tuple) else tuple(shape)
        check_array(thing, name, whole, **self.limits)


def _size(thing: Any, size: Any, found: tuple[int, ...], place: int) -> Any:
    if size is None:
        return found[place] if place < len(found) else 0
    if isinstance(size, str):
        size = getattr(thing, size)
        return 0 if size is None else size if isinstance(size, int) else len(size)
    return size(thing) if callable(size) else size


class Instance:
    """An object of one of these kinds; None stands for nothing."""

    def __init__(self, *kinds: type | None) -> None:
        self.kinds = tuple(type(None) if kind is None else kind for kind in kinds)

    def __call__(self, thing: Any, name: str) -> None:
        """Refuse anything else."""
        check_kind(thing, name, *self.kinds)


@dataclass(frozen=True)
class Made:
    """What the constructor makes, with the same arguments, or None where it makes None."""

    def __call__(self, thing: Any, name: str) -> None:
        """Nothing yet: it is compared with the constructor's."""


@dataclass(frozen=True)
class Unchanged:
    """An argument that the constructor keeps as it is: there is nothing to add to it."""

    def __call__(self, thing: Any, name: str) -> None:
        """Nothing yet: it is compared with what the constructor kept."""


@dataclass(frozen=True)
class ByName:
    """A dict from texts to values, each of which obeys a rule."""

    values: Rule

    def __call__(self, thing: Any, name: str) -> None:
        """Refuse anything else."""
        table = getattr(thing, name)
        if type(table) is not dict or not all(type(key) is str for key in table):
            raise ValueError(f"`{name}` must be a dict by names, got {_shown(table)}")
        for key, value in table.items():
            one = f"{name}[{key!r}]"
            self.values(SimpleNamespace(**{one: value}), one)


def is_rebuilt(kind: type) -> bool:
    """Whether the class is rebuilt through its constructor; a subclass has to say so itself."""
    return "learned" in vars(kind)


def contents(thing: Any) -> dict[str, Any]:
    """What a file holds of an object that is rebuilt."""
    kind: Any = type(thing)
    names = dict.fromkeys((*_parameters(kind), *kind.learned))
    found = {name: getattr(thing, name) for name in names}
    for name, default in _added(kind).items():
        if found[name] == default:
            del found[name]
    return found


def rebuild(kind: Any, attributes: dict[str, Any]) -> Any:
    """The object with these `contents`, checked."""
    parameters = _parameters(kind)
    attributes = {**_added(kind), **attributes}
    if attributes.keys() != {*parameters, *kind.learned}:
        raise ValueError(f"a {kind.__name__} with the attributes {sorted(map(str, attributes))}")
    claimed = object.__new__(kind)
    vars(claimed).update(attributes)
    for name, rule in kind.learned.items():
        rule(claimed, name)
    if hasattr(claimed, "check_loaded"):
        claimed.check_loaded()
    arguments = {name: attributes[name] for name in parameters}
    for name, value in arguments.items():
        if isinstance(value, int) and abs(value) > MOST:
            raise ValueError(f"`{name}` must be at most 2**53 in size, got {_shown(value)}")
    thing = kind(**arguments)
    for name, rule in kind.learned.items():
        if isinstance(rule, Made):
            _check_same(name, attributes[name], getattr(thing, name))
        if isinstance(rule, Unchanged) and getattr(thing, name) is not attributes[name]:
            raise ValueError(f"`{name}` must be one that a {kind.__name__} keeps as it is")
        if name not in parameters:
            vars(thing)[name] = attributes[name]
    return thing


def _check_same(name: str, part: Any, made: Any) -> None:
    if type(part) is not type(made) or _arguments(part) != _arguments(made):
        raise ValueError(f"`{name}` must be {_kind(made)} {_arguments(made)}, got {_shown(part)}")


def _arguments(thing: Any) -> dict[str, Any]:
    kind: Any = type(thing)
    return {} if thing is None else {name: getattr(thing, name) for name in _parameters(kind)}


@lru_cache(maxsize=256)
def _parameters(kind: Any) -> tuple[str, ...]:
    return tuple(signature(kind).parameters)


@lru_cache(maxsize=256)
def _added(kind: Any) -> dict[str, Any]:
    """The arguments that came later, at their defaults."""
    parameters = signature(kind).parameters
    return {name: parameters[name].default for name in getattr(kind, "added", ())}


def _kind(value: Any) -> str:
    return f"a {type(value).__name__}"


def check_counts(thing: Any, **at_least: int) -> None:
    """Refuse attributes that are not whole numbers of at least this much."""
    for name, least in at_least.items():
        value = getattr(thing, name)
        if type(value) is not int or not least <= value <= MOST:
            raise ValueError(
                f"`{name}` must be a whole number from {least} to 2**53, got {_shown(value)}"
            )


def check_numbers(
    thing: Any, *names: str, least: float = -LARGEST_STATE, most: float = LARGEST_STATE
) -> None:
    """Refuse attributes that are not real numbers between these."""
    for name in names:
        value = getattr(thing, name)
        whole = type(value) is int and abs(value) <= MOST
        if not (whole or type(value) is float) or not least <= value <= most:
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


def _shown(value: Any) -> str:
    text = repr(value) if isinstance(value, int | float | str) else _kind(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
