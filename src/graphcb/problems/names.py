"""Names of actions and features: texts that are not empty and differ from each other."""

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

from graphcb.checks import as_one_of, first_twice
from graphcb.contexts.frames import as_listed, is_frame
from graphcb.contexts.values import KINDS

EACH_ROUND = "each round"


def as_names(name: str, values: Any) -> tuple[str, ...]:
    """A list of distinct names, or an array, a column or an index of them."""
    if is_frame(values):
        raise TypeError(
            f"`{name}` must be a list of names, got a {type(values).__name__}; its columns are "
            "list(frame.columns), and actions with features are a dict {name: features, ...}"
        )
    values = as_listed(values)
    if isinstance(values, str) or not isinstance(values, Sequence):
        write = f"; write [{values!r}]" if isinstance(values, str) else ""
        raise TypeError(f"`{name}` must be a list of names, got {values!r}{write}")
    for place, value in enumerate(values):
        if type(value) is not str or not value.isascii() or not value.strip():
            as_name(f"{name}[{place}]", value)
    if len({*values}) < len(values):
        twice = first_twice(values)
        raise ValueError(f"`{name}` must be distinct, got {twice!r} twice; remove one")
    return tuple(map(str, values))


def as_name(name: str, value: Any) -> str:
    """A text with something in it that a file can hold."""
    if not isinstance(value, str):
        remedy = "; write it in quotes"
        if isinstance(value, Integral):  # and so are integers of numpy and pandas
            remedy += ", or map(str, ...): a number stands for the place of an action"
        raise TypeError(f"`{name}` must be a text, got {value!r}{remedy}")
    if not value.strip():
        raise ValueError(f"`{name}` must not be empty, got {value!r}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"`{name}` must be a text that UTF-8 can hold, got {value!r}") from None
    return value


def read_actions(actions: Any) -> Any:
    """The names of the actions, or "each round"."""
    if isinstance(actions, str):
        if actions == EACH_ROUND:
            return actions
        raise ValueError(f'`actions` must be a list of names or "each round", got {actions!r}')
    names = as_names("actions", actions)
    if not names:
        raise ValueError("`actions` must have at least one name, got none")
    return names


def read_features(features: Any) -> dict[str, str]:
    """The kind of each feature by its name."""
    if not isinstance(features, Mapping):
        raise TypeError(
            "`features` must be a mapping such as {'amount': 'number'}, "
            f"got {type(features).__name__}; leave it out to have them noted as they come"
        )
    kinds = [kind + mark for kind in KINDS for mark in ("", "?")]
    for name, kind in features.items():
        as_name("features", name)
        as_one_of(f"features.{name}", kind, kinds)
    return dict(features)
