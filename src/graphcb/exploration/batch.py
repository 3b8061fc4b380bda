"""`solve_dec_batch`: many programs at once, compiled and in parallel over rows."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphcb.checks import as_count, as_numbers
from graphcb.compilation import compiled
from graphcb.exploration.edges import Edges
from graphcb.exploration.growing import Outcome
from graphcb.exploration.solution import SolutionBatch
from graphcb.exploration.solve import (
    MAX_STEPS,
    as_tolerance,
    conclude,
    route_of,
    solve_losses,
    work_room,
)
from graphcb.graphs import FeedbackGraph, require_observable

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

ROWS_A_TASK = 64  # enough work to be worth a thread


def solve_dec_batch(
    predicted_losses: ArrayLike,
    graph: FeedbackGraph | Sequence[FeedbackGraph],
    gamma: ArrayLike,
    *,
    tolerance: float = 1e-6,
    max_steps: int = MAX_STEPS,
    n_threads: int | None = None,
) -> SolutionBatch:
    """`solve_dec` for each row of `predicted_losses` (B, K), with the same answers.

    `graph` is one graph or one a row, `gamma` a number or one a row. Rows are shared among
    `n_threads` threads, by default one a core.

    >>> from graphcb import graphs
    >>> batch = solve_dec_batch([[0.0, 0.5], [0.2, 0.1]], graphs.bandit(2), gamma=[1.0, 10.0])
    >>> batch.probabilities.round(3)
    array([[0.61, 0.39],
           [0.39, 0.61]])
    """
    losses = as_numbers("predicted_losses", predicted_losses).copy()
    if losses.ndim != 2:
        raise ValueError(
            f"`predicted_losses` must have shape (rows, actions), got {losses.shape}; "
            "use solve_dec for a single round"
        )
    n_rows, n_actions = losses.shape
    graphs = [graph] if isinstance(graph, FeedbackGraph) else list(graph)
    if not isinstance(graph, FeedbackGraph) and len(graphs) != n_rows:
        raise ValueError(f"`graph` must be one graph or one for each of {n_rows} rows, got {len(graphs)}")
    for number, one in enumerate(graphs):
        if one.n_actions != n_actions:
            raise ValueError(
                f"`predicted_losses` must have shape ({n_rows}, {one.n_actions}) to match "
                f"graph {number}, got {losses.shape}"
            )
        require_observable(one, "to solve for the DEC")
    gammas = _as_gammas(gamma, n_rows)
    wrong = np.argwhere(~np.isfinite(losses))
    if wrong.size:
        row, action = wrong[0]
        raise ValueError(
            f"`predicted_losses` must be finite, got {losses[row, action]} at row {row}, "
            f"action {action}"
        )
    checked_tolerance = as_tolerance(tolerance)
    checked_steps = as_count("max_steps", max_steps)
    threads = as_count("n_threads", (os.cpu_count() or 1) if n_threads is None else n_threads)
    routes = [route_of(one) for one in graphs]
    p = np.empty((n_rows, n_actions))
    numbers = np.empty((n_rows, 3))
    counts = np.empty((n_rows, 2), dtype=np.int64)

    def solve(rows: range) -> None:
        block = work_room(n_actions)
        shared = len(routes) == 1
        for first, stop in [(rows.start, rows.stop)] if shared else [(r, r + 1) for r in rows]:
            route, edges = routes[0 if shared else first]
            _solve_rows(
                losses, gammas, route, edges, checked_tolerance, checked_steps, block,
                first, stop, p, numbers, counts,
            )  # fmt: skip

    tasks = [range(k, min(k + ROWS_A_TASK, n_rows)) for k in range(0, n_rows, ROWS_A_TASK)]
    if threads == 1 or len(tasks) <= 1:
        for task in tasks:
            solve(task)
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(solve, tasks))
    value, gap, status = [], [], []
    for row in range(n_rows):
        outcome = Outcome(*numbers[row].tolist(), int(counts[row, 0]), bool(counts[row, 1]), 0)
        route = routes[0 if len(routes) == 1 else row][0]
        concluded = conclude(outcome, float(gammas[row]), checked_tolerance, route)
        value.append(concluded[0])
        gap.append(concluded[1])
        status.append(concluded[2])
    return SolutionBatch(p, np.array(value), np.array(gap), counts[:, 0].copy(), tuple(status))


def _as_gammas(gamma: ArrayLike, n_rows: int) -> Floats:
    """One positive finite number a row."""
    gammas = as_numbers("gamma", gamma)
    if gammas.shape not in ((), (1,), (n_rows,)) or (gammas.shape == (1,) and np.ndim(gamma) == 1 != n_rows):
        raise ValueError(f"`gamma` must be a number or have shape ({n_rows},), got {gammas.shape}")
    gammas = np.broadcast_to(gammas, n_rows).copy()
    wrong = np.flatnonzero(~((gammas > 0.0) & (gammas < np.inf)))
    if wrong.size:
        raise ValueError(
            f"`gamma` must be positive and finite, got {gammas[wrong[0]]} at row {wrong[0]}"
        )
    return gammas


@compiled
def _solve_rows(
    losses: Floats,
    gammas: Floats,
    route: int,
    edges: Edges,
    tolerance: float,
    max_steps: int,
    block: Floats,
    first: int,
    stop: int,
    p: Floats,
    numbers: Floats,
    counts: Integers,
) -> None:
    for row in range(first, stop):
        outcome = solve_losses(
            losses[row], gammas[row], route, edges, tolerance, max_steps, block, p[row]
        )
        numbers[row, 0], numbers[row, 1] = outcome.value, outcome.upper
        numbers[row, 2] = outcome.lower
        counts[row, 0], counts[row, 1] = outcome.steps, outcome.restarted
