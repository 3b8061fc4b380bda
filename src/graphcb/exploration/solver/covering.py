"""The first active set, and what enters with an action: a greedy cover of the graph.

A probability must be positive for some observer of every action, or W vanishes and the value is
infinite. So an action enters together with its cheapest observer.

With limits, an observer is one that can be played more than its floor. The set then has room for
all of the probability that floors leave, and holds the actions of some point that is well within
the linear limits, so that the restricted program is feasible.
"""

import numpy as np

from graphcb.compilation import inlined, inner
from graphcb.exploration.solver import workspace as at
from graphcb.exploration.solver.edges import Edges, fetch
from graphcb.exploration.solver.restriction import COLUMN, ROW, count
from graphcb.exploration.solver.workspace import Box, Flags, Floats

LARGEST_SYSTEM = 4000  # more actions are never solved together: 0.6 GB
COVERED = 0.25  # an action is covered by an observer that reveals it at least this often
AMPLE = 2.0  # room below the caps of the active actions, relative to what they must hold
SOME = 1e-12  # probability from which an action of the inner point counts


@inner
def cover(
    ft: Floats, edges: Edges, box: Box | None, covered: Flags, inside: Flags, line: Floats
) -> None:
    """Admit the best action that is not covered and its cheapest observer, until all are covered.

    The cheapest observer i of b has the largest G_ib / (1 + ft_i), times the room below its cap.
    Stops early when more than half of all actions are inside. `line` is overwritten.
    """
    n = ft.size
    size = count(inside)
    while 2 * size <= min(n, LARGEST_SYSTEM):
        unseen = int(-1)
        for b in range(n):
            if not covered[b] and (unseen < 0 or ft[b] < ft[unseen]):
                unseen = b
        if unseen < 0:
            return
        fetch(edges, unseen, bool(COLUMN), line)
        if box is not None:
            _weigh_by_room(box, line)
        observer = unseen if box is None else 0
        for i in range(n):
            if line[i] * (ft[observer] + 1.0) > line[observer] * (ft[i] + 1.0):
                observer = i
        covered[unseen] = True
        size += not inside[unseen]
        inside[unseen] = True
        if box is None or line[observer] > 0.0:  # it can be played
            fetch(edges, observer, bool(ROW), line)
            for b in range(n):
                covered[b] = covered[b] or line[b] > COVERED
            size += not inside[observer]
            inside[observer] = True


@inlined
def _weigh_by_room(box: Box, line: Floats) -> None:
    span = box.of_actions[at.SPAN]
    for i in range(line.size):
        line[i] *= min(span[i], 1.0)


@inner
def admit_feasible(ft: Floats, box: Box, first: bool, inside: Flags) -> None:
    """Admit what makes the restricted program feasible; at first, also what is likely to matter."""
    if first and box.rows.shape[0] > 0:
        _admit_cheapest(ft, box, inside)
    _admit_room(ft, box, inside)


@inner
def _admit_cheapest(ft: Floats, box: Box, inside: Flags) -> None:
    """Admit the cheapest actions that others do not replace: no cheaper one fills the limits less.

    At a large gamma the answer is mostly a linear program, and these are where it is solved.
    """
    n, n_limits = ft.size, box.rows.shape[0]
    span, equal = box.of_actions[at.SPAN], box.linear[at.EQUAL]
    replaced = np.zeros(n, dtype=np.bool_)
    for b in range(n):
        replaced[b] = not span[b] > 0.0
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
                    less = less or change < 0.0 or (equal[r] != 0.0 and change != 0.0)
                replaced[b] = not less


@inner
def _admit_room(ft: Floats, box: Box, inside: Flags) -> None:
    """Admit the actions of the inner point, and the best ones until caps leave ample room."""
    n, span, inner_point = ft.size, box.of_actions[at.SPAN], box.of_actions[at.INNER]
    for b in range(n):
        inside[b] = inside[b] or (inner_point[b] > SOME and span[b] > 0.0)
    room = 0.0
    for b in range(n):
        if inside[b]:
            room += min(span[b], AMPLE * box.mass)
    while room < AMPLE * box.mass:
        cheapest = -1
        for b in range(n):
            if not inside[b] and span[b] > 0.0 and (cheapest < 0 or ft[b] < ft[cheapest]):
                cheapest = b
        if cheapest < 0:
            return
        inside[cheapest] = True
        room += min(span[cheapest], AMPLE * box.mass)
