"""`solve_dec_batch`: many programs at once, compiled and in parallel."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from graphcb.checks import as_count, as_numbers
from graphcb.exploration.limits import BoxAndRows, Limits
from graphcb.exploration.solver.entry import Solver, solve_programs, solver_for, solvers_for
from graphcb.exploration.solver.outcomes import N_NUMBERS, REPAIR, repair, solution_batch
from graphcb.exploration.solver.solution import SolutionBatch
from graphcb.exploration.solver.solve import MAX_STEPS, TOLERANCE, as_tolerance
from graphcb.exploration.solver.within import as_box, solve_within
from graphcb.exploration.solver.workspace import Floats
from graphcb.graphs import FeedbackGraph, as_graph, require_observable
from graphcb.graphs.formulas import ExactSolution

PROGRAMS_PER_TASK = 64  # at least: enough work to be worth a thread
TASKS_PER_THREAD = 8  # few, as each waits for the interpreter; some, as they differ in length


def solve_dec_batch(
    predicted_losses: ArrayLike,
    graph: FeedbackGraph | Sequence[FeedbackGraph],
    gamma: ArrayLike,
    *,
    tolerance: float = TOLERANCE,
    max_steps: int = MAX_STEPS,
    n_threads: int | None = None,
    limits: Limits | BoxAndRows | Sequence[Limits | BoxAndRows | None] | None = None,
) -> SolutionBatch:
    """`solve_dec` for each row of `predicted_losses` (B, K), with the same answers.

    `graph` is one graph or one per row, `gamma` one number or one per row. Rows are shared among
    `n_threads` threads, by default one per core. `limits` are the same for all, or one per row.

    >>> from graphcb import graphs
    >>> batch = solve_dec_batch([[0.0, 0.5], [0.2, 0.1]], graphs.bandit(2), gamma=[1.0, 10.0])
    >>> batch.probabilities.round(3)
    array([[0.562, 0.438],
           [0.382, 0.618]])
    """
    losses = as_numbers("predicted_losses", predicted_losses)
    if hasattr(graph, "shape"):
        as_graph(graph)  # an array has rows, which are no graphs
    graphs = [graph] if isinstance(graph, FeedbackGraph) else list(graph)
    _check_shapes(losses, graphs, one_for_all=isinstance(graph, FeedbackGraph))
    gammas = _as_gammas(gamma, len(losses))
    _check_finite(losses)
    tolerance = as_tolerance(tolerance)
    max_steps = as_count("max_steps", max_steps)
    threads = as_count("n_threads", (os.cpu_count() or 1) if n_threads is None else n_threads)
    boxes = _as_boxes(limits, *losses.shape)
    limited = any(box is not None for box in boxes)
    solvers = [] if limited else solvers_for(graphs)
    scaled = losses.copy()
    p, outcomes = np.empty(losses.shape), np.empty((len(losses), N_NUMBERS))

    def solve(task: range) -> None:
        for first, stop in _split(task, solvers):
            solver = solvers[first % len(solvers)]
            solve_programs(scaled, gammas, solver, tolerance, max_steps, first, stop, p, outcomes)

    def solve_limited(task: range) -> None:
        for row in task:
            one, box = graphs[row % len(graphs)], boxes[row % len(boxes)]
            rest = (tolerance, max_steps, row)
            if box is None:
                solve_programs(scaled, gammas, solver_for(one), *rest, row + 1, p, outcomes)
            else:
                solve_within(losses, gammas, one, box, *rest, scaled, p, outcomes)

    _share_out(solve_limited if limited else solve, len(losses), threads)
    for row in np.flatnonzero(outcomes[:, REPAIR]):
        if boxes[row % len(boxes)] is not None:
            continue  # repaired already
        one, g = graphs[row % len(graphs)], float(gammas[row])
        exact = isinstance(
            solver_for(one) if limited else solvers[row % len(solvers)], ExactSolution
        )
        repair(losses[row], g, one, tolerance, exact, scaled[row], p[row], outcomes[row])
    return solution_batch(p, outcomes, gammas)


def _as_boxes(limits: Any, n_rows: int, n_actions: int) -> list[BoxAndRows | None]:
    """The limits of all rows, or of each."""
    if limits is None or isinstance(limits, Limits | BoxAndRows):
        return [as_box(limits, n_actions)]
    each = list(limits)
    if len(each) != n_rows:
        raise ValueError(
            f"`limits` must be the same for all or one for each of {n_rows} rows, got {len(each)}"
        )
    return [as_box(one, n_actions) for one in each]


def _split(task: range, solvers: list[Solver]) -> Iterator[tuple[int, int]]:
    """Where each call begins and stops: consecutive rows of a task that have the same solver."""
    first = task.start
    for row in range(first + 1, task.stop if len(solvers) > 1 else first):
        if solvers[row] is not solvers[row - 1]:
            yield first, row
            first = row
    yield first, task.stop


def _share_out(solve: Callable[[range], None], n_rows: int, n_threads: int) -> None:
    """Call `solve` on consecutive ranges of rows, in threads if there are enough rows."""
    size = max(PROGRAMS_PER_TASK, -(-n_rows // (n_threads * TASKS_PER_THREAD)))
    tasks = [range(k, min(k + size, n_rows)) for k in range(0, n_rows, size)]
    if n_threads == 1 or len(tasks) <= 1:
        for task in tasks:
            solve(task)
    else:
        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(solve, tasks))


def _check_shapes(losses: Floats, graphs: Sequence[FeedbackGraph], *, one_for_all: bool) -> None:
    """Rows of losses, and a graph that fits for each of them."""
    if losses.ndim != 2:
        raise ValueError(
            f"`predicted_losses` must have shape (rows, actions), got {losses.shape}; "
            "use solve_dec for a single round"
        )
    n_rows, n_actions = losses.shape
    if not one_for_all and len(graphs) != n_rows:
        raise ValueError(
            f"`graph` must be one graph or one for each of {n_rows} rows, got {len(graphs)}"
        )
    for number, graph in enumerate(graphs):
        if not isinstance(graph, FeedbackGraph):
            as_graph(graph, name=f"graph[{number}]")
        if graph.n_actions != n_actions:
            raise ValueError(
                f"`predicted_losses` must have shape ({n_rows}, {graph.n_actions}) to match "
                f"graph {number}, got {losses.shape}"
            )
        require_observable(graph, "to solve for the DEC")


def _check_finite(losses: Floats) -> None:
    wrong = np.argwhere(~np.isfinite(losses))
    if wrong.size:
        row, action = wrong[0]
        raise ValueError(
            f"`predicted_losses` must be finite, got {losses[row, action]} at row {row}, "
            f"action {action}"
        )


def _as_gammas(gamma: ArrayLike, n_rows: int) -> Floats:
    """One positive finite number per row."""
    gammas = as_numbers("gamma", gamma)
    if gammas.shape not in ((), (1,), (n_rows,)) or (
        gammas.shape == (1,) and np.ndim(gamma) == 1 != n_rows
    ):
        raise ValueError(f"`gamma` must be a number or have shape ({n_rows},), got {gammas.shape}")
    gammas = np.broadcast_to(gammas, n_rows).copy()
    wrong = np.flatnonzero(~((gammas > 0.0) & (gammas < np.inf)))
    if wrong.size:
        raise ValueError(
            f"`gamma` must be positive and finite, got {gammas[wrong[0]]} at row {wrong[0]}"
        )
    return gammas
