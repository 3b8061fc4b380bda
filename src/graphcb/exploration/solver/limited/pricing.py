"""Pricing with limits: what the actions outside the active set, at their floors, say of a solution.

As in `solver.pricing`, with p_b = l_b and q_b = 0 outside. The reduced cost of an action counts the
multipliers of the linear limits, and is compared with the level at which the active ones fill up.
"""

import numpy as np

from graphcb.compilation import inlined, inner
from graphcb.exploration.solver import workspace as at
from graphcb.exploration.solver.cholesky import dot
from graphcb.exploration.solver.edges import MATRIX, Edges, fetch
from graphcb.exploration.solver.limited import workspace as more
from graphcb.exploration.solver.limited.certificate import fill_up
from graphcb.exploration.solver.limited.interior_point import LimitedIncumbent
from graphcb.exploration.solver.limited.workspace import Box, Work
from graphcb.exploration.solver.pricing import FEWEST_HELPERS, Prices
from graphcb.exploration.solver.restriction import ROW, Active, count
from graphcb.exploration.solver.workspace import Flags, Floats
from graphcb.graphs.formulas import LEAST_SEEN


@inner
def price(
    ft: Floats,
    edges: Edges,
    active: Active,
    inside: Flags,
    box: Box,
    work: Work,
    best: LimitedIncumbent,
    slack: float,
    revealed: Floats,
    reduced: Floats,
    line: Floats,
) -> Prices:
    """Extend the bounds to all actions; fill `revealed` (W) and `reduced` for all of them.

    What an action outside reveals of others outside is first taken to be all of it, and worked out
    for those alone that would help then, by more than minus `slack`.
    """
    n, size = ft.size, work.v.shape[1]
    value, upper = best.value, best.upper
    if size == n:
        return Prices(value, upper, best.lower)
    if not upper < np.inf:
        return Prices(value, upper, -np.inf)  # the bound is one for these actions alone
    _add_up(active, box, work, revealed, reduced)
    gaps, p, error = work.v[at.FT], work.v[at.BEST_P], work.error
    idle = 0.0
    for i in range(work.outside.size):
        t = work.passive[more.BEST_PASSIVE_T, i]
        idle += t * t
    common = 0.0
    for k in range(size):
        common += p[k] * (gaps[k] + p[k] / revealed[active.actions[k]])
    for b in range(n):
        if not inside[b]:
            common += box.lower[b] * (ft[b] + box.lower[b] / revealed[b])
    for b in range(n):
        if not inside[b]:
            inverse = 1.0 / revealed[b] if revealed[b] >= LEAST_SEEN else np.inf
            term = (1.0 - 2.0 * box.lower[b]) * inverse - ft[b]
            value = max(value, common + term)
            upper = max(upper, common + term + error * (common + inverse + ft[b]))
            worth = reduced[b] + idle
            reduced[b] = ft[b] - worth
            line[b] = ft[b] + worth
    for i in range(work.outside.size):
        b, t = work.outside[i], work.passive[more.BEST_PASSIVE_T, i]
        reduced[b] += 2.0 * t
        line[b] += 2.0 * t
    for r in range(box.bound.size):
        y, row = work.best_y[r], box.rows[r]
        for b in range(n):
            if not inside[b]:
                reduced[b] += y * row[b]
                line[b] += abs(y * row[b])
    for b in range(n):
        if not inside[b]:
            reduced[b] -= error * line[b]
    if idle > 0.0:
        _work_out(edges, inside, box, work, best, slack, idle, reduced, line)
    for k in range(size):
        reduced[active.actions[k]] = work.v[more.BEST_REDUCED, k]
    _, below = fill_up(reduced, box.span, box.mass, error)
    return Prices(value, upper, best.price + below)


@inlined
def _add_up(active: Active, box: Box, work: Work, revealed: Floats, worth: Floats) -> None:
    """Fill `revealed` from the best p, and `worth` from the h of the best bound."""
    n = revealed.size
    v, p, h = work.v, work.v[at.BEST_P], work.v[at.BEST_H]
    for b in range(n):
        revealed[b] = box.base[b]
        worth[b] = 0.0
    for k in range(v.shape[1]):
        d_k, h_k, reveal, seen_by = p[k] - v[more.L, k], h[k], active.reveal[k], active.seen_by[k]
        for b in range(n):
            revealed[b] += d_k * reveal[b]
            worth[b] += h_k * seen_by[b]


@inner
def _work_out(
    edges: Edges,
    inside: Flags,
    box: Box,
    work: Work,
    best: LimitedIncumbent,
    slack: float,
    idle: float,
    reduced: Floats,
    line: Floats,
) -> None:
    """Work out what the actions that seem to help reveal of those that stay at their floors."""
    n = reduced.size
    square = np.zeros(n)
    for i in range(work.outside.size):
        t = work.passive[more.BEST_PASSIVE_T, i]
        square[work.outside[i]] = t * t
    for b in range(n):
        if not inside[b] and (best.level - reduced[b]) * min(box.span[b], box.mass) > -slack:
            if edges.form == MATRIX:
                revealed = dot(edges.flat[b * n : (b + 1) * n], square)
            else:
                fetch(edges, b, bool(ROW), line)
                revealed = dot(line, square)
            reduced[b] += max(0.0, (idle - revealed) - 2.0 * work.error * idle)


@inlined
def mark_satisfied(
    ft: Floats,
    best: LimitedIncumbent,
    slack: float,
    inside: Flags,
    box: Box,
    revealed: Floats,
    covered: Flags,
) -> None:
    """Mark as covered the actions that are inside or whose constraint holds with some slack."""
    for b in range(ft.size):
        c = (1.0 - 2.0 * box.lower[b]) / revealed[b] - ft[b]
        covered[b] = inside[b] or c - best.worst <= -slack


@inner
def admit_helpers(
    best: LimitedIncumbent, slack: float, inside: Flags, box: Box, reduced: Floats
) -> int:
    """Admit the actions with the most negative reduced costs; return how many."""
    limit = max(FEWEST_HELPERS, count(inside))
    for admitted in range(limit):
        helper, most = -1, -slack
        for b in range(inside.size):
            if not inside[b] and box.span[b] > 0.0:
                gain = (best.level - reduced[b]) * min(box.span[b], box.mass)
                if gain > most:
                    helper, most = b, gain
        if helper < 0:
            return admitted
        inside[helper] = True
    return limit
