"""Steps of a policy that need no database."""

import numpy as np

from graphcb import SquareCBG, graphs
from graphcb.agents import Played
from graphcb.decisions.transition import PolicyState, pass_by, uniform_at, uniform_of
from graphcb.oracles import LinearOGD
from graphcb.saving import to_bytes

PLAYED = Played([1.0], graphs.bandit(3), None, np.array([0.25, 0.5, 0.25]), 1)


def test_an_agent_goes_through_a_round_that_was_decided_elsewhere():
    state = PolicyState(SquareCBG(LinearOGD(3, 1)), 5, 2, 1)
    before = to_bytes(state.agent)
    after = pass_by(state, 0.0, PLAYED, 1)
    assert (after.position, after.n_feedbacks, after.agent.n_rounds) == (6, 2, 1)
    assert to_bytes(state.agent) == before


def test_a_round_of_another_version_or_one_that_is_refused_changes_nothing():
    state = PolicyState(SquareCBG(LinearOGD(3, 1)), 5, 2, 2)
    other = PLAYED._replace(graph=graphs.bandit(4), probabilities=np.full(4, 0.25))
    for played, version in ((PLAYED, 1), (other, 2)):
        after = pass_by(state, 0.0, played, version)
        assert (after.position, after.agent.n_rounds) == (6, 0)


def test_numbers_of_tokens_are_uniform_and_not_those_of_positions():
    drawn = [uniform_of(3, f"{k:016x}") for k in range(4000)]
    assert len({*drawn, *(uniform_at(3, k) for k in range(4000))}) == 8000
    assert abs(np.mean(drawn) - 0.5) < 0.02
    assert abs(np.var(drawn) - 1 / 12) < 0.005
    assert uniform_of(3, "a") != uniform_of(4, "a")
