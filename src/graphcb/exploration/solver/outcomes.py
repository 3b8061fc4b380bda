"""What is known of each program once it is solved: a row of numbers, and what is made of it."""

import numpy as np

from graphcb.compilation import compiled, inlined
from graphcb.exploration.solver.problem import dec
from graphcb.exploration.solver.solution import Solution, SolutionBatch, Status
from graphcb.exploration.solver.workspace import Floats
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.formulas import (
    CUT,
    LOWER,
    RESTARTED,
    ROUNDING,
    STEPS,
    UPPER,
    VALUE,
    is_within,
)

# A program's row of numbers: those of `formulas.record`, and what is made of them.
REPAIR = 7  # whether `repair` is needed: some gap was cut, or there is no finite value
STATUS = 8  # index into STATUSES
HIDDEN = 9  # whether limits keep some action from ever being revealed; set with limits alone
N_NUMBERS = 10

STATUSES = (
    Status.CERTIFIED, Status.RESTARTED, Status.EXACT, Status.NOT_CERTIFIED, Status.NEVER_REVEALED,
)  # fmt: skip
_STATUSES = np.array(STATUSES)
EXACT, NOT_CERTIFIED, _NEVER_REVEALED = 2, 3, 4

SMALLEST = 5e-324  # the smallest positive number
ULP = 4.0 * SMALLEST  # added to gaps, as quotients by gamma may underflow


def _settled(exact: bool, restarted: bool) -> int:
    """The index of the status of an answer that is proven."""
    if exact:
        return EXACT
    return 1 if restarted else 0


_inlined_settled = inlined(_settled)


@inlined
def conclude(numbers: Floats, tolerance: float, exact: bool) -> None:
    """Complete a row of numbers that holds an outcome."""
    value, upper, restarted = numbers[VALUE], numbers[UPPER], numbers[RESTARTED] != 0.0
    numbers[REPAIR] = numbers[CUT] != 0.0 or not upper < np.inf
    numbers[HIDDEN] = 0.0
    proven = is_within(value, upper, numbers[LOWER], tolerance)
    numbers[STATUS] = _inlined_settled(exact, restarted) if proven else NOT_CERTIFIED


@compiled
def conclude_exact(numbers: Floats, first: int, stop: int, tolerance: float) -> None:
    """`conclude` the rows of exact solutions."""
    for row in range(first, stop):
        conclude(numbers[row], tolerance, True)


def repair(
    losses: Floats,
    gamma: float,
    graph: FeedbackGraph,
    tolerance: float,
    exact: bool,
    scaled: Floats,
    p: Floats,
    numbers: Floats,
) -> None:
    """Correct an answer that was found from cut gaps, or that has no finite value.

    Without a finite value, because numbers left the range of the solver or too many actions would
    have to be solved together, weights 1 / (K + ft), 1 / (K + ft^(1/2)) or equal ones are safe.
    Of a bound that was proven for cut gaps, all that is left is that the optimum is not negative.
    The row then holds the DEC itself, as gamma * DEC may be beyond all numbers.
    """
    cut = bool(numbers[CUT])
    found = p.copy() if numbers[UPPER] < np.inf else 1.0 / (p.size + scaled)
    candidates = _uncut(found, losses, gamma, scaled) if cut else [found]
    roots = np.sqrt(gamma) * np.sqrt(0.5 * losses - 0.5 * losses.min())
    candidates = [one / one.sum() for one in (*candidates, 1.0 / (p.size + roots), np.ones(p.size))]
    values = [dec(one, losses, graph, gamma) for one in candidates]
    best = int(np.argmin(values))
    p[:] = candidates[best]
    conclude_with_dec(values[best], gamma, tolerance, exact, numbers)


def conclude_with_dec(
    value: float, gamma: float, tolerance: float, exact: bool, numbers: Floats
) -> None:
    """Complete a row with the DEC of its probabilities, from `dec`; see `repair`."""
    cut = bool(numbers[CUT])
    value = np.nextafter(value, np.inf)
    lower = 0.0 if cut else numbers[LOWER] / gamma * (1.0 - 4.0 * ROUNDING)
    numbers[VALUE], numbers[UPPER], numbers[LOWER] = value, np.nextafter(value, np.inf), lower
    # Where gaps were cut, `dec` is exact; otherwise its rounding is not known.
    proven = cut and value <= tolerance * (1.0 / gamma + value) < np.inf
    numbers[STATUS] = _settled(exact, bool(numbers[RESTARTED])) if proven else NOT_CERTIFIED


def _uncut(weights: Floats, losses: Floats, gamma: float, scaled: Floats) -> list[Floats]:
    """Weights for the true gaps instead of those that were cut, which are the largest.

    An action whose gap was cut from ft needs cut / ft of the weight, but at least the smallest
    number there is; or none, if the others see everything.
    """
    largest = scaled.max()
    cut = scaled == largest
    with np.errstate(over="ignore"):
        share = largest / (gamma * (losses - losses.min())[cut])
    less = weights.copy()
    less[cut] *= share
    some = less.copy()
    some[cut] = np.maximum(less[cut], SMALLEST)
    return [less, weights * ~cut, some]


def solution(p: Floats, numbers: Floats, gamma: float) -> Solution:
    """The answer to one program."""
    value, upper, lower, steps, _, _, _, repaired, status, hidden = numbers.tolist()
    unit = 1.0 if repaired else gamma
    gap = (upper - lower) / unit + ULP if upper > lower else 0.0
    value /= unit
    if not value < np.inf:
        gap, status = np.inf, NOT_CERTIFIED
    if hidden:
        value, gap, status = np.inf, np.inf, _NEVER_REVEALED
    return Solution(p, value, gap, int(steps), STATUSES[int(status)])


def solution_batch(p: Floats, numbers: Floats, gammas: Floats) -> SolutionBatch:
    """The answers to many programs, one per row."""
    units = np.where(numbers[:, REPAIR] != 0.0, 1.0, gammas)
    with np.errstate(over="ignore"):
        value = numbers[:, VALUE] / units
        gap = np.maximum(numbers[:, UPPER] - numbers[:, LOWER], 0.0) / units
        gap[numbers[:, UPPER] > numbers[:, LOWER]] += ULP
    beyond = ~(value < np.inf)
    gap[beyond] = np.inf
    status = np.where(beyond, NOT_CERTIFIED, numbers[:, STATUS]).astype(np.int64)
    hidden = numbers[:, HIDDEN] != 0.0
    value[hidden] = gap[hidden] = np.inf
    status[hidden] = _NEVER_REVEALED
    steps = numbers[:, STEPS].astype(np.int64)
    return SolutionBatch(p, value, gap, steps, tuple(_STATUSES[status].tolist()))
