"""What solving the convex program returns."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from graphcb.html import shares, table


class Status(Enum):
    """How far an answer is proven; the value is the explanation."""

    CERTIFIED = "proven to be within the tolerance of the optimum"
    RESTARTED = "proven to be within the tolerance of the optimum, after a second, careful start"
    EXACT = "the optimum in closed form, exact to rounding"
    NOT_CERTIFIED = (
        "a valid distribution whose proven gap is above the tolerance; allow more steps, "
        "or a larger tolerance"
    )
    NEVER_REVEALED = (
        "the limits keep the losses of some actions from ever being revealed, so the DEC is "
        "infinite; the probabilities are best without those actions, or with their losses as "
        "predicted if they can be played"
    )

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Probabilities for one round, and the proof of how good they are.

    `value` is the DEC of `probabilities`; the optimum is at least `value - gap`. Both are inf if
    the DEC is beyond all numbers, or if limits keep an action from ever being revealed, and then
    nothing is certified. `steps` counts Newton steps, or
    passes of a closed form.
    """

    probabilities: NDArray[np.float64]
    value: float
    gap: float
    steps: int
    status: Status

    @property
    def is_certified(self) -> bool:
        """Whether the gap is proven to be within the tolerance."""
        return self.status not in (Status.NOT_CERTIFIED, Status.NEVER_REVEALED)

    def _repr_html_(self) -> str:
        rows = [("DEC", float(self.value)), ("gap", float(self.gap)), ("status", self.status)]
        bars = shares("probabilities", range(self.probabilities.size), self.probabilities.tolist())
        return table("Solution", rows) + bars


@dataclass(frozen=True, slots=True, eq=False)
class SolutionBatch:
    """One `Solution` per row: arrays of shape (B, K) and (B,), and the statuses in a tuple."""

    probabilities: NDArray[np.float64]
    value: NDArray[np.float64]
    gap: NDArray[np.float64]
    steps: NDArray[np.int64]
    status: tuple[Status, ...]

    def __len__(self) -> int:
        return len(self.status)

    def __getitem__(self, row: int) -> Solution:
        return Solution(
            self.probabilities[row],
            float(self.value[row]),
            float(self.gap[row]),
            int(self.steps[row]),
            self.status[row],
        )

    def __iter__(self) -> Iterator[Solution]:
        return (self[row] for row in range(len(self)))
