"""Pricing: what the actions outside the active set say of a solution found without them.

Outside the set p_b = q_b = 0. An action b adds two things to the certificate (see `certificate`):

    a constraint      c_b = 1 / W_b - ft_b          which may exceed the largest so far
    a gradient        g_b = ft_b - sum_j G_bj h_j   which may be below the smallest so far

The sum is the worth of what b reveals, and g_b minus the smallest gradient is its reduced cost.
Actions that break a constraint have to be covered; those with a negative reduced cost help.

With limits p_b is the floor, the gradient counts the passive actions that b reveals and the
multipliers of the linear limits, and is compared with the level at which the active ones fill up.
"""

from typing import NamedTuple

import numpy as np

from graphcb.compilation import inlined, inner
from graphcb.exploration.solver import workspace as at
from graphcb.exploration.solver.cholesky import dot
from graphcb.exploration.solver.edges import MATRIX, Edges, fetch
from graphcb.exploration.solver.filling import fill_up
from graphcb.exploration.solver.interior_point import Incumbent
from graphcb.exploration.solver.restriction import ROW, Active, count
from graphcb.exploration.solver.workspace import Box, Flags, Floats, LimitWork
from graphcb.graphs.formulas import LEAST_SEEN, OPERATIONS, ROUNDING

FEWEST_HELPERS = 8  # admitted in one pass, if there are as many; more if the set is larger


class Prices(NamedTuple):
    """The certificate over all actions; see `IterateBounds`."""

    value: float
    upper: float
    lower: float


@inner
def price(
    ft: Floats,
    edges: Edges,
    active: Active,
    inside: Flags,
    box: Box | None,
    v: Floats,
    limits: LimitWork | None,
    best: Incumbent,
    slack: float,
    revealed: Floats,
    gradient: Floats,
) -> Prices:
    """Extend the bounds to all actions; fill `revealed` (W) and `gradient` for all of them.

    With limits the gradient is rounded down, and only that of actions which would help by more than
    minus `slack` is worked out in full.
    """
    n, size = ft.size, v.shape[1]
    gaps, p = v[at.FT], v[at.BEST_P]
    value, upper, least = best.value, best.upper, best.level
    if size == n:
        return Prices(value, upper, best.lower)
    if not upper < np.inf:  # no p to price with, and a bound among the active actions is no bound
        return Prices(value, upper, -np.inf)
    _add_up(active, box, v, revealed, gradient)
    error = (size + OPERATIONS) * ROUNDING if limits is None else limits.error
    common = 0.0
    for k in range(size):
        common += p[k] * (gaps[k] + p[k] / revealed[active.actions[k]])
    if box is not None:
        floor = box.of_actions[at.FLOOR]
        for b in range(n):
            if not inside[b]:
                common += floor[b] * (ft[b] + floor[b] / revealed[b])
    for b in range(n):
        if not inside[b]:
            inverse = 1.0 / revealed[b] if revealed[b] >= LEAST_SEEN else np.inf
            c = (1.0 if box is None else 1.0 - 2.0 * floor[b]) * inverse - ft[b]
            value = max(value, common + c)
            upper = max(upper, common + c + error * (common + inverse + ft[b]))
            if box is None:
                worth = gradient[b]
                gradient[b] = ft[b] - worth
                least = min(least, gradient[b] - error * (ft[b] + worth))
    if box is not None and limits is not None:
        least = _price_limits(ft, edges, active, inside, box, v, limits, best, slack, gradient)
    return Prices(value, upper, best.price + least)


@inlined
def _add_up(active: Active, box: Box | None, v: Floats, revealed: Floats, worth: Floats) -> None:
    """Fill `revealed` from the best p, and `worth` from the h of the best bound."""
    n, p, h, floor = revealed.size, v[at.BEST_P], v[at.BEST_H], v[at.FLOOR]
    if box is not None:
        base = box.of_actions[at.ALL_BASE]
    for b in range(n):
        revealed[b] = 0.0 if box is None else base[b]
        worth[b] = 0.0
    for k in range(p.size):
        p_k = p[k] if box is None else p[k] - floor[k]
        h_k, reveal, seen_by = h[k], active.reveal[k], active.seen_by[k]
        for b in range(n):
            revealed[b] += p_k * reveal[b]
            worth[b] += h_k * seen_by[b]


