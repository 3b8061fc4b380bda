"""A compiled run and the run loop must agree in every bit, and leave the agent alike."""

import numpy as np
import pytest
from scipy import sparse

from graphcb import Limits, SquareCB, SquareCBG, SquareRoot, graphs
from graphcb.agents import EpsilonGreedy, Greedy, gamma_of
from graphcb.environments import (
    CostlyLooks,
    GrowingGrid,
    KnownLosses,
    LinearLosses,
    OffLinear,
    RandomSelfAware,
    SyntheticInventory,
)
from graphcb.experiments import run
from graphcb.experiments.kernels import rules
from graphcb.experiments.trace import trace
from graphcb.oracles import LinearOGD, LogisticOGD, NewsvendorOGD, OnlineRidge

N = 400


def agree(make_agent, environment, seed=3, n_compiled=None):
    """The compiled trace, after comparing it with the run loop."""
    quick_agent, agent = make_agent(), make_agent()
    quick = trace(quick_agent, environment, seed=seed)
    rows = list(run(agent, environment, seed=seed))
    assert quick.n_compiled == (environment.n_rounds if n_compiled is None else n_compiled)
    assert quick.actions.tolist() == [row.action for row in rows]
    assert quick.probabilities.tolist() == [row.probability for row in rows]
    assert quick.losses.tolist() == [row.loss for row in rows]
    assert quick.n_revealed.tolist() == [row.n_revealed for row in rows]
    assert (np.cumsum(quick.losses) / np.arange(1, len(rows) + 1)).tolist() == [
        row.mean_loss for row in rows
    ]
    assert quick_agent.n_rounds == agent.n_rounds
    assert gamma_of(quick_agent) == gamma_of(agent)
    assert vars(quick_agent.oracle).keys() == vars(agent.oracle).keys()
    for name, value in vars(agent.oracle).items():
        np.testing.assert_array_equal(vars(quick_agent.oracle)[name], value, err_msg=name)
    return quick


def on_stock(kind, alpha):
    return lambda: kind(NewsvendorOGD(100, learning_rate=0.1), gamma=SquareRoot(2.0, alpha))


@pytest.mark.parametrize("levels", [7, 31, GrowingGrid(1 / 2), GrowingGrid(1 / 3)])
@pytest.mark.parametrize(("kind", "alpha"), [(SquareCBG, 1.0), (SquareCB, "n_actions")])
def test_stock_levels(kind, alpha, levels):
    quick = agree(on_stock(kind, alpha), SyntheticInventory(n_rounds=N, levels=levels))
    assert len(set(quick.actions.tolist())) > 1


GREEDY = [Greedy, lambda oracle: EpsilonGreedy(oracle, epsilon=0.3)]


@pytest.mark.parametrize("kind", GREEDY, ids=["greedy", "epsilon-greedy"])
@pytest.mark.parametrize("levels", [7, GrowingGrid(1 / 3)])
def test_greedy_agents_over_stock_levels(kind, levels):
    environment = SyntheticInventory(n_rounds=N, levels=levels)
    agree(lambda: kind(NewsvendorOGD(100, learning_rate=0.1)), environment)


def table(n_actions, *, dense=False, graph=None, n_rounds=N, seed=0):
    rng = np.random.default_rng(seed)
    contexts = sparse.random_array((N, 60), density=0.1, rng=rng, format="csr")
    losses = 1.0 - np.eye(n_actions)[rng.integers(0, n_actions, size=N)]
    graph = graphs.bandit(n_actions) if graph is None else graph
    return KnownLosses(contexts.toarray() if dense else contexts, losses, graph, n_rounds=n_rounds)


def on_table(kind, n_actions, **options):
    return lambda: kind(
        LogisticOGD(n_actions, 60, learning_rate=4.0, **options), gamma=SquareRoot(8.0, 2.0)
    )


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize(
    "graph",
    [
        graphs.bandit(5),
        graphs.full_information(5),
        graphs.cops_and_robbers(5),
        graphs.inventory(5),
        graphs.posted_price(5),
        graphs.apple_tasting(),
        graphs.apple_tasting(revealing_action=1),
        graphs.FeedbackGraph(np.ones((3, 3)) - np.eye(3)),
    ],
    ids=repr,
)
def test_tables_of_losses(graph, dense):
    size = graph.n_actions
    environment = table(size, dense=dense, graph=graph)
    quick = agree(on_table(SquareCBG, size), environment)
    assert len(set(quick.losses.tolist())) == 2
    agree(on_table(SquareCB, size, decay="inverse_sqrt", loss_range=(-1.0, 2.0)), environment)


@pytest.mark.parametrize("kind", GREEDY, ids=["greedy", "epsilon-greedy"])
@pytest.mark.parametrize(
    "graph", [graphs.bandit(5), graphs.inventory(5), RandomSelfAware(5, 0.5)], ids=repr
)
def test_greedy_agents_over_tables_of_losses(kind, graph):
    environment = table(5, graph=graph)
    agree(lambda: kind(LogisticOGD(5, 60, learning_rate=4.0)), environment)


