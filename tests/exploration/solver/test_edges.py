import numpy as np
import pytest

from graphcb import FeedbackGraph, Status, dec, graphs, solve_dec
from graphcb.exploration.solver.edges import LARGE, edges_of, fetch
from graphcb.exploration.solver.whole_numbers import exact_dec
from graphcb.graphs.families.threshold import Threshold


def bids(n):
    chances = np.random.default_rng(n).random((2, n))
    return graphs.threshold(*chances)


@pytest.mark.parametrize("n", [LARGE - 1, LARGE])
@pytest.mark.parametrize(
    "family", ["cops_and_robbers", "inventory", "posted_price", "bandit", bids]
)
def test_rows_and_columns_of_a_rule_are_those_of_its_matrix(family, n):
    rule, out = (family if family is bids else getattr(graphs, family))(n), np.empty(n)
    for graph in (rule, FeedbackGraph(rule.matrix)):
        edges = edges_of(graph)
        one = edges._replace(flat=edges.flat[0])
        for action in (0, 1, n // 2, n - 1):
            fetch(one, action, False, out)
            np.testing.assert_array_equal(out, rule.matrix[action])
            fetch(one, action, True, out)
            np.testing.assert_array_equal(out, rule.matrix[:, action])


@pytest.mark.parametrize("n", [2, 7, 150])
@pytest.mark.parametrize("gamma", [5.0, 1e4])
def test_a_threshold_graph_has_the_solution_of_its_matrix(n, gamma):
    graph, losses = bids(n), np.random.default_rng(1).random(n)
    solution = solve_dec(losses, graph, gamma)
    plain = solve_dec(losses, FeedbackGraph(graph.matrix), gamma)
    np.testing.assert_array_equal(solution.probabilities, plain.probabilities)
    assert solution.value == plain.value
    exact = exact_dec(solution.probabilities, losses, graph, gamma)
    assert exact == exact_dec(solution.probabilities, losses, FeedbackGraph(graph.matrix), gamma)
    assert exact == pytest.approx(solution.value, rel=1e-9)


def test_a_large_threshold_graph_is_solved_without_a_matrix(monkeypatch):
    monkeypatch.setattr(Threshold, "dense", lambda self: pytest.fail("a matrix was built"))
    left = np.linspace(1.0, 0.01, 400)
    graph, losses = graphs.threshold(left, np.ones(400)), np.linspace(0.9, 0.1, 400) ** 2
    solution = solve_dec(losses, graph, 50.0)
    assert solution.status == Status.CERTIFIED
    assert graph.observability == "strong"
    assert dec(solution.probabilities, losses, graph, 50.0) == pytest.approx(solution.value)
