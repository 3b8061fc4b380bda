"""Defaults after waiting: feedback that is missing for what it would have said."""

import numpy as np
import pytest

from graphcb import graphs
from graphcb.decisions import LoggedDecision, LoggedFeedback
from graphcb.evaluation import constant, evaluate, logged
from graphcb.evaluation.defaulting import Clock, own_alone

WAITING = 20.0
P = np.array([0.5, 0.3, 0.2])
MEANS = np.array([0.2, 0.5, 0.7])


def row(position, action, seen, *, is_default=False, graph=None):
    """A decision at a time of its own, with the losses that were seen."""
    feedback = None
    if seen is not None:
        indices = np.array(sorted(seen), dtype=np.int64)
        losses = np.array([seen[i] for i in indices.tolist()])
        at = position + (WAITING if is_default else 1.0)
        feedback = LoggedFeedback(position, at, indices, indices, losses, (), is_default)
    return LoggedDecision(
        position, f"1-{position}", float(position), None, graph or graphs.inventory(3), None,
        action, action, P, None, 0, feedback, waiting=WAITING,
    )  # fmt: skip


def rows(n, seed):
    """Feedback comes if nothing was lost; else the default, once the time is over."""
    rng = np.random.default_rng(seed)
    for position in range(1, n + 1):
        action = int(rng.choice(3, p=P))
        losses = (rng.random(3) < MEANS).astype(float)
        if losses[action] == 0.0:
            yield row(position, action, {a: losses[a] for a in range(action + 1)})
        elif position + WAITING <= n:
            yield row(position, action, {action: 1.0}, is_default=True)
        else:
            yield row(position, action, None)


@pytest.mark.parametrize("target", [logged, constant(0), constant(2)])
def test_what_is_missing_because_of_its_loss_does_no_harm(target):
    truth = float(target(row(1, 0, None)) @ MEANS)
    held = 0
    for seed in range(60):
        found = evaluate(rows(400, seed), target)
        assert 20 <= found.n_young < 40
        lower, upper = found.graph.normal
        held += lower <= truth <= upper
        assert found.graph.anytime.lower <= truth <= found.graph.anytime.upper
    assert held >= 54  # 57 on average


def test_of_others_nothing_is_used():
    one = own_alone(row(1, 1, {0: 0.25, 1: 0.5}))
    assert one.graph.matrix.tolist() == np.eye(3).tolist()
    assert one.feedback.action_indices.tolist() == [1]
    assert one.feedback.losses.tolist() == [0.5]


def test_graphs_that_show_the_played_action_alone_stay():
    one = row(1, 1, {1: 0.5}, graph=graphs.bandit(3))
    assert own_alone(one) is one


def test_an_action_that_does_not_show_itself_is_not_known():
    made = [row(k, k % 3, {0: 0.5}, graph=graphs.cops_and_robbers(3)) for k in (1, 2, 4, 40)]
    found = own_alone(made[0])
    assert not found.graph.matrix.any()
    assert evaluate(rows(200, 0), constant(1)).graph is not None


def test_a_default_shows_how_far_the_log_has_waited():
    clock = Clock()
    clock.decision(row(7, 0, {0: 1.0}))
    assert clock.has_reached(8.0)  # nothing has waited in vain so far
    assert not clock.has_reached(8.5)
    clock.decision(row(3, 0, {0: 1.0}, is_default=True))
    assert clock.has_reached(3.0 + WAITING)
    clock.decision(row(100, 0, {0: 1.0}))
    assert not clock.has_reached(3.5 + WAITING)  # defaults may be late


def test_decisions_that_were_not_filled_in_yet_do_not_count():
    """The time of the last 100 is over, but nobody has filled in their defaults."""
    made = list(rows(400, 1))
    late = [one if one.feedback and not one.feedback.is_default else one._replace(feedback=None)
            for one in made[300:]]  # fmt: skip
    found = evaluate([*made[:300], *late], logged)
    assert found.n_young >= 100
    assert found.n_without_feedback == 0