LINEAR = {
    "costly": lambda graph: CostlyLooks(graph, costly=(0,), n_rounds=N),
    "off": lambda graph: OffLinear(graph, off=0.1, n_rounds=N),
}


@pytest.mark.parametrize("make", LINEAR.values(), ids=LINEAR)
@pytest.mark.parametrize(
    "graph", [graphs.bandit(5), graphs.apple_tasting(5), graphs.cops_and_robbers(5)], ids=repr
)
@pytest.mark.parametrize(
    "kind",
    [*GREEDY, lambda oracle: SquareCB(oracle, gamma=SquareRoot(2.0, "n_actions"))],
    ids=["greedy", "epsilon-greedy", "SquareCB"],
)
def test_agents_blind_to_the_graph_over_linear_losses(kind, graph, make):
    environment = make(graph)
    agree(lambda: kind(OnlineRidge(5, environment.n_features)), environment)


@pytest.mark.parametrize("make", LINEAR.values(), ids=LINEAR)
@pytest.mark.parametrize("graph", [graphs.bandit(5), graphs.cops_and_robbers(5)], ids=repr)
def test_closed_forms_over_linear_losses(graph, make):
    environment = make(graph)

    def make_agent():
        return SquareCBG(OnlineRidge(5, environment.n_features), gamma=SquareRoot(2.0, 1.0))

    agree(make_agent, environment)
    # An agent goes on where it was.
    one, other = make_agent(), make_agent()
    for seed in (1, 2):
        quick = trace(one, environment, seed=seed)
        slow = trace(other, environment, seed=seed, compiled=False)
        assert (quick.n_compiled, slow.n_compiled) == (N, 0)
        np.testing.assert_array_equal(quick.probabilities, slow.probabilities)


def test_the_convex_program_over_linear_losses_is_left_to_the_loop():
    environment = LINEAR["costly"](graphs.apple_tasting(5))
    agree(
        lambda: SquareCBG(OnlineRidge(5, environment.n_features), gamma=SquareRoot(2.0, 1.0)),
        environment,
        n_compiled=0,
    )


def test_the_world_and_the_draws_have_seeds_of_their_own():
    environment = table(5)
    for compiled in (True, False):

        def play(seed, draw_seed, compiled=compiled):
            agent = on_table(SquareCBG, 5)()
            return trace(agent, environment, seed=seed, draw_seed=draw_seed, compiled=compiled)

        same, other = play(1, 1), play(1, 2)
        assert same.actions.tolist() == play(1, None).actions.tolist()
        assert same.actions.tolist() != other.actions.tolist()
        np.testing.assert_array_equal(
            other.actions,
            trace(
                on_table(SquareCBG, 5)(), environment, seed=1, draw_seed=2, compiled=not compiled
            ).actions,
        )


