import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphcb import FeedbackGraph, graphs, solve_dec
from graphcb.graphs.effective import effective_independence, effective_weak_domination


def random_edges(seed):
    """A strongly observable graph with edges of few different probabilities, and losses."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    chances = rng.choice([0.0, 0.02, 0.1, 0.5, 1.0], size=(n, n))
    np.fill_diagonal(chances, rng.choice([0.02, 0.1, 0.5, 1.0], size=n))
    return rng, chances, float(10.0 ** rng.uniform(0, 5))


def test_the_complete_graph_of_one_percent():
    rare = FeedbackGraph(np.full((5, 5), 0.01))
    assert rare.independence_number() == 1
    assert rare.effective_independence_bound() == 100.0
    for gamma in (1.0, 1e4):  # 100 (1 - 1 / K)
        assert gamma * solve_dec(np.zeros(5), rare, gamma).value == pytest.approx(80.0)


@given(st.integers(0, 1000))
def test_rare_edges_are_those_that_are_certain_at_a_smaller_gamma(seed):
    """The inequality behind the numbers: DEC of G at gamma <= DEC of G_e at e gamma."""
    rng, chances, gamma = random_edges(seed)
    losses = rng.random(len(chances))
    solution = solve_dec(losses, FeedbackGraph(chances), gamma)
    for threshold in np.unique(chances[chances > 0.0]):
        edges = chances >= threshold
        if edges.any(axis=0).all():
            certain = solve_dec(losses, FeedbackGraph(edges.astype(float)), threshold * gamma)
            assert solution.value - solution.gap <= certain.value * (1.0 + 1e-9) + 1e-12


@given(st.integers(0, 1000))
def test_it_bounds_gamma_times_dec_as_alpha_does_for_certain_edges(seed):
    rng, chances, gamma = random_edges(seed)
    graph = FeedbackGraph(chances)
    log = np.log2(max(2.0, graph.n_actions * gamma))
    bound = graph.effective_independence_bound() * (1.0 + log / 2.0)
    assert gamma * solve_dec(rng.random(graph.n_actions), graph, gamma).value <= bound


@pytest.mark.parametrize("chance", [0.01, 0.2, 0.9])
@pytest.mark.parametrize("alpha", [2, 5])
def test_it_is_as_small_as_can_be_where_all_edges_have_one_probability(alpha, chance):
    """gamma * DEC = (alpha - 1) / chance if the actions of an independent set are good."""
    graph = FeedbackGraph(chance * graphs.disjoint_cliques([3] * alpha).matrix)
    assert graph.effective_independence_bound() == pytest.approx(alpha / chance)
    losses = np.tile([0.0, 1.0, 1.0], alpha)
    value = 1e5 * solve_dec(losses, graph, 1e5).value
    assert value == pytest.approx((alpha - 1) / chance, rel=1e-3)


def test_rare_edges_do_not_hide_the_likely_ones():
    chances = np.where(np.eye(6) > 0, 1.0, 1e-3)  # bandit feedback, in truth
    assert FeedbackGraph(chances).independence_number() == 1
    assert FeedbackGraph(chances).effective_independence_bound() == 6.0


def test_likely_edges_that_would_leave_the_graph_weakly_observable_do_not_count():
    chances = np.diag([1.0, 0.1, 0.1])
    chances[0] = 1.0  # what is certain makes one action reveal all, at a loss of 1
    graph = FeedbackGraph(chances)
    assert graph.effective_independence_bound() == 20.0
    value = 1e5 * solve_dec([1.0, 0.0, 0.0], graph, 1e5).value
    assert 10.0 <= value <= 12.0  # 1 / 0.1, and to see the action that reveals all


def test_weak_domination():
    graph = FeedbackGraph([[1.0, 0.2, 0.1], [0.0, 0.0, 0.9], [0.0, 0.0, 0.0]])
    assert graph.observability == "weak"
    assert graph.weak_domination_number() == 1
    assert graph.effective_weak_domination_bound() == 10.0  # 1 / 0.1, or 2 / 0.2
    losses = np.array([1.0, 0.0, 0.0])
    value = solve_dec(losses, graph, 1e6).value
    assert 0.5 * np.sqrt(10.0 / 1e6) <= value <= 2.0 * np.sqrt(10.0 / 1e6)


@pytest.mark.parametrize("graph", [graphs.bandit(7), graphs.cops_and_robbers(4)], ids=repr)
def test_certain_edges_have_their_own_numbers(graph):
    assert graph.effective_independence_bound() == graph.independence_number()
    assert graph.effective_weak_domination_bound() == graph.weak_domination_number()
    assert effective_independence(graph.matrix) == graph.independence_number()
    assert effective_weak_domination(graph.matrix) == graph.weak_domination_number()


def test_many_probabilities():
    chances = np.random.default_rng(0).uniform(0.3, 1.0, (30, 30))
    assert 1.0 <= FeedbackGraph(chances).effective_independence_bound() <= 1.0 / 0.3


def test_what_is_refused():
    text = "`graph` must be strongly observable to have an effective independence number, got one"
    with pytest.raises(ValueError, match=text):
        graphs.apple_tasting(4).effective_independence_bound()
    with pytest.raises(ValueError, match="must be observable to have a weak domination number"):
        FeedbackGraph([[0.5, 0.0], [0.5, 0.0]]).effective_weak_domination_bound()
