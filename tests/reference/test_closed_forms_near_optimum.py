"""Every closed form against the certified optimum of the convex program.

The worst differences of gamma * DEC measured over 6,000 cases of this kind: bandit and full
information 0 (both are exact), cops-and-robbers 1.0, apple tasting 1.0, inventory and posted price
2.0, undirected self-aware 10.3 (it is proven against the size of its independent set, and a single
action that reveals all others can be far better than that set). The factors in `ClosedForm.within`
are the largest that a search by climbing approached in minutes: 2, 2, 3, 3, 4 for cliques, and 4.4
for bids, for which 5 is stated.
"""

import numpy as np
import pytest

import graphcb
from graphcb import graphs
from graphcb.exploration import closed_form_for, closed_form_probabilities
from graphcb.exploration.closed_forms import independent_set

WORST = {
    "bandit": 0.0,
    "full_information": 0.0,
    "cops_and_robbers": 1.0,
    "apple_tasting": 1.0,
    "inventory": 2.0,
    "posted_price": 2.0,
}


def losses(rng, size, kind):
    return [
        rng.random(size),
        np.round(rng.random(size) * 4) / 4,
        10.0 ** rng.uniform(-8, 0, size),
        2.0 ** -rng.permutation(size),
    ][kind]


def build(family, rng, size):
    if family == "threshold":
        steep, middle = rng.uniform(1, 30), rng.random()
        lost = 1 / (1 + np.exp(steep * (np.linspace(0, 1, size) - middle)))
        lost = [lost, np.sort(10.0 ** rng.uniform(-5, 0, size))[::-1]][rng.integers(2)]
        bids = rng.random() < 0.5
        sides = (lost, np.ones(size)) if bids else (np.ones(size), lost[::-1])
        return graphs.threshold(*sides)
    if family == "disjoint_cliques":
        return graphs.disjoint_cliques(rng.integers(1, 5, size=int(rng.integers(1, 4))).tolist())
    if family == "apple_tasting":
        return graphs.apple_tasting(revealing_action=int(rng.integers(2)))
    return getattr(graphs, family)(size)


@pytest.mark.parametrize("family", WORST)
def test_within_the_measured_difference(family):
    rng = np.random.default_rng(11)
    for case in range(400):
        graph = build(family, rng, int(rng.integers(2, 12)))
        f = losses(rng, graph.n_actions, case % 4)
        gamma = 10.0 ** rng.uniform(-2, 6)
        p = closed_form_probabilities(f, graph, gamma)
        value = gamma * graphcb.dec(p, f, graph, gamma)
        solution = graphcb.solve_dec(f, graph, gamma)
        assert value >= gamma * (solution.value - solution.gap) - 1e-9 * (1 + value)
        assert value <= gamma * solution.value + WORST[family] + 1e-6 * (1 + value)


# Where the search below found the largest factors, with gamma = 1.
NEAR_THE_FACTOR = [
    (graphs.cops_and_robbers(2), [0.0, 1e6]),
    (graphs.apple_tasting(2), [0.0, 0.0]),
    (graphs.inventory(3), [0.0, 57538.7, 57559.4]),
    (graphs.posted_price(3), [57559.4, 57538.7, 0.0]),
    (graphs.disjoint_cliques([2]), [0.0, 0.0]),
    (graphs.disjoint_cliques([4, 3]), [46.5, 67.3, 10.63, 0.0, 10.37, 10.36, 17.95]),
]


def factor(graph, ft):
    """gamma * DEC of the closed form over that of the optimum, and the factor that is stated."""
    form = closed_form_for(graph)
    value = graphcb.dec(form.formula(ft, 1.0), ft, graph, 1.0)
    solution = graphcb.solve_dec(ft, graph, 1.0)
    assert value <= form.within * solution.value + 1e-6 * (1.0 + value), (graph, ft)
    return value / solution.value if solution.value > 1e-3 else 1.0


@pytest.mark.parametrize(("graph", "ft"), NEAR_THE_FACTOR, ids=lambda value: repr(value)[:30])
def test_the_stated_factor_is_nearly_reached(graph, ft):
    within = closed_form_for(graph).within
    assert 0.9 * within <= factor(graph, np.array(ft)) <= within * (1.0 + 1e-6)


@pytest.mark.parametrize("family", [*WORST, "disjoint_cliques", "threshold"])
def test_a_search_finds_nothing_beyond_the_stated_factor(family):
    rng = np.random.default_rng(13)
    for case in range(40):
        graph = build(family, rng, int(rng.integers(2, 8)))
        ft = losses(rng, graph.n_actions, case % 4) * 10.0 ** rng.uniform(-1, 6)
        ft -= ft.min()
        found = factor(graph, ft)
        for _ in range(30):  # climb
            other = ft.copy()
            other[rng.integers(ft.size)] *= np.exp(0.5 * rng.normal())
            if rng.random() < 0.3:
                other[rng.integers(ft.size)] += abs(0.2 * rng.normal())
            other -= other.min()
            if factor(graph, other) >= found:
                ft, found = other, factor(graph, other)


def test_undirected_self_aware_against_its_independent_set():
    """Proposition 4: gamma * DEC <= 2 alpha."""
    rng = np.random.default_rng(12)
    for case in range(400):
        size = int(rng.integers(2, 12))
        pairs = np.argwhere(np.triu(rng.random((size, size)) < rng.random(), 1)).tolist()
        graph = graphs.undirected_self_aware(size, pairs)
        f, gamma = losses(rng, size, case % 4), 10.0 ** rng.uniform(-2, 6)
        p = independent_set(f, gamma, graph)
        value = gamma * graphcb.dec(p, f, graph, gamma)
        solution = graphcb.solve_dec(f, graph, gamma)
        assert value >= gamma * (solution.value - solution.gap) - 1e-9 * (1 + value)
        assert value <= 2.0 * graph.independence_number() * (1 + 1e-9)


def test_inventory_grows_with_the_logarithm_of_gamma_and_so_does_its_optimum():
    """Proposition 3 claims a constant; on doubling gaps neither is one."""
    values, optima = [], []
    for n in (4, 8, 12, 16, 20):
        f, graph = np.array([0.0, *(2.0**i for i in range(n))]), graphs.inventory(n + 1)
        p = closed_form_probabilities(f, graph, 1.0)
        values.append(graphcb.dec(p, f, graph, 1.0))
        optima.append(graphcb.solve_dec(f, graph, 1.0).value)
    np.testing.assert_allclose(values, [2.52, 4.41, 6.40, 8.40, 10.40], atol=0.005)
    np.testing.assert_allclose(optima, [2.26, 4.20, 6.19, 8.19, 10.19], atol=0.005)
