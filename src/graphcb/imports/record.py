"""What every format becomes: one decision of somebody else."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class ForeignDecision(NamedTuple):
    """A decision that another program made and wrote down.

    `actions` are names, each with its features (None if it has none). `chosen` is the place of
    the action that was played, None if that is not known. `probability` is that of the chosen
    action, `probabilities` those of all, if the log has them. `cost` is None where no outcome
    was recorded; smaller is better. `made_at` is in seconds since 1970. `line` is where the
    decision begins in the file.
    """

    line: int
    context: Any
    actions: Mapping[str, Any]
    chosen: int | None
    cost: float | None
    probability: float | None
    probabilities: list[float] | None = None
    made_at: float | None = None
    event_id: str = ""


class OddLineError(ValueError):
    """What is wrong with a line; its number is added by whoever reads the file."""


def distinct_names(names: list[str]) -> list[str]:
    """Names of one round; a name that comes again gets a number.

    >>> distinct_names(["a", "b", "a"])
    ['a', 'b', 'a (2)']
    """
    if len(set(names)) == len(names):
        return names
    known: dict[str, int] = {}
    found = []
    for name in names:
        known[name] = known.get(name, 0) + 1
        found.append(name if known[name] == 1 else f"{name} ({known[name]})")
    return distinct_names(found)


def as_probability(value: Any, name: str) -> float:
    """A probability above 0, as the chosen action must have had."""
    if isinstance(value, int | float) and 0.0 < value <= 1.0 + 1e-6:
        return min(float(value), 1.0)
    raise OddLineError(f"{name} must be a probability above 0 and at most 1, got {value!r}")
