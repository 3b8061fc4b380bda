"""The rivals of `solve_dec`: Clarabel, the paper's program in cvxpy, and Vowpal Wabbit.

Each takes losses, a matrix (row played, column revealed) and gamma, and gives probabilities on the
simplex with the seconds that it took.
"""

import time
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Answer = tuple[Floats, float]


def on_the_simplex(p: Any) -> Floats:
    """A rival's answer as a distribution; NaN where it has none."""
    if p is None:
        return np.array([np.nan])
    kept = np.clip(np.asarray(p, dtype=np.float64), 0.0, None)
    with np.errstate(invalid="ignore"):
        return np.asarray(kept / kept.sum())


def clarabel_seconds(losses: Floats, matrix: Floats, gamma: float) -> Answer:
    """Probabilities, and the seconds inside Clarabel; building its matrices is not counted.

    Variables are p, own_i >= p_i^2 / W_i, miss_i >= (1 - p_i)^2 / W_i and the worst comparator,
    which is at least miss_a + sum_{i != a} own_i - ft_a. Losses and graph are scaled by the
    square root of gamma each, as the paper does.
    """
    import clarabel

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
    return on_the_simplex(np.array(answer.x)[:n]), seconds


class CvxpyProgram:
    """The program in cvxpy for a size; losses and graph are parameters.

    As the paper has it, `split=False`, every constraint is a sum of K fractions over the
    product of two unknowns to cvxpy, which compiles it anew for every value. With `split=True`
    the reveal probabilities are variables and the fractions are shared between constraints: it
    is compiled once.
    """

    def __init__(self, n: int, *, split: bool = False) -> None:
        import cvxpy

        self.p, worst = cvxpy.Variable(n, nonneg=True), cvxpy.Variable()
        self.losses, self.graph = cvxpy.Parameter(n), cvxpy.Parameter((n, n), nonneg=True)
        limits: list[Any] = [cvxpy.sum(self.p) == 1]
        if split:
            seen = cvxpy.Variable(n)
            fraction = cvxpy.quad_over_lin
            own = cvxpy.hstack([fraction(self.p[i], seen[i]) for i in range(n)])
            miss = cvxpy.hstack([fraction(1.0 - self.p[i], seen[i]) for i in range(n)])
            t, m = cvxpy.Variable(n), cvxpy.Variable(n)
            limits += [seen == self.graph @ self.p, own <= t, miss <= m]
            limits += [m - t + cvxpy.sum(t) <= self.losses + worst]
            objective = self.losses @ self.p + worst
        else:
            seen = self.graph @ self.p
            for a in range(n):
                apart = [float(i == a) - self.p[i] for i in range(n)]
                terms = [cvxpy.quad_over_lin(apart[i], seen[i]) for i in range(n)]
                limits.append(cvxpy.sum(terms) <= self.losses[a] + worst)
            objective = self.p @ self.losses + worst
        self.problem = cvxpy.Problem(cvxpy.Minimize(objective), limits)

    def solve(self, losses: Floats, matrix: Floats, gamma: float) -> Answer:
        """Probabilities, and the seconds of one solve with new parameters."""
        import cvxpy

        root = np.sqrt(gamma)
        self.losses.value, self.graph.value = root * (losses - losses.min()), root * matrix.T
        self.p.value = None
        start = time.perf_counter()
        # cvxpy says that it compiles anew each time, and that an answer may be inaccurate.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            try:
                self.problem.solve(solver="CLARABEL")
            except cvxpy.SolverError:
                return on_the_simplex(None), time.perf_counter() - start
        return on_the_simplex(self.p.value), time.perf_counter() - start


def vowpal_wabbit_seconds(losses: Floats, matrix: Floats, gamma: float) -> Answer:
    """One prediction of `--graph_feedback` whose predicted losses are these, to single precision.

    A model with all weights 1 and one feature, the loss, predicts the losses themselves. Its
    graph is column played, row revealed.
    """
    from vowpalwabbit import Workspace

    n = losses.size
    workspace = Workspace(
        "--quiet --cb_explore_adf --graph_feedback --noconstant --initial_weight 1 "
        f"--min_prediction 0 --max_prediction 1 --gamma_scale {gamma} --gamma_exponent 0"
    )
    edges = " ".join(f"{j},{i},{matrix[i, j]}" for i in range(n) for j in range(n))
    lines = [f"shared graph {edges} | ", *(f"| loss:{loss!r}" for loss in losses.tolist())]
    start = time.perf_counter()
    p = workspace.predict(lines)
    seconds = time.perf_counter() - start
    workspace.finish()
    return on_the_simplex(p), seconds
