"""Bandit and full information with floors and caps: exact solutions that the limits leave."""

from graphcb.compilation import compiled
from graphcb.exploration.solver.capped_bandit import solve_capped_bandit
from graphcb.exploration.solver.capped_full_information import solve_capped_full_information
from graphcb.exploration.solver.outcomes import conclude
from graphcb.exploration.solver.workspace import Floats
from graphcb.graphs.formulas import LARGEST_GAP, record, scale


@compiled
def solve_capped(
    is_bandit: bool,
    losses: Floats,
    gamma: float,
    lower: Floats,
    upper: Floats,
    tolerance: float,
    p: Floats,
    numbers: Floats,
) -> None:
    """Solve one program of either family; `losses` are scaled in place."""
    cut = scale(losses, gamma, LARGEST_GAP)
    if is_bandit:
        outcome = solve_capped_bandit(losses, lower, upper, p)
    else:
        outcome = solve_capped_full_information(losses, lower, upper, p)
    record(outcome, cut, numbers)
    conclude(numbers, tolerance, True)
