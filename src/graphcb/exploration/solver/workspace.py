"""The work arrays of the interior-point method, and the names of their rows.

All vectors of a program over n actions are rows of one (VECTORS, n) array `v`; all matrices are
slices of one (MATRICES, n, n) array `a`. Kernels bind the rows they use at their head,

    p, q, s, m = v[at.P], v[at.Q], v[at.S], v[at.M]  # this module is imported as `at`

and then read as formulas. Two arrays instead of forty keep kernels quick to compile and to call,
and one flat block of memory serves every program. The types of all kernels' arrays are here too.

The only order that anything relies on is that CURVES comes directly before SLOPES; see
`squares`.
"""

import numpy as np
from numpy.typing import NDArray

from graphcb.compilation import inlined

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

VECTORS = 27
(
    # the program
    FT,  # scaled gaps gamma * (f - min f)
    LOOPS,  # G_ii, the diagonal of the graph
    # the iterate
    P,  # primal: the probabilities
    Q,  # dual: multipliers of the constraints c_b(p) + s_b = level, on the simplex
    S,  # primal: slacks of the constraints
    M,  # dual: multipliers of p >= 0
    # the Newton direction
    DP,
    DQ,
    DS,
    DM,
    # functions of the iterate, filled by `certificate.evaluate`
    W_OTHERS,  # sum_{j != i} G_ji p_j
    W,  # sum_j G_ji p_j, the probability that i is revealed
    U,  # p - q
    K,  # q (1 - q)
    H,  # (u^2 + k) / W^2
    C,  # the constraints (1 - 2 p) / W - ft
    G,  # the gradient of the Lagrangian in p
    # the Newton system
    TO_S,  # the change of s q that the direction aims for
    TO_M,  # the change of p m that the direction aims for
    ROOT,  # (q / s)^(1/2)
    FLAT,  # the diagonal part of the curvature
    MEAN,  # sum_b ROOT_b SLOPES_b
    RESIDUAL,  # of s + c = level, relative to the anchor
    RIGHT,  # the right-hand side, then the solution
    SPARE,
    # the incumbent
    BEST_P,  # p of the best value so far
    BEST_H,  # h of the best bound so far
) = range(VECTORS)

MATRICES = 5
(
    GRAPH,  # [i, j]: G_ij, the probability that i reveals j; the diagonal is zero, see LOOPS
    SEEN_BY,  # its transpose
    NEWTON,  # the reduced Newton matrix, then its Cholesky factor
    CURVES,  # row i: the curvature of the term of action i is the square of this row
    SLOPES,  # row b: the gradient of constraint b, times ROOT_b
) = range(MATRICES)


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
