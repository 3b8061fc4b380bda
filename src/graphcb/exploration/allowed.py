"""The DEC of a round against the best distribution that limits allow.

The DEC compares with every action. Where a cap keeps the best action from being played all the
time, no p is close to that, and the sum over rounds is linear. What can be asked for is to be as
good as the best q within the limits:

    max_q  (p - q) @ f + (1 / gamma) sum_i (p_i - q_i)^2 / W_i.

Each term is convex in q_i, so on its interval it is at most its chord, and the maximum of the
chords is a linear program over the limits, which `cheapest` solves. A q of a floor for every
action but one is at an end of every interval: with floors alone this is exact, and without limits
it is the DEC. Elsewhere it is an upper bound, which is what a certificate needs.
"""

import numpy as np

from graphcb.exploration.cheapest import cheapest
from graphcb.exploration.limits import BoxAndRows
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.structure import Floats


def allowed_dec(p: Floats, f: Floats, graph: FeedbackGraph, gamma: float, box: BoxAndRows) -> float:
    """The DEC of p (K,) against what the limits allow; +inf if that may be something unseen.

    >>> from graphcb import Limits, dec, graphs, solve_dec
    >>> graph, f, half = graphs.full_information(2), np.array([0.0, 1.0]), Limits(caps={0: 0.5})
    >>> p = solve_dec(f, graph, 100.0, limits=half).probabilities
    >>> dec(p, f, graph, 100.0), allowed_dec(p, f, graph, 100.0, half.on(range(2)))
    (0.505, 0.0)
    """
    lower, upper = _reached(box)
    reveal = graph.structure.reveal_probabilities(p)
    varies = (upper > lower) | (p != lower)
    if not (reveal[varies] > 0.0).all():
        return np.inf
    seen = np.where(varies, reveal, 1.0)
    with np.errstate(over="ignore", invalid="ignore"):
        slopes = (upper + lower - 2.0 * p) / seen / gamma - f
        at_floors = (p - lower) @ ((p - lower) / seen) / gamma + (p - lower) @ f
    if not np.isfinite(slopes).all():
        return np.inf
    best, _ = cheapest(-slopes, *box)
    return max(0.0, float(at_floors + slopes @ (best - lower)))


def _reached(box: BoxAndRows) -> tuple[Floats, Floats]:
    """The least and largest probability of each action, as the other limits leave them."""
    lower, upper, rows, most = box
    low = np.maximum(lower, 1.0 - (upper.sum() - upper))
    high = np.minimum(upper, 1.0 - (lower.sum() - lower))
    for row, bound in zip(rows, most, strict=True):
        if (row >= 0.0).all():
            room = bound - (row @ low - row * low)
            high = np.where(row > 0.0, np.minimum(high, room / np.where(row > 0.0, row, 1.0)), high)
    return low, np.maximum(low, high)
