"""The DEC against what limits allow: against all vertices, one by one, and the worst losses."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphcb import FeedbackGraph, Limits, dec, graphs, solve_dec
from graphcb.exploration import BoxAndRows
from graphcb.exploration.allowed import allowed_dec

GAMMA = 30.0


def against(p, q, f, graph):
    """What the maximum is taken of."""
    reveal = graph.matrix.T @ p
    return (p - q) @ f + ((p - q) ** 2 / reveal).sum() / GAMMA


def vertices(box):
    """All q within the limits at which K of them are tight, besides the sum."""
    k = box.lower.size
    rows = np.vstack([-np.eye(k), np.eye(k), box.rows])
    most = np.concatenate([-box.lower, box.upper, box.most])
    found = []
    for tight in combinations(range(most.size), k - 1):
        system = np.vstack([np.ones(k), rows[list(tight)]])
        if abs(np.linalg.det(system)) > 1e-9:
            q = np.linalg.solve(system, np.array([1.0, *most[list(tight)]]))
            if (rows @ q <= most + 1e-9).all():
                found.append(q)
    return found


def a_round(seed, n_actions=4):
    rng = np.random.default_rng(seed)
    graph = graphs.random_self_aware(n_actions, 0.4, rng)
    return rng.dirichlet(np.ones(n_actions)), rng.random(n_actions), graph


@given(st.integers(0, 10_000))
def test_without_limits_it_is_the_dec(seed):
    p, f, graph = a_round(seed)
    free = BoxAndRows(np.zeros(4), np.ones(4), np.zeros((0, 4)), np.zeros(0))
    assert allowed_dec(p, f, graph, GAMMA, free) == pytest.approx(dec(p, f, graph, GAMMA))


@given(st.integers(0, 10_000), st.lists(st.floats(0.0, 0.24), min_size=4, max_size=4))
def test_with_floors_it_is_the_largest_of_all_vertices(seed, floors):
    p, f, graph = a_round(seed)
    box = Limits(floors=floors, caps=1.0).on(range(4))
    if box is None:
        return
    p = box.lower + (1.0 - box.lower.sum()) * p
    largest = max(against(p, q, f, graph) for q in vertices(box))
    assert allowed_dec(p, f, graph, GAMMA, box) == pytest.approx(max(largest, 0.0), abs=1e-9)


@given(
    st.integers(0, 10_000),
    st.lists(st.floats(0.4, 1.0), min_size=4, max_size=4),
    st.floats(0.25, 1.0),
)
def test_with_caps_and_groups_no_vertex_is_above_it(seed, caps, group):
    p, f, graph = a_round(seed)
    limits = Limits(caps=caps, linear=[{"actions": [0, 1], "at_most": group}])
    box = limits.on(range(4))
    if box is None:
        return
    p = solve_dec(f, graph, GAMMA, limits=limits).probabilities
    value = allowed_dec(p, f, graph, GAMMA, box)
    largest = max(against(p, q, f, graph) for q in vertices(box))
    assert value >= largest - 1e-9
    assert value <= dec(p, f, graph, GAMMA) + 1e-9  # chords of shorter intervals are lower


def test_the_worst_losses_of_the_proof_reach_it():
    """f* = f-hat + (2 / gamma) (p - q) / W for the q that is worst: equality."""
    p, f, graph = a_round(3)
    box = Limits(floors=[0.1, 0.0, 0.2, 0.0]).on(range(4))
    p = box.lower + 0.7 * p
    reveal, worst = graph.matrix.T @ p, -np.inf
    for q in vertices(box):
        means = f + (2.0 / GAMMA) * (p - q) / reveal
        error = reveal @ (f - means) ** 2
        worst = max(worst, (p - q) @ means - GAMMA / 4.0 * error)
    assert allowed_dec(p, f, graph, GAMMA, box) == pytest.approx(worst)


def test_what_is_never_seen_counts_only_if_it_may_be_played():
    graph, f = FeedbackGraph([[1, 0], [1, 1]]), np.array([0.0, 1.0])
    p = np.array([1.0, 0.0])
    never = Limits(caps={1: 0.0}).on(range(2))
    assert allowed_dec(p, f, graph, GAMMA, never) == 0.0
    assert dec(p, f, graph, GAMMA) == np.inf
    rarely = Limits(caps={1: 0.1}).on(range(2))
    assert allowed_dec(p, f, graph, GAMMA, rarely) == np.inf
