"""Exploration for the sake of the log: what is seldom seen is seen a little more often.

What another policy would have lost can be estimated from a log only where its outcomes had a
chance to be seen, so a share x of the probability may go to outcomes that are seldom seen. Let

    v = max over distributions s of min over outcomes a of (G^T s)_a,

the most that play could do for the outcome that is seen least; outcomes that nothing reveals are
left out. Up to x of p is moved until every outcome is seen with a probability of at least x v,
which the share x alone can bring about. A p that shows as much already is left as it is.

The cheapest such move is p + x (y - p), where y has the smallest predicted loss among

    x (G^T y)_a >= x v - (1 - x) (G^T p)_a  for every a,    p + x (y - p) within limits,

a linear program with a row for each outcome that p shows too seldom. Where s is the only way, as
with bandit feedback or one action that reveals all, y = s without a program; so it is if the rows
are many. What limits keep from being revealed so often is asked for less, by halves.
"""

from typing import Any, NamedTuple

import numpy as np

from graphcb.checks import as_number
from graphcb.compilation import compiled
from graphcb.exploration.cheapest import cheapest, obeys
from graphcb.exploration.limits import BoxAndRows
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.structure import Flags, Floats, Indices

MOST = 0.5  # of the probability
FEW = 16  # outcomes up to which the cheapest way of seeing them is looked for
SOLVED = 100  # actions up to which v is found by a linear program; above, s may be uniform
WRITTEN_OUT = 512  # actions up to which a graph's matrix is used, 2 MB
HALVES = 8  # how often less is asked for
ROUNDING = 1e-12  # of probabilities


class MostEven(NamedTuple):
    """The distribution that shows the outcome it shows least as often as possible."""

    probabilities: Floats
    seen: Floats  # how often it shows each outcome
    least: Floats  # v where an outcome can be seen, else 0
    is_forced: bool  # whether each action in it is the only one that reveals some outcome


def as_share(explore: Any) -> float:
    """The argument `explore`, a share of the probability."""
    share = as_number("explore", explore)
    if not 0.0 <= share <= MOST:
        raise ValueError(
            f"`explore` must be a share of the probability from 0 to {MOST:g}, such as 0.01, "
            f"got {explore!r}"
        )
    return share


def see_more(
    p: Floats,
    losses: Floats,
    graph: FeedbackGraph,
    explore: float,
    box: BoxAndRows | None = None,
) -> Floats:
    """p with up to `explore` of it moved to outcomes that are seldom seen; p itself if none is.

    >>> from graphcb import graphs
    >>> sure, losses = np.array([1.0, 0.0, 0.0]), np.array([0.1, 0.2, 0.9])
    >>> see_more(sure, losses, graphs.bandit(3), 0.03)
    array([0.98, 0.01, 0.01])
    >>> see_more(sure, losses, graphs.cops_and_robbers(3), 0.03)
    array([0.98, 0.02, 0.  ])
    >>> see_more(sure, losses, graphs.full_information(3), 0.03) is sure
    True
    """
    even = most_even(graph)
    seen = _seen(graph, p)
    wanted = explore * even.least
    if box is not None:  # as far as caps allow
        wanted = np.minimum(wanted, _seen(graph, box.upper))
    seldom = _seldom(seen, wanted, explore)
    if seldom.size == 0:
        return p
    if even.is_forced or seldom.size > FEW:
        mixed = _towards(even.probabilities, p, seen, even.seen, wanted, explore)
        if box is None or obeys(mixed, *box):
            return mixed
    columns = _columns(graph, seldom)
    bounds = _around(p, explore, box)
    for _ in range(HALVES):
        y, found = _cheapest_within(losses, columns, seen, wanted, seldom, explore, *bounds)
        if found:
            moved = _towards(y, p, seen, _seen(graph, y), wanted, explore)
            return moved if box is None else np.clip(moved, box.lower, box.upper)
        wanted = 0.5 * wanted
    return p


def cost_of_exploring(graph: FeedbackGraph, explore: float, *, is_limited: bool = False) -> str:
    """What a share of the probability buys on a graph, and what it costs, in words.

    >>> from graphcb import graphs
    >>> cost_of_exploring(graphs.bandit(2), 0.01)
    'explore: every outcome is seen with a probability of at least 0.005, for at most 0.01 of the range of losses per decision'
    >>> cost_of_exploring(graphs.full_information(2), 0.01)
    'explore: nothing to do, every decision reveals everything'
    """  # noqa: E501 - the answer is one line
    even, k = most_even(graph), graph.n_actions
    if (_seen(graph, np.full(k, 1.0 / k)) >= 1.0 - ROUNDING).all():
        return "explore: nothing to do, every decision reveals everything"
    each = "every outcome" if even.least.all() else "every outcome that can be revealed"
    return (
        f"explore: {each} is seen with a probability of at least {explore * even.least.max():.3g}, "
        f"for at most {explore:g} of the range of losses per decision"
        + (", as far as limits and budgets allow" if is_limited else "")
    )


