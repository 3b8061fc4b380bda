"""The entry of the limited solver: checked programs and limits in, outcomes out."""

import numpy as np

from graphcb.compilation import compiled, inlined, inner
from graphcb.exploration.solver.edges import Edges, fetch
from graphcb.exploration.solver.limited.active_set import solve_scaled
from graphcb.exploration.solver.limited.workspace import NO_WIDTH, Box
from graphcb.exploration.solver.outcomes import settle
from graphcb.exploration.solver.restriction import COLUMN, ROW
from graphcb.exploration.solver.workspace import Flags, Floats
from graphcb.graphs.formulas import LARGEST_GAP, record, scale

KNOWN = 1e30  # how often an action is taken to be seen that can be played and is never revealed


@compiled
def solve_limited(
    losses: Floats,
    gammas: Floats,
    edges: Edges,
    lower: Floats,
    upper: Floats,
    rows: Floats,
    most: Floats,
    inner_point: Floats,
    tolerance: float,
    max_steps: int,
    block: Floats,
    first: int,
    stop: int,
    p: Floats,
    outcomes: Floats,
) -> None:
    """`entry.solve_general` with the same limits for every program."""
    for row in range(first, stop):
        matrix = edges.flat[row if len(edges.flat) > 1 else 0]
        one = Edges(edges.form, matrix, edges.start, edges.action, edges.chance)
        hidden = _find_hidden(one, upper)
        _leave_out(hidden, upper, losses[row].max(), losses[row])
        cut = scale(losses[row], gammas[row], LARGEST_GAP)
        _leave_out(hidden, upper, LARGEST_GAP, losses[row])
        box = _make_box(one, hidden, lower, upper, rows, most, inner_point)
        outcome = solve_scaled(losses[row], one, box, tolerance, max_steps, block, p[row])
        record(outcome, cut, outcomes[row])
        settle(outcomes[row], tolerance, False)
        for i in range(lower.size):  # lower + (upper - lower) may be above `upper`
            p[row, i] = min(p[row, i], upper[i])


@inner
def _make_box(
    edges: Edges,
    hidden: Flags,
    lower: Floats,
    upper: Floats,
    rows: Floats,
    most: Floats,
    inner_point: Floats,
) -> Box:
    n = lower.size
    span, base, others, line = np.empty(n), np.zeros(n), np.zeros(n), np.empty(n)
    mass, lost = 1.0, 0.0
    for i in range(n):
        span[i] = upper[i] - lower[i] if upper[i] < 1.0 else np.inf
        left = mass - lower[i]
        lost += (mass - left) - lower[i] if mass >= lower[i] else mass - (lower[i] + left)
        mass = left
        if lower[i] > 0.0:
            fetch(edges, i, bool(ROW), line)
            base[i] = lower[i] * line[i]
            line[i] = 0.0
            for j in range(n):
                others[j] += lower[i] * line[j]
    for i in range(n):
        others[i] = KNOWN if hidden[i] else others[i]
        base[i] += others[i]
    rows, bound, equal = _merge_pairs(rows, most)
    for r in range(bound.size):
        for i in range(n):
            bound[r] -= rows[r, i] * lower[i]
    room = np.zeros(n)
    for i in range(inner_point.size):
        room[i] = max(0.0, inner_point[i] - lower[i])
    return Box(lower, span, rows, bound, equal, mass + lost, others, base, room)


@inner
def _merge_pairs(rows: Floats, most: Floats) -> tuple[Floats, Floats, Flags]:
    """The rows, with two that say at least and at most the same made one equation."""
    n_rows, n = rows.shape
    merged, bound = np.empty((n_rows, n)), np.empty(n_rows)
    equal = np.zeros(n_rows, dtype=np.bool_)
    size = 0
    for r in range(n_rows):
        twin = False
        for k in range(size):
            if abs(bound[k] + most[r]) <= NO_WIDTH:
                same = True
                for i in range(n):
                    if merged[k, i] != -rows[r, i]:
                        same = False
                        break
                if same:
                    twin = equal[k] = True
                    break
        if not twin:
            bound[size] = most[r]
            for i in range(n):
                merged[size, i] = rows[r, i]
            size += 1
    return merged[:size], bound[:size], equal[:size]


@inner
def _find_hidden(edges: Edges, upper: Floats) -> Flags:
    """Which actions no action reveals that can be played."""
    n = upper.size
    hidden, line = np.zeros(n, dtype=np.bool_), np.empty(n)
    for i in range(n):
        if upper[i] == 0.0:
            hidden[:] = True
    for b in range(n):
        if hidden[b]:
            fetch(edges, b, bool(COLUMN), line)
            for i in range(n):
                if line[i] > 0.0 and upper[i] > 0.0:
                    hidden[b] = False
    return hidden


@inlined
def _leave_out(hidden: Flags, upper: Floats, loss: float, losses: Floats) -> None:
    """Give the actions that are neither seen nor played a loss with which they do not matter."""
    for b in range(upper.size):
        if hidden[b] and upper[b] == 0.0:
            losses[b] = loss
