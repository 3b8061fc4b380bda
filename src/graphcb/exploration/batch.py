"""`solve_dec_batch`: many programs at once, compiled and in parallel over rows."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphcb.checks import as_count, as_numbers
from graphcb.exploration.rows import (
    CUT,
    LOWER,
    N_NUMBERS,
    STEPS,
    UPPER,
    VALUE,
    edges_to_solve,
    play_uniformly,
    recheck_cut,
    solve_rows,
    stack_edges,
    statuses_of,
)
from graphcb.exploration.solution import SolutionBatch
from graphcb.exploration.solve import MAX_STEPS, TOLERANCE, as_tolerance
from graphcb.graphs import FeedbackGraph, as_graph, require_observable

Floats = NDArray[np.float64]

ROWS_A_TASK = 64  # at least: enough work to be worth a thread
TASKS_A_THREAD = 8  # few, as each waits for the interpreter; some, as they differ in length


def solve_dec_batch(
    predicted_losses: ArrayLike,
    graph: FeedbackGraph | Sequence[FeedbackGraph],
    gamma: ArrayLike,
    *,
    tolerance: float = TOLERANCE,
    max_steps: int = MAX_STEPS,
    n_threads: int | None = None,
) -> SolutionBatch:
    """`solve_dec` for each row of `predicted_losses` (B, K), with the same answers.

    `graph` is one graph or one a row, `gamma` a number or one a row. Rows are shared among
    `n_threads` threads, by default one a core.

    >>> from graphcb import graphs
    >>> batch = solve_dec_batch([[0.0, 0.5], [0.2, 0.1]], graphs.bandit(2), gamma=[1.0, 10.0])
    >>> batch.probabilities.round(3)
    array([[0.562, 0.438],
           [0.382, 0.618]])
    """
    losses = as_numbers("predicted_losses", predicted_losses)
    if losses.ndim != 2:
        raise ValueError(
            f"`predicted_losses` must have shape (rows, actions), got {losses.shape}; "
            "use solve_dec for a single round"
        )
    n_rows, n_actions = losses.shape
    if hasattr(graph, "shape"):
        as_graph(graph)  # an array has rows, which are no graphs
    graphs = [graph] if isinstance(graph, FeedbackGraph) else list(graph)
    if not isinstance(graph, FeedbackGraph) and len(graphs) != n_rows:
        raise ValueError(
            f"`graph` must be one graph or one for each of {n_rows} rows, got {len(graphs)}"
        )
    for number, one in enumerate(graphs):
        if as_graph(one, name=f"graph[{number}]").n_actions != n_actions:
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
    stacked = stack_edges(graphs) if len(graphs) > 1 else None
    edges = [edges_to_solve(one) for one in graphs] if stacked is None else [stacked]
    scaled = losses.copy()
    p, outcomes = np.empty(losses.shape), np.empty((n_rows, N_NUMBERS))
    shared = len(edges) == 1

    def solve(rows: range) -> None:
        for first, stop in [(rows.start, rows.stop)] if shared else [(r, r + 1) for r in rows]:
            which = 0 if shared else first
            solve_rows(
                scaled, gammas, graphs[which], edges[which], checked_tolerance, checked_steps,
                first, stop, p, outcomes,
            )  # fmt: skip

    size = max(ROWS_A_TASK, -(-n_rows // (threads * TASKS_A_THREAD)))
    tasks = [range(k, min(k + size, n_rows)) for k in range(0, n_rows, size)]
    if threads == 1 or len(tasks) <= 1:
        for task in tasks:
            solve(task)
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(solve, tasks))
    for row in np.flatnonzero(outcomes[:, CUT]):
        one = graphs[row if len(graphs) > 1 else 0]
        recheck_cut(losses[row], float(gammas[row]), one, p[row], scaled[row], outcomes[row])
    for row in np.flatnonzero(~(outcomes[:, UPPER] < np.inf)):
        one = graphs[row if len(graphs) > 1 else 0]
        play_uniformly(losses[row], float(gammas[row]), one, p[row], outcomes[row])
    exact = np.array([one is None for one in edges])
    gap = np.maximum(outcomes[:, UPPER] - outcomes[:, LOWER], 0.0)
    return SolutionBatch(
        p,
        outcomes[:, VALUE] / gammas,
        gap / gammas,
        outcomes[:, STEPS].astype(np.int64),
        statuses_of(outcomes, checked_tolerance, exact),
    )


def _as_gammas(gamma: ArrayLike, n_rows: int) -> Floats:
    """One positive finite number a row."""
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
