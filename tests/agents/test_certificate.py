"""Theorem 3.1 as a bound that an agent states: it holds, and each of its parts is needed."""

import numpy as np
import pytest

import graphcb
from graphcb import Doubling, Limits, SquareCBG, SquareRoot, draw, graphs
from graphcb.agents import Certificate
from graphcb.environments import LinearLosses
from graphcb.environments.drawn import on_sphere
from graphcb.experiments.loop import streams
from graphcb.experiments.trace import trace
from graphcb.oracles import LinearOGD, OnlineRidge
from graphcb.saving import load, save


class Told:
    """Predicts what it is told in the context."""

    def predict(self, context, actions):
        return context

    def update(self, context, actions, losses):
        pass


def squared_error(predicted, means, graph, probabilities):
    """What the predictions lose on what is revealed, in expectation over draw and graph."""
    return graph.structure.reveal_probabilities(probabilities) @ (predicted - means) ** 2


def play_linear(graph, gamma, oracle, n_rounds=400, seed=0):
    """The agent, its expected regret and the regression regret on a linear stream."""
    environment = LinearLosses(graph, n_rounds=n_rounds)
    world, draws = streams(seed)
    agent = SquareCBG(oracle, gamma=gamma, certify=True)
    regret = error = 0.0
    for round in environment.rounds(world):
        means = round.hidden[0]
        p = agent.act(round.context, graph)
        predicted = agent.oracle.predict(round.context, np.arange(graph.n_actions))
        regret += p @ means - means.min()
        error += squared_error(predicted, means, graph, p)
        seen = environment.reveal(round, draw(p, draws), draws)
        agent.learn(round.context, seen.actions, seen.losses)
    return agent, regret, error


def test_it_is_of_what_is_played_where_a_share_explores():
    graph, f, gamma = graphs.bandit(3), np.array([0.0, 0.9, 0.9]), 1e6
    for share in (0.0, 0.3):
        agent = SquareCBG(Told(), gamma=gamma, certify=True, explore=share)
        value = graphcb.exploration.dec(agent.act(f, graph), f, graph, gamma)
        assert agent.certificate.exploration == pytest.approx(value, rel=1e-6)
        assert (value > 0.1) == (share > 0.0)  # 0.2 of the probability loses 0.9


GRAPHS = {
    "bandit": graphs.bandit(6),
    "cops": graphs.cops_and_robbers(6),
    "inventory": graphs.inventory(6),
    "apples": graphs.apple_tasting(6),
    "random": graphs.random_self_aware(6, 0.3, np.random.default_rng(0)),
    "stochastic": graphcb.FeedbackGraph(np.random.default_rng(1).random((6, 6))),
}


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
@pytest.mark.parametrize("gamma", [5.0, SquareRoot(8.0, 2.0)], ids=str)
def test_it_bounds_the_regret_on_linear_streams(graph, gamma):
    agent, regret, error = play_linear(graph, gamma, OnlineRidge(6, 5))
    assert agent.certificate.n_rounds == agent.n_rounds == 400
    assert regret <= agent.certificate.regret(error)


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_neither_part_bounds_the_regret_alone(graph):
    # Little exploration and a slow oracle: most regret is what the oracle did not know.
    slow, regret, error = play_linear(graph, 1000.0, LinearOGD(6, 5, learning_rate=0.001))
    assert regret > 2.0 * slow.certificate.exploration
    assert regret <= slow.certificate.regret(error)
    # Much exploration and an oracle that knows: all regret is exploration.
    environment, world = LinearLosses(graph, n_rounds=50), np.random.default_rng(0)
    knowing, regret = SquareCBG(Told(), gamma=2.0, certify=True), 0.0
    for round in environment.rounds(world):
        means = round.hidden[0]
        regret += knowing.act(means, graph) @ means - means.min()
    assert regret > 1.0 > knowing.certificate.regret(0.0) - knowing.certificate.exploration
    assert regret <= knowing.certificate.exploration


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_it_is_reached_by_the_worst_losses_of_the_proof(graph):
    """f* = f-hat + (2 / gamma) (p - e_a) / W: equality, so no constant can be smaller."""
    agent, gamma = SquareCBG(Told(), gamma=40.0, certify=True), 40.0
    rng, regret, error = np.random.default_rng(0), 0.0, 0.0
    for _ in range(20):
        predicted = rng.random(6)
        p = agent.act(predicted, graph)
        reveal = graph.structure.reveal_probabilities(p)
        regrets, errors = [], []
        for best in range(6):
            means = predicted + (2.0 / gamma) * (p - np.eye(6)[best]) / reveal
            regrets.append(p @ means - means[best])
            errors.append(squared_error(predicted, means, graph, p))
        worst = np.argmax(np.array(regrets) - gamma / 4.0 * np.array(errors))
        regret += regrets[worst]
        error += errors[worst]
    assert agent.certificate.regret(error) == pytest.approx(regret, rel=1e-9)


