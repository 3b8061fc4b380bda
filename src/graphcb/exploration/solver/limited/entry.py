"""The entry of the limited solver: checked programs and limits in, probabilities and outcomes out."""

import numpy as np

from graphcb.compilation import compiled, inner
from graphcb.exploration.solver.edges import Edges, fetch
from graphcb.exploration.solver.limited.active_set import solve_scaled
from graphcb.exploration.solver.limited.workspace import Box
from graphcb.exploration.solver.outcomes import settle
from graphcb.exploration.solver.restriction import COLUMN, ROW
from graphcb.exploration.solver.workspace import Flags, Floats
from graphcb.graphs.formulas import LARGEST_GAP, record, scale

KNOWN = 1e30  # how often an action is taken to be seen whose loss no feasible p reveals


@compiled
def solve_limited(
    losses: Floats,
    gammas: Floats,
    edges: Edges,
    lower: Floats,
    upper: Floats,
    rows: Floats,
    most: Floats,
    tolerance: float,
    max_steps: int,
    first: int,
    stop: int,
    p: Floats,
    outcomes: Floats,
) -> None:
    """`entry.solve_general` with the same limits for every program."""
    for row in range(first, stop):
        matrix = edges.flat[row if len(edges.flat) > 1 else 0]
        one = Edges(edges.form, matrix, edges.start, edges.action, edges.chance)
        cut = scale(losses[row], gammas[row], LARGEST_GAP)
        box = _make_box(one, lower, upper, rows, most)
        outcome = solve_scaled(losses[row], one, box, tolerance, max_steps, p[row])
        record(outcome, cut, outcomes[row])
        settle(outcomes[row], tolerance, False)
        for i in range(lower.size):  # lower + (upper - lower) may be above `upper`
            p[row, i] = min(p[row, i], upper[i])


@inner
def _make_box(edges: Edges, lower: Floats, upper: Floats, rows: Floats, most: Floats) -> Box:
    n = lower.size
    span, base, others, line = np.empty(n), np.zeros(n), np.zeros(n), np.empty(n)
    mass, reachable = 1.0, True
    for i in range(n):
        span[i] = upper[i] - lower[i] if upper[i] < 1.0 else np.inf
        mass -= lower[i]
        reachable = reachable and upper[i] > 0.0
        if lower[i] > 0.0:
            fetch(edges, i, bool(ROW), line)
            for j in range(n):
                base[j] += lower[i] * line[j]
                others[j] += lower[i] * line[j] if j != i else 0.0
    if not reachable:
        hidden = never_revealed(edges, upper)
        for b in range(n):
            if hidden[b]:
                base[b] = others[b] = KNOWN
    bound = np.empty(most.size)
    for r in range(most.size):
        bound[r] = most[r]
        for i in range(n):
            bound[r] -= rows[r, i] * lower[i]
    return Box(lower, span, rows, bound, mass, others, base)


@compiled
def never_revealed(edges: Edges, upper: Floats) -> Flags:
    """Which actions no action reveals that can be played."""
    n = upper.size
    hidden, line = np.empty(n, dtype=np.bool_), np.empty(n)
    for b in range(n):
        fetch(edges, b, bool(COLUMN), line)
        hidden[b] = True
        for i in range(n):
            if line[i] > 0.0 and upper[i] > 0.0:
                hidden[b] = False
    return hidden
