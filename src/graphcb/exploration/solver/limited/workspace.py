"""The work arrays of the limited program: those of the program without limits, and some more.

The rows of `v` and the slices of `a` begin as in `solver.workspace`. An active action is at
p = L + D with the room E left below its cap; a passive one stays at its floor.
"""

from typing import NamedTuple

import numpy as np

from graphcb.compilation import inlined, inner
from graphcb.exploration.solver import workspace as at
from graphcb.exploration.solver.restriction import Active
from graphcb.exploration.solver.workspace import Flags, Floats, Indices

MORE = 11
(
    L,  # floors
    SPAN,  # cap - floor; infinite without a cap, 0 if the action is fixed
    BASE,  # what the floors of the others reveal: sum_{j != i} G_ji L_j
    D,  # primal: p - floor
    E,  # primal: cap - p, if there is a cap
    N,  # dual: multipliers of the caps
    DN,
    TO_N,  # the change of e n that the direction aims for
    X,  # the unit of a step: D, or 0 if the action is fixed
    REDUCED,  # the gradient with the multipliers of the linear limits, rounded down
    BEST_REDUCED,  # the same for the best bound so far
) = range(at.VECTORS, at.VECTORS + MORE)

LIMIT_VECTORS = 8
(
    EQUAL,  # 1 for an equation: y has any sign, and 1 / Z is the weight of what is missed
    BOUND,  # most - row @ floors: what is left for D
    Z,  # primal: slack of row @ D <= BOUND
    Y,  # dual: its multiplier
    DZ,
    DY,
    TO_Z,  # the change of z y that the direction aims for
    MISSED,  # row @ D + Z - BOUND
) = range(LIMIT_VECTORS)

PASSIVE_VECTORS = 6
(
    PASSIVE_L,
    PASSIVE_BASE,  # what all floors reveal of it
    PASSIVE_W,
    PASSIVE_T,  # L / W
    PASSIVE_H,  # (L / W)^2
    BEST_PASSIVE_T,
) = range(PASSIVE_VECTORS)

SLACK = 4e-10  # linear limits are relaxed by this much, so that there is an interior
NO_WIDTH = 1e-13  # a limit from below and above with less between them is an equation
ALLOWED = 8e-10  # and met to this


class Box(NamedTuple):
    """The limits of one program over all actions, and what the floors alone reveal."""

    lower: Floats  # (n,)
    upper: Floats  # (n,)
    span: Floats  # (n,) cap - floor, infinite without a cap
    rows: Floats  # (r, n)
    bound: Floats  # (r,) most - rows @ lower
    equal: Floats  # (r,) 1 for equations
    mass: float  # 1 - sum of the floors
    others: Floats  # (n,) revealed by the floors of the others
    base: Floats  # (n,) revealed by all floors
    inner: Floats  # (n,) p - floor of a point well within the linear limits
    left_out: Floats  # (n,) 1 for actions that are never revealed and never played


class PackedBox(NamedTuple):
    """A `Box` in few arrays, which are quick to hand over."""

    of_actions: Floats  # (7, n) lower, upper, span, others, base, inner and left_out
    rows: Floats
    of_rows: Floats  # (2, r) bound and equal
    mass: float


@inlined
def unpack(packed: PackedBox) -> Box:
    """The box."""
    a, r = packed.of_actions, packed.of_rows
    return Box(a[0], a[1], a[2], packed.rows, r[0], r[1], packed.mass, a[3], a[4], a[5], a[6])


class Work(NamedTuple):
    """The work arrays of one restricted program."""

    v: Floats  # (VECTORS + MORE, n)
    a: Floats  # (MATRICES, n, n)
    rows: Floats  # (r, n) the linear limits on the active actions
    tilts: Floats  # (r, n) the same relative to the pivot, scaled for the Newton matrix
    limit: Floats  # (LIMIT_VECTORS, r)
    inner: Floats  # (n,) a point well within the linear limits
    best_y: Floats  # (r,) multipliers of the best bound so far
    passive: Floats  # (PASSIVE_VECTORS, m) actions outside the set with a positive floor
    seen: Floats  # (n, m) the probability that an active action reveals a passive one
    bends: Floats  # (m, n) the curvature of their terms, where it counts
    outside: Indices  # (m,) which actions they are
    mass: float  # sum of D
    idle: float  # sum of the floors of the passive actions
    paid: float  # sum of their floors times their gaps
    error: float  # relative rounding of a sum


@inlined
def at_least(block: Floats, n: int) -> Floats:
    """The block itself, or a larger one if it is too small for n active actions."""
    size = n * (at.VECTORS + MORE) + n * n * at.MATRICES
    return block if block.size >= size else np.empty(size + size // 2)


@inner
def lay_out_limited(
    ft: Floats, active: Active, size: int, inside: Flags, box: Box, block: Floats
) -> Work:
    """Work arrays for the first `size` active actions; the large ones are in `block`."""
    n, r = ft.size, box.bound.size
    first = (at.VECTORS + MORE) * size
    v = block[:first].reshape(at.VECTORS + MORE, size)
    a = block[first : first + at.MATRICES * size * size].reshape(at.MATRICES, size, size)
    m = 0
    for b in range(n):
        m += not inside[b] and box.lower[b] > 0.0
    work = Work(
        v, a, np.empty((r, size)), np.empty((r, size)),
        np.empty((LIMIT_VECTORS, r)), np.empty(size), np.zeros(r),
        np.empty((PASSIVE_VECTORS, m)), np.empty((size, m)), np.empty((m, size)),
        np.empty(m, dtype=np.int64), box.mass, *_add_up_floors(ft, box, inside),
        (2 * n + r + 16) * 2.0**-53,
    )  # fmt: skip
    for k in range(size):
        v[L, k], v[SPAN, k] = box.lower[active.actions[k]], box.span[active.actions[k]]
        v[BASE, k] = box.others[active.actions[k]]
        work.inner[k] = box.inner[active.actions[k]]
        for i in range(r):
            work.rows[i, k] = box.rows[i, active.actions[k]]
    for i in range(r):
        work.limit[BOUND, i], work.limit[EQUAL, i] = box.bound[i], box.equal[i]
    i = 0
    for b in range(n):
        if not inside[b] and box.lower[b] > 0.0:
            work.outside[i] = b
            work.passive[PASSIVE_L, i] = box.lower[b]
            work.passive[PASSIVE_BASE, i] = box.base[b]
            i += 1
    for k in range(size):
        for i in range(m):
            work.seen[k, i] = active.reveal[k, work.outside[i]]
    return work


@inner
def _add_up_floors(ft: Floats, box: Box, inside: Flags) -> tuple[float, float]:
    """The sum of the floors of passive actions, and of what they cost."""
    idle = paid = 0.0
    for b in range(inside.size):
        if not inside[b]:
            idle += box.lower[b]
            paid += box.lower[b] * ft[b]
    return idle, paid
