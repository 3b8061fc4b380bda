"""The baseline of a problem: today's rule, and how the learner is held against it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphcb.agents import Budget
from graphcb.agents.baselines import FIRST, check_budgets
from graphcb.checks import as_number, as_one_of, listed
from graphcb.exploration import Limits
from graphcb.exploration.clashing import SLACK
from graphcb.loaded import Learned
from graphcb.problems.names import as_name

MODES = ("conservative", "shadow")


@dataclass(frozen=True)
class Baseline:
    """Today's rule plays `action`, by its name or as the "first of each round".

    In the mode "conservative", the learner loses at most 1 + `epsilon` times as much as the rule,
    with this `confidence`; `value` is the loss or reward that the rule is known to have per
    round, None if it is learned. In the mode "shadow", the rule alone is played, and the rest
    means nothing.
    """

    action: str
    mode: str = "conservative"
    epsilon: float = 0.1
    confidence: float = 0.95
    value: float | None = None
    learned = Learned()  # the problem around it knows the actions, and checks it

    @property
    def is_first(self) -> bool:
        """Whether the rule plays the first of the actions that a round offers."""
        return self.action == FIRST

    @property
    def is_shadow(self) -> bool:
        """Whether the rule alone is played."""
        return self.mode == "shadow"

    def as_table(self, unit: str) -> dict[str, Any]:
        """As the TOML table [baseline] has it; `unit` is "loss" or "reward"."""
        table: dict[str, Any] = {"action": self.action, "mode": self.mode}
        if not self.is_shadow:
            table |= {"epsilon": self.epsilon, "confidence": self.confidence}
            if self.value is not None:
                table[unit] = self.value
        return table


def read_baseline(
    baseline: Any, actions: tuple[str, ...] | str, unit: str, check: Callable[[Any, Any], Any]
) -> Baseline | None:
    """From a table as in TOML, or the name of the action that today's rule plays.

    `unit` is "loss" or "reward", the key of what the baseline is known to lose or earn per
    round; `check` refuses values that are outside the problem's range.
    """
    if baseline is None:
        return None
    if isinstance(baseline, Baseline):
        baseline = baseline.as_table(unit)
    elif isinstance(baseline, str):
        baseline = {"action": baseline}
    if not isinstance(baseline, Mapping):
        raise TypeError(
            "`baseline` must be the name of an action or a table with action and mode, "
            f"got {type(baseline).__name__}"
        )
    settings = ("epsilon", unit, "confidence")
    for key in baseline:
        as_one_of("baseline", key, ("action", "mode", *settings))
    if "action" not in baseline:
        raise ValueError(f"`baseline` must have an action, got {listed(baseline)}")
    action = baseline["action"]
    if action != FIRST:
        action = _known_action("baseline.action", action, actions)
    mode = as_one_of("baseline.mode", baseline.get("mode", "conservative"), MODES)
    given = {
        key: as_number(f"baseline.{key}", baseline[key]) for key in settings if key in baseline
    }
    if mode == "shadow" and given:
        raise ValueError(
            f"`baseline.{next(iter(given))}` must be left out with mode = 'shadow', which "
            "always plays the baseline"
        )
    value = given.pop(unit, None)
    if value is not None:
        check([value], [action])
    read = Baseline(action, mode, value=value, **given)
    if not read.epsilon > 0.0:
        raise ValueError(f"`baseline.epsilon` must be above 0, got {read.epsilon:g}")
    if not 0.0 < read.confidence < 1.0:
        raise ValueError(f"`baseline.confidence` must be in (0, 1), got {read.confidence:g}")
    return read


def check_obeys(
    action: str,
    actions: tuple[str, ...],
    limits: Limits | None,
    budgets: Sequence[Budget],
) -> None:
    """Refuse a baseline that cannot be played in every round as the problem is."""
    if action == FIRST:
        for one in actions:
            check_obeys(one, actions, limits, budgets)
        return
    start = f"`baseline.action` must be one that can always be played, got {action!r}, but"
    box = None if limits is None else limits.on(actions)
    if box is not None:
        index = actions.index(action)
        for other in np.flatnonzero(box.lower > (np.arange(len(actions)) == index)).tolist():
            raise ValueError(f"{start} the floor of {actions[other]!r} is {box.lower[other]:g}")
        if box.upper[index] < 1.0:
            raise ValueError(f"{start} its cap is {box.upper[index]:g}")
        if (box.rows[:, index] > box.most + SLACK).any():
            raise ValueError(f"{start} a linear limit does not allow that")
    check_budgets(budgets, action, "baseline.action")


def _known_action(name: str, action: Any, actions: tuple[str, ...] | str) -> str:
    if isinstance(actions, str):
        return as_name(name, action)
    return as_one_of(name, action, actions)
