"""The graphs whose program has an exact solution, and the kernel that reaches it."""

from graphcb.compilation import compiled
from graphcb.exploration.solver.apple import solve_apple
from graphcb.exploration.solver.exact import solve_bandit, solve_full_information
from graphcb.exploration.solver.outcomes import record
from graphcb.exploration.solver.problem import LARGEST, scale
from graphcb.exploration.solver.workspace import Floats
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.families import AppleTasting, Bandit, FullInformation

BANDIT, FULL = -1, -2  # otherwise the revealing action of apple tasting


def has_exact_solution(graph: FeedbackGraph) -> bool:
    """Whether `solve_exactly` solves this graph."""
    return isinstance(graph.structure, Bandit | FullInformation | AppleTasting)


def exact_kind(graph: FeedbackGraph) -> int:
    """Which exact solution: BANDIT, FULL, or the revealing action of apple tasting."""
    if isinstance(graph.structure, AppleTasting):
        return graph.structure.revealing_action
    return BANDIT if isinstance(graph.structure, Bandit) else FULL


@compiled
def solve_exactly(
    losses: Floats,
    gammas: Floats,
    kind: int,
    tolerance: float,
    first: int,
    stop: int,
    p: Floats,
    outcomes: Floats,
) -> None:
    """Solve `losses[first:stop]`, which are scaled in place, into `p` and `outcomes`."""
    for row in range(first, stop):
        largest = LARGEST if kind >= 0 else 1e300
        cut = scale(losses[row], gammas[row], largest) and kind >= 0
        if kind == BANDIT:
            outcome = solve_bandit(losses[row], p[row])
        elif kind == FULL:
            outcome = solve_full_information(losses[row], p[row])
        else:
            outcome = solve_apple(losses[row], kind, p[row])
        record(outcome, cut, tolerance, True, outcomes[row])
