"""Programs at the ends of the number range: distributions with bounds that are exactly true."""

import math
import sys
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import graphcb
from graphcb import FeedbackGraph, Status, graphs
from graphcb.exploration import closed_form_probabilities
from graphcb.exploration.solver.whole_numbers import exact_dec

SCALES = (5e-324, 1e-300, 1e-150, 1e-30, 1.0)
GAMMAS = (1e-300, 1e-30, 1.0, 1e30, 1e300)


def dec_by_definition(p, f, matrix, gamma):
    """max_a p @ f - f_a + |p - e_a|^2 / (gamma W) in rational numbers; None for infinity."""
    p, f = [Fraction(x) for x in map(float, p)], [Fraction(x) for x in map(float, f)]
    p = [x / sum(p) for x in p]
    n = range(len(p))
    seen = [sum(Fraction(float(matrix[i, j])) * p[i] for i in n) for j in n]
    if not all(seen):
        return None
    return max(
        sum(p[i] * (f[i] - f[a]) for i in n)
        + sum((p[i] - (i == a)) ** 2 / seen[i] for i in n) / Fraction(gamma)
        for a in n
    )


def check(losses, graph, gamma):
    """A distribution whose value is its DEC, and no known distribution is below the bound."""
    losses = np.asarray(losses, dtype=float)
    solution = graphcb.solve_dec(losses, graph, gamma)
    p, value, gap = solution.probabilities, solution.value, solution.gap
    assert (p >= 0.0).all()
    assert abs(math.fsum(p) - 1.0) <= 1e-12
    assert value >= 0.0
    assert gap >= 0.0
    uniform = np.full(p.size, 1.0 / p.size)
    decs = [dec_by_definition(one, losses, graph.matrix, gamma) for one in (p, uniform)]
    if value == math.inf:
        assert all(one is None or one > Fraction(sys.float_info.max) for one in decs)
        assert not solution.is_certified
        return solution
    unit = 1 / Fraction(gamma)
    assert decs[0] <= Fraction(value) + Fraction(1e-9) * (unit + Fraction(value)) + Fraction(1e-321)
    if gap < math.inf:
        bound = Fraction(value) - Fraction(gap)
        assert all(bound <= one for one in decs if one is not None)
    if solution.is_certified:
        allowed = Fraction(1e-6) * (unit + Fraction(value)) * (1 + Fraction(1e-9))
        assert Fraction(gap) <= allowed + Fraction(1e-321)
    return solution


@pytest.mark.parametrize("edge", SCALES)
@pytest.mark.parametrize("gamma", GAMMAS)
def test_edges_that_are_hardly_ever_seen(edge, gamma):
    faint = [
        np.array([[1.0, edge], [1.0, 1.0]]),
        np.array([[edge, edge], [0.0, 1.0]]),
        np.full((3, 3), edge),
        np.array([[0.0, 1.0, edge], [edge, 0.0, 1.0], [1.0, edge, 0.0]]),
    ]
    for matrix in faint:
        for f in ([0.0, 1.0, 0.5], [0.0, 0.0, 0.0], [1e300, -1e300, 0.0]):
            check(f[: len(matrix)], FeedbackGraph(matrix), gamma)


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize(
    "losses", [[1e300, -1e300, 0.0], [1.7e308, -1.7e308, 1e-300], [0.0, 5e-324, 1e-310]], ids=str
)
@pytest.mark.parametrize(
    "graph",
    [
        graphs.bandit(3),
        graphs.full_information(3),
        graphs.apple_tasting(3, revealing_action=0),
        graphs.apple_tasting(3, revealing_action=1),
        graphs.cops_and_robbers(3),
        graphs.inventory(3),
        graphs.posted_price(3),
        graphs.disjoint_cliques([2, 1]),
        graphs.undirected_self_aware(3, [(0, 1), (1, 2)]),
        FeedbackGraph(scipy.sparse.csr_array(np.array([[1.0, 1e-300, 0], [0, 0.5, 1], [1, 1, 0]]))),
    ],
    ids=repr,
)
def test_losses_of_every_size(graph, losses, gamma):
    solution = check(losses, graph, gamma)
    batch = graphcb.solve_dec_batch(np.array([losses, losses]), graph, gamma)
    for row in batch:
        assert row.probabilities.tolist() == solution.probabilities.tolist()
        assert (row.value, row.gap, row.status) == (solution.value, solution.gap, solution.status)
    if graph.family not in ("edges", "apple_tasting"):
        p = closed_form_probabilities(losses, graph, gamma)
        assert (p >= 0.0).all()
        assert abs(math.fsum(p) - 1.0) <= 1e-12


