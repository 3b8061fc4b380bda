import numpy as np
import pytest

from graphcb import FeedbackGraph, graphs
from graphcb.exploration.solver.edges import LARGE, edges_of, fetch


@pytest.mark.parametrize("n", [LARGE - 1, LARGE])
@pytest.mark.parametrize("family", ["cops_and_robbers", "inventory", "posted_price", "bandit"])
def test_rows_and_columns_of_a_rule_are_those_of_its_matrix(family, n):
    rule, out = getattr(graphs, family)(n), np.empty(n)
    for graph in (rule, FeedbackGraph(rule.matrix)):
        edges = edges_of(graph)
        one = edges._replace(flat=edges.flat[0])
        for action in (0, 1, n // 2, n - 1):
            fetch(one, action, False, out)
            np.testing.assert_array_equal(out, rule.matrix[action])
            fetch(one, action, True, out)
            np.testing.assert_array_equal(out, rule.matrix[:, action])
