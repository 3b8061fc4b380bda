"""Gamma for graphs that change: Appendix D of the paper, by `Doubling` and by `FromGraphs`."""

import math

import numpy as np
import pytest

from graphcb import (
    Doubling,
    FeedbackGraph,
    FromGraphs,
    SquareCBG,
    SquareRoot,
    Uniform,
    draw,
    graphs,
)
from graphcb.oracles import OnlineRidge

N_FEATURES = 5


def on_sphere(rng, size):
    points = rng.standard_normal((size, N_FEATURES - 1))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def play(agent, drawn, seed=1):
    """Expected regret on a realizable stream: losses linear in the context, plus noise."""
    rng, draws = np.random.default_rng(seed), np.random.default_rng(seed + 1)
    slopes, regret = on_sphere(rng, max(graph.n_actions for graph in drawn)), 0.0
    for graph in drawn:
        context = np.append(1.0, on_sphere(rng, 1)[0])
        actions = np.arange(graph.n_actions)
        means = 0.5 + 0.5 * slopes[actions] @ context[1:]
        losses = means + 0.2 * rng.standard_normal(actions.size)
        p = agent.act(context, graph, actions)
        seen = graph.draw_revealed(draw(p, draws), draws)
        agent.learn(context, seen, losses[seen])
        regret += p @ means - means.min()
    return regret


def changing(n_actions, n_rounds, seed=0):
    rng = np.random.default_rng(seed)
    kinds = (
        graphs.full_information(n_actions),
        graphs.cops_and_robbers(n_actions),
        graphs.disjoint_cliques([n_actions // 2, n_actions - n_actions // 2]),
        graphs.bandit(n_actions),
        graphs.bandit(n_actions),
    )
    return [kinds[kind] for kind in rng.integers(len(kinds), size=n_rounds)]


@pytest.mark.parametrize("n_actions", [4, 8])
def test_doubling_has_the_regret_of_appendix_d_and_uniform_play_has_not(n_actions):
    """Regret <= 1.3 sqrt(sum of alpha_t * Reg_Sq); uniform play is four times above that."""
    horizon, regression_regret = 2000, 2.0
    drawn = changing(n_actions, horizon)
    alphas = sum(graph.independence_number() for graph in drawn)
    bound = 1.3 * math.sqrt(alphas * regression_regret)
    doubling = SquareCBG(
        OnlineRidge(n_actions, N_FEATURES), gamma=Doubling(horizon, regression_regret)
    )
    assert play(doubling, drawn) <= bound
    assert play(Uniform(), drawn) > 4.0 * bound
    # gamma * DEC is between alpha - 1 and 2 alpha on these graphs, and an epoch ends when
    # its sum exceeds 4^epoch * horizon.
    assert _log4(1.0 + 3.0 * (alphas / horizon - 1.0)) - 1.0 <= doubling.schedule.epoch
    assert doubling.schedule.epoch <= _log4(1.0 + 3.0 * 2.0 * alphas / horizon)


def _log4(x):
    return math.log(x) / math.log(4.0)


class Told:
    """Predicts what it is told in the context."""

    def predict(self, context, actions):
        return context

    def update(self, context, actions, losses):
        pass


@pytest.mark.parametrize("n_actions", [2, 3, 7, 12, 40, 100])
def test_the_number_of_epochs_on_strongly_observable_graphs(n_actions):
    """Bandit feedback: gamma * DEC = K - 1, so S' epochs end within (4^S' - 1) T / (3 (K - 1))."""
    horizon = 1000
    agent = SquareCBG(Told(), gamma=Doubling(horizon, 3.0))
    rng, graph = np.random.default_rng(n_actions), graphs.bandit(n_actions)
    for _ in range(horizon):
        agent.act(rng.random(n_actions), graph)
    exact = _log4(1.0 + 3.0 * (n_actions - 1.0))
    assert exact - 1.05 <= agent.schedule.epoch <= exact


def teachers(d, members=8):
    """d blocks whose members only their teacher reveals, and losses of 1 for the teachers."""
    matrix = np.zeros((d * (members + 1), d * (members + 1)))
    for first in range(0, len(matrix), members + 1):
        matrix[first, first : first + members + 1] = 1.0
    return FeedbackGraph(matrix), (np.arange(len(matrix)) % (members + 1) == 0).astype(float)


@pytest.mark.parametrize("regression_regret", [1.0, 8.0])
@pytest.mark.parametrize("largest", [1, 2, 4, 8])
def test_the_number_of_epochs_on_weakly_observable_graphs_that_change(largest, regression_regret):
    """DEC = 2 sqrt(d_t / gamma), so S' is set by (sum of sqrt(d_t))^(2/3) as in Appendix D."""
    horizon = 1000
    agent = SquareCBG(Told(), gamma=Doubling(horizon, regression_regret))
    rng, roots, kinds = np.random.default_rng(largest), 0.0, [teachers(d) for d in range(1, 9)]
    for d in rng.integers(1, largest + 1, size=horizon):
        graph, losses = kinds[d - 1]
        assert (graph.weak_domination_number(), graph.observability) == (d, "weak")
        agent.act(losses, graph)
        roots += math.sqrt(d * (1.0 - 1.0 / (8 * d)))
    first = math.sqrt(horizon / regression_regret)
    ended = 2.0 * roots * (2.0**1.5 - 1.0) / (first**1.5 * regression_regret)
    exact = math.log2(1.0 + ended) / 1.5
    assert exact - 1.05 <= agent.schedule.epoch <= exact


def test_a_gamma_from_the_sums_is_better_than_one_from_the_largest_or_the_least_number():
    """The bound of Theorem 3.1 with sum of alpha_t: hard graphs that are rare cost little."""
    horizon, error = 1500, 4.0
    rng = np.random.default_rng(0)
    kinds = (graphs.disjoint_cliques([60]), graphs.bandit(60))
    drawn = [kinds[kind] for kind in (rng.random(horizon) < 0.05).astype(int)]
    alphas = sum(graph.independence_number() for graph in drawn)
    c = 2.0 / math.sqrt(error)

    def bound(schedule):
        agent = SquareCBG(OnlineRidge(60, N_FEATURES), gamma=schedule, certify=True)
        regret = play(agent, drawn)
        assert regret <= agent.certificate.regret(error)
        return agent.certificate.regret(error)

    by_sums = bound(FromGraphs(c))
    assert by_sums <= 1.5 * math.sqrt(alphas * error)
    assert bound(SquareRoot(c, 60)) > 1.5 * by_sums
    assert bound(SquareRoot(c, 1)) > 1.1 * by_sums
