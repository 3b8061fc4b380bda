import numpy as np
import pytest

from graphcb import FeedbackGraph, InformationDirected, graphs
from graphcb.agents import gamma_of
from graphcb.exploration.information_directed import START, information_directed
from graphcb.oracles import DefaultOracle, LinearOGD, OnlineRidge
from graphcb.saving import to_bytes


@pytest.mark.parametrize("oracle", [OnlineRidge(3, 2), DefaultOracle(3)], ids=repr)
def test_it_plays_the_information_directed_choice_of_what_its_oracle_forecasts(oracle):
    agent, rng = InformationDirected(oracle), np.random.default_rng(0)
    chain, memory = FeedbackGraph([[1, 1, 0], [0, 1, 1], [0, 0, 1]]), START
    wanted, taken = np.zeros(3), np.zeros(3)
    for t, x in enumerate(rng.normal(size=(40, 2)), start=1):
        forecast = oracle.forecast(x, None)
        looks = np.zeros(3), wanted, taken, np.arange(3)
        expected, memory, wanted = information_directed(
            *forecast, graph=chain, round_number=t, memory=memory, looks=looks
        )
        np.testing.assert_allclose(agent.act(x, chain), expected, rtol=1e-12)
        taken = taken + expected @ chain.matrix
        agent.learn(x, [0, 1, 2], rng.random(3))
        agent.waiting = None  # decisions in flight have tests of their own
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


def test_an_action_in_doubt_is_played_until_the_doubt_is_gone():
    agent, rng = InformationDirected(DefaultOracle(2)), np.random.default_rng(0)
    losses = [(0, float(x < 0.90)) for x in rng.random(2000)]
    losses += [(1, float(x < 0.94)) for x in rng.random(300)]
    for i in rng.permutation(len(losses)):
        action, loss = losses[i]
        agent.learn([1.0], [action], [loss])
    assert agent.act([1.0], graphs.bandit(2))[0] > 0.98
    for loss in (0, 1, 0, 0, 1, 0, 0, 1, 0, 0):  # good news, by chance
        agent.learn([1.0], [0], [float(loss)])
    assert agent.oracle.forecast([1.0]).deviations[0] > 0.1
    assert agent.act([1.0], graphs.bandit(2))[0] >= 0.5 - 1e-12
    for loss in rng.random(40) < 0.9:
        agent.learn([1.0], [0], [float(loss)])
    assert agent.act([1.0], graphs.bandit(2))[0] > 0.98


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


def test_it_finds_the_better_of_close_arms():
    regrets = []
    for seed in range(8):
        rng, agent, graph = np.random.default_rng(seed), InformationDirected(), graphs.bandit(5)
        means = np.full(5, 0.5)
        means[rng.integers(5)] = 0.35
        played = []
        for _ in range(2000):
            a = int(rng.choice(5, p=agent.act([1.0], graph)))
            agent.learn([1.0], [a], [float(rng.random() < means[a])])
            played.append(means[a] - means.min())
        regrets.append(played)
    assert np.sum(regrets, axis=1).max() < 0.15 * 2000 / 2  # none is lost
    assert np.mean(regrets, axis=0)[-500:].mean() < 0.15 / 10


def test_classes_that_swap_are_found_again():
    """The losses that follow a swap say that all actions are bad; some of that is forgotten."""
    rng, n = np.random.default_rng(1), 1000
    agent, graph, errors = InformationDirected(), graphs.bandit(2), []
    for t in range(2 * n):
        is_wide = rng.random() < 0.5
        x = rng.normal(size=20) * (2.0 if is_wide else 1.0) + (0.0 if is_wide else 0.447)
        losses = np.array([is_wide, not is_wide], dtype=float)[:: -1 if t >= n else 1]
        action = int(rng.random() < agent.act(x, graph)[1])
        agent.learn(x, [action], [losses[action]])
        errors.append(losses[action])
    assert np.mean(errors[500:n]) < 0.15
    assert np.mean(errors[n + 500 :]) < 0.15  # 0.32 if actions that nobody plays stay as they were
