import numpy as np
import pytest

from graphcb import Automatic, Doubling, SquareCB, SquareCBG, SquareRoot, graphs
from graphcb.exploration import closed_form_probabilities
from graphcb.exploration.closed_forms import inverse_gap_weighting
from graphcb.oracles import LinearOGD

LOSSES = np.array([0.3, 0.1, 0.6])


class Table:
    """An oracle that always predicts the same and remembers what it was told."""

    def __init__(self):
        self.told = []

    def predict(self, context, actions):
        return LOSSES if actions is None else LOSSES[actions]

    def update(self, context, actions, losses):
        self.told.append((context, list(actions), list(losses)))


def test_squarecb_is_blind_to_the_graph_and_squarecbg_is_not():
    blind, seeing = SquareCB(Table(), gamma=20.0), SquareCBG(Table(), gamma=20.0)
    for graph in (graphs.bandit(3), graphs.full_information(3), graphs.inventory(3)):
        np.testing.assert_array_equal(blind.act(None, graph), inverse_gap_weighting(LOSSES, 20.0))
        np.testing.assert_array_equal(
            seeing.act(None, graph), closed_form_probabilities(LOSSES, graph, 20.0)
        )


def test_gamma_follows_the_schedule_by_the_calls_of_act():
    agent = SquareCB(Table(), gamma=SquareRoot(2.0, "n_actions"))
    for t in range(1, 6):
        np.testing.assert_array_equal(
            agent.act(None, graphs.bandit(3)),
            inverse_gap_weighting(LOSSES, 2.0 * np.sqrt(3 * t)),
        )


def test_todays_actions_go_to_the_oracle():
    agent = SquareCBG(Table(), gamma=20.0)
    p = agent.act(None, graphs.cops_and_robbers(2), np.array([2, 0]))
    np.testing.assert_array_equal(
        p, closed_form_probabilities(LOSSES[[2, 0]], graphs.cops_and_robbers(2), 20.0)
    )


def test_what_is_revealed_goes_to_the_oracle_as_it_is():
    for agent in (SquareCB(Table(), gamma=1.0), SquareCBG(Table(), gamma=1.0)):
        agent.learn("x", [0, 2], [0.1, 0.2])
        agent.learn("y", [], [])
        assert agent.oracle.told == [("x", [0, 2], [0.1, 0.2]), ("y", [], [])]


@pytest.mark.parametrize("gamma", [Automatic(), Doubling(100, 1.0)])
def test_squarecb_refuses_a_schedule_that_it_would_starve(gamma):
    with pytest.raises(
        ValueError, match=r"`gamma` must be a schedule that needs no DEC.*SquareCBG"
    ):
        SquareCB(Table(), gamma=gamma)


def test_the_default_gamma_is_that_of_automatic_with_the_number_of_actions():
    agent = SquareCB(Table())
    assert agent.schedule == SquareRoot(Automatic().c, "n_actions")
    np.testing.assert_array_equal(
        agent.act(None, graphs.bandit(3)), inverse_gap_weighting(LOSSES, 32.0 * np.sqrt(3.0))
    )


@pytest.mark.parametrize("kind", [SquareCB, SquareCBG])
def test_an_agent_keeps_a_copy_of_its_schedule(kind):
    schedule = SquareRoot(2.0, "n_actions")
    agent = kind(Table(), gamma=schedule)
    assert agent.schedule == schedule
    assert agent.schedule is not schedule


@pytest.mark.parametrize("kind", [SquareCB, SquareCBG])
def test_a_number_is_shown_as_it_was_given(kind):
    assert repr(kind(LinearOGD(2, 3), gamma=7.5)) == f"{kind.__name__}(LinearOGD(2, 3), gamma=7.5)"


def test_two_agents_do_not_share_the_state_of_a_schedule():
    schedule = Automatic()
    one, other = SquareCBG(Table(), gamma=schedule), SquareCBG(Table(), gamma=schedule)
    first = other.act(None, graphs.bandit(3))
    for _ in range(5):
        one.act(None, graphs.bandit(3))
    assert schedule.count == 0
    assert (one.schedule.count, other.schedule.count) == (5, 1)
    np.testing.assert_array_equal(
        SquareCBG(Table(), gamma=schedule).act(None, graphs.bandit(3)), first
    )
