"""The work arrays of the interior-point method, and the names of their rows.

All vectors of a program over n actions are rows of one (VECTORS, n) array `v`; all matrices are
slices of one (MATRICES, n, n) array `a`. Kernels bind the rows they use at their head,

    p, q, s, m = v[at.P], v[at.Q], v[at.S], v[at.M]  # this module is imported as `at`

and then read as formulas. Two arrays instead of forty keep kernels quick to compile and to call,
and one flat block of memory serves every program. The types of all kernels' arrays are here too.

A program with limits has a `Box` over all actions, and a `LimitWork` beside `v` and `a`. Without
limits both are None: numba drops what stands behind `limits is not None` when it compiles for the
type of None, so that one source is two machine codes (docs/decisions/0036).

The only order that anything relies on is that CURVES comes directly before SLOPES, see `squares`;
that the rows of a `Box` come first; and EQUAL and BOUND, which it has too.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.compilation import inlined

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

VECTORS = 38
(
    # the limits: in a box over all actions, in `v` over the active ones
    FLOOR,
    SPAN,  # cap - floor; infinite without a cap, 0 if the action is fixed
    BASE,  # what the floors of the others reveal: sum_{j != i} G_ji floor_j
    INNER,  # p - floor of a point well within the linear limits
    # the program
    FT,  # scaled gaps gamma * (f - min f)
    LOOPS,  # G_ii, the diagonal of the graph
    # the iterate
    P,  # primal: the probabilities
    Q,  # dual: multipliers of the constraints c_b(p) + s_b = level, on the simplex
    S,  # primal: slacks of the constraints
    M,  # dual: multipliers of the floors, p >= 0 without limits
    D,  # primal, with limits: p - floor
    E,  # primal, with limits: cap - p; 1 without a cap
    N,  # dual, with limits: multipliers of the caps; 0 without
    # the Newton direction
    DP,
    DQ,
    DS,
    DM,
    DN,
    # functions of the iterate, filled by `certificate.evaluate`
    W_OTHERS,  # sum_{j != i} G_ji p_j
    W,  # sum_j G_ji p_j, the probability that i is revealed
    U,  # p - q
    K,  # q (1 - q)
    H,  # (u^2 + k) / W^2
    C,  # the constraints (1 - 2 p) / W - ft
    G,  # the gradient of the Lagrangian in p
    REDUCED,  # with limits: the same with the multipliers of the linear ones, rounded down
    # the Newton system
    TO_S,  # the change of s q that the direction aims for
    TO_M,  # the change of p m, or d m, that the direction aims for
    TO_N,  # the change of e n that the direction aims for
    ROOT,  # (q / s)^(1/2)
    FLAT,  # the diagonal part of the curvature
    MEAN,  # sum_b ROOT_b SLOPES_b
    RESIDUAL,  # of s + c = level, relative to the anchor
    RIGHT,  # the right-hand side, then the solution
    SPARE,
    # the incumbent
    BEST_P,  # p of the best value so far
    BEST_H,  # h of the best bound so far
    BEST_REDUCED,  # with limits: REDUCED of the best bound so far
) = range(VECTORS)

MATRICES = 5
(
    GRAPH,  # [i, j]: G_ij, the probability that i reveals j; the diagonal is zero, see LOOPS
    SEEN_BY,  # its transpose
    NEWTON,  # the reduced Newton matrix, then its Cholesky factor
    CURVES,  # row i: the curvature of the term of action i is the square of this row
    SLOPES,  # row b: the gradient of constraint b, times ROOT_b
) = range(MATRICES)

BOX_VECTORS = 7  # of a box: FLOOR, SPAN, BASE, INNER, and
CAP, ALL_BASE, LEFT_OUT = range(4, BOX_VECTORS)
# ALL_BASE: what all floors reveal. LEFT_OUT: 1 for what is never revealed and never played

LINEAR_VECTORS = 10
(
    EQUAL,  # 1 for an equation: y has any sign, and 1 / Z is the weight of what is missed
    BOUND,  # most - row @ floors: what is left for D
    Z,  # primal: slack of row @ D <= BOUND
    Y,  # dual: its multiplier
    DZ,
    DY,
    TO_Z,  # the change of z y that the direction aims for
    MISSED,  # row @ D + Z - BOUND
    STIFFNESS,  # by how much the multiplier rises with what is missed: Y / Z, or 1 / Z
    BEST_Y,  # Y of the best bound so far
) = range(LINEAR_VECTORS)

PASSIVE_VECTORS = 6
(
    PASSIVE_FLOOR,
    PASSIVE_BASE,  # what all floors reveal of it
    PASSIVE_W,
    PASSIVE_T,  # floor / W
    PASSIVE_H,  # (floor / W)^2
    BEST_PASSIVE_T,  # of the best bound so far
) = range(PASSIVE_VECTORS)


class Box(NamedTuple):
    """The limits of one program over all actions, and what the floors alone reveal."""

    of_actions: Floats  # (BOX_VECTORS, n)
    rows: Floats  # (r, n) the linear limits: rows @ p <= most
    linear: Floats  # (2, r) EQUAL and BOUND
    mass: float  # 1 - sum of the floors


class LimitWork(NamedTuple):
    """What limits add to the work arrays of one restricted program."""

    rows: Floats  # (r, n) the linear limits on the active actions
    tilts: Floats  # (r, n) the same relative to the pivot, scaled for the Newton matrix
    linear: Floats  # (LINEAR_VECTORS, r)
    passive: Floats  # (PASSIVE_VECTORS, m) actions outside the set with a positive floor
    seen: Floats  # (n, m) the probability that an active action reveals a passive one
    bends: Floats  # (m, n) the curvature of their terms, where it counts
    outside: Indices  # (m,) which actions they are
    mass: float  # sum of D
    idle: float  # sum of the floors of the passive actions
    paid: float  # sum of their floors times their gaps
    error: float  # relative rounding of a sum


def room_for(n_actions: int) -> Floats:
    """A flat block large enough for a program with this many actions."""
    return np.empty(n_actions * VECTORS + n_actions * n_actions * MATRICES)


@inlined
def at_least(block: Floats, n: int) -> Floats:
    """The block itself, or a larger one if it is too small for n actions."""
    size = n * VECTORS + n * n * MATRICES
    return block if block.size >= size else np.empty(size + size // 2)


@inlined
def vectors(block: Floats, n: int) -> Floats:
    """The (VECTORS, n) array at the start of a block."""
    return block[: n * VECTORS].reshape(VECTORS, n)


@inlined
def matrices(block: Floats, n: int) -> Floats:
    """The (MATRICES, n, n) array that follows the vectors."""
    return block[n * VECTORS : n * VECTORS + n * n * MATRICES].reshape(MATRICES, n, n)


@inlined
def squares(a: Floats, n: int) -> Floats:
    """CURVES and SLOPES as one (2 n, n) array: the Newton matrix is a sum of its rows' squares."""
    return a[CURVES : SLOPES + 1].reshape(2 * n, n)
