"""The active-set method with limits: `solver.active_set`, where actions outside stay at floors.

An action outside the set has p_b = l_b and q_b = 0; its floor reveals what it reveals, and its term
l_b^2 / W_b stays in the program. The first set covers the graph by actions that can be played, has
room for all of the probability that floors leave, and holds the actions of some point that is well
within the linear limits, so that the restricted program is feasible.
"""

import numpy as np

from graphcb.compilation import inlined, inner
from graphcb.exploration.solver.active_set import (
    BOLD_STEPS,
    CAREFULLY,
    COLD,
    FIRST_ROOM,
    NEARBY,
    ROUGH,
    WARM,
    _continue_with_all,
    _start_with_all,
)
from graphcb.exploration.solver.covering import COVERED, LARGEST_SYSTEM
from graphcb.exploration.solver.edges import Edges, fetch
from graphcb.exploration.solver.interior_point import BOLD, CAREFUL
from graphcb.exploration.solver.limited.interior_point import advance, mean_product
from graphcb.exploration.solver.limited.pricing import admit_helpers, mark_satisfied, price
from graphcb.exploration.solver.limited.warm_start import (
    LimitedIterate,
    keep_iterate,
    warm_start,
)
from graphcb.exploration.solver.limited.workspace import Box, Work, at_least, lay_out_limited
from graphcb.exploration.solver.restriction import (
    COLUMN,
    ROW,
    Active,
    admit,
    count,
    lay_out,
    room_for_active,
)
from graphcb.exploration.solver.workspace import BEST_P, Flags, Floats
from graphcb.graphs.formulas import Outcome, is_within

AMPLE = 2.0  # room below the caps of the active actions, relative to what they must hold

LESS_NEAR = 1e4  # NEARBY with linear limits, where a cold start takes many steps

SOME = 1e-12  # probability from which an action of the inner point counts


@inlined
def solve_scaled(
    ft: Floats,
    edges: Edges,
    box: Box,
    tolerance: float,
    max_steps: int,
    block: Floats,
    p_out: Floats,
) -> Outcome:
    """Solve the program of the scaled gaps `ft`; write the probabilities to `p_out`."""
    n = ft.size
    inside, covered = np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
    revealed, reduced, line = np.empty(n), np.empty(n), np.empty(n)
    active = room_for_active(min(n, FIRST_ROOM), n)
    kept = LimitedIterate(np.empty((6, 0)), np.empty((2, 0)), 0.0, 0.0, 0.0)  # none yet
    value = upper = np.inf
    lower = 0.0
    size = steps = passes = int(0)
    start, goal = COLD, max(tolerance, ROUGH)
    nearby = NEARBY if box.bound.size == 0 else LESS_NEAR
    complete = _start_with_all(ft)
    while True:
        # START, or ENLARGE
        if not complete:
            cover(ft, edges, box, covered, inside, line)
            if passes == 0 and box.bound.size > 0:
                admit_cheapest(ft, box, inside)
            admit_room(ft, box, inside)
            complete = _continue_with_all(passes, covered, inside)
        if complete:
            inside[:] = True
            goal = tolerance
        known = size
        size, active = admit(edges, inside, size, active)
        if start != WARM or size > known:
            block = at_least(block, size)
            work = lay_out_limited(ft, active, size, inside, box, block)
            lay_out(ft, active, work.v, work.a)
        if start == WARM and size > known:
            warm_start(ft, active.actions, kept, box, revealed, reduced, work)
        # SOLVE
        left = max_steps - steps
        limit = left if start == CAREFULLY else min(BOLD_STEPS, left)
        caution = CAREFUL if start == CAREFULLY else BOLD
        best, taken = advance(work, start != WARM, goal, tolerance, limit, caution)
        steps += taken
        passes += 1
        # PRICE
        slack = 0.25 * max(best.upper - best.lower, 0.0)
        found = price(ft, edges, active, inside, box, work, best, slack, revealed, reduced, line)
        if found.upper < upper:
            value, upper = found.value, found.upper
            publish(work, active, box, p_out)
        lower = max(lower, found.lower)
        proven = is_within(value, upper, lower, tolerance)
        if proven or steps >= max_steps or start == CAREFULLY:
            return Outcome(value, upper, lower, steps, start == CAREFULLY, size)
        # ENLARGE
        stuck = not is_within(best.value, best.upper, best.lower, goal)
        helpers, settled = 0, False
        if not stuck:
            if size < n:
                mark_satisfied(ft, best, slack, inside, box, revealed, covered)
                helpers = admit_helpers(best, slack, inside, box, reduced)
            else:
                covered[:] = True
            settled = helpers == 0 and count(covered) == n
        far = not is_within(best.value, found.upper, found.lower, nearby)
        start = COLD if far else WARM
        if stuck or (settled and goal == tolerance):  # RESTART
            start = CAREFULLY if complete or n > LARGEST_SYSTEM else COLD
            complete = n <= LARGEST_SYSTEM
        elif settled:  # TIGHTEN
            goal = tolerance
        if start == WARM:
            kept = keep_iterate(work, mean_product(work))


