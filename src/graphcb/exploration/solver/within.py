"""Programs with limits, from checked arguments to a row of outcomes."""

from typing import Any

import numpy as np

from graphcb.exploration.cheapest import obeys
from graphcb.exploration.clashing import SLACK, InfeasibleLimits, can_be_met, check_bounds
from graphcb.exploration.limits import BoxAndRows, Limits
from graphcb.exploration.solver.box import box_on
from graphcb.exploration.solver.capped import solve_capped
from graphcb.exploration.solver.edges import edges_of
from graphcb.exploration.solver.entry import solve_general, solve_programs, solver_for, work_room
from graphcb.exploration.solver.feasible_points import (
    conclude_point,
    facts_of,
    is_known,
    repair_within,
)
from graphcb.exploration.solver.outcomes import EXACT, HIDDEN, NOT_CERTIFIED, REPAIR, STATUS
from graphcb.exploration.solver.workspace import Floats
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.families.bandit import Bandit
from graphcb.graphs.families.full_information import FullInformation
from graphcb.graphs.formulas import ExactSolution
from graphcb.graphs.registry import recognise


def as_box(limits: Any, n_actions: int) -> BoxAndRows | None:
    """The limits of one round over the indices of its actions, or None if there are none."""
    if limits is None:
        return None
    if isinstance(limits, Limits):
        return limits.on(range(n_actions))
    if not isinstance(limits, BoxAndRows):
        raise TypeError(
            f"`limits` must be a graphcb.Limits, or what its `on` returns; got {limits!r}"
        )
    if is_known(limits) and limits.lower.size == n_actions:
        return limits
    shapes = [np.shape(array) for array in limits]
    n_rows = len(limits.most)
    if shapes != [(n_actions,), (n_actions,), (n_rows, n_actions), (n_rows,)]:
        raise ValueError(
            f"`limits` must have arrays of shapes ({n_actions},), ({n_actions},), (r, {n_actions}) "
            f"and (r,) to match the graph, got {', '.join(map(str, shapes))}"
        )
    lower, upper, rows, most = (np.ascontiguousarray(array, dtype=float) for array in limits)
    with np.errstate(over="ignore"):
        finite = np.isfinite(rows.sum()) and np.isfinite(most.sum())
    if not (finite and (lower >= 0.0).all() and (upper <= 1.0).all() and (lower <= upper).all()):
        raise ValueError(
            "`limits` must have 0 <= lower <= upper <= 1 and finite linear limits, got others"
        )
    if not lower.sum() <= 1.0 + SLACK or not upper.sum() >= 1.0 - SLACK:
        check_bounds(range(n_actions), lower, upper)
    if n_rows:
        size = np.abs(rows).max(axis=1)
        size[size == 0.0] = 1.0
        if (size != 1.0).any():
            rows, most = np.ascontiguousarray(rows / size[:, None]), most / size
    arrays = (lower, upper, rows, most)
    if all(a is b and not a.flags.writeable for a, b in zip(arrays, limits, strict=True)):
        return limits
    views = [array.view() for array in arrays]
    for array in views:  # as those of `Limits.on`: kernels are compiled for one type
        array.setflags(write=False)
    return BoxAndRows(*views)


def solve_within(
    losses: Floats,
    gammas: Floats,
    graph: FeedbackGraph,
    box: BoxAndRows,
    tolerance: float,
    max_steps: int,
    row: int,
    scaled: Floats,
    p: Floats,
    outcomes: Floats,
) -> None:
    """Solve the program of `losses[row]` within the limits; `scaled` is a copy to work on."""
    solver = solver_for(graph)
    if not isinstance(solver, ExactSolution):
        edges = solver
    else:
        edges = graph.remember("edges", edges_of)
        solve_programs(scaled, gammas, solver, tolerance, max_steps, row, row + 1, p, outcomes)
        if obeys(p[row], *box) and not outcomes[row, REPAIR]:
            outcomes[row, HIDDEN] = 0.0
            return
        scaled[row] = losses[row]
        family = None if box.most.size else recognise(graph)
        is_bandit = isinstance(family, Bandit)
        if isinstance(family, FullInformation) or (is_bandit and box.upper.all()):
            solve_capped(
                is_bandit, scaled[row], gammas[row], box.lower, box.upper, tolerance,
                p[row], outcomes[row],
            )  # fmt: skip
            outcomes[row, HIDDEN] = 0.0
            if outcomes[row, STATUS] == EXACT and not outcomes[row, REPAIR]:
                return
            scaled[row] = losses[row]
    facts = facts_of(box)
    if facts.only is not None:
        p[row] = facts.only
        conclude_point(
            losses[row], float(gammas[row]), graph, box, tolerance, p[row], outcomes[row]
        )
    else:
        solve_general(
            scaled, gammas, edges, box_on(graph, edges, box, facts.inner), tolerance, max_steps,
            work_room(losses.shape[1]), row, row + 1, p, outcomes,
        )  # fmt: skip
        if outcomes[row, STATUS] == NOT_CERTIFIED and box.most.size and not can_be_met(*box):
            raise InfeasibleLimits(
                "`limits` must leave a choice, but no probabilities that add up to 1 meet these "
                "floors, caps and linear limits together; relax one of them"
            )
        if outcomes[row, REPAIR]:
            repair_within(
                losses[row], float(gammas[row]), graph, box, tolerance, p[row], outcomes[row]
            )
    if not facts.playable:
        seen = graph.structure.reveal_probabilities(np.ceil(box.upper))
        outcomes[row, HIDDEN] = not seen.all()
