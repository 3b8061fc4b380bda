"""The baseline is played, and the agent learns behind it."""

import numpy as np
import pytest

from graphcb import Greedy, InformationDirected, Limits, Shadow, Uniform, graphs, oracles
from graphcb.agents import gamma_of, hook
from graphcb.saving import from_bytes, to_bytes


def test_the_baseline_is_played_whatever_the_agent_learns():
    agent = Shadow(InformationDirected(), "keep")
    for _ in range(50):
        p = agent.act([1.0], graphs.full_information(2), names=["keep", "change"])
        np.testing.assert_array_equal(p, [1.0, 0.0])
        agent.learn([1.0], [0, 1], [1.0, 0.0])
    np.testing.assert_array_equal(agent.agent.act([1.0], graphs.full_information(2)), [0.0, 1.0])
    assert agent.n_rounds == agent.agent.n_rounds - 1 == 50


def test_it_learns_what_its_agent_would_have_learned():
    alone, agent = (Greedy(oracles.LinearOGD(2, 1, learning_rate=0.5)) for _ in range(2))
    behind = Shadow(agent, Uniform())
    for loss in (0.25, 0.75):
        behind.act([1.0], graphs.bandit(2))
        alone.act([1.0], graphs.bandit(2))
        behind.learn([1.0], [1], [loss])
        alone.learn([1.0], [1], [loss])
    assert to_bytes(behind.agent) == to_bytes(alone)
    assert behind.oracle is behind.agent.oracle
    assert gamma_of(behind) is None


def test_hooks_are_those_of_the_agent():
    assert [hook(Shadow(Uniform(), 0), name) for name in ("at_time", "on_draw", "on_feedback")] == [
        None
    ] * 3


def test_bad_input_is_refused_and_changes_nothing():
    with pytest.raises(TypeError, match=r"`baseline` must be an action, .*got list"):
        Shadow(Uniform(), [0.5, 0.5])
    with pytest.raises(
        TypeError, match="`agent` must have the methods act and learn, got NoneType"
    ):
        Shadow(None, 0)
    agent = Shadow(Greedy(oracles.LinearOGD(2, 1), limits=Limits(caps={1: 0.5})), 1)
    before = to_bytes(agent)
    with pytest.raises(
        ValueError, match=r"limits of the agent, got probability 1 for 1, whose cap"
    ):
        agent.act([1.0], graphs.bandit(2))
    with pytest.raises(
        ValueError, match="`baseline` must be an action of the round, one of 0; got 1"
    ):
        agent.act([1.0], graphs.bandit(1))
    assert to_bytes(agent) == before


def test_the_first_action_of_each_round_is_a_baseline():
    agent = Shadow(Uniform(), "first of each round")
    for actions in (["a", "b"], ["b", "a"], ["c"]):
        graph = graphs.full_information(len(actions))
        played = agent.act([1.0], graph, actions)
        np.testing.assert_array_equal(played, np.eye(1, len(actions))[0])
    assert agent.n_rounds == 3


def test_matches_are_rounds_in_which_the_agent_would_have_played_the_same():
    graph = graphs.full_information(2)
    agent = Shadow(Greedy(oracles.OnlineRidge(2, 1)), 0)
    agent.learn([1.0], [0, 1], [0.0, 1.0])  # the agent prefers the baseline, then the other
    agent.act([1.0], graph)
    assert (agent.n_matches, agent.n_rounds) == (1, 1)
    for _ in range(9):
        agent.learn([1.0], [0, 1], [1.0, 0.0])
    agent.act([1.0], graph)
    assert (agent.n_matches, agent.n_rounds) == (1, 2)
    again = from_bytes(to_bytes(agent), where="test")
    assert (again.n_matches, again.n_rounds) == (1, 2)
    again.n_matches = -1
    with pytest.raises(ValueError, match="n_matches"):
        from_bytes(to_bytes(again), where="test")
