"""What `Limits` is given: floors and caps per action and linear limits, checked."""

from collections.abc import Hashable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from graphcb.checks import LARGEST, as_one_of

PerAction = float | tuple[float, ...] | Mapping[Hashable, float]

KEYS = ("actions", "weights", "at_most", "at_least", "name")


class LinearLimit(NamedTuple):
    """at_least <= weights @ p <= at_most; a bound that is None does not limit."""

    weights: Mapping[Hashable, float] | tuple[float, ...]
    at_least: float | None
    at_most: float | None
    name: str | None
    is_group: bool  # the weights are all 1, and it is written as a list of actions

    def as_table(self) -> dict[str, Any]:
        """The mapping that `Limits` takes."""
        table: dict[str, Any] = {}
        if self.is_group:
            table["actions"] = list(self.weights)
        else:
            table["weights"] = plain(self.weights)
        optional = {"at_most": self.at_most, "at_least": self.at_least, "name": self.name}
        return table | {key: value for key, value in optional.items() if value is not None}


def as_per_action(name: str, values: Any) -> PerAction:
    """One number from 0 to 1, or one for each action."""
    if isinstance(values, Mapping):
        by_action = {
            action: _number(f"{name}[{action!r}]", number, 0.0, 1.0)
            for action, number in values.items()
        }
        return MappingProxyType(by_action)
    if isinstance(values, Sequence | np.ndarray) and not isinstance(values, str | bytes):
        if isinstance(values, np.ndarray) and values.ndim != 1:
            raise ValueError(
                f"`{name}` must be a number, a mapping or a sequence with one number per action, "
                f"got an array of shape {values.shape}"
            )
        return tuple(_number(f"{name}[{i}]", v, 0.0, 1.0) for i, v in enumerate(values))
    return _number(name, values, 0.0, 1.0)


def as_linear(given: Any) -> tuple[LinearLimit, ...]:
    """Linear limits from mappings."""
    if isinstance(given, Mapping | str) or not isinstance(given, Sequence):
        raise TypeError(f"`linear` must be a list of mappings, got {given!r}")
    return tuple(_linear_limit(f"linear[{i}]", one) for i, one in enumerate(given))


def _linear_limit(place: str, given: Any) -> LinearLimit:
    if isinstance(given, LinearLimit):
        given = given.as_table()
    if not isinstance(given, Mapping):
        raise TypeError(
            f"`{place}` must be a mapping such as {{'actions': ['review'], 'at_most': 0.05}}, "
            f"got {given!r}"
        )
    for key in given:
        as_one_of(f"{place} key", key, KEYS)
    name = given.get("name")
    if name is not None and not (isinstance(name, str) and name.strip()):
        raise TypeError(f"`{place}.name` must be a text that is not empty, got {name!r}")
    bounds = {
        key: None if given.get(key) is None else _number(f"{place}.{key}", given[key])
        for key in ("at_least", "at_most")
    }
    least, most = bounds["at_least"], bounds["at_most"]
    if least is None and most is None:
        raise ValueError(f"`{place}` must have `at_most` or `at_least`, got neither")
    if least is not None and most is not None and least > most:
        raise ValueError(f"`{place}` must have at_least <= at_most, got {least:g} and {most:g}")
    if (given.get("actions") is None) == (given.get("weights") is None):
        raise ValueError(f"`{place}` must have either `actions` or `weights`")
    if given.get("weights") is not None:
        return LinearLimit(_weights(place, given["weights"]), least, most, name, False)
    return LinearLimit(_group(place, given["actions"]), least, most, name, True)


def _weights(place: str, given: Any) -> Mapping[Hashable, float] | tuple[float, ...]:
    if isinstance(given, Mapping):
        weights = {a: _weight(f"{place}.weights[{a!r}]", w) for a, w in given.items()}
        if not weights:
            raise ValueError(f"`{place}.weights` must name at least one action, got none")
        return MappingProxyType(weights)
    if isinstance(given, str | bytes) or not isinstance(given, Sequence | np.ndarray):
        raise TypeError(f"`{place}.weights` must be a mapping or a sequence, got {given!r}")
    return tuple(_weight(f"{place}.weights[{i}]", w) for i, w in enumerate(given))


def _group(place: str, given: Any) -> Mapping[Hashable, float]:
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Sequence | np.ndarray):
        raise TypeError(f"`{place}.actions` must be a list of actions, got {given!r}")
    actions = given.tolist() if isinstance(given, np.ndarray) else list(given)
    if not actions:
        raise ValueError(f"`{place}.actions` must name at least one action, got none")
    group = dict.fromkeys(actions, 1.0)
    if len(group) < len(actions):
        twice = next(a for i, a in enumerate(actions) if a in actions[:i])
        raise ValueError(f"`{place}.actions` must be distinct, got {twice!r} twice; remove one")
    return MappingProxyType(group)


def _weight(name: str, value: Any) -> float:
    """A number that bounds can be divided by, or 0."""
    number = _number(name, value)
    if 0.0 < abs(number) < 1.0 / LARGEST:
        raise ValueError(f"`{name}` must be 0 or at least {1.0 / LARGEST:g} in size, got {value!r}")
    return number


def _number(name: str, value: Any, least: float = -LARGEST, most: float = LARGEST) -> float:
    is_number = not isinstance(value, bool | np.bool_ | str | bytes)
    try:
        number = float(value) if is_number else np.nan
    except (TypeError, ValueError, OverflowError):
        number = np.nan
    if not least <= number <= most:
        wanted = f"a number from {least:g} to {most:g}" if most == 1.0 else "a finite number"
        raise ValueError(f"`{name}` must be {wanted}, got {value!r}")
    return number


def plain(values: Any) -> Any:
    """Numbers per action as JSON and TOML have them."""
    if isinstance(values, Mapping):
        return dict(values)
    return list(values) if isinstance(values, tuple) else values
