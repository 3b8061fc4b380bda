"""The defaults of a problem: what a decision gets without feedback, and how long it is kept."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from graphcb.checks import as_number, as_one_of


@dataclass(frozen=True)
class Defaults:
    """After `waiting` seconds without feedback, a decision gets the loss or reward `value`.

    Decisions may be removed once they are `keep_days` old. None stands for never.
    """

    waiting: float | None = None
    value: float | None = None
    keep_days: float | None = None

    def as_table(self, unit: str) -> dict[str, float]:
        """As the TOML table [defaults] has it; `unit` is "loss" or "reward"."""
        table = {"waiting": self.waiting, unit: self.value, "keep_days": self.keep_days}
        return {key: number for key, number in table.items() if number is not None}

    def check_loaded(self) -> None:
        """Nothing: the problem around it checks it, as only the problem knows the range."""


def read_defaults(defaults: Any, unit: str, check: Callable[[Any, Any], Any]) -> Defaults | None:
    """From a mapping as in the TOML table.

    `unit` is "loss" or "reward"; `check` refuses values that are outside the problem's range.
    """
    if defaults is None:
        return None
    if isinstance(defaults, Defaults):
        defaults = defaults.as_table(unit)
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
    given = {key: as_number(f"defaults.{key}", defaults[key]) for key in defaults}
    for key in ("waiting", "keep_days"):
        if key in given and not given[key] > 0.0:
            raise ValueError(f"`defaults.{key}` must be above 0, got {given[key]:g}")
    if unit in given:
        check([given[unit]], ["default"])
    return Defaults(given.get("waiting"), given.get(unit), given.get("keep_days"))
