"""What is known of each program once it is solved: a row of numbers, and what is made of it."""

import numpy as np

from graphcb.compilation import compiled, inlined
from graphcb.exploration.solver.problem import dec
from graphcb.exploration.solver.solution import Solution, SolutionBatch, Status
from graphcb.exploration.solver.workspace import Floats
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.formulas import CUT, LARGEST_GAP, LOWER, RESTARTED, STEPS, UPPER, VALUE

# A program's row of numbers: those of `formulas.record`, and what is made of them.
REPAIR = 7  # whether `repair` is needed: some gap was cut, or there is no finite value
STATUS = 8  # index into STATUSES
N_NUMBERS = 9

STATUSES = (Status.CERTIFIED, Status.RESTARTED, Status.EXACT, Status.NOT_CERTIFIED)
_STATUSES = np.array(STATUSES)


def _status_of(
    value: float, upper: float, lower: float, tolerance: float, exact: bool, restarted: bool
) -> int:
    """The index of the status: how far the gap is proven."""
    if not upper - lower <= tolerance * (1.0 + value):
        return 3
    if exact:
        return 2
    return 1 if restarted else 0


_inlined_status_of = inlined(_status_of)


@inlined
def settle(numbers: Floats, tolerance: float, exact: bool) -> None:
    """Complete a row of numbers that holds an outcome."""
    value, upper, restarted = numbers[VALUE], numbers[UPPER], numbers[RESTARTED] != 0.0
    numbers[REPAIR] = numbers[CUT] != 0.0 or not upper < np.inf
    numbers[STATUS] = _inlined_status_of(value, upper, numbers[LOWER], tolerance, exact, restarted)


@compiled
def settle_exact(numbers: Floats, first: int, stop: int, tolerance: float) -> None:
    """`settle` the rows of exact solutions."""
    for row in range(first, stop):
        settle(numbers[row], tolerance, True)


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

    An action whose gap was cut from ft to LARGEST_GAP needs LARGEST_GAP / ft of the weight found,
    or none if the others see everything. Without a finite value, because the actions that would
    have to be solved together are too many, the uniform distribution is a safe answer. All that
    is left of the bound is that the optimum is not negative.
    """
    value = np.inf
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        if numbers[CUT]:
            cut = scaled >= LARGEST_GAP
            share = np.where(cut, LARGEST_GAP / (gamma * (losses - losses.min())), 1.0)
            candidates = [weights / weights.sum() for weights in (p * share, p * ~cut)]
            values = [dec(one, losses, graph, gamma) * gamma for one in candidates]
            best = int(np.argmin(values))
            value, p[:] = values[best], candidates[best]
        if not value < np.inf:
            p[:] = 1.0 / p.size
            value = dec(p, losses, graph, gamma) * gamma
    restarted = bool(numbers[RESTARTED])
    numbers[VALUE], numbers[UPPER], numbers[LOWER] = value, value, 0.0
    numbers[STATUS] = _status_of(value, value, 0.0, tolerance, exact, restarted)


def solution(p: Floats, numbers: Floats, gamma: float) -> Solution:
    """The answer to one program."""
    value, upper, lower, steps, _, _, _, _, status = numbers.tolist()
    gap = max(upper - lower, 0.0)
    return Solution(p, value / gamma, gap / gamma, int(steps), STATUSES[int(status)])


def solution_batch(p: Floats, numbers: Floats, gammas: Floats) -> SolutionBatch:
    """The answers to many programs, one per row."""
    gap = np.maximum(numbers[:, UPPER] - numbers[:, LOWER], 0.0)
    return SolutionBatch(
        p,
        numbers[:, VALUE] / gammas,
        gap / gammas,
        numbers[:, STEPS].astype(np.int64),
        tuple(_STATUSES[numbers[:, STATUS].astype(np.int64)].tolist()),
    )