def test_a_fresh_graph_each_round():
    environment = table(6, graph=RandomSelfAware(6, 0.5), n_rounds=N // 2)
    quick = agree(on_table(SquareCB, 6), environment)
    assert set(quick.n_revealed.tolist()) == set(range(1, 7))


def test_the_convex_program_on_a_fresh_graph_each_round():
    environment = table(6, graph=RandomSelfAware(6, 0.5), n_rounds=N // 2)
    agree(
        lambda: SquareCBG(
            LogisticOGD(6, 60, learning_rate=4.0), gamma=SquareRoot(8.0, 2.0), method="solver"
        ),
        environment,
    )


def test_a_fresh_graph_that_is_of_a_family_is_left_to_the_loop():
    def make_agent():
        return SquareCBG(LogisticOGD(3, 60), gamma=SquareRoot(8.0, 2.0), method="solver")

    environment = table(3, graph=RandomSelfAware(3, 0.5), n_rounds=N // 2)
    quick = trace(make_agent(), environment, seed=1)
    slow = trace(make_agent(), environment, seed=1, compiled=False)
    assert quick.n_compiled < N // 2
    np.testing.assert_array_equal(quick.probabilities, slow.probabilities)
    np.testing.assert_array_equal(quick.actions, slow.actions)


@pytest.mark.parametrize("rule", range(len(rules.FORMULAS)))
def test_every_rule_is_its_formula(rule):
    f, number = np.array([0.3, 0.1]), 5.0 if rule < len(rules.FORMULAS) - 1 else 0.25
    np.testing.assert_array_equal(rules.explore(rule, f, number), rules.FORMULAS[rule](f, number))


def test_an_agent_goes_on_where_it_was():
    environment = table(4)
    agent, other = on_table(SquareCBG, 4)(), on_table(SquareCBG, 4)()
    for seed in (1, 2):
        quick = trace(agent, environment, seed=seed)
        slow = trace(other, environment, seed=seed, compiled=False)
        assert (quick.n_compiled, slow.n_compiled) == (N, 0)
        np.testing.assert_array_equal(quick.probabilities, slow.probabilities)
    assert agent.n_rounds == 2 * N


@pytest.mark.parametrize(
    ("make_agent", "environment"),
    [
        pytest.param(
            lambda: SquareCBG(LogisticOGD(3, 60), gamma=5.0, method="solver"),
            table(3),
            id="the convex program on a fixed graph",
        ),
        pytest.param(
            lambda: SquareCBG(LogisticOGD(3, 60)), table(3), id="a schedule that asks for the DEC"
        ),
        pytest.param(lambda: SquareCBG(LinearOGD(3, 60), gamma=5.0), table(3), id="another oracle"),
        pytest.param(
            lambda: SquareCBG(LogisticOGD(2, 60), gamma=5.0),
            table(2, graph=graphs.FeedbackGraph([[0.5, 0.5], [0.0, 1.0]])),
            id="edges that are chances",
        ),
        pytest.param(
            lambda: SquareCBG(LinearOGD(3, 5), gamma=5.0),
            LinearLosses(graphs.bandit(3), n_rounds=50),
            id="another environment",
        ),
    ],
)
def test_whatever_has_no_kernel_goes_through_the_loop(make_agent, environment):
    agree(make_agent, environment, n_compiled=0)


@pytest.mark.parametrize("kind", [SquareCBG, SquareCB, Greedy, EpsilonGreedy])
def test_agents_with_explore_go_through_the_loop(kind):
    gamma = {} if kind in (Greedy, EpsilonGreedy) else {"gamma": 5.0}
    agree(lambda: kind(LogisticOGD(3, 60), explore=0.1, **gamma), table(3), n_compiled=0)


@pytest.mark.parametrize(
    "make_agent",
    [
        lambda oracle, limits: SquareCBG(oracle, gamma=5.0, limits=limits),
        lambda oracle, limits: SquareCB(oracle, gamma=5.0, limits=limits),
        lambda oracle, limits: Greedy(oracle, limits=limits),
        lambda oracle, limits: EpsilonGreedy(oracle, limits=limits),
    ],
)
def test_agents_with_limits_go_through_the_loop(make_agent):
    limits = Limits(floors=0.1, caps=0.6)
    found = agree(lambda: make_agent(LogisticOGD(3, 60), limits), table(3), n_compiled=0)
    assert found.probabilities.min() >= 0.1
    assert found.probabilities.max() <= 0.6


class Stubborn(SquareCB):
    """Plays its first action whatever it has learnt."""

    def act(self, context, graph, actions=None):
        return np.eye(graph.n_actions)[0]


class Generous(SyntheticInventory):
    """Costs nothing at all."""

    def loss(self, round, action):
        return 0.0


class Halved(SquareRoot):
    """Half the gamma."""

    def gamma(self, round_number, n_actions):
        return 0.5 * super().gamma(round_number, n_actions)


class Emptied(RandomSelfAware):
    """Nothing but self-loops."""

    def __call__(self, rng):
        return graphs.bandit(self.n_actions)


@pytest.mark.parametrize("graph", [graphs.bandit(3), RandomSelfAware(3, 0.5)], ids=repr)
def test_a_derived_agent_keeps_its_own_ways(graph):
    result = agree(
        lambda: Stubborn(LogisticOGD(3, 60), gamma=5.0), table(3, graph=graph), n_compiled=0
    )
    assert set(result.actions.tolist()) == {0}


def test_a_derived_environment_or_graph_keeps_its_own_ways():
    free = agree(on_stock(SquareCBG, 1.0), Generous(n_rounds=50, levels=5), n_compiled=0)
    assert free.losses.sum() == 0.0
    alone = agree(on_table(SquareCB, 3), table(3, graph=Emptied(3, 0.9)), n_compiled=0)
    assert set(alone.n_revealed.tolist()) == {1}


def test_a_derived_schedule_keeps_its_own_ways():
    agree(lambda: SquareCB(LogisticOGD(3, 60, learning_rate=4.0), gamma=Halved(8.0, 2.0)), table(3))


def test_any_agent_can_be_traced():
    result = trace(EpsilonGreedy(LinearOGD(3, 60)), table(3), seed=0)
    assert (result.n_compiled, result.losses.size) == (0, N)


def test_a_run_that_diverges_says_so_as_the_loop_does():
    def diverging():
        return SquareCB(NewsvendorOGD(100, learning_rate=1e8), gamma=1.0)

    environment = SyntheticInventory(n_rounds=N, levels=5)
    with pytest.raises(FloatingPointError, match="the steps diverge") as loop:
        list(run(diverging(), environment, seed=0))
    with pytest.raises(FloatingPointError) as compiled:
        trace(diverging(), environment, seed=0)
    assert str(compiled.value) == str(loop.value)


def test_a_context_of_the_wrong_width_gets_the_same_error():
    with pytest.raises(ValueError, match="to match n_features"):
        trace(
            SquareCB(NewsvendorOGD(7, learning_rate=0.1), gamma=1.0),
            SyntheticInventory(n_rounds=9),
            seed=0,
        )
    with pytest.raises((ValueError, IndexError), match="`context` must have indices between"):
        trace(SquareCB(LogisticOGD(5, 7), gamma=1.0), table(5), seed=0)
