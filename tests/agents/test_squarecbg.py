import copy

import numpy as np
import pytest
from scipy.sparse import csr_array

import graphcb
from graphcb import Automatic, Doubling, FeedbackGraph, SquareCBG, SquareRoot, graphs, oracles
from graphcb.exploration import Status, closed_form_probabilities
from graphcb.oracles import DefaultOracle
from graphcb.saving import to_bytes

LOSSES = np.array([0.3, 0.1, 0.6])
CHAIN = FeedbackGraph([[1, 1, 0], [0, 1, 1], [0, 0, 1]])  # of no family


class Table:
    """Predicts the same until it has been told something; counts what it was told."""

    def __init__(self):
        self.n_told = 0

    def predict(self, context, actions):
        return LOSSES

    def update(self, context, actions, losses):
        self.n_told += 1


def test_auto_takes_the_closed_form_where_there_is_one_and_solves_elsewhere():
    agent = SquareCBG(Table(), gamma=30.0)
    np.testing.assert_array_equal(
        agent.act(None, graphs.inventory(3)),
        closed_form_probabilities(LOSSES, graphs.inventory(3), 30.0),
    )
    np.testing.assert_array_equal(
        agent.act(None, CHAIN), graphcb.solve_dec(LOSSES, CHAIN, 30.0).probabilities
    )
    assert agent.explain(graphs.inventory(3)).startswith(
        "SquareCB.G by closed form cover_levels: each"
    )
    assert agent.explain(FeedbackGraph(np.tri(3))).startswith(
        "SquareCB.G by closed form cover_levels"
    )
    why = "SquareCB.G by convex program: no closed form is proven for this graph"
    assert agent.explain(CHAIN) == why


def test_auto_does_not_play_a_form_that_may_be_far_from_the_optimum():
    # The middle of a star reveals everything; the independent set has all the leaves.
    star = graphs.undirected_self_aware(200, [(0, leaf) for leaf in range(1, 200)])
    losses = np.append(1.0, np.random.default_rng(0).random(199) / 10.0)

    class Fixed(Table):
        def predict(self, context, actions):
            return losses

    def scaled_dec(method):
        agent = SquareCBG(Fixed(), gamma=10.0, method=method)
        return 10.0 * graphcb.dec(agent.act(None, star), losses, star, 10.0)

    assert scaled_dec("auto") == pytest.approx(scaled_dec("solver"))
    assert scaled_dec("auto") < 10.0
    assert scaled_dec("closed-form") > 20.0 * scaled_dec("auto")  # as it was asked for
    explained = SquareCBG(Table(), gamma=10.0).explain(star)
    why = "convex program: closed form independent_set may be far from the optimum"
    assert explained == f"SquareCB.G by {why}"


@pytest.mark.parametrize("method", ["auto", "solver"])
@pytest.mark.parametrize(
    "graph",
    [
        graphs.bandit(3),
        graphs.full_information(3),
        graphs.apple_tasting(3, revealing_action=1),
        graphs.cops_and_robbers(3),
        graphs.inventory(3),
        graphs.disjoint_cliques([2, 1]),
        CHAIN,
    ],
    ids=repr,
)
def test_explain_and_solve_dec_use_the_same_words_for_a_family_and_its_matrix(graph, method):
    agent = SquareCBG(Table(), gamma=30.0, method=method)
    for same in (graph, FeedbackGraph(graph.matrix), FeedbackGraph(csr_array(graph.matrix))):
        assert agent.explain(same) == agent.explain(graph)
        solution = graphcb.solve_dec(LOSSES, same, 30.0)
        assert solution.status is graphcb.solve_dec(LOSSES, graph, 30.0).status
        exactly = agent.explain(same).startswith(f"SquareCB.G by {Status.EXACT}")
        if agent.closed_form(same) is None:
            assert exactly == (solution.status is Status.EXACT)
            np.testing.assert_array_equal(agent.act(None, same), solution.probabilities)
        else:
            assert agent.explain(same).startswith("SquareCB.G by closed form")


def test_explain_on_graphs_that_are_not_played():
    agent = SquareCBG(Table(), gamma=30.0, method="closed-form")
    assert agent.explain(FeedbackGraph([[1, 0], [1, 0]])) == "refused: no action reveals action 1"
    with pytest.raises(ValueError, match="`graph` must have a closed form, got FeedbackGraph"):
        agent.explain(CHAIN)