@inner
def cover(ft: Floats, edges: Edges, box: Box, covered: Flags, inside: Flags, line: Floats) -> None:
    """`covering.cover` by actions that can be played more than their floor."""
    n = ft.size
    size = count(inside)
    while 2 * size <= min(n, LARGEST_SYSTEM):
        unseen = -1
        for b in range(n):
            if not covered[b] and (unseen < 0 or ft[b] < ft[unseen]):
                unseen = b
        if unseen < 0:
            return
        fetch(edges, unseen, bool(COLUMN), line)
        observer, most = -1, 0.0
        for i in range(n):
            gain = line[i] * min(box.span[i], 1.0)
            if gain > 0.0 and (observer < 0 or gain * (ft[observer] + 1.0) > most * (ft[i] + 1.0)):
                observer, most = i, gain
        covered[unseen] = True
        size += not inside[unseen]
        inside[unseen] = True
        if observer >= 0:
            fetch(edges, observer, bool(ROW), line)
            for b in range(n):
                covered[b] = covered[b] or line[b] > COVERED
            size += not inside[observer]
            inside[observer] = True


@inner
def admit_cheapest(ft: Floats, box: Box, inside: Flags) -> None:
    """Admit the cheapest actions that others do not replace: no cheaper one fills the limits less.

    At a large gamma the answer is mostly a linear program, and these are where it is solved.
    """
    n, n_limits = box.rows.shape[1], box.bound.size
    replaced = np.zeros(n, dtype=np.bool_)
    for b in range(n):
        replaced[b] = not box.span[b] > 0.0
    for _ in range(2 * (n_limits + 1)):
        best = -1
        for b in range(n):
            if not replaced[b] and (best < 0 or ft[b] < ft[best]):
                best = b
        if best < 0:
            return
        inside[best] = True
        for b in range(n):
            if not replaced[b]:
                less = False
                for r in range(n_limits):
                    change = box.rows[r, b] - box.rows[r, best]
                    less = less or change < 0.0 or (box.equal[r] != 0.0 and change != 0.0)
                replaced[b] = not less


@inner
def admit_room(ft: Floats, box: Box, inside: Flags) -> None:
    """Admit the actions of the inner point, and the best ones until caps leave ample room."""
    n = ft.size
    for b in range(n):
        inside[b] = inside[b] or (box.inner[b] > SOME and box.span[b] > 0.0)
    room = 0.0
    for b in range(n):
        if inside[b]:
            room += min(box.span[b], AMPLE * box.mass)
    while room < AMPLE * box.mass:
        cheapest = -1
        for b in range(n):
            if not inside[b] and box.span[b] > 0.0 and (cheapest < 0 or ft[b] < ft[cheapest]):
                cheapest = b
        if cheapest < 0:
            return
        inside[cheapest] = True
        room += min(box.span[cheapest], AMPLE * box.mass)


@inner
def publish(work: Work, active: Active, box: Box, p_out: Floats) -> None:
    """Write p to the places of the active actions, floors elsewhere, all within the limits."""
    p = work.v[BEST_P]
    for b in range(p_out.size):
        p_out[b] = box.lower[b]
    for k in range(p.size):
        b = active.actions[k]
        p_out[b] = max(box.lower[b], min(p[k], box.lower[b] + box.span[b]))
