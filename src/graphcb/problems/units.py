"""The units of a problem: losses or rewards within a range, and losses between 0 and 1."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphcb.checks import as_numbers

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class InUnits:
    """The part of a `Problem` that knows its units; not built on its own."""

    feedback: Literal["losses", "rewards"]
    range: tuple[float, float]

    @property
    def unit(self) -> str:
        """One value of the feedback: "loss" or "reward"."""
        return "reward" if self.feedback == "rewards" else "loss"

    def check_values(self, values: ArrayLike, actions: Sequence[Any]) -> Floats:
        """Losses or rewards of these actions, each within the range."""
        numbers = as_numbers(self.feedback, values)
        if numbers.shape != (len(actions),):
            raise ValueError(
                f"`{self.feedback}` must have shape ({len(actions)},), one for each action, "
                f"got {numbers.shape}"
            )
        low, high = self.range
        inside = (numbers >= low) & (numbers <= high)
        if not inside.all():
            wrong = np.flatnonzero(~inside)
            raise ValueError(
                f"`{self.feedback}` must lie in the problem's range, {low:g} to {high:g}, "
                f"got {numbers[wrong[0]]:g} for action {actions[wrong[0]]!r}"
            )
        return numbers

    def as_losses(self, values: Floats) -> Floats:
        """Losses between 0 and 1, smaller being better, from values in the problem's units."""
        low, high = self.range
        if self.feedback == "rewards":
            return (high - values) / (high - low)
        return values if self.range == (0.0, 1.0) else (values - low) / (high - low)

    def as_values(self, losses: Floats) -> Floats:
        """Values in the problem's units from losses between 0 and 1."""
        low, high = self.range
        if self.feedback == "rewards":
            return high - (high - low) * losses
        return losses if self.range == (0.0, 1.0) else low + (high - low) * losses