def most_even(graph: FeedbackGraph) -> MostEven:
    """What `MostEven` says, remembered with the graph.

    >>> from graphcb import FeedbackGraph
    >>> most_even(FeedbackGraph([[1, 0, 0], [0, 1, 0], [0, 1, 1]])).probabilities
    array([0.5, 0. , 0.5])
    """
    return graph.remember("most even", _most_even)


def _most_even(graph: FeedbackGraph) -> MostEven:
    structure, k = graph.structure, graph.n_actions
    degrees = structure.in_degrees()
    can_be_seen = degrees > 0
    s = np.full(k, 1.0 / k)
    if not can_be_seen.any():
        return MostEven(s, np.zeros(k), np.zeros(k), is_forced=True)
    seen = _seen(graph, s)
    shown = structure.sums_revealed(can_be_seen / can_be_seen.sum())
    if seen[can_be_seen].min() < shown.max() - ROUNDING:  # by duality v is at most max(shown)
        s = _better_than_uniform(graph, can_be_seen, int(shown.argmax()))
        seen = _seen(graph, s)
    least = np.where(can_be_seen, seen[can_be_seen].min(), 0.0)
    alone = structure.sums_revealed((degrees == 1).astype(float)) > 0.0
    return MostEven(s, seen, least, is_forced=bool(alone[s > 0.0].all()))


def _better_than_uniform(graph: FeedbackGraph, can_be_seen: Flags, best: int) -> Floats:
    """An action that reveals everything, or what the linear program says.

    With q = s / (1 + v) and u = v / (1 + v) it is: the largest u with G^T q >= u, sum of q + u = 1.
    """
    k = graph.n_actions
    s = np.zeros(k)
    if (graph.structure.row(best)[can_be_seen] == 1.0).all():
        s[best] = 1.0
        return s
    if k > SOLVED:
        return np.full(k, 1.0 / k)
    rows = np.column_stack([-graph.matrix[:, can_be_seen].T, np.ones(can_be_seen.sum())])
    costs = np.append(s, -1.0)
    found, _ = cheapest(costs, np.zeros(k + 1), np.ones(k + 1), rows, np.zeros(len(rows)))
    q: Floats = found[:k]
    spread: Floats = q / q.sum()
    return spread


@compiled
def _seldom(seen: Floats, wanted: Floats, explore: float) -> Indices:
    """The outcomes that p, less the share that may be moved, shows too seldom; none if p does."""
    enough = True
    for a in range(seen.size):
        if seen[a] < wanted[a] * (1.0 - ROUNDING):
            enough = False
    if enough:
        return np.empty(0, dtype=np.intp)
    return np.flatnonzero((1.0 - explore) * seen < wanted)


@compiled
def _towards(
    y: Floats, p: Floats, seen: Floats, seen_by_y: Floats, wanted: Floats, explore: float
) -> Floats:
    """The first point on the way from p to y that shows what is wanted, or `explore` of the way."""
    share = 0.0
    for a in range(p.size):
        if seen[a] < wanted[a]:
            gain = seen_by_y[a] - seen[a]
            part = (wanted[a] - seen[a]) / gain if gain > 0.0 else explore
            share = max(share, min(part, explore))
    moved: Floats = p + share * (y - p)
    return moved


@compiled
def _cheapest_within(
    losses: Floats,
    columns: Floats,
    seen: Floats,
    wanted: Floats,
    seldom: Indices,
    explore: float,
    lower: Floats,
    upper: Floats,
    rows: Floats,
    most: Floats,
) -> tuple[Floats, bool]:
    """The y with the smallest predicted loss that shows what is wanted; False if there is none."""
    n, r = seldom.size, most.size
    both, bounds = np.empty((n + r, losses.size)), np.empty(n + r)
    for i in range(n):
        a = seldom[i]
        both[i] = -columns[i]
        bounds[i] = ((1.0 - explore) * seen[a] - wanted[a]) / explore
    both[n:], bounds[n:] = rows, most
    return cheapest(losses, lower, upper, both, bounds)


def _seen(graph: FeedbackGraph, p: Floats) -> Floats:
    """How likely each outcome is seen."""
    return np.ascontiguousarray(graph.structure.reveal_probabilities(p))


def _columns(graph: FeedbackGraph, outcomes: Indices) -> Floats:
    """How likely each action reveals each of these outcomes: one row per outcome."""
    if graph.n_actions <= WRITTEN_OUT:
        turned = graph.remember("columns", lambda g: np.ascontiguousarray(g.matrix.T))
        chosen: Floats = turned[outcomes]
        return chosen
    unit = np.zeros((outcomes.size, graph.n_actions))
    unit[np.arange(outcomes.size), outcomes] = 1.0
    return np.array([graph.structure.sums_revealed(row) for row in unit])


def _around(p: Floats, explore: float, box: BoxAndRows | None) -> BoxAndRows:
    """The y for which p + explore (y - p) is within limits."""
    if box is None:
        return BoxAndRows(np.zeros(p.size), np.ones(p.size), np.zeros((0, p.size)), np.zeros(0))
    kept = (1.0 - explore) * p
    lower = np.clip((box.lower - kept) / explore, 0.0, 1.0)
    upper = np.clip((box.upper - kept) / explore, lower, 1.0)
    return BoxAndRows(lower, upper, box.rows, (box.most - box.rows @ kept) / explore)
