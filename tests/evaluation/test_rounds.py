"""Rounds of many graphs at once, and the floor under their terms."""

import numpy as np
import pytest

from graphcb import FeedbackGraph, graphs
from graphcb.evaluation import rounds
from graphcb.evaluation.rounds import FLOOR, JudgedRound, terms_of

FORMS = [
    graphs.bandit(4),
    graphs.cops_and_robbers(4),
    graphs.inventory(6),
    graphs.random_self_aware(5, 0.4, np.random.default_rng(0)),
    FeedbackGraph(np.full((4, 4), 0.2) + 0.6 * np.eye(4)),
]


def judged(graph, rng, *, lowest=0.001):
    p = rng.dirichlet(np.full(graph.n_actions, 0.3)) + lowest
    p /= p.sum()
    action = int(rng.choice(graph.n_actions, p=p))
    revealed = np.zeros(graph.n_actions, dtype=bool)
    revealed[graph.draw_revealed(action, rng)] = True
    target = rng.dirichlet(np.ones(graph.n_actions))
    losses = np.where(revealed, rng.integers(0, 2, graph.n_actions), 0).astype(float)
    return JudgedRound(graph, target, p, action, revealed, losses, rng.random(graph.n_actions))


def test_together_as_one_by_one_and_in_order():
    rng = np.random.default_rng(1)
    mixed = [judged(FORMS[n % 5], rng) for n in range(200)]
    together = np.array(terms_of(mixed))
    apart = np.concatenate([np.array(terms_of([one])) for one in mixed], axis=1)
    np.testing.assert_allclose(together, apart, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("looked_at", [512, 0])
@pytest.mark.parametrize("graph", FORMS, ids=repr)
def test_no_term_falls_below_the_floor_and_the_mean_stays(graph, looked_at, monkeypatch):
    monkeypatch.setattr(rounds, "LOOKED_AT", looked_at)
    rng = np.random.default_rng(2)
    terms = terms_of([judged(graph, rng) for _ in range(2000)])
    for values in (terms.robust_below, terms.robust_above):
        assert values.min() >= -FLOOR - 1e-9
    if graph != graphs.cops_and_robbers(4) and looked_at:
        assert terms.robust.min() < -FLOOR  # which the plain doubly robust terms do


def test_shrunk_predictions_leave_the_terms_unbiased():
    graph = graphs.inventory(3)
    p, target = np.array([0.9, 0.08, 0.02]), np.array([0.1, 0.1, 0.8])
    losses, guess = np.array([0.9, 0.3, 0.6]), np.array([0.5, 0.9, 0.9])
    expected = np.zeros(2)
    for action in range(3):
        revealed = graph.row(action) > 0.0
        seen = np.where(revealed, losses, 0.0)
        terms = terms_of([JudgedRound(graph, target, p, action, revealed, seen, guess)])
        expected += p[action] * np.array([terms.robust_below[0], terms.robust_above[0]])
    np.testing.assert_allclose(expected, [target @ losses, 1.0 - target @ losses], rtol=1e-12)


def test_what_could_not_have_been_seen():
    graph = graphs.inventory(3)
    one = JudgedRound(
        graph, np.array([0.2, 0.3, 0.5]), np.array([0.0, 1.0, 0.0]), 1,
        np.array([True, True, False]), np.zeros(3), None,
    )  # fmt: skip
    terms = terms_of([one])
    assert terms.unseen == pytest.approx([0.5])
    assert terms.plain_unseen == pytest.approx([0.7])
