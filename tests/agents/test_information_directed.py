import numpy as np
import pytest

from graphcb import FeedbackGraph, InformationDirected, graphs
from graphcb.agents import gamma_of
from graphcb.exploration.information_directed import information_directed
from graphcb.oracles import DefaultOracle, LinearOGD, OnlineRidge
from graphcb.saving import to_bytes


@pytest.mark.parametrize("oracle", [OnlineRidge(3, 2), DefaultOracle(3)], ids=repr)
def test_it_plays_the_information_directed_choice_of_what_its_oracle_forecasts(oracle):
    agent, rng = InformationDirected(oracle), np.random.default_rng(0)
    chain = FeedbackGraph([[1, 1, 0], [0, 1, 1], [0, 0, 1]])
    for t, x in enumerate(rng.normal(size=(40, 2)), start=1):
        forecast = oracle.forecast(x, None)
        np.testing.assert_array_equal(
            agent.act(x, chain), information_directed(*forecast, graph=chain, round_number=t)
        )
        agent.learn(x, [1, 2], rng.random(2))
    assert gamma_of(agent) is None


def test_without_arguments_it_makes_its_oracle_and_lets_it_grow():
    agent = InformationDirected()
    assert repr(agent) == "InformationDirected()"
    assert agent.explain(graphs.bandit(2)).startswith("information-directed: ")
    for n_actions in (2, 4, 3):
        p = agent.act([0.5, 1.0], graphs.bandit(n_actions))
        assert p.shape == (n_actions,)
        agent.learn([0.5, 1.0], [int(np.argmax(p))], [0.5])
    assert agent.oracle.n_actions == 4
    agent.act([0.5, 1.0], graphs.bandit(2), actions=[7, 1])
    assert agent.oracle.n_actions == 8
    assert repr(agent) == "InformationDirected()"


def test_a_refused_round_changes_nothing():
    agent = InformationDirected()
    before = to_bytes(agent)
    for context, graph, actions in (
        ([np.nan, 1.0], graphs.bandit(2), None),
        ([0.0, 1.0], FeedbackGraph([[1, 0], [0, 0]]), None),
        ([0.0, 1.0], graphs.bandit(2), [0, 1, 2]),
        ([0.0, 1.0], graphs.bandit(2), [0.5, 1.5]),
    ):
        with pytest.raises((ValueError, TypeError)):
            agent.act(context, graph, actions)
        assert to_bytes(agent) == before
    with pytest.raises(ValueError, match=r"`losses` must lie in loss_range \(0.0, 1.0\), got 1.5"):
        agent.learn([0.0, 1.0], [0], [1.5])
    assert to_bytes(agent) == before


def test_an_oracle_that_does_not_say_how_sure_it_is_is_refused():
    text = "`oracle` must say how sure it is.*got LinearOGD; SquareCBG takes any oracle"
    with pytest.raises(TypeError, match=text):
        InformationDirected(LinearOGD(2, 1))
