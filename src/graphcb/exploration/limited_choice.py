"""Choices without gamma that obey limits: the best one, the most informative one, all in turn.

With limits, the information-directed choice (`information_directed`) minimises the same ratio,

    (D @ p)^2 / (I @ p)     D the regret of each action, I its information,

over all p that obey and tell no less than the p that looks best, the one with the smallest f @ p.
Without limits that is how the choice is made, too: the best-looking action is mixed with one
that tells more. It matters: the ratio alone would rather play an action that is well known than
one that looks better. With floors of 1e-6 its mean loss over 15 streams of the bake-off is 0.187,
against 0.178 so, and 0.180 without limits.

The ratio is convex, a quadratic over a linear function, and depends on two numbers, x = D @ p and
y = I @ p. The points (x, y) that can be reached are a convex polygon, and x^2 / y is smallest on
an edge of it. So two vertices are kept, the ratio is minimised between them by a formula, and
its gradient there, 2 y D - x I up to a factor, is the cost of the next vertex (`cheapest`).
If that one is no cheaper, the ratio is the smallest: by convexity it exceeds the optimum by at
most a factor of 1 + gap / (x y), where gap is the difference in cost. If it is cheaper, it
replaces one of the two. A handful of steps are enough, as the walk is around a polygon in the
plane, whatever the number of actions. If the p that is found tells too little, the optimum
is the smallest x at the y of the p that looks best, and is found in the same way.

If the unlimited choice obeys the limits it is played: limits that do not bind change nothing. If
nothing can be found out within the limits, the smallest f @ p is played.
"""

import numpy as np

from graphcb.compilation import compiled, inner, summed
from graphcb.exploration.cheapest import cheapest, cheapest_vertex, scaled, start, within
from graphcb.exploration.limits import BoxAndRows, InfeasibleLimits
from graphcb.exploration.simplex import Polytope
from graphcb.graphs.structure import Floats

CLOSE = 1e-13  # relative gap at which the ratio is the smallest
AHEAD = 1e3  # how far a loss is lowered to have its action played, in spans of the losses
STEPS = 1000


def best_within(f: Floats, box: BoxAndRows) -> Floats:
    """A p with the smallest f @ p within limits; of two equal losses the first gets more.

    >>> from graphcb import Limits
    >>> best_within(np.array([0.2, 0.1, 0.5]), Limits(floors=0.05, caps={1: 0.7}).on(range(3)))
    array([0.25, 0.7 , 0.05])
    """
    return obeying(*cheapest(f, *box))


def spread_within(f: Floats, box: BoxAndRows) -> Floats:
    """Exploration that is blind: the mean of playing each action as often as the limits allow.

    What is left in each of these goes to the smallest predicted losses. Without limits it is the
    uniform distribution.

    >>> from graphcb import Limits
    >>> spread_within(np.array([0.2, 0.1, 0.5]), Limits(caps={2: 0.3}).on(range(3)))
    array([0.33333333, 0.56666667, 0.1       ])
    """
    return obeying(*each_in_turn(f, *box))


def obeying(p: Floats, feasible: bool) -> Floats:
    """p, or an error if no p obeys; `Limits.on` would have named the limits that clash."""
    if not feasible:
        raise InfeasibleLimits("`limits` must leave a choice, but no probabilities obey them all")
    return p


@compiled
def smallest_ratio(
    f: Floats,
    regrets: Floats,
    information: Floats,
    lower: Floats,
    upper: Floats,
    rows: Floats,
    most: Floats,
) -> tuple[Floats, bool]:
    """The p with the smallest ratio that tells no less than the best-looking one.

    False if no p obeys. Regrets and information must not be negative.
    """
    polytope = start(lower, upper, rows, most)
    worst, richest = regrets.max(), information.max()
    if not (0.0 < worst < np.inf and 0.0 < richest < np.inf):
        feasible = cheapest_vertex(scaled(f), polytope)
        return within(polytope.x[: f.size], lower, upper), feasible
    d, i = regrets / worst, information / richest
    feasible = cheapest_vertex(scaled(f), polytope)
    best = polytope.x[: f.size].copy()
    cheapest_vertex(-i, polytope)
    telling = polytope.x[: f.size].copy()
    if not (feasible and _dot(i, telling) > 0.0):
        return within(best, lower, upper), feasible
    cheapest_vertex(d, polytope)
    safe = polytope.x[: f.size].copy()
    p, known = _walk_around(safe, telling, d, i, polytope), _dot(i, best)
    if _dot(i, p) < known and _dot(i, safe) < known:
        p = _tell_as_much(known, safe, telling, d, i, polytope)
    return within(p, lower, upper), True


