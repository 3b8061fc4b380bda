"""The table [defaults] of a problem: what holds while nobody says otherwise."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from graphcb.checks import as_one_of


def read_defaults(
    defaults: Any, unit: str, check: Callable[[Any, Any], Any]
) -> dict[str, float] | None:
    """From a mapping as in the TOML table; `unit` is "loss" or "reward", `check` knows the range.

    After `waiting` seconds without feedback, a decision gets the loss or reward given here.
    Decisions may be removed once they are `keep_days` old.
    """
    if defaults is None:
        return None
    if not isinstance(defaults, Mapping):
        raise TypeError(
            "`defaults` must be a mapping with waiting and a loss or reward, or keep_days; got "
            f"{type(defaults).__name__}"
        )
    if not defaults:
        return None
    for key in defaults:
        as_one_of("defaults", key, ("waiting", unit, "keep_days"))
    if ("waiting" in defaults) != (unit in defaults):
        raise ValueError(
            f"`defaults` must have waiting and {unit} together, got {', '.join(defaults)}: after "
            f"waiting = SECONDS without feedback, a decision has this {unit}"
        )
    read = {key: _number(f"defaults.{key}", defaults[key]) for key in defaults}
    for key in ("waiting", "keep_days"):
        if key in read and not read[key] > 0.0:
            raise ValueError(f"`defaults.{key}` must be above 0, got {read[key]:g}")
    if unit in read:
        check([read[unit]], ["default"])
    return {key: read[key] for key in ("waiting", unit, "keep_days") if key in read}


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"`{name}` must be a number, got {value!r}")
    if not math.isfinite(value):
        raise ValueError(f"`{name}` must be finite, got {value!r}")
    return float(value)
