"""Where each quantity of the interior-point method lies in its two work arrays.

All vectors of a program over n actions are rows of one (VECTORS, n) array `v`, all matrices
slices of one (MATRICES, n, n) array `a`. Two arrays instead of forty keep the compiled functions
quick to compile and quick to call, and one flat block can be used again by every program.
"""

import numpy as np
from numpy.typing import NDArray

from graphcb.compilation import inlined

Floats = NDArray[np.float64]

VECTORS = 27
(
    FT,  # gamma * (f - min f)
    LOOPS,  # diagonal of the graph
    P,  # probabilities
    Q,  # multipliers of the constraints, on the simplex
    S,  # slacks of the constraints
    M,  # multipliers of p >= 0
    DP,  # Newton's steps in the four
    DQ,
    DS,
    DM,
    W_OTHERS,  # W = graph.T @ p without the action's own part
    W,
    U,  # p - q
    K,  # q (1 - q)
    H,  # (u^2 + k) / W^2
    C,  # the constraints (1 - 2 p) / W - ft
    G,  # gradient of the Lagrangian in p
    TO_S,  # change of s q that is aimed for
    TO_M,  # change of p m that is aimed for
    ROOT,  # (q / s)^(1/2)
    FLAT,  # diagonal part of the curvature
    MEAN,  # sum of the constraints' slopes, weighted by q / s
    RESIDUAL,  # s + c relative to the anchor
    RIGHT,  # right-hand side, then solution
    SPARE,
    BEST_P,  # p of the best value so far
    BEST_H,  # h of the best bound so far
) = range(VECTORS)

MATRICES = 5
(
    GRAPH,  # what i reveals of j; the diagonal is zero and lies in LOOPS
    SEEN_BY,  # its transpose
    NEWTON,  # the matrix of the Newton system
    CURVE,  # row i: curvature of the term of action i
    SLOPE,  # row a: gradient of constraint a
) = range(MATRICES)


def room_for(n_actions: int) -> Floats:
    """A flat block large enough for a program of this size."""
    return np.empty(n_actions * VECTORS + n_actions * n_actions * MATRICES)


@inlined
def vectors(block: Floats, n: int) -> Floats:
    """The (VECTORS, n) array at the start of a block."""
    return block[: n * VECTORS].reshape(VECTORS, n)


@inlined
def matrices(block: Floats, n: int) -> Floats:
    """The (MATRICES, n, n) array behind the vectors."""
    return block[n * VECTORS : n * VECTORS + n * n * MATRICES].reshape(MATRICES, n, n)
