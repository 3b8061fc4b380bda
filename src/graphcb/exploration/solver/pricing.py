"""Pricing: what the actions outside the active set say of a solution found without them.

Outside the set p_b = q_b = 0. An action b adds two things to the certificate (see `certificate`):

    a constraint      c_b = 1 / W_b - ft_b          which may exceed the largest so far
    a gradient        g_b = ft_b - sum_j G_bj h_j   which may be below the smallest so far

The sum is the worth of what b reveals, and g_b minus the smallest gradient is its reduced cost.
Actions that break a constraint have to be covered; those with a negative reduced cost help.
"""

from typing import NamedTuple

import numpy as np

from graphcb.compilation import inlined, inner
from graphcb.exploration.solver import workspace as at
from graphcb.exploration.solver.interior_point import Incumbent
from graphcb.exploration.solver.restriction import Active, count
from graphcb.exploration.solver.workspace import Flags, Floats
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
    active: Active,
    inside: Flags,
    v: Floats,
    best: Incumbent,
    revealed: Floats,
    worth: Floats,
) -> Prices:
    """Extend the bounds to all actions; fill `revealed` (W) and `worth` for all of them."""
    n, size = ft.size, v.shape[1]
    gaps, p, h = v[at.FT], v[at.BEST_P], v[at.BEST_H]
    value, upper, least = best.value, best.upper, best.least
    if size == n:
        return Prices(value, upper, best.lower)
    if not upper < np.inf:  # no p to price with, and a bound among the active actions is no bound
        return Prices(value, upper, -np.inf)
    revealed[:] = 0.0
    worth[:] = 0.0
    for k in range(size):
        p_k, h_k, reveal, seen_by = p[k], h[k], active.reveal[k], active.seen_by[k]
        for b in range(n):
            revealed[b] += p_k * reveal[b]
            worth[b] += h_k * seen_by[b]
    error = (size + OPERATIONS) * ROUNDING
    common = 0.0
    for k in range(size):
        common += p[k] * (gaps[k] + p[k] / revealed[active.actions[k]])
    for b in range(n):
        if not inside[b]:
            inverse = 1.0 / revealed[b] if revealed[b] >= LEAST_SEEN else np.inf
            value = max(value, common + (inverse - ft[b]))
            upper = max(upper, common + (inverse - ft[b]) + error * (common + inverse + ft[b]))
            least = min(least, ft[b] - worth[b] - error * (ft[b] + worth[b]))
    return Prices(value, upper, best.price + least)


@inlined
def mark_satisfied(
    ft: Floats, best: Incumbent, slack: float, inside: Flags, revealed: Floats, covered: Flags
) -> None:
    """Mark as covered the actions that are inside or whose constraint holds with some slack."""
    for b in range(ft.size):
        covered[b] = inside[b] or 1.0 / revealed[b] - ft[b] - best.worst <= -slack


@inner
def admit_helpers(ft: Floats, best: Incumbent, slack: float, inside: Flags, worth: Floats) -> int:
    """Admit the actions with the most negative reduced costs; return how many."""
    limit = max(FEWEST_HELPERS, count(inside))
    for admitted in range(limit):
        helper, most = -1, -slack
        for b in range(ft.size):
            if not inside[b] and best.least - (ft[b] - worth[b]) > most:
                helper, most = b, best.least - (ft[b] - worth[b])
        if helper < 0:
            return admitted
        inside[helper] = True
    return limit
