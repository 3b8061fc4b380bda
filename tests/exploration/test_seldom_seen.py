"""Outcomes that are seldom seen are seen as often as a share of the probability can make them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from graphcb import FeedbackGraph, Limits, graphs
from graphcb.exploration.cheapest import obeys
from graphcb.exploration.limited_choice import best_within
from graphcb.exploration.seldom_seen import (
    FEW,
    SOLVED,
    as_share,
    cost_of_exploring,
    most_even,
    see_more,
)

SHARE = 0.02


def largest_least(matrix):
    """The largest v with G^T s >= v for a distribution s, by HiGHS."""
    seeable = matrix[:, matrix.max(axis=0) > 0.0]
    k, n = seeable.shape
    found = linprog(
        np.append(np.zeros(k), -1.0),
        A_ub=np.column_stack([-seeable.T, np.ones(n)]),
        b_ub=np.zeros(n),
        A_eq=[np.append(np.ones(k), 0.0)],
        b_eq=[1.0],
        bounds=[(0.0, 1.0)] * (k + 1),
    )
    return -found.fun


def random_matrix(rng, k):
    matrix = (rng.random((k, k)) < rng.choice([0.1, 0.3, 0.7])).astype(float)
    if rng.random() < 0.5:
        matrix *= rng.choice([0.05, 0.5, 1.0], size=(k, k))
    if rng.random() < 0.3:
        matrix[:, rng.integers(k)] = 0.0  # what nothing reveals
    return matrix


def sure(k, action=0):
    return np.eye(k)[action]


@given(seed=st.integers(0, 2**32 - 1))
def test_the_most_even_distribution_is_the_optimum_of_the_linear_program(seed):
    rng = np.random.default_rng(seed)
    matrix = random_matrix(rng, int(rng.integers(1, 12)))
    even = most_even(FeedbackGraph(matrix))
    assert even.probabilities.sum() == pytest.approx(1.0, abs=1e-12)
    assert (even.probabilities >= 0.0).all()
    can_be_seen = matrix.max(axis=0) > 0.0
    assert (even.least[~can_be_seen] == 0.0).all()
    if can_be_seen.any():
        assert even.least.max() == pytest.approx(largest_least(matrix), abs=1e-9)
        assert (even.least[can_be_seen] == even.least.max()).all()


@given(seed=st.integers(0, 2**32 - 1))
def test_every_outcome_is_seen_and_no_more_is_moved_than_the_share(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, 12))
    graph = FeedbackGraph(random_matrix(rng, k))
    p = rng.dirichlet(np.full(k, 0.05))
    moved = see_more(p, rng.random(k), graph, SHARE)
    assert moved.sum() == pytest.approx(1.0, abs=1e-12)
    assert (moved >= 0.0).all()
    assert np.maximum(0.0, moved - p).sum() <= SHARE + 1e-12
    wanted = SHARE * most_even(graph).least
    assert (graph.matrix.T @ moved >= wanted * (1.0 - 1e-9)).all()
    if (graph.matrix.T @ p >= wanted).all():
        assert moved is p


def random_box(rng, k):
    floors = rng.choice([0.0, 0.001, 0.05], size=k).tolist()
    caps = rng.choice([0.0005, 0.3, 1.0], size=k)
    caps[rng.integers(k)], floors[0] = 1.0, 0.001
    linear = []
    if k > 2:
        group = rng.permutation(k)[:2]
        linear.append({"actions": group.tolist(), "at_most": float(rng.choice([0.002, 0.4]))})
    limits = Limits(floors=np.minimum(floors, caps).tolist(), caps=caps.tolist(), linear=linear)
    return limits.on(range(k))


@given(seed=st.integers(0, 2**32 - 1))
def test_limits_hold_to_the_last_bit_and_leave_what_they_can(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 9))
    graph = FeedbackGraph(random_matrix(rng, k))
    try:
        box = random_box(rng, k)
    except ValueError:  # no distribution obeys
        return
    losses = rng.random(k)
    p = best_within(losses, box)
    moved = see_more(p, losses, graph, SHARE, box)
    assert obeys(moved, box.lower, box.upper, np.zeros((0, k)), np.zeros(0))
    assert (box.rows @ moved <= box.most + 1e-9).all()
    assert moved.sum() == pytest.approx(1.0, abs=1e-9)
    assert np.maximum(0.0, moved - p).sum() <= SHARE + 1e-9
    seen = graph.matrix.T @ moved
    share = _largest_share(p, graph.matrix, box)
    wanted = np.minimum(SHARE * most_even(graph).least, graph.matrix.T @ box.upper)
    asked = wanted if share >= 1.0 else 0.5 * share * wanted
    if share > 2.0**-6:
        assert (seen >= asked * (1.0 - 1e-6) - 1e-12).all()


def _largest_share(p, matrix, box):
    """How much of what is wanted can be had within limits by moving SHARE of p, by HiGHS."""
    k = len(p)
    wanted = np.minimum(SHARE * most_even(FeedbackGraph(matrix)).least, matrix.T @ box.upper)
    kept = (1.0 - SHARE) * p
    found = linprog(
        np.append(np.zeros(k), -1.0),
        A_ub=np.block(
            [[-SHARE * matrix.T, wanted[:, None]], [SHARE * box.rows, np.zeros((len(box.most), 1))]]
        ),
        b_ub=np.concatenate([matrix.T @ kept, box.most - box.rows @ kept]),
        A_eq=[np.append(np.ones(k), 0.0)],
        b_eq=[1.0],
        bounds=[
            *zip(
                np.clip((box.lower - kept) / SHARE, 0, 1),
                np.clip((box.upper - kept) / SHARE, 0, 1),
                strict=True,
            ),
            (0.0, 1.0),
        ],
    )
    return -found.fun if found.status == 0 else 0.0


def test_with_bandit_feedback_it_spreads():
    moved = see_more(sure(4), np.arange(4.0), graphs.bandit(4), SHARE)
    np.testing.assert_allclose(moved, [0.985, 0.005, 0.005, 0.005], atol=1e-15)


def test_with_a_review_it_reviews_and_takes_the_cheaper_one():
    graph = FeedbackGraph([[0, 0, 0], [1, 1, 1], [1, 1, 1]])
    moved = see_more(sure(3), np.array([0.0, 0.5, 0.2]), graph, SHARE)
    np.testing.assert_allclose(moved, [0.98, 0.0, 0.02], atol=1e-15)


def test_with_full_information_or_enough_exploration_nothing_is_moved():
    p = np.array([0.5, 0.49, 0.01])
    assert see_more(p, np.zeros(3), graphs.full_information(3), SHARE) is p
    assert see_more(p, np.zeros(3), graphs.bandit(3), 0.03) is p


def test_only_what_is_missing_is_moved():
    moved = see_more(np.array([0.997, 0.003]), np.array([0.1, 0.9]), graphs.bandit(2), SHARE)
    np.testing.assert_allclose(moved, [0.99, 0.01], atol=1e-15)


def test_an_action_that_shows_an_outcome_seldom_is_played_more_often():
    graph = FeedbackGraph([[1.0, 0.0], [0.0, 0.25]])
    np.testing.assert_allclose(most_even(graph).probabilities, [0.2, 0.8], atol=1e-12)
    seen = graph.matrix.T @ see_more(sure(2), np.zeros(2), graph, SHARE)
    assert seen[1] == pytest.approx(SHARE * 0.2, rel=1e-9)


def test_what_a_cap_forbids_is_left_out_and_the_rest_is_seen():
    box = Limits(caps={2: 0.0}).on(range(3))
    moved = see_more(sure(3), np.zeros(3), graphs.bandit(3), 0.03, box)
    np.testing.assert_allclose(moved, [0.99, 0.01, 0.0], atol=1e-12)


def test_a_floor_is_kept_where_the_way_to_the_most_even_one_would_break_it():
    graph = FeedbackGraph([[0, 0], [1, 1]])
    box = Limits(floors={0: 0.99}).on(range(2))
    moved = see_more(np.array([1.0, 0.0]), np.zeros(2), graph, SHARE, box)
    assert moved[0] >= 0.99
    assert moved[1] == pytest.approx(0.01, rel=1e-6)


@pytest.mark.parametrize("k", [FEW + 1, SOLVED + 1, 700])
def test_many_actions_without_a_family(k):
    rng = np.random.default_rng(0)
    matrix = np.eye(k)
    matrix[rng.integers(k, size=k), rng.integers(k, size=k)] = 1.0
    matrix[0, 0] = 0.0
    matrix[1, 0] = 1.0
    graph = FeedbackGraph(matrix)
    moved = see_more(sure(k), rng.random(k), graph, SHARE)
    assert np.maximum(0.0, moved - sure(k)).sum() <= SHARE + 1e-12
    assert (matrix.T @ moved >= SHARE * most_even(graph).least * (1.0 - 1e-9)).all()
    assert most_even(graph).least.min() > 0.0


def test_a_million_actions_need_no_matrix():
    for graph in (graphs.bandit(10**6), graphs.inventory(10**6), graphs.cops_and_robbers(10**6)):
        p = np.zeros(10**6)
        p[3] = 1.0
        seen = graph.structure.reveal_probabilities(see_more(p, p, graph, SHARE))
        assert (seen >= SHARE * most_even(graph).least * (1.0 - 1e-9)).all()


def test_what_it_costs_in_words():
    some = cost_of_exploring(FeedbackGraph([[1, 0], [0, 0]]), 0.01, is_limited=True)
    assert some == (
        "explore: every outcome that can be revealed is seen with a probability of at least 0.01, "
        "for at most 0.01 of the range of losses per decision, as far as limits and budgets allow"
    )


def test_a_graph_that_reveals_nothing_is_left_alone():
    p = sure(2)
    assert see_more(p, p, FeedbackGraph(np.zeros((2, 2))), SHARE) is p


@pytest.mark.parametrize("share", [-0.01, 0.51, float("nan"), float("inf")])
def test_a_share_beyond_its_range_is_refused(share):
    with pytest.raises(ValueError, match="`explore` must be"):
        as_share(share)


@pytest.mark.parametrize("share", ["0.01", True, None])
def test_a_share_that_is_no_number_is_refused(share):
    with pytest.raises(TypeError, match="`explore` must be a number, got"):
        as_share(share)
