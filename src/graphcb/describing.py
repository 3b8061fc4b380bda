"""How an object shows itself: as the call that would make another one with the same settings."""

from inspect import Parameter, signature
from typing import Any

COMMENT = "  # "  # begins what is no part of a call


def describe(thing: Any, **settings: Any) -> str:
    """A `__repr__` from the constructor's signature; settings at their default are left out.

    Each parameter is read from the attribute of the same name, or from `settings` where the
    object keeps it under another name. What was learned is not shown, nor what a parameter says
    of it in a comment.

    >>> class Step:
    ...     def __init__(self, size, *, decay="constant"):
    ...         self.size, self.decay = size, decay
    ...     __repr__ = describe
    >>> Step(0.5), Step(0.5, decay="inverse_sqrt")
    (Step(0.5), Step(0.5, decay='inverse_sqrt'))
    """
    arguments, left_out = [], False
    for name, parameter in signature(type(thing)).parameters.items():
        text = _as_typed(settings[name] if name in settings else getattr(thing, name))
        is_default = parameter.default is not Parameter.empty and text == _as_typed(
            parameter.default
        )
        left_out = left_out or is_default
        if not is_default:
            by_name = left_out or parameter.kind is Parameter.KEYWORD_ONLY
            arguments.append(f"{name}={text}" if by_name else text)
    return f"{type(thing).__name__}({', '.join(arguments)})"


def _as_typed(value: Any) -> str:
    """Functions by their name, also inside a list; anything else as it shows itself."""
    if isinstance(value, str):
        return repr(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_as_typed, value))}]"
    return str(value.__name__) if hasattr(value, "__name__") else repr(value).partition(COMMENT)[0]
