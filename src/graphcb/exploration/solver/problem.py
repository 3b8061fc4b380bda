"""The problem: the decision-estimation coefficient of a round, and the scaled program.

With reveal probabilities W = G.T @ p, the paper's convex program has as the DEC of p

    max_a  p @ f - f_a + (1 / gamma) sum_i (p_i - [i = a])^2 / W_i.

In scaled gaps ft = gamma * (f - min f) >= 0, gamma * DEC is a function of p, ft and G alone,

    F(p) = p @ ft + sum_i p_i^2 / W_i + max_a ((1 - 2 p_a) / W_a - ft_a),

and the solver minimises F over the simplex. The optimum is never negative: the average over a ~ p
of what the maximum is taken of is not.
"""

import numpy as np
from numpy.typing import ArrayLike

from graphcb.checks import as_gamma, as_losses, as_probabilities
from graphcb.compilation import compiled
from graphcb.exploration.solver.whole_numbers import exact_dec
from graphcb.graphs import FeedbackGraph, as_graph
from graphcb.graphs.formulas import LARGEST_GAP, LEAST_SEEN
from graphcb.graphs.structure import Floats


def dec(
    probabilities: ArrayLike, predicted_losses: ArrayLike, graph: FeedbackGraph, gamma: float
) -> float:
    """The paper's DEC of a distribution; `SquareCBG` plays a distribution that makes it small.

    The largest regret in one round against any action and any true losses, minus gamma / 4
    times the squared error of the predictions that the graph would reveal. Shapes (K,) and
    (K,); +inf when an action can never be seen under `probabilities`.

    >>> from graphcb import graphs
    >>> dec([0.5, 0.5], [0.0, 0.0], graphs.bandit(2), gamma=10.0)
    0.1
    """
    p = as_probabilities(probabilities, as_graph(graph).n_actions)
    f = as_losses(predicted_losses, graph.n_actions)
    g = as_gamma(gamma)
    if graph.n_actions == 1:
        return 0.0  # no other action to regret
    reveal = graph.structure.reveal_probabilities(p)
    value = scaled_dec(p, f, g, reveal)
    if value < np.inf:
        return value / g
    if graph.structure.reveal_probabilities(np.ceil(p)).all():  # W is not zero, but too small
        return exact_dec(p, f, graph, g)
    return np.inf


@compiled
def scaled_dec(p: Floats, f: Floats, gamma: float, reveal: Floats) -> float:
    """F(p) = p @ ft + max_a ((1 - p_a)^2 / W_a + sum_{i != a} p_i^2 / W_i - ft_a).

    The term of the most likely action is kept apart: it nearly cancels in the sum when hardly
    any action reveals that one. +inf if a number is out of the range of the solver.
    """
    head, ft = np.argmax(p), gamma * (f - f.min())
    common = rest = 0.0
    for i in range(p.size):
        if not (reveal[i] >= LEAST_SEEN and ft[i] < LARGEST_GAP):
            return np.inf
        if i != head:
            rest += p[i]
            common += p[i] * (p[i] / reveal[i])
        common += p[i] * ft[i]
    square = p[head] * (p[head] / reveal[head])
    worst = rest * (rest / reveal[head]) - ft[head]
    for a in range(p.size):
        if a != head:
            worst = max(worst, square + (1.0 - 2.0 * p[a]) / reveal[a] - ft[a])
    value: float = common + worst
    return value
