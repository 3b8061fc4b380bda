"""From checked rows of predicted losses to outcomes: the one compiled entry of the solver."""

import threading
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from graphcb.compilation import compiled
from graphcb.exploration.choice import exact_solution_for
from graphcb.exploration.edges import Edges, edges_of
from graphcb.exploration.growing import solve_scaled
from graphcb.exploration.layout import room_for
from graphcb.exploration.objective import dec
from graphcb.exploration.solution import Status
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.formulas import (
    CUT as CUT,
)
from graphcb.graphs.formulas import (
    LARGEST_GAP,
    RESTARTED,
    Outcome,
    record,
    scale,
)
from graphcb.graphs.formulas import (
    LOWER as LOWER,
)
from graphcb.graphs.formulas import (
    N_CHOSEN as N_CHOSEN,
)
from graphcb.graphs.formulas import (
    N_NUMBERS as N_NUMBERS,
)
from graphcb.graphs.formulas import (
    STEPS as STEPS,
)
from graphcb.graphs.formulas import (
    UPPER as UPPER,
)
from graphcb.graphs.formulas import (
    VALUE as VALUE,
)
from graphcb.graphs.matrices import DenseMatrix
from graphcb.graphs.runs import next_with_runs

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

COMMON_SIZE = 64  # chosen actions for which the work room is kept between calls
_STATUSES = np.array([Status.CERTIFIED, Status.RESTARTED, Status.EXACT, Status.NOT_CERTIFIED])

_kept = threading.local()


def solve_rows(
    losses: Floats,
    gammas: Floats,
    graph: FeedbackGraph,
    edges: Edges | None,
    tolerance: float,
    max_steps: int,
    first: int,
    stop: int,
    p: Floats,
    outcomes: Floats,
) -> None:
    """Solve `losses[first:stop]` (scaled in place) into `p` and `outcomes`.

    `edges` are those of the graph, or None for a graph with an exact solution.
    """
    exact = exact_solution_for(graph) if edges is None else None
    if exact is not None:
        exact.solve(losses, gammas, first, stop, p, outcomes)
    elif edges is not None:
        room = work_room(losses.shape[1])
        solve_scaling(losses, gammas, edges, tolerance, max_steps, room, first, stop, p, outcomes)


def edges_to_solve(graph: FeedbackGraph) -> Edges | None:
    """What `solve_rows` wants to know of a graph, worked out once."""
    return graph.remember("edges to solve", _find_edges)


def _find_edges(graph: FeedbackGraph) -> Edges | None:
    return edges_of(graph) if exact_solution_for(graph) is None else None


def stack_edges(graphs: Sequence[FeedbackGraph]) -> Edges | None:
    """The edges of many graphs together, one graph per row.

    None if one of them is not dense, or has an exact solution.
    """
    matrices = [g.structure.matrix for g in graphs if isinstance(g.structure, DenseMatrix)]
    if len(matrices) < len(graphs):
        return None
    stack = np.stack(matrices).reshape(len(graphs), -1)
    stack.setflags(write=False)
    row = next_with_runs(stack, 0)
    while row < len(graphs):  # only these can be of a family
        if exact_solution_for(graphs[row]) is not None:
            return None
        row = next_with_runs(stack, row + 1)
    return edges_of(graphs[0])._replace(flat=stack)


def status_of(outcome: Sequence[float], tolerance: float, exact: bool) -> Status:
    """How far one outcome is proven."""
    value, upper, lower, _, restarted, _, _ = outcome
    if not upper - lower <= tolerance * (1.0 + value):
        return Status.NOT_CERTIFIED
    if exact:
        return Status.EXACT
    return Status.RESTARTED if restarted else Status.CERTIFIED


def statuses_of(outcomes: Floats, tolerance: float, exact: Flags) -> tuple[Status, ...]:
    """`status_of` of each row."""
    proven = outcomes[:, UPPER] - outcomes[:, LOWER] <= tolerance * (1.0 + outcomes[:, VALUE])
    number = np.where(exact, 2, outcomes[:, RESTARTED] != 0.0)
    return tuple(_STATUSES[np.where(proven, number, 3)].tolist())


def recheck_cut(
    losses: Floats, gamma: float, graph: FeedbackGraph, p: Floats, scaled: Floats, outcome: Floats
) -> None:
    """Make an outcome honest whose largest gaps were cut.

    An action with a gap cut from ft to LARGEST_GAP needs LARGEST_GAP / ft of the weight found, or
    none if the others see everything. The optimum is never negative, which is all that is left of
    the bound.
    """
    cut = scaled >= LARGEST_GAP
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        share = np.where(cut, LARGEST_GAP / (gamma * (losses - losses.min())), 1.0)
        candidates = [weights / weights.sum() for weights in (p * share, p * ~cut)]
        values = [dec(one, losses, graph, gamma) * gamma for one in candidates]
    best = int(np.argmin(values))
    p[:] = candidates[best]
    outcome[VALUE] = outcome[UPPER] = values[best]
    outcome[LOWER] = 0.0


def play_uniformly(
    losses: Floats, gamma: float, graph: FeedbackGraph, p: Floats, outcome: Floats
) -> None:
    """Where the actions that would have to be solved together are too many: a safe answer."""
    p[:] = 1.0 / p.size
    with np.errstate(over="ignore", invalid="ignore"):
        outcome[VALUE] = outcome[UPPER] = dec(p, losses, graph, gamma) * gamma
    outcome[LOWER] = 0.0


def work_room(n_actions: int) -> Floats:
    """A block of work room, one a thread, used again by every call."""
    size = min(n_actions, COMMON_SIZE)
    block: Floats | None = getattr(_kept, "block", None)
    if block is None or _kept.size < size:
        block = _kept.block = room_for(size)
        _kept.size = size
    return block


@compiled
def solve_scaling(
    losses: Floats,
    gammas: Floats,
    edges: Edges,
    tolerance: float,
    max_steps: int,
    block: Floats,
    first: int,
    stop: int,
    p: Floats,
    outcomes: Floats,
) -> None:
    """The compiled part of `solve_rows`; `edges.flat` has one row, or one a row of `losses`."""
    for row in range(first, stop):
        matrix = edges.flat[row if len(edges.flat) > 1 else 0]
        one = Edges(edges.form, matrix, edges.start, edges.action, edges.chance)
        cut = scale(losses[row], gammas[row], LARGEST_GAP)
        if losses.shape[1] == 1:
            p[row, 0] = 1.0
            record(Outcome(0.0, 0.0, 0.0, 0, False, 1), cut, outcomes[row])
            continue
        outcome = solve_scaled(losses[row], one, tolerance, max_steps, block, p[row])
        record(outcome, cut, outcomes[row])