def test_a_closed_form_is_certified_at_what_it_plays_and_the_bits_are_the_same():
    plain = SquareCBG(Told(), gamma=30.0)
    certified = SquareCBG(Told(), gamma=30.0, certify=True)
    losses, graph = np.array([0.3, 0.1, 0.6]), graphs.inventory(3)
    for _ in range(2):
        p = certified.act(losses, graph)
        np.testing.assert_array_equal(p, plain.act(losses, graph))
    value = graphcb.dec(p, losses, graph, 30.0)
    assert value > graphcb.solve_dec(losses, graph, 30.0).value
    assert certified.certificate == Certificate(2, 2 * value, 30.0)
    assert plain.certificate is None


def test_the_largest_gamma_counts_and_each_epoch_has_its_own():
    rising = SquareCBG(Told(), gamma=SquareRoot(3.0, 1.0), certify=True)
    for _ in range(4):
        rising.act(np.zeros(3), graphs.bandit(3))
    assert rising.certificate.gamma == 6.0
    falling = SquareCBG(Told(), gamma=SquareRoot(3.0, "n_actions"), certify=True)
    for n_actions in (16, 2):
        falling.act(np.zeros(n_actions), graphs.bandit(n_actions))
    assert (falling.certificate.gamma, falling.gamma) == (12.0, 6.0)
    restarting = SquareCBG(Told(), gamma=Doubling(100, 1.0), certify=True)
    while restarting.epoch < 2:
        restarting.act(np.zeros(12), graphs.bandit(12))
    assert restarting.certificate.gamma == 10.0 + 20.0 + 40.0


def test_it_is_saved_and_goes_on(tmp_path):
    agent, _, _ = play_linear(GRAPHS["random"], 20.0, OnlineRidge(6, 5), n_rounds=20)
    save(agent, tmp_path / "agent.npz")
    read = load(tmp_path / "agent.npz")
    assert read.certificate == agent.certificate
    assert repr(read).endswith("gamma=20.0, certify=True)")
    for each in (agent, read):
        each.act(np.ones(5), GRAPHS["random"])
    assert read.certificate == agent.certificate
    assert read.certificate.n_rounds == 21


def test_a_refused_round_is_not_counted():
    agent = SquareCBG(Told(), gamma=20.0, certify=True)
    with pytest.raises(ValueError, match="must be observable"):
        agent.act(np.zeros(2), graphcb.FeedbackGraph([[1, 0], [1, 0]]))
    assert agent.certificate == Certificate()


def test_a_trace_certifies_every_round():
    environment = graphcb.environments.SyntheticInventory(n_rounds=60, levels=11)
    agents = [
        SquareCBG(graphcb.oracles.NewsvendorOGD(100, learning_rate=0.5), gamma=4.0, certify=certify)
        for certify in (True, False)
    ]
    certified, plain = (trace(agent, environment, seed=0) for agent in agents)
    assert (certified.n_compiled, plain.n_compiled) == (0, 60)
    np.testing.assert_array_equal(certified.probabilities, plain.probabilities)
    assert agents[0].certificate.n_rounds == 60


