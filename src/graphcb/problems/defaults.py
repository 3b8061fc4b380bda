"""The defaults of a problem: what a decision gets without feedback, and how long it is kept."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from graphcb.checks import as_number, as_one_of
from graphcb.loaded import Learned

AGGREGATION, AGGREGATIONS = "reward_aggregation", ("earliest", "sum")


@dataclass(frozen=True)
class Defaults:
    """After `waiting` seconds without feedback, a decision gets the loss or reward `value`.

    Decisions may be removed once they are `keep_days` old. None stands for never. Of several
    rewards that clients of Personalizer report within `waiting` seconds, the first one counts, or
    their sum if `reward_aggregation` is "sum".
    """

    waiting: float | None = None
    value: float | None = None
    keep_days: float | None = None
    reward_aggregation: str = "earliest"
    added = ("reward_aggregation",)
    learned = Learned()  # the problem around it knows the range, and checks it

    @property
    def adds_up(self) -> bool:
        """Whether several rewards count as their sum."""
        return self.reward_aggregation == "sum"

    def as_table(self, unit: str) -> dict[str, float | str]:
        """As the TOML table [defaults] has it; `unit` is "loss" or "reward"."""
        numbers = {"waiting": self.waiting, unit: self.value, "keep_days": self.keep_days}
        table: dict[str, float | str] = {k: v for k, v in numbers.items() if v is not None}
        return {**table, "reward_aggregation": "sum"} if self.adds_up else table


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
        as_one_of("defaults", key, ("waiting", unit, "keep_days", AGGREGATION))
    if ("waiting" in defaults) != (unit in defaults):
        raise ValueError(
            f"`defaults` must have waiting and {unit} together, got {', '.join(defaults)}: after "
            f"waiting = SECONDS without feedback, a decision has this {unit}"
        )
    given = {k: as_number(f"defaults.{k}", defaults[k]) for k in defaults if k != AGGREGATION}
    how = as_one_of(f"defaults.{AGGREGATION}", defaults.get(AGGREGATION, "earliest"), AGGREGATIONS)
    if how == "sum" and (unit != "reward" or "waiting" not in given):
        raise ValueError(
            f"`defaults.{AGGREGATION}` must stand beside waiting and reward: rewards are added up "
            "for as long as a decision waits"
        )
    for key in ("waiting", "keep_days"):
        if key in given and not given[key] > 0.0:
            raise ValueError(f"`defaults.{key}` must be above 0, got {given[key]:g}")
    if unit in given:
        check([given[unit]], ["default"])
    return Defaults(given.get("waiting"), given.get(unit), given.get("keep_days"), how)