@inlined
def _price_limits(
    ft: Floats,
    edges: Edges,
    active: Active,
    inside: Flags,
    box: Box,
    v: Floats,
    limits: LimitWork,
    best: Incumbent,
    slack: float,
    gradient: Floats,
) -> float:
    """Turn the worth in `gradient` into gradients, rounded down; return their minimum over d.

    What an action outside reveals of passive ones is first taken to be all of it, and worked out
    for those alone that would help then.
    """
    n, passive_t, error = ft.size, limits.passive[at.BEST_PASSIVE_T], limits.error
    best_y, best_reduced = limits.linear[at.BEST_Y], v[at.BEST_REDUCED]
    sizes = np.empty(n)
    idle = 0.0
    for t in passive_t:
        idle += t * t
    for b in range(n):
        if not inside[b]:
            worth = gradient[b] + idle
            gradient[b], sizes[b] = ft[b] - worth, ft[b] + worth
    for i in range(passive_t.size):
        gradient[limits.outside[i]] += 2.0 * passive_t[i]
        sizes[limits.outside[i]] += 2.0 * passive_t[i]
    for r in range(best_y.size):
        y, row = best_y[r], box.rows[r]
        for b in range(n):
            if not inside[b]:
                gradient[b] += y * row[b]
                sizes[b] += abs(y * row[b])
    for b in range(n):
        if not inside[b]:
            gradient[b] -= error * sizes[b]
    if idle > 0.0:
        _work_out(edges, inside, box, limits, best, slack, idle, gradient, sizes)
    for k in range(v.shape[1]):
        gradient[active.actions[k]] = best_reduced[k]
    return fill_up(gradient, box.of_actions[at.SPAN], box.mass, error)[1]


@inner
def _work_out(
    edges: Edges,
    inside: Flags,
    box: Box,
    limits: LimitWork,
    best: Incumbent,
    slack: float,
    idle: float,
    gradient: Floats,
    line: Floats,
) -> None:
    """Work out what the actions that seem to help reveal of those that stay at their floors."""
    n, passive_t = gradient.size, limits.passive[at.BEST_PASSIVE_T]
    span, square = box.of_actions[at.SPAN], np.zeros(n)
    for i in range(passive_t.size):
        square[limits.outside[i]] = passive_t[i] * passive_t[i]
    for b in range(n):
        if not inside[b] and (best.level - gradient[b]) * min(span[b], box.mass) > -slack:
            if edges.form == MATRIX:
                revealed = dot(edges.flat[b * n : (b + 1) * n], square)
            else:
                fetch(edges, b, bool(ROW), line)
                revealed = dot(line, square)
            gradient[b] += max(0.0, (idle - revealed) - 2.0 * limits.error * idle)


@inlined
def mark_satisfied(
    ft: Floats,
    box: Box | None,
    best: Incumbent,
    slack: float,
    inside: Flags,
    revealed: Floats,
    covered: Flags,
) -> None:
    """Mark as covered the actions that are inside or whose constraint holds with some slack."""
    if box is not None:
        floor = box.of_actions[at.FLOOR]
    for b in range(ft.size):
        c = (1.0 if box is None else 1.0 - 2.0 * floor[b]) / revealed[b] - ft[b]
        covered[b] = inside[b] or c - best.worst <= -slack


@inner
def admit_helpers(
    best: Incumbent, box: Box | None, slack: float, inside: Flags, gradient: Floats
) -> int:
    """Admit the actions with the most negative reduced costs; return how many.

    With limits the cost counts as far as the action can be played.
    """
    limit = max(FEWEST_HELPERS, count(inside))
    if box is not None:
        span = box.of_actions[at.SPAN]
    for admitted in range(limit):
        helper, most = -1, -slack
        for b in range(inside.size):
            if not inside[b]:
                room = 1.0 if box is None else min(span[b], box.mass)
                gain = (best.level - gradient[b]) * room
                if gain > most and room > 0.0:
                    helper, most = b, gain
        if helper < 0:
            return admitted
        inside[helper] = True
    return limit