@given(
    st.lists(st.floats(-1e308, 1e308), min_size=2, max_size=5),
    st.integers(0, 10**6),
    st.sampled_from(SCALES),
    st.floats(1e-300, 1e300),
)
def test_anything_finite(losses, seed, edge, gamma):
    rng = np.random.default_rng(seed)
    n = len(losses)
    matrix = np.where(rng.random((n, n)) < 0.5, edge, rng.random((n, n)))
    matrix[rng.random((n, n)) < 0.3] = 0.0
    matrix[rng.integers(n)] = max(edge, 1e-200)
    check(losses, FeedbackGraph(matrix), gamma)


def test_a_number_that_is_none_is_not_certified():
    # The cold start had no slack left beside a constraint of -3e18, and NaN was "proven".
    graph = FeedbackGraph([[1.0, 0.0], [0.0, 3.579811215660583e-19]])
    assert check([1.0, 0.0], graph, 5.140452704659767e19).is_certified


def test_a_sum_that_is_off_by_some_roundings_does_not_count_times_the_gap():
    # The probabilities of 64 actions sum to 1 + 2e-16, which is 1e211 beside a gap of 1e227.
    rng = np.random.default_rng(0)
    for _ in range(3):
        losses = np.where(rng.random(64) < 0.5, 0.0, 10.0 ** rng.uniform(-6, 6, 64))
        assert check(losses, graphs.bandit(64), 4e221).status is Status.EXACT


def test_a_finite_value_is_found_where_there_is_one():
    # Weights 1 / ft leave the best action unseen; equal ones cost more than there are numbers for.
    losses = [-1.7e308, 1.7e308, 1.7e308, 1.7e308, 1.7e308]
    solution = check(losses, graphs.cops_and_robbers(5), 1e-70)
    assert solution.value < 1e250


def test_the_dec_where_floating_point_cannot_hold_its_terms():
    faint = FeedbackGraph([[1e-300, 1e-300], [1e-300, 1e-300]])
    # (1/2)^2 / W + (1/2)^2 / W = 5e299, divided by gamma
    assert graphcb.dec([0.5, 0.5], [0.0, 0.0], faint, 1e10) == pytest.approx(5e289)
    assert graphcb.dec([0.5, 0.5], [0.0, 0.0], faint, 1e-10) == math.inf  # beyond all numbers
    tiny = FeedbackGraph([[1.0, 5e-324], [0.0, 1.0]])
    assert graphcb.dec([1.0, 0.0], [0.0, 0.0], tiny, 1e100) == pytest.approx(2.0240225330731058e223)
    assert graphcb.dec([1.0, 0.0], [0.0, 1.0], graphs.bandit(2), 1e100) == math.inf  # never seen
    huge = graphcb.dec([1.0, 0.0], [-1e308, 1e308], graphs.full_information(2), 1e300)
    assert huge == 0.0
    assert graphcb.dec([0.5, 0.5], [-1e308, 1e308], graphs.bandit(2), 1e300) == 1e308


