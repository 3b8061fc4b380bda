"""Contexts and features of actions as JSON values that an encoder reads the same way."""

from collections.abc import Mapping
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from graphcb.contexts.values import flat, is_missing, passes

_READY = (str, int, float, bool, type(None))


def plain_context(context: Any) -> Any:
    """A context that can be logged: rows and texts as they are, anything else as a dict.

    >>> plain_context({"user": {"age": np.int64(31)}, "seen": date(2024, 5, 1), "tags": ("a", "b")})
    {'user.age': 31, 'seen': '2024-05-01', 'tags': ['a', 'b']}
    """
    if context is None or isinstance(context, str) or passes(context):
        return context
    return {name: _plain(value) for name, value in flat(context).items()}


def plain_actions(actions: Mapping[str, Any]) -> dict[str, Any]:
    """Features of actions by name, each like a context."""
    return {name: plain_context(features) for name, features in actions.items()}


def _plain(value: Any) -> Any:
    if type(value) in _READY:
        return value
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, set | frozenset):
        return sorted(value)
    if isinstance(value, list | tuple | np.ndarray):
        return list(map(str, value))
    if is_missing(value):
        return None
    if isinstance(value, Decimal | Fraction):
        return float(value)
    return str(value) if isinstance(value, date | datetime | time) else value
