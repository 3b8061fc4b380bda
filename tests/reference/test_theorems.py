"""The paper's Theorems 3.2 and 3.4: how large the DEC is, on graphs built to a given number.

Each theorem gives an upper bound with an unnamed constant. The constants here are measured, and
each bound has its counterpart from below, so that a wrong exponent, a missing number or a missing
logarithm fails on one side.
"""

import numpy as np
import pytest

from graphcb import FeedbackGraph, dec, graphs, solve_dec

GAMMAS = (1e3, 1e4, 1e5, 1e6)
N_MEMBERS = 24


def shuffled(matrix, special, rng):
    """The graph with its actions in random order, and which of them come from `special`."""
    order = rng.permutation(len(matrix))
    return FeedbackGraph(matrix[np.ix_(order, order)]), special[order]


def blocks(d, rng):
    """A weakly observable graph of d blocks of random sizes, and which actions are teachers.

    Only its teacher reveals the members of a block. Members reveal some teachers and no members; a
    teacher reveals itself, or another teacher reveals it.
    """
    sizes = 2 + rng.multinomial(N_MEMBERS - 2 * d, np.full(d, 1.0 / d))
    matrix = np.zeros((d + N_MEMBERS, d + N_MEMBERS))
    matrix[np.repeat(np.arange(d), sizes), d + np.arange(N_MEMBERS)] = 1.0
    matrix[d:, :d] = rng.random((N_MEMBERS, d)) < 0.3
    for teacher in range(d):
        others = np.delete(np.arange(d), teacher)
        seen_by = rng.choice(others) if d > 1 and rng.random() < 0.5 else teacher
        matrix[seen_by, teacher] = 1.0
    return shuffled(matrix, np.arange(d + N_MEMBERS) < d, rng)


def strongly_observable(alpha, rng):
    """A graph with independence number alpha, and which actions are the independent set.

    Some of the other actions have no self-loop: all others reveal them.
    """
    n_others = int(rng.integers(3, 9))
    n_actions = alpha + n_others
    others = np.arange(alpha, n_actions)
    matrix = (rng.random((n_actions, n_actions)) < rng.random()).astype(float)
    matrix[:alpha, :alpha] = np.eye(alpha)
    among = np.ix_(others, others)
    matrix[among] = np.maximum(matrix[among], np.tri(n_others))
    matrix[others, rng.integers(alpha, size=n_others)] = 1.0
    for action in others[: 1 + int(rng.integers(n_others))]:
        matrix[:, action] = 1.0
        matrix[action, action] = 0.0
    return shuffled(matrix, np.arange(n_actions) < alpha, rng)


@pytest.mark.parametrize("seed", range(2))
def test_theorem_3_4_dec_is_the_root_of_d_over_gamma_both_ways(seed):
    """Weakly observable: where teaching costs 1, DEC = 2 sqrt(d (1 - 1 / members) / gamma)."""
    rows = []
    for d in range(1, 9):
        graph, teaches = blocks(d, np.random.default_rng([seed, d]))
        assert graph.observability == "weak"
        assert graph.weak_domination_number() == d
        for gamma in GAMMAS:
            value = solve_dec(teaches.astype(float), graph, gamma).value
            expected = 2.0 * np.sqrt(d * (1.0 - 1.0 / N_MEMBERS) / gamma)
            assert 0.98 * expected <= value <= 1.01 * expected
            rows.append((1.0, np.log(d), np.log(gamma), np.log(value)))
    table = np.array(rows)
    _, in_d, in_gamma = np.linalg.lstsq(table[:, :3], table[:, 3], rcond=None)[0]
    assert in_d == pytest.approx(0.5, abs=0.01)
    assert in_gamma == pytest.approx(-0.5, abs=0.005)


@pytest.mark.parametrize("d", range(1, 9))
def test_theorem_3_4_no_losses_make_the_dec_larger(d):
    """Weakly observable: DEC <= 2 sqrt(d / gamma) + alpha log(K gamma) / gamma, any losses."""
    rng = np.random.default_rng(d)
    graph, teaches = blocks(d, rng)
    looped = graph.self_looped_independence_number()
    for gamma in (16.0 * d, *GAMMAS):
        log = np.log(graph.n_actions * gamma)
        bound = 2.0 * np.sqrt(d / gamma) + looped * log / gamma
        near = rng.random((4, graph.n_actions)) * 10.0 ** -rng.uniform(0, 3, (4, 1))
        for losses in (*rng.random((4, graph.n_actions)), *np.maximum(near, teaches)):
            assert solve_dec(losses, graph, gamma).value <= bound


