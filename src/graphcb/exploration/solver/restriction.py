"""The restricted program: the active actions, and the subgraph among them in the work arrays."""

from typing import NamedTuple

import numpy as np

from graphcb.compilation import inner
from graphcb.exploration.solver import workspace as at
from graphcb.exploration.solver.edges import Edges, fetch
from graphcb.exploration.solver.workspace import Flags, Floats, Indices

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
def publish(p: Floats, active: Active, p_out: Floats) -> None:
    """Write p to the places of the active actions, as a distribution to the last bit."""
    p_out[:] = 0.0
    total = 0.0
    for k in range(p.size):
        total += p[k]
    for k in range(p.size):
        p_out[active.actions[k]] = p[k] / total