def test_an_array_is_no_graph():
    agent = SquareCBG(Table(), gamma=30.0)
    text = r"`graph` must be a FeedbackGraph, got an array of shape \(3, 3\); use graphcb.Feedback"
    for array in (np.eye(3), csr_array(np.eye(3))):
        with pytest.raises(TypeError, match=text):
            agent.act(None, array)
    with pytest.raises(TypeError, match="`graph` must be a FeedbackGraph, got list"):
        agent.act(None, [[1, 0], [0, 1]])
    assert agent.n_rounds == 0


def test_methods_can_be_forced():
    solver = SquareCBG(Table(), gamma=30.0, method="solver")
    np.testing.assert_array_equal(
        solver.act(None, graphs.inventory(3)),
        graphcb.solve_dec(LOSSES, graphs.inventory(3), 30.0).probabilities,
    )
    assert solver.explain(graphs.inventory(3)) == 'SquareCB.G by convex program: method="solver"'
    closed = SquareCBG(Table(), gamma=30.0, method="closed-form")
    np.testing.assert_array_equal(
        closed.act(None, graphs.inventory(3)),
        closed_form_probabilities(LOSSES, graphs.inventory(3), 30.0),
    )
    with pytest.raises(ValueError, match=r'`graph` must have a closed form.*Use method="solver"'):
        closed.act(None, CHAIN)
    assert closed.n_rounds == 1
    with pytest.raises(ValueError, match="`method` must be one of auto, closed-form, solver; got"):
        SquareCBG(Table(), gamma=1.0, method="fast")


def test_doubling_sums_optimal_values_and_starts_the_oracle_anew():
    gamma = np.sqrt(50 / 2.0)
    agent = SquareCBG(Table(), gamma=Doubling(horizon=50, regression_regret=2.0))
    why = "SquareCB.G by convex program: Doubling needs the optimal value"
    assert agent.explain(CHAIN) == why
    assert agent.explain(graphs.bandit(3)).startswith(f"SquareCB.G by {Status.EXACT}")
    value = graphcb.solve_dec(LOSSES, CHAIN, gamma).value
    allowed = int(gamma * 2.0 / value)
    for t in range(1, allowed + 1):
        agent.act(None, CHAIN)
        agent.learn(None, [0], [0.5])
        assert agent.schedule.spent == pytest.approx(t * value)
        assert (agent.schedule.epoch, agent.oracle.n_told) == (0, t)
    agent.act(None, CHAIN)  # the round that spends too much is still played as it was
    assert agent.schedule.epoch == 1
    agent.learn(None, [0], [0.5])
    assert agent.oracle.n_told == allowed + 1
    p = agent.act(None, CHAIN)
    np.testing.assert_array_equal(p, graphcb.solve_dec(LOSSES, CHAIN, 2 * gamma).probabilities)
    assert agent.oracle.n_told == 0  # a fresh oracle
    agent.learn(None, [0], [0.5])
    assert agent.oracle.n_told == 1
    assert agent.n_rounds == allowed + 2


def linear_stream(n_rounds, draw_graph, seed=0):
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=(4, 5))
    for _ in range(n_rounds):
        x = rng.normal(size=4)
        graph = draw_graph(rng)
        means = 0.5 + 0.1 * np.tanh(x @ theta[:, : graph.n_actions])
        yield x, graph, means, means + 0.1 * rng.normal(size=means.size)


def regret_of(agent, n_rounds, draw_graph, seed=0):
    draws, total = np.random.default_rng(seed + 1), 0.0
    for x, graph, means, losses in linear_stream(n_rounds, draw_graph, seed):
        actions = np.arange(graph.n_actions)
        p = agent.act(x, graph, actions)
        seen = graph.draw_revealed(draws.choice(graph.n_actions, p=p), draws)
        agent.learn(x, seen, losses[seen])
        total += p @ means - means.min()
    return total


def ridge():
    return oracles.OnlineRidge(5, 4)


def changing(rng):
    size = int(rng.integers(2, 6))
    kind = rng.integers(3)
    if kind == 0:
        return graphs.random_self_aware(size, 0.5, rng)
    return graphs.apple_tasting(size) if kind == 1 else graphs.bandit(size)


