"""The entry of the solver: checked programs in, one per row; probabilities and outcomes out."""

import threading
from collections.abc import Sequence

import numpy as np

from graphcb.compilation import compiled
from graphcb.exploration.solver.active_set import solve_scaled
from graphcb.exploration.solver.edges import Edges, edges_of
from graphcb.exploration.solver.outcomes import settle, settle_exact
from graphcb.exploration.solver.workspace import Floats, room_for
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.formulas import LARGEST_GAP, ExactSolution, Outcome, record, scale
from graphcb.graphs.matrices import DenseMatrix
from graphcb.graphs.registry import recognise
from graphcb.graphs.runs import next_with_runs

COMMON_SIZE = 64  # active actions for which the work room is kept between calls

_kept = threading.local()


def solve_programs(
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
    """Solve `losses[first:stop]`, which are scaled in place, into `p` and `outcomes`.

    `edges` are the `edges_to_solve` of the graph: None if it has an exact solution.
    """
    exact = exact_solution_for(graph) if edges is None else None
    if exact is not None:
        exact.solve(losses, gammas, first, stop, p, outcomes)
        settle_exact(outcomes, first, stop, tolerance)
    elif edges is not None:
        room = work_room(losses.shape[1])
        solve_general(losses, gammas, edges, tolerance, max_steps, room, first, stop, p, outcomes)


def edges_to_solve(graph: FeedbackGraph) -> Edges | None:
    """What `solve_programs` needs to know of a graph, worked out once; None for an exact one."""
    return graph.remember("edges to solve", _find_edges)


def _find_edges(graph: FeedbackGraph) -> Edges | None:
    return edges_of(graph) if exact_solution_for(graph) is None else None


def exact_solution_for(graph: FeedbackGraph) -> ExactSolution | None:
    """The exact solution of this graph, or None; a plain matrix of a family is recognised."""
    return graph.remember("exact solution", lambda graph: recognise(graph).exact_solution())


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


def work_room(n_actions: int) -> Floats:
    """A block of work room, one per thread, which every call uses again."""
    size = min(n_actions, COMMON_SIZE)
    block: Floats | None = getattr(_kept, "block", None)
    if block is None or _kept.size < size:
        block = _kept.block = room_for(size)
        _kept.size = size
    return block


@compiled
def solve_general(
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
    """`solve_programs` without an exact solution; `edges.flat` has one row, or one per program."""
    for row in range(first, stop):
        matrix = edges.flat[row if len(edges.flat) > 1 else 0]
        one = Edges(edges.form, matrix, edges.start, edges.action, edges.chance)
        cut = scale(losses[row], gammas[row], LARGEST_GAP)
        if losses.shape[1] == 1:
            p[row, 0] = 1.0
            outcome = Outcome(0.0, 0.0, 0.0, 0, False, 1)
        else:
            outcome = solve_scaled(losses[row], one, tolerance, max_steps, block, p[row])
        record(outcome, cut, outcomes[row])
        settle(outcomes[row], tolerance, False)
