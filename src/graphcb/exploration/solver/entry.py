"""The entry of the solver: checked programs in, one per row; probabilities and outcomes out."""

import threading
from collections.abc import Sequence

import numpy as np

from graphcb.compilation import compiled
from graphcb.exploration.solver.active_set import solve_scaled
from graphcb.exploration.solver.certificate import Outcome
from graphcb.exploration.solver.edges import Edges, edges_of
from graphcb.exploration.solver.exact_families import (
    exact_kind,
    has_exact_solution,
    solve_exactly,
)
from graphcb.exploration.solver.outcomes import record
from graphcb.exploration.solver.problem import LARGEST, scale
from graphcb.exploration.solver.workspace import Floats, room_for
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.matrices import DenseMatrix

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
    if edges is None:
        solve_exactly(losses, gammas, exact_kind(graph), tolerance, first, stop, p, outcomes)
    else:
        room = work_room(losses.shape[1])
        solve_general(losses, gammas, edges, tolerance, max_steps, room, first, stop, p, outcomes)


def edges_to_solve(graph: FeedbackGraph) -> Edges | None:
    """What `solve_programs` needs to know of a graph, worked out once; None for an exact one."""
    return graph.remember("edges to solve", _find_edges)


def _find_edges(graph: FeedbackGraph) -> Edges | None:
    return None if has_exact_solution(graph) else edges_of(graph)


def stack_edges(graphs: Sequence[FeedbackGraph]) -> Edges | None:
    """The edges of one graph per row together, if all graphs are dense matrices."""
    matrices = [g.structure.matrix for g in graphs if isinstance(g.structure, DenseMatrix)]
    if len(matrices) < len(graphs):
        return None
    stack = np.stack(matrices).reshape(len(graphs), -1)
    stack.setflags(write=False)
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
        cut = scale(losses[row], gammas[row], LARGEST)
        if losses.shape[1] == 1:
            p[row, 0] = 1.0
            outcome = Outcome(0.0, 0.0, 0.0, 0, False, 1)
        else:
            outcome = solve_scaled(losses[row], one, tolerance, max_steps, block, p[row])
        record(outcome, cut, tolerance, False, outcomes[row])