@pytest.mark.parametrize("gamma", [SquareRoot(4.0, "n_actions"), 50.0, Doubling(600, 5.0)])
def test_graphs_and_numbers_of_actions_may_change_every_round(gamma):
    agent = SquareCBG(ridge(), gamma=copy.deepcopy(gamma))
    assert regret_of(agent, 600, changing) < 600 * 0.05
    assert agent.n_rounds == 600


def test_doubling_is_refused_with_closed_forms_which_are_not_the_optimum():
    text = (
        r'`gamma` must not be a Doubling with method="closed-form".*use method="auto" or "solver"'
    )
    with pytest.raises(ValueError, match=text):
        SquareCBG(Table(), gamma=Doubling(50, 2.0), method="closed-form")
    for method in ("auto", "solver"):
        assert SquareCBG(Table(), gamma=Doubling(50, 2.0), method=method).method == method


def test_a_refused_round_at_a_fresh_start_changes_nothing():
    agent = SquareCBG(ridge(), gamma=Doubling(4, 1.0))
    while agent.schedule.epoch == 0:
        agent.act(np.zeros(4), graphs.bandit(5))
        agent.learn(np.zeros(4), [0], [0.5])
    before = to_bytes(agent)
    with pytest.raises(ValueError, match="to learn from it"):
        agent.act(np.zeros(4), FeedbackGraph(np.zeros((5, 5))))
    assert to_bytes(agent) == before


def test_without_arguments_it_is_the_papers_algorithm_with_the_automatic_gamma():
    bare, said = SquareCBG(), SquareCBG(DefaultOracle(3), gamma=Automatic())
    assert repr(bare) == "SquareCBG(gamma=Automatic(c=32.0))"
    assert bare.schedule == Automatic()
    rng = np.random.default_rng(0)
    for x in rng.normal(size=(30, 2)):
        p = bare.act(x, CHAIN)
        np.testing.assert_array_equal(p, said.act(x, CHAIN))
        predicted = said.oracle.predict(x)
        np.testing.assert_array_equal(
            p, graphcb.solve_dec(predicted, CHAIN, said.gamma).probabilities
        )
        for agent in (bare, said):
            agent.learn(x, [0, 1], [0.1, 0.9])
    assert bare.gamma == said.gamma >= 32.0 * np.sqrt(30)


@pytest.mark.parametrize("gamma", [None, 10.0])
def test_an_agent_that_makes_its_oracle_lets_it_grow_and_forgets_a_refused_round(gamma):
    agent = SquareCBG(gamma=gamma)
    before = to_bytes(agent)
    for context, graph, actions in (
        ([np.nan, 1.0], graphs.bandit(2), None),
        ([0.0, 1.0], graphcb.FeedbackGraph([[1, 0], [0, 0]]), None),
        ([0.0, 1.0], graphs.bandit(2), [0, 1, 2]),
        ([0.0, 1.0], graphs.bandit(2), [0.5, 1.5]),
    ):
        with pytest.raises((ValueError, TypeError)):
            agent.act(context, graph, actions)
        assert to_bytes(agent) == before
    with pytest.raises(ValueError, match=r"`losses` must lie in loss_range \(0.0, 1.0\), got 1.5"):
        agent.learn([0.0, 1.0], [0], [1.5])
    assert to_bytes(agent) == before
    for n_actions in (2, 4, 3):
        assert agent.act([0.5, 1.0], graphs.bandit(n_actions)).shape == (n_actions,)
    agent.act([0.5, 1.0], graphs.bandit(2), actions=[7, 1])
    assert agent.oracle.n_actions == 8


def test_a_learner_with_features_of_actions_starts_again_with_a_fresh_oracle():
    agent = SquareCBG(gamma=Doubling(horizon=4, regression_regret=0.1))
    learner = graphcb.Learner(graphcb.Problem("each round"), agent)
    offered = {"a": {"price": 1.0}, "b": {"price": 2.0}}
    while learner.agent.epoch == 0:
        learner.act({"x": 1.0}, None, offered)
        learner.learn({"x": 1.0}, {"a": {"price": 1.0}}, [0.5])
    assert isinstance(learner.agent.oracle, oracles.ActionFeatureOracle)
    assert learner.agent.oracle is not agent.oracle
