"""The certificate: a value above and a bound below the optimum, rounding included.

The scaled program (see `problem`) is min F(p) over the simplex with W = G.T @ p and

    F(p) = p @ ft + sum_i p_i^2 / W_i + max_b c_b(p),     c_b(p) = (1 - 2 p_b) / W_b - ft_b.

Upper bound: F at any p. Lower bound: replacing the maximum by an average over q on the simplex
gives the Lagrangian

    L(p, q) = (p - q) @ ft + sum_i (u_i^2 + k_i) / W_i,     u = p - q,   k_i = q_i (1 - q_i),

which is below F(p). For any t and any v >= 0 its terms are above their tangents,
u^2 / W >= 2 t u - t^2 W and k / W >= k (2 v - v^2 W). What remains is linear in p, so its minimum
over the simplex is at a vertex, and

    -q @ ft + sum_i (2 k_i v_i - 2 t_i q_i)  +  min_i (ft_i + 2 t_i - sum_j G_ij h_j)

with h_j = t_j^2 + k_j v_j^2 is below the optimum. It is tight at the optimum for t = u / W and
v = 1 / W, and true for any q, t and v: only the rounding of this one formula has to be allowed
for. The first two sums are the `price`, the minimum is the `level`; with the t and v above the
expression in the minimum is the gradient g of L in p.

No term is a difference of large ones: the largest probability (the head) is one minus the sum of
the others, and that sum is what is computed with. Rounding is allowed for in proportion to the sum
of absolute values, which holds as long as nothing overflows and what underflows is negligible;
`formulas.record` adds that in the end. An iterate with some W below LEAST_SEEN, or with a number
that is not one, proves nothing.

With limits the minimum is over the p that obey them. For any y >= 0 and any such p,

    g @ p >= (g + rows.T @ y) @ p - y @ most,

and what is left is linear in p = floors + d with 0 <= d <= span and a given sum: its minimum fills
the cheapest actions up to their caps (`filling`). Since sum_i floor_i sum_j G_ij h_j = h @ base,
where base is what the floors reveal, actions at their floors cost O(1) each. The level is the
reduced gradient at which the filling ends; without limits, the smallest gradient.
"""

from typing import NamedTuple

import numpy as np

from graphcb.compilation import inlined, inner
from graphcb.exploration.solver import workspace as at
from graphcb.exploration.solver.filling import fill_up
from graphcb.exploration.solver.linear_limits import most_missed, price_linear_limits
from graphcb.exploration.solver.passive import add_worth_of_passive, price_passive, reveal_passive
from graphcb.exploration.solver.sparsity import Pattern
from graphcb.exploration.solver.workspace import Floats, LimitWork
from graphcb.graphs.formulas import LEAST_SEEN, OPERATIONS, ROUNDING

UNBALANCED = 1e-6  # p and q whose sums are further from one than this prove nothing
ALLOWED = 8e-10  # by which a linear limit may be missed, in units of its largest weight


class IterateBounds(NamedTuple):
    """Bounds on gamma * DEC at one iterate, over the active actions."""

    value: float  # F(p)
    upper: float  # the same, rounded up; infinite if a linear limit is missed
    lower: float  # at most the optimum: price, and the minimum over the feasible p
    price: float  # the part of `lower` that does not depend on the action played
    level: float  # the smallest gradient, rounded down; or that at which the cheapest fill up
    worst: float  # the largest constraint c_b(p)


@inner
def evaluate(v: Floats, a: Floats, limits: LimitWork | None, pattern: Pattern) -> IterateBounds:
    """Fill W_OTHERS, W, U, K, H, C, G, and REDUCED and PASSIVE; return what they prove."""
    p, q, w_others, h, g, base = v[at.P], v[at.Q], v[at.W_OTHERS], v[at.H], v[at.G], v[at.BASE]
    d = p if limits is None else v[at.D]
    head = 0
    for i in range(p.size):
        if p[i] > p[head]:
            head = i
    idle = 0.0 if limits is None else limits.idle
    rest_p, rest_q, rest_u = idle, 0.0, -idle  # sums over all actions except the head
    for i in range(p.size):
        if i != head:
            rest_p += p[i]
            rest_q += q[i]
            rest_u += q[i] - p[i]
    for i in range(p.size):
        w_others[i] = 0.0 if limits is None else base[i]
        g[i] = 0.0
    add_revealed(d, a, pattern, w_others)
    sound = fill_terms(v, head, rest_q, rest_u)
    common = 0.0
    error = (p.size + OPERATIONS) * ROUNDING if limits is None else limits.error
    if limits is not None and limits.outside.size > 0:
        sound = reveal_passive(d, limits) and sound
        common = add_worth_of_passive(limits, g)
    add_worth(h, a, pattern, g)
    off_p, off_q = abs(rest_p + p[head] - 1.0), abs(rest_q + q[head] - 1.0)
    price, level, least = _bound_below(v, limits, error + 4.0 * off_q)
    value, upper, worst = bound_above(v, head, rest_p, common, error + 4.0 * off_p)
    if not (sound and off_p <= UNBALANCED and off_q <= UNBALANCED):
        return IterateBounds(np.inf, np.inf, -np.inf, -np.inf, -np.inf, np.inf)
    if limits is not None and limits.rows.shape[0] > 0 and most_missed(d, limits) > ALLOWED:
        upper = np.inf
    return IterateBounds(value, upper, price + least, price, level, worst)


