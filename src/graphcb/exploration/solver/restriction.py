"""The restricted program: the active actions, and the subgraph among them in the work arrays."""

from typing import NamedTuple

import numpy as np

from graphcb.compilation import inlined, inner
from graphcb.exploration.solver import workspace as at
from graphcb.exploration.solver.edges import Edges, fetch
from graphcb.exploration.solver.workspace import Box, Flags, Floats, Indices, LimitWork
from graphcb.graphs.formulas import OPERATIONS, ROUNDING

ROW, COLUMN = False, True  # for `fetch`; cast at the call, as a literal would be compiled once more


class Active(NamedTuple):
    """The active actions in order of arrival, each with its row and its column of the graph."""

    actions: Indices  # (capacity,)
    reveal: Floats  # (capacity, n): G[action, :], what the action reveals
    seen_by: Floats  # (capacity, n): G[:, action], what reveals the action


@inner
def room_for_active(capacity: int, n: int) -> Active:
    """Room for this many active actions out of n; none yet."""
    return Active(
        np.empty(capacity, dtype=np.int64), np.empty((capacity, n)), np.empty((capacity, n))
    )


@inner
def count(flags: Flags) -> int:
    """How many are true."""
    total = 0
    for flag in flags:
        total += flag
    return total


@inner
def admit(edges: Edges, inside: Flags, size: int, active: Active) -> tuple[int, Active]:
    """Append the actions that are inside and not active yet; return the new size."""
    wanted, n = count(inside), inside.size
    if wanted > active.actions.size:
        larger = room_for_active(min(n, 2 * wanted), n)
        for k in range(size):
            larger.actions[k] = active.actions[k]
            for b in range(n):
                larger.reveal[k, b] = active.reveal[k, b]
                larger.seen_by[k, b] = active.seen_by[k, b]
        active = larger
    already = np.zeros(n, dtype=np.bool_)
    for k in range(size):
        already[active.actions[k]] = True
    for b in range(n):
        if inside[b] and not already[b]:
            active.actions[size] = b
            fetch(edges, b, bool(ROW), active.reveal[size])
            fetch(edges, b, bool(COLUMN), active.seen_by[size])
            size += 1
    return size, active


@inner
def lay_out(ft: Floats, active: Active, v: Floats, a: Floats) -> None:
    """Fill FT, LOOPS, GRAPH and SEEN_BY with the subgraph among the active actions."""
    n = v.shape[1]
    gaps, loops, graph, seen_by = v[at.FT], v[at.LOOPS], a[at.GRAPH], a[at.SEEN_BY]
    for i in range(n):
        gaps[i] = ft[active.actions[i]]
        for j in range(n):
            graph[i, j] = active.reveal[i, active.actions[j]]
            seen_by[i, j] = active.seen_by[i, active.actions[j]]
        loops[i] = graph[i, i]
        graph[i, i] = seen_by[i, i] = 0.0


@inner
def lay_out_limits(
    ft: Floats,
    active: Active,
    inside: Flags,
    box: Box | None,
    linear: Floats | None,
    v: Floats,
) -> LimitWork | None:
    """Fill FLOOR, SPAN, BASE and INNER, and collect the passive actions; None without limits.

    `linear` is shared by all restrictions of a program, so that slacks and multipliers stay.
    """
    if box is None or linear is None:
        return None
    n, size, n_rows = ft.size, v.shape[1], box.rows.shape[0]
    m, idle, paid = 0, 0.0, 0.0
    floors, bases = box.of_actions[at.FLOOR], box.of_actions[at.ALL_BASE]
    for b in range(n):
        if not inside[b]:
            m += floors[b] > 0.0
            idle += floors[b]
            paid += floors[b] * ft[b]
    limits = LimitWork(
        np.empty((n_rows, size)), np.empty((n_rows, size)), linear,
        np.empty((at.PASSIVE_VECTORS, m)), np.empty((size, m)), np.empty((m, size)),
        np.empty(m, dtype=np.int64), box.mass, idle, paid, (2 * n + n_rows + OPERATIONS) * ROUNDING,
    )  # fmt: skip
    _gather(box, active, v, limits.rows)
    best_y = linear[at.BEST_Y]
    for r in range(n_rows):
        best_y[r] = 0.0
    floor, base = limits.passive[at.PASSIVE_FLOOR], limits.passive[at.PASSIVE_BASE]
    i = 0
    for b in range(n):
        if not inside[b] and floors[b] > 0.0:
            limits.outside[i], floor[i], base[i] = b, floors[b], bases[b]
            i += 1
    for k in range(size):
        for i in range(m):
            limits.seen[k, i] = active.reveal[k, limits.outside[i]]
    return limits


@inlined
def _gather(box: Box, active: Active, v: Floats, rows: Floats) -> None:
    """The limits of the active actions."""
    floor, span, base, inner_point = v[at.FLOOR], v[at.SPAN], v[at.BASE], v[at.INNER]
    of_actions = box.of_actions
    floors, spans = of_actions[at.FLOOR], of_actions[at.SPAN]
    bases, inner_points = of_actions[at.BASE], of_actions[at.INNER]
    for k in range(floor.size):
        b = active.actions[k]
        floor[k], span[k], base[k], inner_point[k] = floors[b], spans[b], bases[b], inner_points[b]
        for r in range(rows.shape[0]):
            rows[r, k] = box.rows[r, b]


@inner
def publish(p: Floats, active: Active, box: Box | None, p_out: Floats) -> None:
    """Write p to the places of the active actions, as a distribution to the last bit.

    With limits the others stay at their floors, and floors and caps hold to the last bit instead.
    """
    if box is None:
        p_out[:] = 0.0
        total = 0.0
        for k in range(p.size):
            total += p[k]
        for k in range(p.size):
            p_out[active.actions[k]] = p[k] / total
    else:
        floor, cap = box.of_actions[at.FLOOR], box.of_actions[at.CAP]
        for b in range(p_out.size):
            p_out[b] = floor[b]
        for k in range(p.size):
            b = active.actions[k]
            p_out[b] = max(floor[b], min(p[k], cap[b]))