@given(st.integers(0, 10**6))
def test_whole_numbers_agree_with_floating_point_where_both_can(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    dense = np.maximum(rng.random((n, n)) * (rng.random((n, n)) < 0.6), np.diag(rng.random(n)))
    p, f, gamma = rng.dirichlet(np.ones(n)), rng.normal(size=n), 10.0 ** rng.uniform(-3, 3)
    for graph in (
        FeedbackGraph(dense),
        FeedbackGraph(scipy.sparse.csr_array(dense)),
        graphs.cops_and_robbers(n),
        graphs.inventory(n),
        graphs.bandit(n),
    ):
        assert exact_dec(p, f, graph, gamma) == pytest.approx(graphcb.dec(p, f, graph, gamma))


@pytest.mark.parametrize(
    "losses",
    [
        [-1e6, 0.3, 0.9, 0.1],
        [0.3, 0.9, 1e-7, 0.1],
        [0.0, 0.0, 0.0, 1e6],
        [0.5, 0.5 + 1e-12, 0.0, 0.0],
    ],
    ids=str,
)
@pytest.mark.parametrize("gamma", [1e12, 1e20, 1e30])
@pytest.mark.parametrize("revealing", range(4))
def test_apple_tasting_with_one_action_far_better(losses, gamma, revealing):
    graph = graphs.apple_tasting(4, revealing_action=revealing)
    solution = check(losses, graph, gamma)
    assert solution.status is Status.EXACT
    assert solution.gap * gamma <= 1e-9 * (1.0 + solution.value * gamma)


@pytest.mark.parametrize("n", [9, 60])
@pytest.mark.parametrize("edge", [1e-12, 1e-22, 1e-30])
def test_a_faint_graph_takes_few_steps(n, edge):
    # The cold start took the gaps for large; it is their product with the edges that counts.
    rng = np.random.default_rng(n)
    losses = 2.0 ** -rng.permutation(n).astype(float)
    for graph in (FeedbackGraph(np.full((n, n), edge)), FeedbackGraph(edge * np.eye(n))):
        solution = check(losses, graph, 7.7e16)
        assert solution.is_certified
        assert solution.steps <= 80


def test_multipliers_that_are_not_unique():
    # Complementarity went up and down for ever, at gaps of 1e-5.
    rows = (
        (1, 5, 8, 9), (0, 6, 10, 11, 13), (0, 7, 10, 11), (0, 6, 11), (1, 2, 3, 5, 12),
        (0, 4, 6, 7, 10), (1, 3, 5), (1, 3, 5, 8, 9, 12), (4, 7, 10, 11, 13), (0, 10, 11),
        (1, 5, 9, 12), (1, 3, 8), (0, 4, 6, 11), (1, 2, 8, 12),
    )  # fmt: skip
    graph = FeedbackGraph.from_edges(14, [(i, j) for i, row in enumerate(rows) for j in row])
    losses = np.array([0, 2, 1, 0, 2, 2, 0, 2, 1, 0, 0, 1, 2, 2]) / 2.0
    solution = graphcb.solve_dec(losses, graph, 585758.3394953044)
    assert solution.status is Status.RESTARTED
    assert solution.steps <= 100


def test_gaps_of_every_size_under_full_information():
    losses = 10.0 ** np.linspace(-300, 300, 3000)
    solution = graphcb.solve_dec(losses, graphs.full_information(3000), 1e5)
    assert solution.status is Status.EXACT
    assert solution.steps > 100  # passes, each of which drops the largest gaps


@pytest.mark.parametrize("schedule", [graphcb.Automatic(), graphcb.Doubling(100, 1.0)], ids=repr)
def test_an_agent_survives_a_dec_beyond_all_numbers(schedule):
    class Constant:
        def predict(self, context, actions):
            return np.array([0.0, 0.0])

        def update(self, context, actions, losses):
            pass

    agent = graphcb.SquareCBG(Constant(), gamma=schedule)
    for _ in range(1200):
        p = agent.act(None, FeedbackGraph([[5e-324, 5e-324], [5e-324, 5e-324]]))
        assert p.sum() == pytest.approx(1.0)
