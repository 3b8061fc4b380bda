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

from graphcb.compilation import compiled
from graphcb.exploration.certificate import OPERATIONS, ROUNDING
from graphcb.exploration.edges import Edges, add_columns, add_row, entry
from graphcb.exploration.interior_point import BOLD, CAREFUL, Best, advance, begin
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

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

ALIKE = 3.0  # scaled gap up to which an action rivals the best
MODERATE = 100  # so many are solved together if many rival the best
DIRECT = 12  # so few actions are solved together at once
PASSES = 6  # after so many, all actions come in
ROUGH = 0.02  # gap at which the others are priced for the first time
NEARBY = 1.0  # gap over all actions up to which the method goes on from where it stands
BOLD_STEPS = 45  # a start that has not arrived by then begins again, carefully


class Outcome(NamedTuple):
    """Proven bounds on gamma * DEC, and what they took."""

    value: float
    upper: float
    lower: float
    steps: int
    restarted: bool
    n_chosen: int


@compiled
def solve_scaled(
    ft: Floats, edges: Edges, tolerance: float, max_steps: int, block: Floats, p_out: Floats
) -> Outcome:
    """Solve for ft = gamma * (f - min f); writes the probabilities to `p_out`."""
    n = ft.size
    inside = np.zeros(n, dtype=np.bool_)
    alike = 0
    for b in range(n):
        alike += ft[b] <= ALIKE
    if n <= DIRECT or (3 * alike > n and n <= MODERATE):
        inside[:] = True
    else:
        covered = np.zeros(n, dtype=np.bool_)
        _cover(ft, edges, covered, inside)
        if not covered.all():
            inside[:] = True
    chosen = np.flatnonzero(inside).astype(np.int64)
    block = _enough(block, chosen.size)
    v, a = vectors(block, chosen.size), matrices(block, chosen.size)
    _fill(ft, edges, chosen, v, a)
    begin(v, a)
    value = upper = np.inf
    lower = -np.inf
    steps = passes = 0
    goal = tolerance if chosen.size == n else max(tolerance, ROUGH)
    revealed, blame = np.empty(n), np.empty(n)
    while chosen.size < n:
        best = advance(v, a, goal, tolerance, min(BOLD_STEPS, max_steps - steps), BOLD)
        steps += best.steps
        priced = _price(ft, edges, chosen, inside, v, best, revealed, blame)
        if priced[1] < upper:
            value, upper = priced[0], priced[1]
            _publish(v[BEST_P], chosen, p_out)
        lower = max(lower, priced[2])
        if upper - lower <= tolerance * (1.0 + value) or steps >= max_steps:
            return Outcome(value, upper, lower, steps, False, chosen.size)
        stuck = best.upper - best.lower > goal * (1.0 + best.value)
        slack = 0.25 * max(best.upper - best.lower, 0.0)
        arrived = 0
        if not stuck:
            arrived = _let_in(ft, edges, best, slack, inside, revealed, blame, max(8, chosen.size))
        if arrived == 0 and goal > tolerance and not stuck:
            goal = tolerance
            continue
        passes += 1
        if arrived == 0 or passes >= PASSES or 10 * (chosen.size + arrived) > 7 * n:
            inside[:] = True
        before = chosen
        state = v[P : M + 1].copy()
        levels = _levels(v)
        chosen = np.flatnonzero(inside).astype(np.int64)
        block = _enough(block, chosen.size)
        v, a = vectors(block, chosen.size), matrices(block, chosen.size)
        _fill(ft, edges, chosen, v, a)
        if stuck or not priced[1] - priced[2] < NEARBY * (1.0 + best.value):
            begin(v, a)
        else:
            _carry_over(ft, before, state, levels, chosen, revealed, blame, v)
    best = advance(v, a, tolerance, tolerance, min(BOLD_STEPS, max_steps - steps), BOLD)
    steps += best.steps
    if best.upper < upper:
        value, upper = best.value, best.upper
        _publish(v[BEST_P], chosen, p_out)
    lower = max(lower, best.lower)
    restarted = False
    if upper - lower > tolerance * (1.0 + value) and steps < max_steps:
        restarted = True
        begin(v, a)
        best = advance(v, a, tolerance, tolerance, max_steps - steps, CAREFUL)
        steps += best.steps
        if best.upper < upper:
            value, upper = best.value, best.upper
            _publish(v[BEST_P], chosen, p_out)
        lower = max(lower, best.lower)
    return Outcome(value, upper, lower, steps, restarted, n)


