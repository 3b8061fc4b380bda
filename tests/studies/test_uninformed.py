import numpy as np
import pytest
from studies.unknown_graphs.experiment import read
from studies.unknown_graphs.uninformed import Guess, auctions, hidden_graphs

from graphcb import SquareCBG, SquareRoot, TwoThirds, graphs
from graphcb.agents import OnPredictedGraph, SquareCBUG
from graphcb.datasets import generate_auctions
from graphcb.experiments.problems import build
from graphcb.graph_oracles import LogisticEdges, Thresholds, as_graph_oracle


def test_a_guess_is_a_graph_oracle_that_learns_nothing():
    graph = graphs.bandit(3)
    oracle = as_graph_oracle(Guess(graph))
    oracle.check_update([1.0], 0, [0, 1])
    oracle.update([1.0], 0, [0, 1])
    oracle.check_update_full([1.0], graphs.full_information(3))
    oracle.update_full([1.0], graphs.full_information(3))
    assert oracle.predict([1.0]) is graph


@pytest.mark.parametrize(("n_scouts", "schedule"), [(0, SquareRoot), (2, TwoThirds)])
def test_hidden_graphs_are_guessed_as_they_are_on_average(n_scouts, schedule):
    environment, uninformed = hidden_graphs(4000, n_actions=4, n_scouts=n_scouts, density=0.2)
    assert (environment.n_rounds, uninformed.schedule) == (4000, schedule)
    drawn = environment.draw(np.random.default_rng(5))
    often = drawn.edge_probabilities.mean(axis=0)
    np.testing.assert_allclose(uninformed.guess.matrix, often, atol=0.03)
    oracle = uninformed.graph_oracle("squared")
    assert isinstance(oracle, LogisticEdges)
    assert (oracle.n_actions, oracle.n_features, oracle.loss) == (4, 3, "squared")


def test_values_of_auctions_are_clicks_times_their_rate_and_at_most_the_highest_bid():
    options = {"value_of_click": 50_000.0, "n_bids": 4}
    environment, uninformed = auctions("generated", 500, **options)
    dear, _ = auctions("generated", 500, value_of_click=100_000.0, n_bids=4)
    assert environment.n_rounds == 500
    assert environment.values.max() <= 1.0
    below = dear.values < 1.0
    assert 100 < below.sum() < 500
    np.testing.assert_allclose(dear.values[below], 2.0 * environment.values[below])
    table = generate_auctions(6000, np.random.default_rng(0))
    np.testing.assert_array_equal(environment.prices, table.market_price[:500] / 300.0)
    np.testing.assert_allclose(uninformed.guess.matrix[2], [1 / 3, 1 / 3, 1.0, 1.0])
    oracle = uninformed.graph_oracle("log")
    assert isinstance(oracle, Thresholds)
    assert (oracle.n_actions, oracle.kind, oracle.loss) == (4, "bids", "log")
    with pytest.raises(ValueError, match="`value_of_click` must be a positive finite number"):
        auctions("generated", 500, value_of_click=0.0)


@pytest.mark.parametrize(
    ("agent", "kind", "gamma"),
    [
        ("SquareCB.G, told", SquareCBG, TwoThirds(2.0, 1.0)),
        ("SquareCB.UG, log loss", SquareCBUG, TwoThirds(2.0, 1.0)),
        ("SquareCB.UG, squared loss", SquareCBUG, TwoThirds(2.0, 1.0)),
        ("SquareCB.UG, a guess", SquareCBUG, TwoThirds(2.0, 1.0)),
        ("information-directed, log loss", OnPredictedGraph, None),
    ],
)
def test_the_lines_of_unknown_graphs(agent, kind, gamma):
    experiment = read("unknown-graphs").made_quick()
    line = next(ln for ln in experiment.lines if ln.label == f"{agent}, scouts, row")
    built = line.build(experiment.problem_of(line), 0.0, 2.0)
    assert type(built) is kind
    assert getattr(getattr(built, "explorer", built), "schedule", None) == gamma
    if kind is not SquareCBG and agent != "SquareCB.UG, a guess":
        assert built.graph_oracle.loss == ("squared" if "squared" in agent else "log")


def test_a_line_may_have_its_own_c():
    experiment = read("unknown-graphs")
    own = [s.c for s in experiment.settings() if s.line == "scouts, row, c = 4"]
    assert set(own) == {4.0}
    assert len(own) == 3 * experiment.n_seeds


def test_only_problems_with_a_hidden_graph_have_agents_that_learn_it():
    line = read("unknown-graphs").lines[1]
    problem = build({"kind": "synthetic-inventory", "levels": 5}, 10)
    with pytest.raises(ValueError, match="log loss' needs a problem whose graph is not"):
        line.build(problem, 0.1, 1.0)


def test_log_loss_matters_where_edges_are_rare():
    """With one gamma for both, whoever learns the edges by squared loss explores too little."""
    experiment = read("unknown-graphs")
    regret = {
        setting.agent: experiment.play(setting).mean_loss[-1] * 4000
        for setting in experiment.settings()
        if setting.line == "scouts, row, c = 16" and setting.seed == 1
    }
    assert regret["SquareCB.UG, log loss"] < 0.75 * regret["SquareCB.UG, squared loss"]
    assert regret["SquareCB.G, told"] < 0.75 * regret["SquareCB.UG, log loss"]