@inlined
def add_revealed(p: Floats, a: Floats, pattern: Pattern, w_others: Floats) -> None:
    """Add what the others reveal: sum_{j != i} G_ji p_j."""
    graph, seen_by, start, action = a[at.GRAPH], a[at.SEEN_BY], pattern.start, pattern.action
    for i in range(p.size):
        if start.size > 0:
            for e in range(start[i], start[i + 1]):
                w_others[i] += seen_by[i, action[e]] * p[action[e]]
        else:
            p_i, row = p[i], graph[i]
            for j in range(p.size):
                w_others[j] += row[j] * p_i


@inlined
def add_worth(h: Floats, a: Floats, pattern: Pattern, worth: Floats) -> None:
    """Add the worth of what i reveals of the others: sum_{j != i} G_ij h_j."""
    seen_by, start, action = a[at.SEEN_BY], pattern.start, pattern.action
    for j in range(h.size):
        h_j, row = h[j], seen_by[j]
        if start.size > 0:
            for e in range(start[j], start[j + 1]):
                worth[action[e]] += row[action[e]] * h_j
        else:
            for i in range(h.size):
                worth[i] += row[i] * h_j


@inlined
def fill_terms(v: Floats, head: int, rest_q: float, rest_u: float) -> bool:
    """Fill W, U, K, H and C from P, Q and W_OTHERS; whether all is seen, and nothing negative."""
    ft, loops, p, q, w_others = v[at.FT], v[at.LOOPS], v[at.P], v[at.Q], v[at.W_OTHERS]
    w, u, k, h, c = v[at.W], v[at.U], v[at.K], v[at.H], v[at.C]
    sound = True
    for i in range(p.size):
        w[i] = w_others[i] + loops[i] * p[i]
        u_i = rest_u if i == head else p[i] - q[i]
        k_i = q[i] * (rest_q if i == head else 1.0 - q[i])
        inverse = 1.0 / w[i]
        u[i], k[i] = u_i, k_i
        h[i] = (u_i * inverse) * (u_i * inverse) + (k_i * inverse) * inverse
        c[i] = (1.0 - 2.0 * p[i]) * inverse - ft[i]
        sound = sound and w[i] >= LEAST_SEEN and p[i] >= 0.0 and q[i] >= 0.0
    return sound


@inlined
def _bound_below(v: Floats, limits: LimitWork | None, error: float) -> tuple[float, float, float]:
    """The price, the level and the minimum, rounded down; the worth in G becomes the gradient."""
    ft, loops, q, w, u, k = v[at.FT], v[at.LOOPS], v[at.Q], v[at.W], v[at.U], v[at.K]
    h, g, floor, base, reduced = v[at.H], v[at.G], v[at.FLOOR], v[at.BASE], v[at.REDUCED]
    price = size = 0.0
    level = np.inf
    if limits is not None and limits.outside.size > 0:
        price, size = price_passive(limits)
    for i in range(q.size):
        t, gain = u[i] / w[i], 2.0 * k[i] / w[i]
        price += gain - q[i] * (2.0 * t + ft[i])
        size += gain + q[i] * (2.0 * abs(t) + ft[i])
        worth = g[i] + loops[i] * h[i]
        g[i] = ft[i] + 2.0 * t - worth
        least = g[i] - error * (ft[i] + 2.0 * abs(t) + worth)
        if limits is None:
            level = min(level, least)
        else:
            reduced[i] = least
            kept = h[i] * (base[i] + loops[i] * floor[i])
            price += floor[i] * (ft[i] + 2.0 * t) - kept
            size += floor[i] * (ft[i] + 2.0 * abs(t)) + kept
    if limits is None:
        return price - error * size, level, level
    if limits.rows.shape[0] > 0:
        paid, rounded = price_linear_limits(limits, error, reduced)
        price -= paid
        size += rounded
    level, least = fill_up(reduced, v[at.SPAN], limits.mass, error)
    return price - error * size, level, least


@inlined
def bound_above(
    v: Floats, head: int, rest_p: float, common: float, error: float
) -> tuple[float, float, float]:
    """F(p), the same rounded up, and the largest constraint.

    `common` is the part of actions that are not in `v`.

    The term p_h^2 / W_h of the head h is kept out of the sum over i: it nearly cancels against
    (1 - 2 p_h) / W_h where hardly any action reveals the head, and the two are (1 - p_h)^2 / W_h.
    """
    ft, p, w, c = v[at.FT], v[at.P], v[at.W], v[at.C]
    for i in range(p.size):
        common += p[i] * (ft[i] if i == head else ft[i] + p[i] / w[i])
    head_square = p[head] * (p[head] / w[head])
    value = upper = worst = -np.inf
    for b in range(p.size):
        if b == head:
            term = size = rest_p * (rest_p / w[b])
        else:
            term = head_square + (1.0 - 2.0 * p[b]) / w[b]
            size = head_square + 1.0 / w[b]
        value = max(value, common + (term - ft[b]))
        upper = max(upper, common + (term - ft[b]) + error * (common + size + ft[b]))
        worst = max(worst, c[b])
    return value, upper, worst