def test_a_regression_regret_that_is_no_number_is_refused():
    for wrong in (-1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="`regression_regret` must be finite and not negative"):
            Certificate().regret(wrong)


def play_limited(limits, best_allowed, n_rounds, seed=0):
    """The certificate, regret against what the limits allow, squared errors and plain DECs."""
    graph = GRAPHS["random"]
    environment = LinearLosses(graph, n_rounds=n_rounds)
    world, draws = streams(seed)
    agent = SquareCBG(OnlineRidge(6, 5), gamma=SquareRoot(4.0, 3.0), certify=True, limits=limits)
    regret = error = plain = 0.0
    for round in environment.rounds(world):
        means = round.hidden[0]
        p = agent.act(round.context, graph)
        predicted = agent.oracle.predict(round.context, np.arange(6))
        regret += p @ means - best_allowed(means)
        error += squared_error(predicted, means, graph, p)
        plain += graphcb.dec(p, predicted, graph, agent.gamma)
        seen = environment.reveal(round, draw(p, draws), draws)
        agent.learn(round.context, seen.actions, seen.losses)
    return agent.certificate, regret, error, plain


def with_floors(means):
    return 0.05 * means.sum() + 0.7 * means.min()


def with_caps(means):
    return 0.6 * np.sort(means)[0] + 0.4 * np.sort(means)[1]


@pytest.mark.parametrize(
    ("limits", "best_allowed"),
    [(Limits(floors=0.05), with_floors), (Limits(caps=0.6), with_caps)],
    ids=["floors", "caps"],
)
def test_within_limits_it_bounds_regret_against_what_they_allow(limits, best_allowed):
    certificate, regret, error, plain = play_limited(limits, best_allowed, 400)
    assert regret <= certificate.regret(error)
    assert certificate.exploration < 0.6 * plain


def test_with_floors_the_certificate_grows_as_the_root_and_the_plain_dec_in_a_straight_line():
    early, _, _, plain_early = play_limited(Limits(floors=0.05), with_floors, 500)
    late, _, _, plain_late = play_limited(Limits(floors=0.05), with_floors, 2000)
    assert late.exploration < 2.6 * early.exploration
    assert plain_late > 3.5 * plain_early


def play_drifting(oracle, n_rounds=3000, seed=0):
    """Certified play on losses that are linear in every round, by slopes that turn around."""
    rng, graph = np.random.default_rng(seed), GRAPHS["cops"]
    first, second = rng.normal(size=(2, 6, 2))
    agent = SquareCBG(oracle, gamma=SquareRoot(2.0, 1.0), certify=True)
    regret = error = 0.0
    for t in range(n_rounds):
        turned = 2.0 * np.pi * t / 1000.0
        slopes = np.cos(turned) * first + np.sin(turned) * second
        x = np.append(on_sphere(rng, 1, 2)[0], 1.0)
        means = 0.5 + slopes @ x[:2] / 8.0
        p = agent.act(x, graph)
        predicted = agent.oracle.predict(x, np.arange(6))
        regret += p @ means - means.min()
        error += squared_error(predicted, means, graph, p)
        a = draw(p, rng)
        (seen,) = np.nonzero(graph.matrix[a])
        agent.learn(x, seen, means[seen] + 0.05 * rng.normal(size=seen.size))
    return agent.certificate, regret, error


def test_it_holds_in_a_world_that_changes_and_forgetting_makes_it_small():
    """The proof takes one round at a time: regret and regression regret may both be dynamic."""
    keeps, kept_regret, kept_error = play_drifting(OnlineRidge(6, 3))
    assert kept_regret <= keeps.regret(kept_error)
    forgets, regret, error = play_drifting(LinearOGD(6, 3, learning_rate=0.2))
    assert regret <= forgets.regret(error)
    assert error < 0.2 * kept_error
    assert forgets.regret(error) < 0.5 * keeps.regret(kept_error)
