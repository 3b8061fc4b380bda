"""The scaled program and what proves an answer: a value above and a bound below the optimum.

With ft = gamma * (f - min f) and W = G.T @ p the program is

    minimise  F(p) = p @ ft + sum_i p_i^2 / W_i + max_a ((1 - 2 p_a) / W_a - ft_a)

over the simplex. For q on the simplex F(p) is at least L(p, q) = (p - q) @ ft + sum_i N_i / W_i
where N_i = (p_i - q_i)^2 + q_i (1 - q_i). As u^2 / W >= 2 t u - t^2 W and
c / W >= c (2 v - v^2 W) for any t and v >= 0, a bound that is linear in p and holds for all p is

    -q @ ft + sum_i (2 k_i v_i - 2 t_i q_i) + min_i (ft_i + 2 t_i - sum_j G_ij h_j)

with k_i = q_i (1 - q_i) and h_j = t_j^2 + k_j v_j^2. It is tight for t = (p - q) / W, v = 1 / W at
the optimum, and true for any q, t, v: only the rounding of this one formula has to be allowed
for. No term is a difference of large ones: the largest probability (the head) is one less the
sum of the others, and that sum is what is computed with.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.compilation import part
from graphcb.exploration.layout import (
    FT,
    GRAPH,
    LOOPS,
    SEEN_BY,
    W_OTHERS,
    C,
    G,
    H,
    K,
    P,
    Q,
    U,
    W,
)
from graphcb.exploration.sparsity import Places
from graphcb.graphs.formulas import OPERATIONS, ROUNDING

Floats = NDArray[np.float64]


class Bounds(NamedTuple):
    """Of gamma * DEC: the value at p, the same rounded up, and a bound on the optimum."""

    value: float
    upper: float
    lower: float
    price: float  # the part of `lower` that does not depend on the played action
    least: float  # the other part: the smallest gradient, rounded down
    worst: float  # the largest constraint (1 - 2 p_a) / W_a - ft_a
    head: int  # the largest probability


@part
def evaluate(v: Floats, a: Floats, places: Places) -> Bounds:
    """Fill W, U, K, H, C and G from P and Q (see `layout`) and return what they prove."""
    n = v.shape[1]
    ft, loops, p, q = v[FT], v[LOOPS], v[P], v[Q]
    w, w_others, h, g = v[W], v[W_OTHERS], v[H], v[G]
    head = 0
    for i in range(n):
        w_others[i] = g[i] = 0.0
        if p[i] > p[head]:
            head = i
    start, action = places.start, places.action
    is_sparse = start.size > 0
    for i in range(n):
        if is_sparse:
            for e in range(start[i], start[i + 1]):
                w_others[i] += a[SEEN_BY, i, action[e]] * p[action[e]]
        else:
            p_i, row = p[i], a[GRAPH, i]
            for j in range(n):
                w_others[j] += row[j] * p_i
    rest_p = rest_q = rest_u = 0.0
    for i in range(n):
        if i != head:
            rest_p += p[i]
            rest_q += q[i]
            rest_u += q[i] - p[i]
    for i in range(n):
        w[i] = w_others[i] + loops[i] * p[i]
        v[U, i] = u = rest_u if i == head else p[i] - q[i]
        v[K, i] = k = q[i] * (rest_q if i == head else 1.0 - q[i])
        inverse = 1.0 / w[i]
        h_i = (u * inverse) * (u * inverse) + (k * inverse) * inverse
        h[i] = h_i
        v[C, i] = (1.0 - 2.0 * p[i]) * inverse - ft[i]
        row = a[SEEN_BY, i]
        if is_sparse:
            for e in range(start[i], start[i + 1]):
                g[action[e]] += row[action[e]] * h_i
        else:
            for j in range(n):
                g[j] += row[j] * h_i
    error = (n + OPERATIONS) * ROUNDING
    price = price_size = common = 0.0
    least = np.inf
    for i in range(n):
        t, gain = v[U, i] / w[i], 2.0 * v[K, i] / w[i]
        price += gain - q[i] * (2.0 * t + ft[i])
        price_size += gain + q[i] * (2.0 * abs(t) + ft[i])
        blame = g[i] + loops[i] * h[i]
        g[i] = ft[i] + 2.0 * t - blame
        least = min(least, g[i] - error * (ft[i] + 2.0 * abs(t) + blame))
        common += p[i] * (ft[i] if i == head else ft[i] + p[i] / w[i])
    price -= error * price_size
    head_square = p[head] * (p[head] / w[head])
    value = upper = worst = -np.inf
    for b in range(n):
        if b == head:
            part = size = rest_p * (rest_p / w[b])
        else:
            part = head_square + (1.0 - 2.0 * p[b]) / w[b]
            size = head_square + 1.0 / w[b]
        value = max(value, common + (part - ft[b]))
        upper = max(upper, common + (part - ft[b]) + error * (common + size + ft[b]))
        worst = max(worst, v[C, b])
    return Bounds(value, upper, price + least, price, least, worst, head)
