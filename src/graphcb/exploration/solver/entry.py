"""The entry of the solver: checked programs in, one per row; probabilities and outcomes out."""

import threading
from collections.abc import Sequence

import numpy as np

from graphcb.compilation import compiled, inlined
from graphcb.exploration.solver.active_set import solve_scaled
from graphcb.exploration.solver.edges import Edges, edges_of
from graphcb.exploration.solver.outcomes import conclude, conclude_exact
from graphcb.exploration.solver.workspace import LEFT_OUT, Box, Floats, room_for
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.formulas import LARGEST_GAP, ExactSolution, Outcome, record, scale
from graphcb.graphs.matrices import DenseMatrix
from graphcb.graphs.registry import find, recognise
from graphcb.graphs.runs import find_runs_of_each

COMMON_SIZE = 64  # active actions for which the work room is kept between calls

Solver = ExactSolution | Edges  # an exact solution, or what the general method reads

_kept = threading.local()


def solve_programs(
    losses: Floats,
    gammas: Floats,
    solver: Solver,
    tolerance: float,
    max_steps: int,
    first: int,
    stop: int,
    p: Floats,
    outcomes: Floats,
) -> None:
    """Solve `losses[first:stop]`, which are scaled in place, into `p` and `outcomes`."""
    if isinstance(solver, ExactSolution):
        solver.solve(losses, gammas, first, stop, p, outcomes)
        conclude_exact(outcomes, first, stop, tolerance)
    else:
        room = work_room(losses.shape[1])
        rest = (tolerance, max_steps, room, first, stop, p, outcomes)
        solve_general(losses, gammas, solver, None, *rest)


def solver_for(graph: FeedbackGraph) -> Solver:
    """What `solve_programs` needs to know of a graph; a plain matrix of a family is recognised."""
    return graph.remember("solver", _find_solver)


def _find_solver(graph: FeedbackGraph) -> Solver:
    return recognise(graph).exact_solution() or edges_of(graph)


def solvers_for(graphs: Sequence[FeedbackGraph]) -> list[Solver]:
    """`solver_for` each graph; the same object for rows that one `solve_programs` can solve."""
    matrices = [g.structure.matrix for g in graphs if isinstance(g.structure, DenseMatrix)]
    if len(matrices) < max(2, len(graphs)):
        return [solver_for(graph) for graph in graphs]
    stack = np.stack(matrices).reshape(len(graphs), -1)
    stack.setflags(write=False)
    edges = edges_of(graphs[0])._replace(flat=stack)
    return [exact or edges for exact in exact_solutions(stack, graphs[0].n_actions)]


def exact_solutions(stack: Floats, n_actions: int) -> list[ExactSolution | None]:
    """The exact solution of each row of `stack`, which is a flattened matrix, or None."""
    exact: list[ExactSolution | None] = [None] * len(stack)
    known: dict[bytes, ExactSolution | None] = {}
    rows, each = find_runs_of_each(stack, n_actions)  # only these can be of a family
    for row, runs in zip(rows.tolist(), each, strict=True):
        key = runs.tobytes()
        if key not in known:
            family = find(runs)
            known[key] = None if family is None else family.exact_solution()
        exact[row] = known[key]
    return exact


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
    box: Box | None,
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
        if box is not None:
            _leave_out(box, losses[row].max(), losses[row])
        cut = scale(losses[row], gammas[row], LARGEST_GAP)
        if box is not None:
            _leave_out(box, LARGEST_GAP, losses[row])
        if losses.shape[1] == 1:
            p[row, 0] = 1.0
            outcome = Outcome(0.0, 0.0, 0.0, 0, False, 1)
        else:
            outcome = solve_scaled(losses[row], one, box, tolerance, max_steps, block, p[row])
        record(outcome, cut, outcomes[row])
        conclude(outcomes[row], tolerance, False)


@inlined
def _leave_out(box: Box, loss: float, losses: Floats) -> None:
    """Give the actions that are neither seen nor played a loss with which they do not matter."""
    left_out = box.of_actions[LEFT_OUT]
    for b in range(left_out.size):
        if left_out[b] != 0.0:
            losses[b] = loss