@inner
def _walk_around(one: Floats, two: Floats, d: Floats, i: Floats, polytope: Polytope) -> Floats:
    """The smallest ratio, from two vertices on."""
    x1, y1, x2, y2 = _dot(d, one), _dot(i, one), _dot(d, two), _dot(i, two)
    if x1 <= 0.0:
        return one
    q, costs = _share(x1, y1, x2, y2), np.empty(d.size)
    for _ in range(STEPS):
        x, y = x1 + q * (x2 - x1), y1 + q * (y2 - y1)
        for a in range(d.size):
            costs[a] = 2.0 * y * d[a] - x * i[a]
        cheapest_vertex(costs, polytope)
        new = polytope.x[: d.size].copy()
        x3, y3 = _dot(d, new), _dot(i, new)
        gap = x * y - (2.0 * y * x3 - x * y3)
        if gap <= CLOSE * (x * y + x * y3):
            break
        q1, q2 = _share(x3, y3, x1, y1), _share(x3, y3, x2, y2)
        ratio1, ratio2 = _ratio(x3, y3, x1, y1, q1), _ratio(x3, y3, x2, y2, q2)
        if min(ratio1, ratio2) >= x * x / y:
            break
        if ratio2 < ratio1:
            one, x1, y1, q1 = two, x2, y2, q2
        one, two, x1, y1, x2, y2, q = new, one, x3, y3, x1, y1, q1
    return one + q * (two - one)


@inner
def _tell_as_much(
    known: float, one: Floats, two: Floats, d: Floats, i: Floats, polytope: Polytope
) -> Floats:
    """The smallest x with y = known, which is between those of the two vertices."""
    x1, y1, x2, y2 = _dot(d, one), _dot(i, one), _dot(d, two), _dot(i, two)
    costs = np.empty(d.size)
    for _ in range(STEPS):
        dx, dy = x2 - x1, y2 - y1
        for a in range(d.size):
            costs[a] = dy * d[a] - dx * i[a]
        cheapest_vertex(costs, polytope)
        new = polytope.x[: d.size].copy()
        x3, y3 = _dot(d, new), _dot(i, new)
        if dy * (x1 - x3) - dx * (y1 - y3) <= CLOSE * dy * (x1 + x3):
            break  # the two are the ends of an edge
        if y3 < known:
            one, x1, y1 = new, x3, y3
        else:
            two, x2, y2 = new, x3, y3
    return one + min(1.0, max(0.0, (known - y1) / (y2 - y1))) * (two - one)


@summed
def _dot(x: Floats, y: Floats) -> float:
    total = 0.0
    for a in range(x.size):
        total += x[a] * y[a]
    return total


@inner
def _share(x1: float, y1: float, x2: float, y2: float) -> float:
    """The q for which ratio is smallest between two points: 2 y dx = x dy there."""
    dx, dy = x2 - x1, y2 - y1
    if dy < 0.0 or (dy == 0.0 and dx > 0.0):
        return 1.0 - _rising_share(x2, y2, -dx, -dy)
    return _rising_share(x1, y1, dx, dy)


@inner
def _rising_share(x: float, y: float, dx: float, dy: float) -> float:
    """The same if y rises, or stays and x falls."""
    if dx <= 0.0:
        return 1.0
    return min(1.0, max(0.0, x / dx - 2.0 * y / dy))


@inner
def _ratio(x1: float, y1: float, x2: float, y2: float, q: float) -> float:
    x, y = x1 + q * (x2 - x1), y1 + q * (y2 - y1)
    return x * x / y if y > 0.0 else np.inf


@compiled
def each_in_turn(
    f: Floats, lower: Floats, upper: Floats, rows: Floats, most: Floats
) -> tuple[Floats, bool]:
    """What `spread_within` returns; False if no p obeys."""
    polytope, costs = start(lower, upper, rows, most), scaled(f)
    mean, feasible = np.zeros(f.size), True
    for a in range(f.size):
        kept = costs[a]
        costs[a] -= AHEAD
        feasible &= cheapest_vertex(costs, polytope)
        mean += polytope.x[: f.size]
        costs[a] = kept
    return within(mean / f.size, lower, upper), feasible