@compiled
def _enough(block: Floats, n: int) -> Floats:
    size = n * VECTORS + n * n * MATRICES
    return block if block.size >= size else np.empty(size + size // 2)


@compiled
def _publish(p: Floats, chosen: Indices, p_out: Floats) -> None:
    """Spread p over all actions; the largest takes what rounding left of the sum."""
    p_out[:] = 0.0
    total = 0.0
    for i in range(chosen.size):
        total += p[i]
    for i in range(chosen.size):
        p_out[chosen[i]] = p[i] / total


@compiled
def _cover(ft: Floats, edges: Edges, covered: Flags, inside: Flags) -> int:
    """Let in the best action that is not covered and its cheapest observer, until all are.

    An action is covered by an observer who sees it at least one time in four. Returns how many
    came in; stops when more than half of all actions are inside.
    """
    n = ft.size
    seen, observed_by = np.zeros(n), np.empty(n)
    unit = np.ones(1)
    column = np.empty(1, dtype=np.int64)
    size = 0
    for b in range(n):
        size += inside[b]
    before = size
    while 2 * size <= n:
        unseen = -1
        for b in range(n):
            if not covered[b] and (unseen < 0 or ft[b] < ft[unseen]):
                unseen = b
        if unseen < 0:
            break
        observed_by[:] = 0.0
        column[0] = unseen
        add_columns(edges, column, unit, observed_by)
        observer = unseen
        for i in range(n):
            if observed_by[i] * (ft[observer] + 1.0) > observed_by[observer] * (ft[i] + 1.0):
                observer = i
        covered[unseen] = True
        add_row(edges, observer, 1.0, seen)
        for b in range(n):
            covered[b] = covered[b] or seen[b] > 0.25
        size += (not inside[unseen]) + (observer != unseen and not inside[observer])
        inside[unseen] = inside[observer] = True
    return size - before


@compiled
def _fill(ft: Floats, edges: Edges, chosen: Indices, v: Floats, a: Floats) -> None:
    """Copy the subgraph among `chosen` into the work arrays."""
    n = chosen.size
    for i in range(n):
        v[FT, i] = ft[chosen[i]]
        for j in range(n):
            chance = entry(edges, chosen[i], chosen[j])
            if i == j:
                v[LOOPS, i] = chance
                chance = 0.0
            a[GRAPH, i, j] = chance
            a[SEEN_BY, j, i] = chance


@compiled
def _price(
    ft: Floats,
    edges: Edges,
    chosen: Indices,
    inside: Flags,
    v: Floats,
    best: Best,
    revealed: Floats,
    blame: Floats,
) -> tuple[float, float, float]:
    """Value, rounded-up value and bound over all actions; fills both arrays for all."""
    revealed[:] = 0.0
    blame[:] = 0.0
    p = v[BEST_P]
    for i in range(chosen.size):
        add_row(edges, chosen[i], p[i], revealed)
    add_columns(edges, chosen, v[BEST_H], blame)
    error = (chosen.size + OPERATIONS) * ROUNDING
    common = 0.0
    for i in range(chosen.size):
        common += p[i] * (v[FT, i] + p[i] / revealed[chosen[i]])
    value, upper, least = best.value, best.upper, best.least
    for b in range(ft.size):
        if not inside[b]:
            part = 1.0 / revealed[b]
            value = max(value, common + (part - ft[b]))
            upper = max(upper, common + (part - ft[b]) + error * (common + part + ft[b]))
            least = min(least, ft[b] - blame[b] - error * (ft[b] + blame[b]))
    return value, upper, best.price + least


@compiled
def _let_in(
    ft: Floats,
    edges: Edges,
    best: Best,
    slack: float,
    inside: Flags,
    revealed: Floats,
    blame: Floats,
    limit: int,
) -> int:
    """Mark as inside who breaks a constraint or would help most; return how many."""
    n = ft.size
    covered = np.empty(n, dtype=np.bool_)
    for b in range(n):
        covered[b] = inside[b] or 1.0 / revealed[b] - ft[b] - best.worst <= -slack
    arrived = _cover(ft, edges, covered, inside)
    for _ in range(limit):
        helper, most = -1, -slack
        for b in range(n):
            if not inside[b] and best.least - (ft[b] - blame[b]) > most:
                helper, most = b, best.least - (ft[b] - blame[b])
        if helper < 0:
            break
        inside[helper] = True
        arrived += 1
    return arrived


@compiled
def _levels(v: Floats) -> tuple[float, float, float]:
    """The two constants of the equations, and the mean product; see `newton`."""
    n = v.shape[1]
    head = np.argmax(v[P])
    anchor = 0
    mu = 0.0
    for i in range(n):
        if v[Q, i] * v[S, anchor] > v[Q, anchor] * v[S, i]:
            anchor = i
        mu += (v[P, i] * v[M, i] + v[Q, i] * v[S, i]) / (2 * n)
    return v[G, head] - v[M, head], v[S, anchor] + v[C, anchor], mu


@compiled
def _carry_over(
    ft: Floats,
    before: Indices,
    state: Floats,
    levels: tuple[float, float, float],
    chosen: Indices,
    revealed: Floats,
    blame: Floats,
    v: Floats,
) -> None:
    """Old members keep their place; newcomers enter with the same product as everybody."""
    gradient_level, constraint_level, mu = levels
    position = 0
    sum_p = sum_q = 0.0
    for i in range(chosen.size):
        b = chosen[i]
        if position < before.size and before[position] == b:
            for row in range(4):
                v[P + row, i] = state[row, position]
            position += 1
        else:
            v[S, i] = max(abs(constraint_level - 1.0 / revealed[b] + ft[b]), 0.1 * (1.0 + ft[b]))
            v[M, i] = max(abs(ft[b] - blame[b] - gradient_level), 0.1 * (1.0 + ft[b]))
            v[Q, i] = mu / v[S, i]
            v[P, i] = mu / v[M, i]
        sum_p += v[P, i]
        sum_q += v[Q, i]
    for i in range(chosen.size):
        v[P, i] /= sum_p
        v[Q, i] /= sum_q
