"""The rivals of `solve_dec`: Clarabel called directly, and the paper's own modelling in cvxpy."""

import time
import warnings
from typing import Any

import clarabel
import cvxpy
import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def clarabel_seconds(losses: Floats, matrix: Floats, gamma: float) -> tuple[Floats, float]:
    """Probabilities, and the seconds inside Clarabel; building its matrices is not counted.

    Variables are p, own_i >= p_i^2 / W_i, miss_i >= (1 - p_i)^2 / W_i and the worst comparator,
    which is at least miss_a + sum_{i != a} own_i - ft_a. Losses and graph are scaled by the
    square root of gamma each, as the paper does.
    """
    n = losses.size
    root = np.sqrt(gamma)
    ft = root * (losses - losses.min())
    seen = root * matrix.T
    none, identity, ones = np.zeros((n, n)), np.eye(n), np.ones((n, 1))
    cones: list[Any] = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(2 * n)]
    cones += [clarabel.SecondOrderConeT(3)] * (2 * n)
    rows = [
        np.hstack([np.ones((1, n)), np.zeros((1, 2 * n + 1))]),
        np.hstack([-identity, none, none, 0 * ones]),
        np.hstack([none, 1.0 - identity, identity, -ones]),
    ]
    right = [np.ones(1), np.zeros(n), ft]
    # u^2 <= t W is the cone |(2 u, t - W)| <= t + W; Clarabel wants right - row @ x inside.
    for i in range(n):
        for sign, offset, place in ((-1.0, 0.0, n + i), (1.0, 1.0, 2 * n + i)):
            cone = np.zeros((3, 3 * n + 1))
            cone[0, :n], cone[2, :n] = -seen[i], seen[i]
            cone[0, place] = cone[2, place] = -1.0
            cone[1, i] = 2.0 * sign
            rows.append(cone)
            right.append(np.array([0.0, 2.0 * offset, 0.0]))
    cost = np.concatenate([ft, np.zeros(2 * n), [1.0]])
    square = sparse.csc_matrix((3 * n + 1, 3 * n + 1))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    system = sparse.csc_matrix(np.vstack(rows)), np.concatenate(right)
    start = time.perf_counter()
    answer = clarabel.DefaultSolver(square, cost, *system, cones, settings).solve()
    seconds = time.perf_counter() - start
    p = np.clip(np.array(answer.x)[:n], 0.0, None)
    return p / p.sum(), seconds


class CvxpyProgram:
    """The program in cvxpy, compiled once for a size; losses and graph are parameters."""

    def __init__(self, n: int) -> None:
        self.p, worst = cvxpy.Variable(n, nonneg=True), cvxpy.Variable()
        self.losses, self.graph = cvxpy.Parameter(n), cvxpy.Parameter((n, n), nonneg=True)
        seen = self.graph @ self.p
        limits = []
        for a in range(n):
            miss = [float(i == a) - self.p[i] for i in range(n)]
            terms = [cvxpy.quad_over_lin(miss[i], seen[i]) for i in range(n)]
            limits.append(cvxpy.sum(terms) <= self.losses[a] + worst)
        objective = cvxpy.Minimize(self.p @ self.losses + worst)
        self.problem = cvxpy.Problem(objective, [cvxpy.sum(self.p) == 1, *limits])

    def seconds(self, losses: Floats, matrix: Floats, gamma: float) -> float:
        """Seconds of one solve with new parameters."""
        root = np.sqrt(gamma)
        self.losses.value, self.graph.value = root * (losses - losses.min()), root * matrix.T
        start = time.perf_counter()
        with warnings.catch_warnings():  # cvxpy says that it compiles anew each time
            warnings.simplefilter("ignore", UserWarning)
            self.problem.solve(solver="CLARABEL")
        return time.perf_counter() - start
