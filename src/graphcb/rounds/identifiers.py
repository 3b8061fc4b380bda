"""What the actions of a round are called, and the keys by which feedback names them.

An identifier is an element of the `actions` that `decide` was given (a number, a text, or a list
of these), a key if they are a mapping from names to features, or 0, 1, ... if it was given none.
JSON has only texts as keys, so "2" also names action 2 and "0.5" the stock level 0.5. The log
itself stores indices into the round's actions.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import listed

Identifier = int | float | str | tuple[Any, ...]


class Identifiers:
    """The identifiers of one round, in the graph's order, checked to be distinct.

    >>> round = Identifiers([2, 0.5, "large"], 3)
    >>> round.index(2), round.index("2"), round.index("0.5"), round.index("large")
    (0, 0, 1, 2)
    """

    def __init__(self, actions: Any, n_actions: int) -> None:
        values: tuple[Identifier, ...] = tuple(range(n_actions) if actions is None else actions)
        if not {str}.issuperset(map(type, values)):
            values = tuple(map(as_identifier, values))
        self.values = values
        if len(self.values) != n_actions:
            raise ValueError(
                f"`actions` must have one identifier per action of the graph, {n_actions}, "
                f"got {len(self.values)}"
            )
        self._index_of: dict[Any, int] = {value: index for index, value in enumerate(self.values)}
        n_texts = sum(isinstance(value, str) for value in self.values)
        if len(self._index_of) < n_actions or 0 < n_texts < n_actions:
            self._check_distinct()

    def index(self, key: Any, *, name: str = "action") -> int:
        """Where the action that `key` names stands in the graph."""
        index = self._index_of.get(key)
        if index is None and isinstance(key, str):
            index = self._index_of.get(_parsed(key))
        if index is None:
            known = listed(map(repr, self.values))
            raise ValueError(
                f"`{name}` must be one of the actions decided on ({known}), got {key!r}"
            )
        return index

    def _check_distinct(self) -> None:
        seen: set[Identifier] = set()
        for index, value in enumerate(self.values):
            if value in seen or str(value) in seen:
                raise ValueError(
                    f"`actions` must be distinct, got {value!r} again at index {index}; "
                    "feedback could not tell them apart"
                )
            seen |= {value, str(value)}


def as_identifier(value: Any) -> Identifier:
    """An identifier as a value that can be a key: a list becomes a tuple."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return tuple(as_identifier(part) for part in value)
    if isinstance(value, int | float | str):
        return value
    raise TypeError(
        f"`actions` must be numbers, texts or lists of these, got {type(value).__name__}"
    )


def as_list(actions: Any) -> Any:
    """The `actions` of a round as None, a list, an array, or a mapping from names to features."""
    if isinstance(actions, np.ndarray) and actions.ndim > 0:
        return actions
    if isinstance(actions, Sequence) and not isinstance(actions, str | bytes):
        return list(actions)
    if isinstance(actions, Mapping):
        for name in actions:
            if not isinstance(name, str):
                raise TypeError(f"`actions` as a mapping must have texts as keys, got {name!r}")
        return dict(actions)
    if actions is None:
        return None
    raise TypeError(f"`actions` must be a list or an array, got {type(actions).__name__}")


def pick(actions: Any, indices: NDArray[np.int64]) -> Any:
    """The identifiers at some indices, in the form that an agent takes."""
    if actions is None:
        return indices
    if isinstance(actions, np.ndarray):
        return actions[indices]
    if isinstance(actions, dict):
        names = list(actions)
        return {names[index]: actions[names[index]] for index in indices}
    return [actions[index] for index in indices]


def indices_of(identifiers: Any, actions: Any) -> NDArray[np.int64]:
    """Where identifiers stand among the actions of a round."""
    if actions is None:
        return np.asarray(identifiers, dtype=np.int64)
    places = {as_identifier(action): place for place, action in enumerate(actions)}
    found = [places[as_identifier(identifier)] for identifier in identifiers]
    return np.array(found, dtype=np.int64)


def identifier_at(actions: Any, index: int) -> Identifier:
    """The identifier of one action of a round."""
    if actions is None:
        return index
    return as_identifier(list(actions)[index] if isinstance(actions, dict) else actions[index])


def _parsed(key: str) -> Identifier | None:
    try:
        return as_identifier(json.loads(key))
    except (ValueError, TypeError, RecursionError):
        return None
