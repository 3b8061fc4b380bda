"""The limits of one round on one graph, as kernels read them; made once for both.

What the floors alone reveal, sum_i l_i G_ij, is a sum of non-negative terms for each j. It is added
up without differences, so that small sums are as exact as large ones: for runs on a tree of
intervals in O(K log K), for sides by sums from both ends in O(K).
"""

import numpy as np

from graphcb.compilation import compiled, inlined, inner
from graphcb.exploration.limits import BoxAndRows
from graphcb.exploration.solver import workspace as at
from graphcb.exploration.solver.edges import LIST, MATRIX, SIDES, Edges
from graphcb.exploration.solver.linear_limits import NO_WIDTH
from graphcb.exploration.solver.workspace import Box, Floats
from graphcb.graphs import FeedbackGraph

KNOWN = 1e30  # how often an action is taken to be seen that can be played and is never revealed
MOST_KEPT = 16  # limits that a graph remembers

Kept = dict[int, tuple[BoxAndRows, Box]]


def box_on(graph: FeedbackGraph, edges: Edges, limits: BoxAndRows, inner_point: Floats) -> Box:
    """The limits on this graph, remembered for arrays that come again."""
    kept = graph.remember("limits", _nothing)
    known = kept.get(id(limits))
    if known is not None and known[0] is limits:
        return known[1]
    made: Box = make_box(edges, *limits, inner_point)
    if len(kept) >= MOST_KEPT:
        kept.clear()
    kept[id(limits)] = (limits, made)
    return made


def _nothing(_: FeedbackGraph) -> Kept:
    return {}


@compiled
def make_box(
    edges: Edges, lower: Floats, upper: Floats, rows: Floats, most: Floats, inner_point: Floats
) -> Box:
    """The limits, what the floors reveal, and which actions no action reveals that is played."""
    n = lower.size
    one = Edges(edges.form, edges.flat[0], edges.start, edges.action, edges.chance)
    of_actions = np.zeros((at.BOX_VECTORS, n))
    floor, cap, span = of_actions[at.FLOOR], of_actions[at.CAP], of_actions[at.SPAN]
    others, base = of_actions[at.BASE], of_actions[at.ALL_BASE]
    inner_of, left_out = of_actions[at.INNER], of_actions[at.LEFT_OUT]
    floor[:], cap[:] = lower, upper
    mass, lost, floors = 1.0, 0.0, False
    for i in range(n):
        span[i] = upper[i] - lower[i] if upper[i] < 1.0 else np.inf
        left = mass - lower[i]
        lost += (mass - left) - lower[i] if mass >= lower[i] else mass - (lower[i] + left)
        mass = left
        floors = floors or lower[i] > 0.0
    if floors:
        _reveal(one, lower, others, base)
    if upper.min() == 0.0:
        seen, own = np.zeros(n), np.zeros(n)
        _reveal(one, np.ceil(upper), seen, own)
        for i in range(n):
            if seen[i] + own[i] == 0.0:
                others[i] = KNOWN
                left_out[i] = 1.0 if upper[i] == 0.0 else 0.0
    for i in range(n):
        base[i] += others[i]
    for i in range(inner_point.size):
        inner_of[i] = max(0.0, inner_point[i] - lower[i])
    merged, linear = _merge_pairs(rows, most)
    bound = linear[at.BOUND]
    for r in range(bound.size):
        for i in range(n):
            bound[r] -= merged[r, i] * lower[i]
    return Box(of_actions, merged, linear, mass + lost)


@inner
def _reveal(edges: Edges, p: Floats, others: Floats, own: Floats) -> None:
    """Add sum_{i != j} p_i G_ij to others[j] and p_j G_jj to own[j]."""
    if edges.form == MATRIX or edges.form == LIST:
        _reveal_by_entries(edges, p, others, own)
    elif edges.form == SIDES:
        _reveal_by_sides(edges, p, others, own)
    else:
        _reveal_by_runs(edges, p, others, own)


@inlined
def _reveal_by_entries(edges: Edges, p: Floats, others: Floats, own: Floats) -> None:
    n = p.size
    for i in range(n):
        if p[i] > 0.0 and edges.form == MATRIX:
            before = others[i]
            row = edges.flat[i * n : (i + 1) * n]
            for j in range(n):
                others[j] += p[i] * row[j]
            others[i] = before
            own[i] += p[i] * row[i]
        elif p[i] > 0.0:
            for e in range(edges.start[0, i], edges.start[0, i + 1]):
                j = edges.action[0, e]
                if j == i:
                    own[i] += p[i] * edges.chance[0, e]
                else:
                    others[j] += p[i] * edges.chance[0, e]


@inlined
def _reveal_by_sides(edges: Edges, p: Floats, others: Floats, own: Floats) -> None:
    n, left, right = p.size, edges.chance[0], edges.chance[1]
    total = 0.0
    for j in range(n):
        others[j] += total
        own[j] += p[j]
        total += p[j] * right[j]
    total = 0.0
    for j in range(n - 1, -1, -1):
        others[j] += total
        total += p[j] * left[j]


@inlined
def _reveal_by_runs(edges: Edges, p: Floats, others: Floats, own: Floats) -> None:
    n = p.size
    tree = np.zeros(2 * n)  # node k has the children 2 k and 2 k + 1; the leaves are the last n
    for i in range(n):
        low, high = edges.start[0, i], edges.start[1, i]
        if p[i] > 0.0:
            around = high < low  # it goes around the end
            for turn in range(2 if around else 1):
                first = low if turn == 0 else 0
                stop = n if around and turn == 0 else high
                if first <= i < stop:
                    own[i] += p[i]
                    _add_between(tree, first, i, p[i])
                    _add_between(tree, i + 1, stop, p[i])
                else:
                    _add_between(tree, first, stop, p[i])
    for node in range(2, 2 * n):
        tree[node] += tree[node // 2]
    for j in range(n):
        others[j] += tree[n + j]


@inner
def _add_between(tree: Floats, first: int, stop: int, value: float) -> None:
    """Add a value to the leaves from `first` to before `stop`, at the nodes above them."""
    low, high = first + tree.size // 2, stop + tree.size // 2
    while low < high:
        if low % 2 == 1:
            tree[low] += value
            low += 1
        if high % 2 == 1:
            high -= 1
            tree[high] += value
        low //= 2
        high //= 2


@inner
def _merge_pairs(rows: Floats, most: Floats) -> tuple[Floats, Floats]:
    """The rows, with two that say at least and at most the same made one equation.

    The second array holds 1 for equations, and what they add up to at most.
    """
    n_rows, n = rows.shape
    merged, equal, bound = np.empty((n_rows, n)), np.zeros(n_rows), np.zeros(n_rows)
    size = 0
    for r in range(n_rows):
        twin = -1
        for k in range(size):
            if abs(bound[k] + most[r]) <= NO_WIDTH:
                same = True
                for i in range(n):
                    same = same and merged[k, i] == -rows[r, i]
                if same:
                    twin = k
                    break
        if twin >= 0:
            equal[twin] = 1.0
        else:
            bound[size] = most[r]
            for i in range(n):
                merged[size, i] = rows[r, i]
            size += 1
    linear = np.empty((2, size))
    equations, bounds = linear[at.EQUAL], linear[at.BOUND]
    equations[:], bounds[:] = equal[:size], bound[:size]
    return merged[:size].copy(), linear
