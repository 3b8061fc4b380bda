"""`solve_dec_batch`: many programs at once, compiled and in parallel over rows."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphcb.checks import as_count, as_numbers
from graphcb.exploration.growing import Outcome
from graphcb.exploration.solution import SolutionBatch
from graphcb.exploration.solve import (
    MAX_STEPS,
    as_tolerance,
    conclude,
    route_of,
    solve_rows,
    work_room,
)
from graphcb.graphs import FeedbackGraph, require_observable

Floats = NDArray[np.float64]

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
    p, outcomes = np.empty((n_rows, n_actions)), np.empty((n_rows, 6))

    def solve(rows: range) -> None:
        room = work_room(n_actions)
        spans = [(rows.start, rows.stop)] if len(routes) == 1 else [(r, r + 1) for r in rows]
        for span in spans:
            route, edges = routes[0 if len(routes) == 1 else span[0]]
            solve_rows(
                losses, gammas, route, edges, checked_tolerance, checked_steps, room, span, p, outcomes
            )

    tasks = [range(k, min(k + ROWS_A_TASK, n_rows)) for k in range(0, n_rows, ROWS_A_TASK)]
    if threads == 1 or len(tasks) <= 1:
        for task in tasks:
            solve(task)
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(solve, tasks))
    concluded = [
        conclude(
            Outcome(*outcomes[row].tolist()),
            float(gammas[row]),
            checked_tolerance,
            routes[0 if len(routes) == 1 else row][0],
        )
        for row in range(n_rows)
    ]
    return SolutionBatch(
        p,
        np.array([value for value, _, _ in concluded]),
        np.array([gap for _, gap, _ in concluded]),
        outcomes[:, 3].astype(np.int64),
        tuple(status for _, _, status in concluded),
    )


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
