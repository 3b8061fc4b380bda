"""Solve on a few actions, prove it for all, and let in those who spoil the proof.

If p and q vanish outside a set of actions, the program is the same program on the subgraph among
them, and usually a handful of actions matter. So: choose a few that see everybody, solve
roughly, price everybody else in O(n_actions * chosen), let in who breaks a constraint or would
lower the value, go on from where the method stands, and tighten once nobody is left. The bound
is taken over all actions, so a bad choice costs time and never the proof.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.compilation import inlined, part
from graphcb.exploration.edges import Edges, fetch
from graphcb.exploration.interior_point import BOLD, CAREFUL, Best, advance, spread
from graphcb.exploration.layout import (
    BEST_H,
    BEST_P,
    FT,
    GRAPH,
    LOOPS,
    MATRICES,
    SEEN_BY,
    VECTORS,
    C,
    G,
    M,
    P,
    Q,
    S,
    matrices,
    vectors,
)
from graphcb.graphs.formulas import OPERATIONS, ROUNDING, Outcome

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

ALIKE = 3.0  # scaled gap up to which an action rivals the best
MODERATE = 100  # so many are solved together if many rival the best
DIRECT = 4  # so few actions are solved together at once
PASSES = 6  # after so many, all actions come in
ROUGH = 0.02  # gap at which the others are priced for the first time
NEARBY = 1.0  # gap over all actions up to which the method goes on from where it stands
FIRST_MEMBERS = 16
LARGEST_SYSTEM = 4000  # more actions are never solved together: 0.6 GB
BOLD_STEPS = 45  # a start that has not arrived by then begins again, carefully


class Members(NamedTuple):
    """The chosen actions in order of arrival, with all they reveal and all who reveal them."""

    actions: Indices  # (capacity,)
    rows: Floats  # (capacity, n)
    columns: Floats  # (capacity, n)


@inlined
def solve_scaled(
    ft: Floats, edges: Edges, tolerance: float, max_steps: int, block: Floats, p_out: Floats
) -> Outcome:
    """Solve for ft = gamma * (f - min f); writes the probabilities to `p_out`."""
    n = ft.size
    inside, covered = np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
    revealed, blame, line = np.zeros(n), np.zeros(n), np.empty(n)
    members = _members(min(n, FIRST_MEMBERS), n)
    state, levels = np.empty((4, 0)), (0.0, 0.0, 0.0)
    value = upper = np.inf
    lower = 0.0
    # Written as sums, because numba compiles a callee once more for each literal it is given.
    steps = passes = size = n - n
    goal = max(tolerance, ROUGH)
    fresh, careful = n > 0, n < 0
    alike = 0
    for b in range(n):
        alike += ft[b] <= ALIKE
    everybody = n <= DIRECT or (n <= MODERATE and 3 * alike > n)
    while True:
        if not everybody:
            _cover(ft, edges, covered, inside, line)
            everybody = passes > PASSES or _count(covered) < n or 10 * _count(inside) > 7 * n
            everybody = everybody and n <= LARGEST_SYSTEM
        if everybody:
            inside[:] = True
        known = size
        size, members = _welcome(edges, inside, size, members)
        block = _enough(block, size)
        v, a = vectors(block, size), matrices(block, size)
        if fresh or size > known:
            _fill(ft, members, v, a)
            if fresh:
                spread(v, a)
            else:
                _carry_over(ft, state, levels, members, revealed, blame, v)
        if everybody:
            goal = tolerance
        limit = max_steps - steps if careful else min(BOLD_STEPS, max_steps - steps)
        best = advance(v, a, fresh, goal, tolerance, limit, CAREFUL if careful else BOLD)
        steps += best.steps
        passes += 1
        found = _price(ft, members, inside, v, best, revealed, blame)
        if found[1] < upper:
            value, upper = found[0], found[1]
            _publish(v[BEST_P], members, p_out)
        lower = max(lower, found[2])
        if upper - lower <= tolerance * (1.0 + value) or steps >= max_steps or careful:
            return Outcome(value, upper, lower, steps, careful, size)
        # Not proven yet: who is missing, or has the method lost its way?
        stuck = best.upper - best.lower > goal * (1.0 + best.value)
        careful = everybody
        fresh = careful or stuck or found[1] - found[2] > NEARBY * (1.0 + best.value)
        slack = 0.25 * max(best.upper - best.lower, 0.0)
        for b in range(n):
            covered[b] = inside[b] or 1.0 / revealed[b] - ft[b] - best.worst <= -slack
        helpers = 0 if stuck else _add_helpers(ft, best, slack, inside, blame)
        if stuck or (helpers == 0 and goal == tolerance and _count(covered) == n):
            everybody, fresh, careful = n <= LARGEST_SYSTEM, True, careful or n > LARGEST_SYSTEM
        elif helpers == 0 and _count(covered) == n:
            goal = tolerance
        levels = _levels(v)
        state = np.empty((4, size))
        for k in range(size):
            for row in range(4):
                state[row, k] = v[P + row, k]


@inlined
def _members(capacity: int, n: int) -> Members:
    """Room for some members; none as yet."""
    return Members(
        np.empty(capacity, dtype=np.int64), np.empty((capacity, n)), np.empty((capacity, n))
    )


@part
def _welcome(edges: Edges, inside: Flags, size: int, members: Members) -> tuple[int, Members]:
    """Add who is inside and no member yet, with rows and columns; return the new size."""
    wanted, n = _count(inside), inside.size
    if wanted > members.actions.size:
        larger = _members(min(n, 2 * wanted), n)
        for k in range(size):
            larger.actions[k] = members.actions[k]
            for b in range(n):
                larger.rows[k, b] = members.rows[k, b]
                larger.columns[k, b] = members.columns[k, b]
        members = larger
    already = np.zeros(n, dtype=np.bool_)
    for k in range(size):
        already[members.actions[k]] = True
    for b in range(n):
        if inside[b] and not already[b]:
            members.actions[size] = b
            for side in range(2):
                lines = members.columns if side == 1 else members.rows
                fetch(edges, b, side == 1, lines[size])
            size += 1
    return size, members


@inlined
def _count(flags: Flags) -> int:
    """How many are true."""
    count = 0
    for flag in flags:
        count += flag
    return count


@inlined
def _enough(block: Floats, n: int) -> Floats:
    size = n * VECTORS + n * n * MATRICES
    return block if block.size >= size else np.empty(size + size // 2)


@part
def _publish(p: Floats, members: Members, p_out: Floats) -> None:
    """Write p to the places of the members, as a distribution to the last bit."""
    p_out[:] = 0.0
    total = 0.0
    for k in range(p.size):
        total += p[k]
    for k in range(p.size):
        p_out[members.actions[k]] = p[k] / total


@part
def _cover(ft: Floats, edges: Edges, covered: Flags, inside: Flags, line: Floats) -> None:
    """Let in the best action that is not covered and its cheapest observer, until all are.

    An action is covered by an observer who sees it at least one time in four. Stops early when
    more than half of all actions are inside. `line` is overwritten.
    """
    n = ft.size
    size = _count(inside)
    while 2 * size <= min(n, LARGEST_SYSTEM):
        unseen = n - n - 1
        for b in range(n):
            if not covered[b] and (unseen < 0 or ft[b] < ft[unseen]):
                unseen = b
        if unseen < 0:
            return
        fetch(edges, unseen, n > 0, line)
        observer = unseen
        for i in range(n):
            if line[i] * (ft[observer] + 1.0) > line[observer] * (ft[i] + 1.0):
                observer = i
        covered[unseen] = True
        fetch(edges, observer, n < 0, line)
        for b in range(n):
            covered[b] = covered[b] or line[b] > 0.25
        size += (not inside[unseen]) + (observer != unseen and not inside[observer])
        inside[unseen] = inside[observer] = True


@part
def _fill(ft: Floats, members: Members, v: Floats, a: Floats) -> None:
    """Copy the subgraph among the members into the work arrays."""
    n = v.shape[1]
    for i in range(n):
        v[FT, i] = ft[members.actions[i]]
        for j in range(n):
            a[GRAPH, i, j] = members.rows[i, members.actions[j]]
            a[SEEN_BY, i, j] = members.columns[i, members.actions[j]]
        v[LOOPS, i] = a[GRAPH, i, i]
        a[GRAPH, i, i] = a[SEEN_BY, i, i] = 0.0


@part
def _price(
    ft: Floats,
    members: Members,
    inside: Flags,
    v: Floats,
    best: Best,
    revealed: Floats,
    blame: Floats,
) -> tuple[float, float, float]:
    """Value, rounded-up value and bound over all actions; fills both arrays for all."""
    n, size = ft.size, v.shape[1]
    value, upper, least = best.value, best.upper, best.least
    if size == n:
        return value, upper, best.lower
    revealed[:] = 0.0
    blame[:] = 0.0
    for k in range(size):
        p_k, h_k, row, column = v[BEST_P, k], v[BEST_H, k], members.rows[k], members.columns[k]
        for b in range(n):
            revealed[b] += p_k * row[b]
            blame[b] += h_k * column[b]
    error = (size + OPERATIONS) * ROUNDING
    common = 0.0
    for k in range(size):
        p_k = v[BEST_P, k]
        common += p_k * (v[FT, k] + p_k / revealed[members.actions[k]])
    for b in range(n):
        if not inside[b]:
            part = 1.0 / revealed[b]
            value = max(value, common + (part - ft[b]))
            upper = max(upper, common + (part - ft[b]) + error * (common + part + ft[b]))
            least = min(least, ft[b] - blame[b] - error * (ft[b] + blame[b]))
    return value, upper, best.price + least


@part
def _add_helpers(ft: Floats, best: Best, slack: float, inside: Flags, blame: Floats) -> int:
    """Let in those whose weight would lower the value most; return how many."""
    limit = max(8, _count(inside))
    for arrived in range(limit):
        helper, most = -1, -slack
        for b in range(ft.size):
            if not inside[b] and best.least - (ft[b] - blame[b]) > most:
                helper, most = b, best.least - (ft[b] - blame[b])
        if helper < 0:
            return arrived
        inside[helper] = True
    return limit


@inlined
def _levels(v: Floats) -> tuple[float, float, float]:
    """The two constants of the equations, and the mean product; see `newton`."""
    n = v.shape[1]
    head = anchor = 0
    mu = 0.0
    for i in range(n):
        if v[P, i] > v[P, head]:
            head = i
        if v[Q, i] * v[S, anchor] > v[Q, anchor] * v[S, i]:
            anchor = i
        mu += (v[P, i] * v[M, i] + v[Q, i] * v[S, i]) / (2 * n)
    return v[G, head] - v[M, head], v[S, anchor] + v[C, anchor], mu


@part
def _carry_over(
    ft: Floats,
    state: Floats,
    levels: tuple[float, float, float],
    members: Members,
    revealed: Floats,
    blame: Floats,
    v: Floats,
) -> None:
    """Old members keep their place; newcomers enter with the same product as everybody."""
    gradient_level, constraint_level, mu = levels
    size = v.shape[1]
    old = state.shape[1]
    for k in range(old):
        for row in range(4):
            v[P + row, k] = state[row, k]
    for k in range(old, size):
        b = members.actions[k]
        least = 0.1 * (1.0 + ft[b])
        v[S, k] = max(abs(constraint_level - 1.0 / revealed[b] + ft[b]), least)
        v[M, k] = max(abs(ft[b] - blame[b] - gradient_level), least)
        v[Q, k] = mu / v[S, k]
        v[P, k] = mu / v[M, k]
    sum_p = sum_q = 0.0
    for k in range(size):
        sum_p += v[P, k]
        sum_q += v[Q, k]
    for k in range(size):
        v[P, k] /= sum_p
        v[Q, k] /= sum_q
