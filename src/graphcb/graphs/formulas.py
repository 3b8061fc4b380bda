"""What a family may know about exploring its graph: a closed form, and an exact solution.

With predicted losses f the scaled gaps are ft = gamma * (f - min f).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.compilation import inlined

Floats = NDArray[np.float64]

ROUNDING = 2.0**-53
OPERATIONS = 16  # roundings in one term of a sum, in addition to those of the sum itself
LARGEST_GAP = 1e100  # scaled gaps are cut to this: products of squares would overflow
ANY_GAP = 1e300  # for formulas that multiply no two gaps
# Bounds hold where every W is at least LEAST_SEEN: then 1 / W^2 is finite, and all that underflows
# on the way adds up to less than NEGLIGIBLE.
LEAST_SEEN = 1e-120
NEGLIGIBLE = 1e-70
# The first numbers of a program's row; CUT: whether some gap was cut.
VALUE, UPPER, LOWER, STEPS, N_ACTIVE, RESTARTED, CUT = range(7)


class ClosedForm(NamedTuple):
    """A formula for the probabilities of one graph, and why it applies.

    `formula(predicted_losses, gamma)` returns the probabilities. Its gamma * DEC is at most
    `within` times the optimum, up to rounding; None if no such factor is known, and then the
    form is used only if asked for.
    """

    name: str
    because: str
    formula: Callable[[Floats, float], Floats]
    within: float | None = None


class ExactSolution(NamedTuple):
    """The optimum for one graph, and why it is known.

    `solve(losses, gammas, first, stop, p, numbers)` solves the rows `first` to `stop - 1`: it
    overwrites the losses with scaled gaps (`scale`), fills the rows of `p`, and writes an
    `Outcome` to each row of `numbers` (`record`).
    """

    because: str
    solve: Callable[[Floats, Floats, int, int, Floats, Floats], None]


class Outcome(NamedTuple):
    """Proven bounds on gamma * DEC, and what they took."""

    value: float
    upper: float
    lower: float
    steps: int
    restarted: bool
    n_active: int


@inlined
def scale(losses: Floats, gamma: float, largest: float) -> bool:
    """Overwrite losses with ft = gamma * (f - min f); whether some were cut to `largest`."""
    best, cut = np.inf, False
    for a in range(losses.size):
        best = min(best, losses[a])
    for a in range(losses.size):
        gap = losses[a] - best
        if gap == np.inf:  # two finite numbers may differ by more than the largest number
            losses[a] = 2.0 * (gamma * (0.5 * losses[a] - 0.5 * best))
        else:
            losses[a] = gamma * gap
        if losses[a] >= largest:
            losses[a], cut = largest, True
    return cut


@inlined
def is_within(value: float, upper: float, lower: float, tolerance: float) -> bool:
    """Whether the bounds are finite and prove the value to this tolerance."""
    return upper < np.inf and upper - lower <= tolerance * (1.0 + value)


@inlined
def record(outcome: Outcome, cut: bool, numbers: Floats) -> None:
    """Write an outcome to its row of numbers, with room for what has underflowed."""
    room = NEGLIGIBLE if outcome.upper > 0.0 else 0.0
    numbers[VALUE], numbers[UPPER] = outcome.value, outcome.upper + room
    lower = outcome.lower - room
    numbers[LOWER] = lower if lower > 0.0 else 0.0  # the optimum is never negative
    numbers[STEPS], numbers[N_ACTIVE] = outcome.steps, outcome.n_active
    numbers[RESTARTED], numbers[CUT] = outcome.restarted, cut
