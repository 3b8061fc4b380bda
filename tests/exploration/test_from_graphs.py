import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphcb import FeedbackGraph, FromGraphs, SquareCBG, SquareRoot, TwoThirds, graphs
from graphcb.exploration.from_graphs import hardness
from graphcb.oracles import LinearOGD
from graphcb.saving import from_bytes, to_bytes

CYCLE = FeedbackGraph(np.roll(np.eye(5), 1, axis=1))


def gammas_over(schedule, drawn):
    found = []
    for graph in drawn:
        found.append(schedule.gamma_on(graph))
        schedule.meet(graph)
    return found


def test_graphs_with_the_same_number_give_the_square_root_law():
    found = gammas_over(FromGraphs(3.0), [graphs.bandit(7)] * 20)
    same = SquareRoot(3.0, 7.0)
    assert found == pytest.approx([same.gamma(t, 7) for t in range(1, 21)])


def test_weakly_observable_graphs_with_the_same_number_give_the_law_of_two_thirds():
    assert hardness(CYCLE) == (0, math.sqrt(5))  # no self-loop, each seen by one other
    found = gammas_over(FromGraphs(3.0), [CYCLE] * 20)
    same = TwoThirds(3.0, d=5.0)
    assert found == pytest.approx([same.gamma(t, 5) for t in range(1, 21)])


def test_both_sums_are_kept_and_the_larger_law_rules():
    schedule = FromGraphs(1.0)
    assert schedule.gamma(1, 9) == 1.0  # nothing met yet
    mixed = [graphs.bandit(9), graphs.apple_tasting(4)] * 50
    gammas_over(schedule, mixed)
    assert (schedule.alphas, schedule.roots_of_d) == (50 * 9 + 50, 50.0)
    assert schedule.gamma(101, 4) == pytest.approx(math.sqrt(500.0))
    gammas_over(schedule, [graphs.apple_tasting(4)] * 950)
    assert schedule.gamma(1051, 4) == pytest.approx(1000.0 ** (2 / 3))


@given(st.integers(0, 1000))
def test_gamma_is_never_below_that_of_the_exact_numbers(seed):
    rng = np.random.default_rng(seed)
    drawn = [graphs.random_self_aware(int(rng.integers(1, 9)), 0.4, rng) for _ in range(4)]
    exact = sum(graph.independence_number() for graph in drawn)
    *_, last = gammas_over(FromGraphs(2.0), drawn)
    assert 2.0 * math.sqrt(exact) <= last <= 4.0 * math.sqrt(exact)


@given(st.lists(st.integers(1, 50), min_size=1, max_size=60))
def test_the_sum_of_alpha_over_gamma_is_of_the_order_of_the_root_of_the_sum(sizes):
    drawn = [graphs.bandit(size) for size in sizes]
    found = gammas_over(FromGraphs(1.0), drawn)
    spent = sum(size / gamma for size, gamma in zip(sizes, found, strict=True))
    assert math.sqrt(sum(sizes)) <= spent + 1e-9
    assert spent <= 2.0 * math.sqrt(sum(sizes))


def test_an_agent_gives_it_the_graph_of_each_round_and_saves_its_sums():
    agent = SquareCBG(LinearOGD(6, 1), gamma=FromGraphs(2.0))
    for size, sum_of_alphas in ((4, 4), (5, 9), (6, 15)):
        agent.act([1.0], graphs.bandit(size), np.arange(size))
        assert agent.gamma == 2.0 * math.sqrt(sum_of_alphas)
    read = from_bytes(to_bytes(agent), where="a test")
    assert read.schedule == agent.schedule
    with pytest.raises(ValueError, match="to learn from it"):
        agent.act([1.0], FeedbackGraph([[1, 0], [1, 0]]), [0, 1])
    assert read.schedule == agent.schedule  # a refused round is not counted


def test_bad_values():
    with pytest.raises(ValueError, match="`c` must be a positive finite number, got 0"):
        FromGraphs(0.0)
    with pytest.raises(ValueError, match="to learn from it"):
        FromGraphs(1.0).gamma_on(FeedbackGraph([[1, 0], [1, 0]]))
