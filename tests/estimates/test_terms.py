"""Unbiased, covered, and sharper with the graph: over hundreds of simulated logs."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphcb import FeedbackGraph, graphs
from graphcb.estimates.estimate import Conditions
from graphcb.estimates.estimators import estimates
from graphcb.estimates.intervals import confidence_sequence
from graphcb.estimates.moments import Moments
from graphcb.estimates.terms import doubly_robust_terms, graph_terms

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "evaluation.py"
spec = importlib.util.spec_from_file_location("simulated_logs", BENCHMARK)
simulated = importlib.util.module_from_spec(spec)
spec.loader.exec_module(simulated)

N_LOGS, N_DECISIONS = 400, 1000
UNSURE = FeedbackGraph(np.full((5, 5), 0.3) + 0.4 * np.eye(5))  # every edge is a chance
GRAPHS = {
    "bandit": graphs.bandit(5),
    "cops-and-robbers": graphs.cops_and_robbers(5),
    "inventory": graphs.inventory(5),
    "chances": UNSURE,
}


@pytest.fixture(scope="module", params=GRAPHS)
def logs(request):
    """A graph, what is true, and a function that gives the logs by the hundred."""
    graph, rng = GRAPHS[request.param], np.random.default_rng(1)
    world = simulated.new_world(5, rng, least=0.08)
    drawn = [simulated.simulate(world, graph, 100, N_DECISIONS, rng) for _ in range(N_LOGS // 100)]
    return graph, world, drawn


@pytest.mark.parametrize("name", ["graph", "doubly robust"])
def test_unbiased_and_covered(logs, name):
    graph, world, drawn = logs
    parts = [simulated.estimates(world, graph, part)[name] for part in drawn]
    means, errors = (np.concatenate(part) for part in zip(*parts, strict=True))
    bias = (means.mean() - world.true_loss) / (means.std() / np.sqrt(N_LOGS))
    assert abs(bias) < 3.3  # 1 in 1000
    held = simulated.covered(simulated.Found(means, errors), world.true_loss)
    assert 0.93 <= held <= 0.97


def test_dividing_by_the_probability_of_playing_would_be_biased(logs):
    """The test above can fail: the reveal probabilities are what makes it right."""
    graph, world, (part, *_) = logs
    target = world.target[part.kinds]
    wrong = graph_terms(target, world.logged[part.kinds], part.revealed, part.losses)
    means = wrong.mean(axis=1)
    found = simulated.Found(means, wrong - means[:, None])
    held = simulated.covered(found, world.true_loss)
    assert held > 0.85 if graph == GRAPHS["bandit"] else held < 0.1


def test_the_sequence_holds_at_every_decision_and_peeking_at_the_normal_one_does_not(logs):
    graph, world, drawn = logs
    always, widths, peeked, deviations = [], [], [], []
    for part in drawn[:1]:
        held, width = simulated.always_covered(world, graph, part)
        always.append(held)
        widths.append(width.mean())
        peeked.append(simulated.ever_peeked(world, graph, part))
        deviations.append(simulated.estimates(world, graph, part)["graph"].errors.std())
    assert np.mean(always) >= 0.95
    assert np.mean(peeked) < 0.75
    normal = 2 * 1.96 * np.mean(deviations) / np.sqrt(N_DECISIONS)
    assert np.mean(widths) < 2.5 * normal  # and it says something


def test_the_graph_lowers_the_variance_under_cops_and_robbers():
    """By 7 with ten actions of which the log plays one at 82 %; most of that is asserted."""
    graph = graphs.cops_and_robbers(10)
    rng = np.random.default_rng(0)
    world = simulated.new_world(10, rng)
    drawn = simulated.simulate(world, graph, 200, 500, rng)
    found = simulated.estimates(world, graph, drawn)
    variance = {name: one.values.var() for name, one in found.items()}
    assert variance["plain"] / variance["graph"] > 5.0
    assert variance["graph"] / variance["doubly robust"] > 1.0


def test_perfect_predictions_leave_no_noise():
    graph, rng = graphs.inventory(4), np.random.default_rng(0)
    losses, target, p = rng.random(4), np.full(4, 0.25), np.full(4, 0.25)
    for action in range(4):
        revealed = graph.row(action) > 0
        reveal = graph.reveal_probabilities(p)
        terms = doubly_robust_terms(target, reveal, revealed, losses, losses)
        assert terms == pytest.approx(losses.mean())


@given(
    st.integers(2, 6).flatmap(
        lambda n: st.tuples(
            st.lists(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=n, max_size=n), min_size=n,
                     max_size=n),
            st.lists(st.floats(0.05, 1.0), min_size=n, max_size=n),
            st.lists(st.floats(0.0, 1.0), min_size=n, max_size=n),
            st.lists(st.floats(0.0, 1.0), min_size=n, max_size=n),
        )
    )
)  # fmt: skip
def test_the_exact_expectation_is_the_loss_of_the_target(drawn):
    """Over all actions and all coins, by counting, on any graph that shows every action."""
    matrix, weights, losses, guess = (np.array(part) for part in drawn)
    np.fill_diagonal(matrix, np.maximum(matrix.diagonal(), 0.5))
    graph, p = FeedbackGraph(matrix), weights / weights.sum()
    n = len(p)
    target = np.arange(1, n + 1) / (n * (n + 1) / 2)
    reveal = graph.reveal_probabilities(p)
    patterns = (np.arange(2**n)[:, None] >> np.arange(n)) & 1 == 1
    expected = robust = 0.0
    for action in range(n):
        chances = np.where(patterns, matrix[action], 1.0 - matrix[action]).prod(axis=1)
        all_losses = np.broadcast_to(losses, patterns.shape)
        found = graph_terms(target, reveal, patterns, all_losses)
        expected += p[action] * (chances @ found)
        found = doubly_robust_terms(target, reveal, patterns, all_losses, guess)
        robust += p[action] * (chances @ found)
    assert expected == pytest.approx(target @ losses, abs=1e-9)
    assert robust == pytest.approx(target @ losses, abs=1e-9)


@given(st.floats(-1.0, 50.0), st.floats(0.0, 0.999))
def test_the_inequality_behind_the_sequence(gain, bet):
    """exp(b x - psi(b) x^2) <= 1 + b x for x >= -1, which makes the product a supermartingale."""
    psi = -np.log1p(-bet) - bet
    assert np.exp(bet * gain - psi * gain**2) <= (1.0 + bet * gain) * (1 + 1e-9) + 1e-12


def test_the_sequence_with_terms_that_may_be_negative():
    """Terms down to -1, as doubly robust ones are, with a mean that it must not miss."""
    rng = np.random.default_rng(0)
    below = np.where(rng.random((300, 2000)) < 0.2, 6.0, -1.0)  # mean 0.4
    above = np.where(rng.random((300, 2000)) < 0.2, 7.0, -1.0)  # mean 0.6
    lower, upper = confidence_sequence(below, above, floor=1.0)
    assert ((lower <= 0.4) & (upper >= 0.4)).all(axis=1).mean() >= 0.95
    assert lower[:, -1].mean() > 0.05


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95])
def test_confidence_is_a_probability(confidence):
    text = "`confidence` must lie between 0 and 1, such as 0.95"
    with pytest.raises(ValueError, match=text):
        estimates(Moments(1), Conditions((0.0, 1.0), confidence))
    with pytest.raises(ValueError, match=text):
        confidence_sequence(np.ones(3), np.ones(3), confidence=confidence)
