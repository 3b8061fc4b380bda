"""The active-set method: solve on a few actions, prove it for all, enlarge the set if that fails.

If p and q vanish outside a set of actions, the program is the same program on the subgraph among
them, and usually a handful of actions matter. This is column generation, with a certificate over
all actions, so that a bad choice of the set costs time and never the proof:

    START     choose a few actions that together see all others (`covering`)
    SOLVE     the restricted program, roughly at first (`restriction`, `interior_point`)
    PRICE     all other actions in O(n_actions * active) (`pricing`); stop if the gap is closed
    ENLARGE   by the actions that would lower the value, and a cover of those whose constraint is
              broken; SOLVE from the present iterate, or from a cold start if that is far off
    TIGHTEN   if there are none: SOLVE to the tolerance
    RESTART   if there are none even then, or the steps are stuck: SOLVE from a cold start with all
              actions and, if that was done already, once more with careful steps

At most LARGEST_SYSTEM actions are ever solved together. With limits on p, actions outside the set
stay at their floors (`passive`), and a set is enlarged until the restricted program is feasible.
"""

import numpy as np

from graphcb.compilation import inlined
from graphcb.exploration.solver.covering import LARGEST_SYSTEM, admit_feasible, cover
from graphcb.exploration.solver.edges import Edges
from graphcb.exploration.solver.interior_point import BOLD, CAREFUL, advance
from graphcb.exploration.solver.linear_limits import room_for_linear
from graphcb.exploration.solver.pricing import admit_helpers, mark_satisfied, price
from graphcb.exploration.solver.restriction import (
    admit,
    count,
    lay_out,
    lay_out_limits,
    publish,
    room_for_active,
)
from graphcb.exploration.solver.warm_start import Iterate, keep_iterate, warm_start
from graphcb.exploration.solver.workspace import (
    BEST_P,
    Box,
    Flags,
    Floats,
    at_least,
    matrices,
    vectors,
)
from graphcb.graphs.formulas import Outcome, is_within

DIRECT = 4  # so few actions are all active from the start
MODERATE = 100  # up to this many are all active from the start if a third rival the best
RIVAL = 3.0  # scaled gap up to which an action rivals the best
PASSES = 6  # after this many passes all actions are active
FIRST_ROOM = 16  # active actions for which there is room from the start
ROUGH = 0.02  # the first goal for the gap, relative to 1 + value
NEARBY = 1.0  # gap over all actions, relative to 1 + value, up to which a warm start pays
LESS_NEAR = 1e4  # the same with linear limits, where a cold start takes many steps
BOLD_STEPS = 45  # a start that has not converged by then begins again, carefully

COLD, WARM, CAREFULLY = range(3)  # how the restricted program is started


@inlined
def solve_scaled(
    ft: Floats,
    edges: Edges,
    box: Box | None,
    tolerance: float,
    max_steps: int,
    block: Floats,
    p_out: Floats,
) -> Outcome:
    """Solve the program of the scaled gaps `ft`; write the probabilities to `p_out`."""
    n = ft.size
    inside, covered = np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
    revealed, gradient, line = np.zeros(n), np.empty(n), np.empty(n)
    active = room_for_active(min(n, FIRST_ROOM), n)
    linear = room_for_linear(box)
    kept = Iterate(np.empty((6, 0)), 0.0, 0.0, 0.0)  # none yet
    value = upper = np.inf
    lower = 0.0
    size = steps = passes = int(0)
    start, goal = COLD, max(tolerance, ROUGH)
    nearby = NEARBY if box is None or box.rows.shape[0] == 0 else LESS_NEAR
    complete = _start_with_all(ft)
    while True:
        # START, or ENLARGE
        if not complete:
            cover(ft, edges, box, covered, inside, line)
            if box is not None:
                admit_feasible(ft, box, passes == 0, inside)
            complete = _continue_with_all(passes, covered, inside)
        if complete:
            inside[:] = True
            goal = tolerance
        known = size
        size, active = admit(edges, inside, size, active)
        block = at_least(block, size)
        v, a = vectors(block, size), matrices(block, size)
        if start != WARM or size > known:
            lay_out(ft, active, v, a)
            limits = lay_out_limits(ft, active, inside, box, linear, v)
        if start == WARM and size > known:
            warm_start(ft, active.actions, kept, box, limits, revealed, gradient, v)
        # SOLVE
        left = max_steps - steps
        limit = left if start == CAREFULLY else min(BOLD_STEPS, left)
        caution = CAREFUL if start == CAREFULLY else BOLD
        best, taken = advance(v, a, limits, start != WARM, goal, tolerance, limit, caution)
        steps += taken
        passes += 1
        # PRICE
        slack = 0.25 * max(best.upper - best.lower, 0.0)
        found = price(ft, edges, active, inside, box, v, limits, best, slack, revealed, gradient)
        if found.upper < upper:
            value, upper = found.value, found.upper
            publish(v[BEST_P], active, box, p_out)
        lower = max(lower, found.lower)
        proven = is_within(value, upper, lower, tolerance)
        if proven or steps >= max_steps or start == CAREFULLY:
            return Outcome(value, upper, lower, steps, start == CAREFULLY, size)
        # ENLARGE
        stuck = not is_within(best.value, best.upper, best.lower, goal)
        mark_satisfied(ft, box, best, slack, inside, revealed, covered)
        helpers = 0 if stuck else admit_helpers(best, box, slack, inside, gradient)
        settled = helpers == 0 and count(covered) == n
        far = not is_within(best.value, found.upper, found.lower, nearby)
        start = COLD if far else WARM
        if stuck or (settled and goal == tolerance):  # RESTART
            start = CAREFULLY if complete or n > LARGEST_SYSTEM else COLD
            complete = n <= LARGEST_SYSTEM
        elif settled:  # TIGHTEN
            goal = tolerance
        if start == WARM:
            kept = keep_iterate(v, limits)


@inlined
def _start_with_all(ft: Floats) -> bool:
    """Whether choosing would cost more than it saves: few actions, or many that rival the best."""
    n, rivals = ft.size, 0
    for b in range(n):
        rivals += ft[b] <= RIVAL
    return n <= DIRECT or (n <= MODERATE and 3 * rivals > n)


@inlined
def _continue_with_all(passes: int, covered: Flags, inside: Flags) -> bool:
    """Whether the set is nearly everything already, or has been enlarged often enough."""
    n = inside.size
    large = passes > PASSES or count(covered) < n or 10 * count(inside) > 7 * n
    return large and n <= LARGEST_SYSTEM
