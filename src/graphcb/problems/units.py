"""The units of a problem: losses or rewards within a range, and losses between 0 and 1."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphcb.checks import LARGEST, as_numbers, first_outside

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

UNTIL_FOUND = (0.0, 1.0)  # the scale of a problem without a range


class InUnits:
    """The part of a `Problem` that knows its units; not built on its own."""

    feedback: Literal["losses", "rewards"]
    range: tuple[float, float] | None

    @property
    def unit(self) -> str:
        """One value of the feedback: "loss" or "reward"."""
        return "reward" if self.feedback == "rewards" else "loss"

    @property
    def scale(self) -> tuple[float, float]:
        """The two values that become the losses 0 and 1: the range, or 0 and 1 without one."""
        return UNTIL_FOUND if self.range is None else self.range

    @property
    def needs_range(self) -> str | None:
        """What in the problem holds only for values within a range; None if nothing does."""
        return None

    def check_values(
        self, values: ArrayLike, actions: Sequence[Any], needs_range: str | None = None
    ) -> Floats:
        """Losses or rewards of these actions, each within the range.

        Without a range they are any numbers, but from 0 to 1 where something `needs_range`, in the
        problem or as given here.
        """
        numbers = as_numbers(self.feedback, values)
        if numbers.shape != (len(actions),):
            raise ValueError(
                f"`{self.feedback}` must have shape ({len(actions)},), one for each action, "
                f"got {numbers.shape}"
            )
        wrong = first_outside(numbers, *self._accepted(needs_range))
        if wrong >= 0:
            raise ValueError(
                f"`{self.feedback}` must {self._bounds(needs_range)}, got {numbers[wrong]:g} for "
                f"action {actions[wrong]!r}{self._remedy(needs_range)}"
            )
        return numbers

    def accepts(self, values: Floats, needs_range: str | None = None) -> Flags:
        """Which of these values `check_values` would accept."""
        low, high = self._accepted(needs_range)
        return (values >= low) & (values <= high)

    def _accepted(self, needs_range: str | None) -> tuple[float, float]:
        if self.range is None and needs_range is None and self.needs_range is None:
            return -LARGEST, LARGEST
        return self.scale

    def _bounds(self, needs_range: str | None) -> str:
        if self.range is not None:
            return f"lie in the problem's range, {self.range[0]:g} to {self.range[1]:g}"
        if needs_range is None and self.needs_range is None:
            return f"be finite and within {LARGEST:g} of 0"
        return "lie between 0 and 1"

    def _remedy(self, needs_range: str | None) -> str:
        why = needs_range or self.needs_range
        if self.range is not None or why is None:
            return ""
        return f"; the problem says no range, which {why}: write range = [LOW, HIGH]"

    def as_losses(self, values: Floats) -> Floats:
        """Losses, smaller being better, from values in the problem's units.

        They lie between 0 and 1 if the values lie within the scale.
        """
        low, high = self.scale
        if self.feedback == "rewards":
            return (high - values) / (high - low)
        return values if (low, high) == (0.0, 1.0) else (values - low) / (high - low)

    def as_values(self, losses: Floats) -> Floats:
        """Values in the problem's units from losses between 0 and 1."""
        low, high = self.scale
        if self.feedback == "rewards":
            return high - (high - low) * losses
        return losses if (low, high) == (0.0, 1.0) else low + (high - low) * losses