@pytest.mark.parametrize("alpha", range(1, 9))
def test_theorem_3_2_dec_is_alpha_over_gamma_also_without_self_loops(alpha):
    """Strongly observable: alpha - 1 <= gamma * DEC <= alpha + 1 if only the set is good."""
    for seed in range(4):
        rng = np.random.default_rng([seed, alpha])
        graph, independent = strongly_observable(alpha, rng)
        assert graph.observability == "strong"
        assert not graph.is_self_aware
        assert graph.independence_number() == alpha
        for gamma in GAMMAS:
            value = gamma * solve_dec(1.0 - independent, graph, gamma).value
            assert alpha - 1.01 <= value <= alpha + 1.0
            losses = rng.random(graph.n_actions)
            doubling = rng.permutation(2.0 ** np.arange(graph.n_actions) / gamma)
            for hard in (losses, np.minimum(doubling, 1.0)):
                log = np.log2(graph.n_actions * gamma)
                assert gamma * solve_dec(hard, graph, gamma).value <= alpha * (1.0 + log / 2.0)


@pytest.mark.parametrize("alpha", [1, 2, 4])
def test_theorem_3_2_needs_its_logarithm(alpha):
    """Total orders side by side: gamma * DEC grows as alpha log(gamma), and no faster."""
    gammas = (1e2, 1e3, 1e4, 1e5)
    order = graphs.inventory(20).matrix
    graph = FeedbackGraph(np.kron(np.eye(alpha), order))
    assert graph.independence_number() == alpha
    values = []
    for gamma in gammas:
        gaps = np.minimum(2.0 ** np.arange(20.0) / gamma, 1.0)
        values.append(gamma * solve_dec(np.tile(gaps, alpha), graph, gamma).value / alpha)
    growth = np.diff(values) / np.diff(np.log2(gammas))
    assert (growth >= 0.3).all()
    assert (growth <= 0.7).all()


def test_lemma_a_1_the_dec_is_convex_in_the_probabilities():
    rng = np.random.default_rng(0)
    for alpha in range(1, 9):
        graph, _ = strongly_observable(alpha, rng)
        losses, gamma = rng.random(graph.n_actions), 10.0 ** rng.uniform(0, 4)
        first, second = rng.dirichlet(np.full(graph.n_actions, 0.5), size=2)
        values = [dec(p, losses, graph, gamma) for p in (first, second, (first + second) / 2)]
        assert values[2] <= (values[0] + values[1]) / 2 * (1.0 + 1e-12)


def shares_seen(matrix, p):
    """Sum of p_i / W_i over the actions, which the lemmas bound for self-aware graphs."""
    return (p / (matrix.T @ p)).sum()


def lemma_e_1(n_actions, alpha, least):
    return 4.0 * alpha * np.log(4.0 * n_actions / (alpha * least))


def test_lemma_e_1_the_independence_number_bounds_the_shares_up_to_a_logarithm():
    rng = np.random.default_rng(0)
    for n_actions in range(2, 12):
        for least in (1e-2, 1e-6):
            graph = graphs.random_self_aware(n_actions, rng.random(), rng)
            alpha = graph.independence_number()
            p = rng.dirichlet(np.full(n_actions, 0.1)) * (1.0 - n_actions * least) + least
            assert shares_seen(graph.matrix, p) <= lemma_e_1(n_actions, alpha, least)


@pytest.mark.parametrize("alpha", [1, 2, 4])
def test_lemma_e_1_is_reached_up_to_a_constant_by_total_orders(alpha):
    """p_i ~ r^i on an order has the share 1 - r everywhere: a constant below 0.8 would not do."""
    n, ratio = 600, 0.9
    graph = np.kron(np.eye(alpha), graphs.inventory(n).matrix)
    p = np.tile(ratio ** np.arange(n), alpha)
    p /= p.sum()
    shares, bound = shares_seen(graph, p), lemma_e_1(alpha * n, alpha, p.min())
    assert 0.2 * bound <= shares <= bound


def test_lemma_e_2_is_about_acyclic_subgraphs_and_a_total_order_is_one():
    """The proof of Proposition 3 takes 1 for the inventory graph, where the lemma gives K."""
    for n_actions in (2, 8, 16):
        order = graphs.inventory(n_actions).matrix
        p = 2.0 ** -np.arange(n_actions, dtype=float)
        shares = shares_seen(order, p / p.sum())
        assert n_actions / 2 <= shares <= n_actions
