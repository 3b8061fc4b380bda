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
for. The first two sums are the `price`, the minimum is `least`; with the t and v above the
expression in the minimum is the gradient g of L in p.

No term is a difference of large ones: the largest probability (the head) is one minus the sum of
the others, and that sum is what is computed with. Rounding is allowed for in proportion to the sum
of absolute values, which holds as long as nothing overflows and what underflows is negligible;
`formulas.record` adds that in the end. An iterate with some W below LEAST_SEEN, or with a number
that is not one, proves nothing.
"""

from typing import NamedTuple

import numpy as np

from graphcb.compilation import inlined, inner
from graphcb.exploration.solver import workspace as at
from graphcb.exploration.solver.sparsity import Pattern
from graphcb.exploration.solver.workspace import Floats
from graphcb.graphs.formulas import LEAST_SEEN, OPERATIONS, ROUNDING

UNBALANCED = 1e-6  # p and q whose sums are further from one than this prove nothing


class IterateBounds(NamedTuple):
    """Bounds on gamma * DEC at one iterate."""

    value: float  # F(p)
    upper: float  # the same, rounded up
    lower: float  # at most the optimum: price + least
    price: float  # the part of `lower` that does not depend on the action played
    least: float  # the other part: the smallest gradient, rounded down
    worst: float  # the largest constraint c_b(p)
    head: int  # the action with the largest probability


@inner
def evaluate(v: Floats, a: Floats, pattern: Pattern) -> IterateBounds:
    """Fill W_OTHERS, W, U, K, H, C and G from P and Q, and return what they prove."""
    ft, loops, p, q = v[at.FT], v[at.LOOPS], v[at.P], v[at.Q]
    w_others, w, u, k = v[at.W_OTHERS], v[at.W], v[at.U], v[at.K]
    h, g = v[at.H], v[at.G]
    head = 0
    for i in range(p.size):
        if p[i] > p[head]:
            head = i
    rest_p = rest_q = rest_u = 0.0  # sums over all actions except the head
    for i in range(p.size):
        if i != head:
            rest_p += p[i]
            rest_q += q[i]
            rest_u += q[i] - p[i]
    for i in range(p.size):
        w_others[i] = g[i] = 0.0
    add_revealed(p, a, pattern, w_others)
    sound = fill_terms(v, head, rest_q, rest_u)
    add_worth(h, a, pattern, g)
    error = (p.size + OPERATIONS) * ROUNDING
    off_p, off_q = abs(rest_p + p[head] - 1.0), abs(rest_q + q[head] - 1.0)
    price, least = _bound_below(ft, loops, q, w, u, k, h, g, error + 4.0 * off_q)
    value, upper, worst = bound_above(v, head, rest_p, 0.0, error + 4.0 * off_p)
    if not (sound and off_p <= UNBALANCED and off_q <= UNBALANCED):
        return IterateBounds(np.inf, np.inf, -np.inf, -np.inf, -np.inf, np.inf, head)
    return IterateBounds(value, upper, price + least, price, least, worst, head)


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
def _bound_below(
    ft: Floats,
    loops: Floats,
    q: Floats,
    w: Floats,
    u: Floats,
    k: Floats,
    h: Floats,
    g: Floats,
    error: float,
) -> tuple[float, float]:
    """The price and the least gradient, both rounded down; turns the worth in `g` into g."""
    price = price_size = 0.0
    least = np.inf
    for i in range(q.size):
        t, gain = u[i] / w[i], 2.0 * k[i] / w[i]
        price += gain - q[i] * (2.0 * t + ft[i])
        price_size += gain + q[i] * (2.0 * abs(t) + ft[i])
        worth = g[i] + loops[i] * h[i]
        g[i] = ft[i] + 2.0 * t - worth
        least = min(least, g[i] - error * (ft[i] + 2.0 * abs(t) + worth))
    return price - error * price_size, least


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
