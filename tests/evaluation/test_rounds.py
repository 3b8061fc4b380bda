"""Rounds of many graphs at once, and the floor under their terms."""

import numpy as np
import pytest

from graphcb import FeedbackGraph, graphs
from graphcb.estimates.terms import FLOOR
from graphcb.evaluation.rounds import LoggedRound, RoundTerms, terms_of
from graphcb.evaluation.settling import Settled

FORMS = [
    graphs.bandit(4),
    graphs.cops_and_robbers(4),
    graphs.inventory(6),
    graphs.random_self_aware(5, 0.4, np.random.default_rng(0)),
    FeedbackGraph(np.full((4, 4), 0.2) + 0.6 * np.eye(4)),
]


def logged_round(graph, p, action, revealed, losses, target, predicted):
    names = tuple(map(str, range(graph.n_actions)))
    settled = Settled(graph, names, np.array(p), np.array(revealed), np.array(losses))
    return LoggedRound(settled, action, np.full(graph.n_actions, 0.5), predicted, (target,))


def drawn(graph, rng, *, lowest=1e-5):
    p = rng.dirichlet(np.full(graph.n_actions, 0.3)) + lowest
    p /= p.sum()
    action = int(rng.integers(graph.n_actions))  # whatever is drawn, the floor holds
    revealed = np.zeros(graph.n_actions, dtype=bool)
    revealed[graph.draw_revealed(action, rng)] = True
    target = rng.dirichlet(np.ones(graph.n_actions))
    losses = np.where(revealed, rng.integers(0, 2, graph.n_actions), 0).astype(float)
    return logged_round(graph, p, action, revealed, losses, target, rng.random(graph.n_actions))


def terms(rounds):
    return RoundTerms(*terms_of(rounds, 1)[0])


def test_together_as_one_by_one_and_in_order():
    rng = np.random.default_rng(1)
    mixed = [drawn(FORMS[n % 5], rng) for n in range(200)]
    together = np.array(terms(mixed))
    apart = np.concatenate([np.array(terms([one])) for one in mixed], axis=1)
    np.testing.assert_allclose(together, apart, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("graph", FORMS, ids=repr)
def test_no_term_falls_below_the_floor(graph):
    rng = np.random.default_rng(2)
    found = terms([drawn(graph, rng) for _ in range(1000)])
    centred = found.centred_below, found.centred_above, found.robust_below, found.robust_above
    assert min(values.min() for values in centred) >= -FLOOR - 1e-9
    if graph.is_deterministic and graph != graphs.cops_and_robbers(4):  # others are seen often
        assert found.robust.min() < -FLOOR  # which terms around uncut predictions do


def test_cut_predictions_leave_the_terms_unbiased():
    graph = graphs.inventory(3)
    p, target = np.array([0.93, 0.06, 0.01]), np.array([0.1, 0.1, 0.8])
    losses, guess = np.array([0.9, 0.3, 0.6]), np.array([0.5, 0.9, 0.9])
    expected = np.zeros(4)
    for action in range(3):
        revealed = graph.row(action) > 0.0
        seen = np.where(revealed, losses, 0.0)
        found = terms([logged_round(graph, p, action, revealed, seen, target, guess)])
        centred = found.centred_below, found.centred_above, found.robust_below, found.robust_above
        expected += p[action] * np.array([values[0] for values in centred])
    loss = target @ losses
    np.testing.assert_allclose(expected, [loss, 1.0 - loss, loss, 1.0 - loss], rtol=1e-12)


def test_what_could_not_have_been_seen():
    graph = graphs.inventory(3)
    target = np.array([0.2, 0.3, 0.5])
    found = terms([
        logged_round(graph, [0.0, 1.0, 0.0], 1, [True, True, False], np.zeros(3), target, None)
    ])  # fmt: skip
    assert found.unseen == pytest.approx([0.5])
    assert found.plain_unseen == pytest.approx([0.7])
    assert found.below == pytest.approx([0.0])  # counts as loss 0 below, and as 1 above
    assert found.above == pytest.approx([0.5])
