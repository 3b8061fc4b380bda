import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from graphcb import FeedbackGraph, graphs
from graphcb.exploration.due_looks import BLIND, RARE
from graphcb.exploration.information_directed import (
    START,
    WRITTEN_OUT,
    check_memory,
    information_directed,
)
from graphcb.exploration.mixed_choice import choose
from graphcb.exploration.normal import CELLS, FAR, NEAR, NOTHING, chances_below, smallest


def forecast(losses, deviation=0.1, gain=0.1, count=50.0):
    n = len(losses)
    fixed = (np.full(n, deviation), np.full(n, gain), np.full(n, count))
    return (np.array(losses, dtype=float), *fixed, 1.0)


@given(
    st.integers(1, 6).flatmap(
        lambda n: st.tuples(
            st.lists(st.floats(0, 1), min_size=n, max_size=n),
            st.lists(st.floats(0, 0.5), min_size=n, max_size=n),
            st.lists(st.floats(0, 3), min_size=n, max_size=n),
            st.lists(st.integers(0, 1000), min_size=n, max_size=n),
            st.lists(st.floats(0, 1), min_size=n * n, max_size=n * n),
        )
    ),
    st.integers(1, 10**6),
)
def test_it_is_always_a_distribution_and_a_memory(numbers, t):
    f, deviations, gains, counts, matrix = (np.array(part, dtype=float) for part in numbers)
    graph = FeedbackGraph(matrix.reshape(f.size, f.size))
    assume(graph.observability != "unobservable")
    memory = START
    for _ in range(3):
        p, memory, _ = information_directed(
            f, deviations, gains, counts, 1.0, graph=graph, round_number=t, memory=memory
        )
        assert p.min() >= 0.0
        assert p.sum() == pytest.approx(1.0, abs=1e-12)
        check_memory(memory)


def test_no_other_mixture_with_an_action_that_tells_more_has_a_smaller_ratio():
    rng = np.random.default_rng(0)
    for _ in range(200):
        n = int(rng.integers(2, 6))
        f, information, zeros = rng.random(n), rng.random(n), np.zeros(n)
        regrets, best = f - f.min() + 0.3 * rng.random(), int(np.argmin(f))

        def ratio(p, regrets=regrets, information=information):
            return (p @ regrets) ** 2 / (p @ information)

        least = ratio(choose(f, regrets, information, information, zeros, best, 1e-12, zeros, 1.0))
        for a in np.flatnonzero(information >= information[best]):
            for q in np.linspace(0.0, 1.0, 51):
                p = np.zeros(n)
                p[best] += 1.0 - q
                p[a] += q
                assert least <= ratio(p) * (1.0 + 1e-9)


def test_what_is_certain_is_played_and_what_pays_is_looked_at():
    sure = forecast([0.1, 0.5], deviation=1e-3, count=1e6)
    p, *_ = information_directed(*sure, graph=graphs.bandit(2), round_number=100)
    assert p.tolist() == [1, 0]
    # Only the costly action shows anything: it is played now and then while the others may be best.
    unsure = forecast([0.30, 0.31, 0.9], deviation=0.2, count=200.0)
    p, *_ = information_directed(
        *unsure, graph=graphs.apple_tasting(3, revealing_action=2), round_number=2000
    )
    assert 0.0 < p[2] < 1.0
    assert p[0] + p[2] == pytest.approx(1.0)


def test_ties_are_broken_at_random():
    p, *_ = information_directed(
        *forecast([0.5] * 4, count=0.0), graph=graphs.bandit(4), round_number=1
    )
    np.testing.assert_allclose(p, 0.25)
    # Those two are alike, and the third is worse for sure.
    parts = forecast([0.2, 0.2, 0.9], deviation=0.01)
    p, *_ = information_directed(*parts, graph=graphs.bandit(3), round_number=50)
    assert p.tolist() == [0.5, 0.5, 0.0]


def test_without_contexts_an_action_is_looked_at_as_often_as_by_thompson_sampling():
    rng, counts = np.random.default_rng(0), np.array([400.0, 20.0])
    shares = np.array([0.45, 0.55])
    deviations = np.sqrt(shares * (1 - shares) / counts)
    parts = (shares, deviations, np.log1p(1.0 / counts), counts, 1.0)
    p, *_ = information_directed(*parts, graph=graphs.bandit(2), round_number=420)
    draws = rng.beta(shares * counts, (1 - shares) * counts, size=(100_000, 2))
    assert p[1] == pytest.approx((draws[:, 1] < draws[:, 0]).mean(), rel=0.1)


def test_without_contexts_nothing_is_paid_beyond_the_looks_that_are_due():
    rng, counts = np.random.default_rng(0), np.append(50.0, np.full(9, 20.0))
    shares = np.append(0.45, np.full(9, 0.5))
    parts = (shares, np.sqrt(shares * (1 - shares) / counts), np.log1p(1.0 / counts), counts, 1.0)
    p, *_ = information_directed(*parts, graph=graphs.bandit(10), round_number=230)
    draws = rng.beta(shares * counts, (1 - shares) * counts, size=(100_000, 10))
    assert p[0] == pytest.approx((draws.argmin(axis=1) == 0).mean(), abs=0.01)


def test_where_contexts_are_diverse_it_pays_for_fewer_looks():
    counts, shares = np.array([400.0, 400.0]), np.array([0.45, 0.55])
    parts = (shares, np.full(2, 0.1), np.log1p(20.0 / counts), counts, 1.0)
    alone, shared = (
        information_directed(*parts, graph=graphs.bandit(2), round_number=800, memory=memory)[0]
        for memory in (START, (0.0, 0.0, 0.0, 20.0))
    )
    assert 0.0 <= shared[1] < 0.1 * alone[1]


def test_an_action_that_was_hardly_seen_is_looked_at_however_many_parameters_others_share():
    memory, deviations = (0.0, 0.0, 200.0, 20.0), np.array([0.02, 0.2])
    for seen, least, most in ((2.0, 0.1, 1.0), (400.0, 0.0, 0.02)):
        counts = np.array([400.0, seen])
        parts = (np.array([0.4, 0.5]), deviations, np.full(2, 0.05), counts, 1.0)
        p, *_ = information_directed(
            *parts, graph=graphs.bandit(2), round_number=800, memory=memory
        )
        assert least <= p[1] <= most


def test_an_action_that_hides_its_own_loss_is_looked_at_for_ever():
    sure = forecast([0.9, 0.1], deviation=1e-6, gain=1e-6, count=1e6)
    for t in (100, 10_000):
        p, *_ = information_directed(
            *sure, graph=graphs.apple_tasting(2, revealing_action=0), round_number=t
        )
        assert p[0] == pytest.approx(BLIND * t**-0.5)
    cycle = FeedbackGraph([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    sure = forecast([0.9, 0.1, 0.5], deviation=1e-6, gain=1e-6, count=1e6)
    p, *_ = information_directed(*sure, graph=cycle, round_number=1000)
    assert 0.5 * BLIND / 10.0 < 1.0 - p[1] < 2.0 * BLIND / 10.0


def test_where_larger_losses_are_possible_the_first_losses_that_are_hidden_are_looked_at():
    graph = FeedbackGraph([[0.0, 0.0], [1.0, 1.0]])  # only the second shows anything
    for count, most in ((0.0, 1.0), (16.0, 0.4), (64.0, 0.1)):
        sure = forecast([0.2, 0.4], deviation=0.0, count=count)
        for bound, least in ((0.0, 0.0), (1.0, 0.0), (20.0, (1.0 - RARE) ** count)):
            p, *_ = information_directed(*sure, 0.0, bound, graph=graph, round_number=10**6)
            assert least <= p[1] + 1e-12
            assert p[1] <= (most if bound > 1.0 else 0.01)
    own = information_directed(*sure, 0.0, 20.0, graph=graphs.bandit(2), round_number=10**6)[0]
    assert own.tolist() == [1.0, 0.0]


def test_losses_that_prices_lead_out_of_their_range_keep_their_order():
    parts = forecast([3.2, 3.4, 9.0], deviation=0.01)
    p, *_ = information_directed(*parts, graph=graphs.bandit(3), round_number=100)
    assert p.argmax() == 0
    assert p[2] == 0.0


@pytest.mark.parametrize("memory", [(0.0, 0.0, 1.0), (0.0, 0.0, -1.0, 1.0), [0.0, 0.0, 0.0, 1.0]])
def test_a_memory_that_none_could_have_is_refused(memory):
    with pytest.raises(ValueError, match="`memory` must be four numbers that are not negative"):
        check_memory(memory)


def test_a_memory_of_less_than_one_parameter_is_refused():
    with pytest.raises(ValueError, match=r"`memory` must have 1 parameter or more, got 0.5"):
        check_memory((0.0, 0.0, 0.0, 0.5))


@pytest.mark.parametrize(
    "family",
    [
        graphs.bandit,
        graphs.cops_and_robbers,
        graphs.inventory,
        graphs.posted_price,
        graphs.apple_tasting,
        graphs.full_information,
    ],
)
def test_large_families_give_the_same_as_their_matrix(family):
    graph, rng = family(WRITTEN_OUT + 8), np.random.default_rng(0)
    values = rng.random(graph.n_actions)
    np.testing.assert_allclose(graph.structure.sums_revealed(values), graph.matrix @ values)


@pytest.mark.parametrize("written_out", [WRITTEN_OUT, 1])
@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize(
    "family", [graphs.bandit, graphs.full_information, graphs.cops_and_robbers, graphs.inventory]
)
def test_outcomes_that_come_seldom_whatever_is_played_hide_nothing(
    family, is_sparse, written_out, monkeypatch
):
    """They did: playing the best action was taken to hide its loss, and all were looked at."""
    monkeypatch.setattr("graphcb.exploration.information_directed.WRITTEN_OUT", written_out)
    always = family(5)
    matrix = 0.1 * always.matrix
    seldom = FeedbackGraph(csr_array(matrix) if is_sparse else matrix)
    rng = np.random.default_rng(0)
    for t in (1, 50, 5000):
        parts = forecast(rng.random(5), deviation=0.2, count=float(t))
        p, _, owed = information_directed(*parts, graph=always, round_number=t)
        found, _, also_owed = information_directed(*parts, graph=seldom, round_number=t)
        np.testing.assert_allclose(found, p, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(also_owed, owed)


def test_what_a_look_tells_is_not_relative():
    """A scout waits for the rounds in which it is likely to find something."""
    parts = forecast([0.3, 0.35, 0.9], deviation=0.3, gain=0.5, count=5.0)
    memory = 1.0, 0.05, 100.0, 8.0  # regret, information, looks, parameters
    scout = np.array([[0.0] * 3, [0.0] * 3, [1.0] * 3])
    likely, unlikely = (
        information_directed(
            *parts, graph=FeedbackGraph(q * scout), round_number=1000, memory=memory
        )[0][2]
        for q in (0.9, 0.01)
    )
    assert unlikely < 0.5 * likely


def smallest_slowly(odds, widths, floor, ceiling):
    """The probability that each action is the smallest, cell by cell; all are different."""
    chances, below = np.zeros(odds.size), np.zeros(odds.size)
    for j in range(CELLS):
        off = (odds - (floor + (j + 1) * (ceiling - floor) / CELLS)) / widths
        above = np.array([0.5 * math.erfc(x / math.sqrt(2.0)) if x < FAR else 0.0 for x in off])
        none_here = 1.0 - 0.5 * (below + above)
        chances += (above - below) * none_here.prod() / none_here
        below = above
        if none_here.prod() < NOTHING:
            break
    return chances


@pytest.mark.parametrize("n", [2, 5, 60, 300])
def test_cells_are_summed_several_at_a_time_up_to_where_nothing_is_left(n):
    rng = np.random.default_rng(n)
    odds, widths = rng.normal(size=n), rng.uniform(0.1, 2.0, n)
    both = np.append(odds, odds), np.append(widths, widths)  # each comes twice
    floor, ceiling = (odds - 4 * widths).min(), (odds + 4 * widths).min()
    expected = smallest_slowly(*both, floor, ceiling)
    chances, moments = smallest(odds, widths, np.full(n, 2), floor, ceiling, 0.0, 1.0)
    np.testing.assert_allclose(chances, expected[:n], rtol=1e-9, atol=1e-15)
    assert (moments[chances > 0.0] / chances[chances > 0.0] <= 1.0).all()
    alone, _ = smallest(*both, np.ones(2 * n, dtype=int), floor, ceiling, 0.0, 1.0)
    assert alone[:n].tobytes() == alone[n:].tobytes()  # wherever they stand
    np.testing.assert_allclose(alone[:n], chances, rtol=1e-12)


@pytest.mark.parametrize("apart", [0.0, 1e-3, 0.02])
def test_numbers_that_are_near_each_other_are_summed_as_others_are(apart):
    """Those that are near enough have a series in common, which must be as exact as the table."""
    rng, n = np.random.default_rng(0), 200
    odds, widths = rng.normal(size=n), rng.uniform(0.5, 2.0, n)
    odds[50:], widths[50:] = 0.3, 1.0 + apart * rng.random(150)
    floor, ceiling = (odds - 4 * widths).min(), (odds + 4 * widths).min()
    chances, _ = smallest(odds, widths, np.ones(n, dtype=int), floor, ceiling, 0.0, 1.0)
    expected = smallest_slowly(odds, widths, floor, ceiling)
    np.testing.assert_allclose(chances, expected, rtol=1e-9, atol=1e-15)


def test_tails_are_those_of_a_normal_distribution():
    off = np.append(np.linspace(NEAR - 1.0, FAR + 1.0, 100_003), [FAR, np.inf, -np.inf])
    tails = np.empty(off.size)
    chances_below(off, np.ones(off.size), 0.0, 0.0, tails)
    exact = np.array([0.5 * math.erfc(x / math.sqrt(2.0)) if x < FAR else 0.0 for x in off])
    np.testing.assert_allclose(tails, exact, rtol=1e-9, atol=1e-13)
    chances_below(np.array([np.nan, 1.0]), np.zeros(2), 0.0, 0.0, tails[:2])
    assert tails[:2].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("place", [1, 2, 3])
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -1.0])
def test_a_forecast_that_makes_no_sense_is_refused(place, wrong):
    parts = list(forecast([0.2, 0.4]))
    parts[place][1] = wrong
    with pytest.raises(ValueError, match="a forecast must be finite, and its deviations, gains"):
        information_directed(*parts, graph=graphs.bandit(2), round_number=1)


def test_a_forecast_of_another_length_is_refused():
    for place, name in enumerate(("losses", "deviations", "gains", "counts")):
        parts = list(forecast([0.2, 0.4]))
        parts[place] = np.ones(3)
        with pytest.raises(
            ValueError, match=rf"`{name}` must have shape \(2,\) to match the graph"
        ):
            information_directed(*parts, graph=graphs.bandit(2), round_number=1)


def test_lists_will_do():
    p, *_ = information_directed(
        [0.2, 0.9], [0, 0], [0, 0], [99, 99], 1, graph=graphs.bandit(2), round_number=3
    )
    assert p.tolist() == [1.0, 0.0]


@pytest.mark.parametrize("n", [3, 4, 5, 7])
def test_actions_that_look_alike_are_played_alike_whatever_is_rounded(n):
    """Where as many looks are due at all of them but the one that looks best by chance."""
    ones, f = np.ones(n + 1), np.append(np.full(n, 0.5), 0.9)
    for rest in np.random.default_rng(n).uniform(0.01, 0.9, 200):
        looks = np.append(np.full(n, (1.0 - rest) / n), rest)
        looks[0] = 0.0
        p = choose(f, ones, ones, ones, looks, 0, 1e-9, 0.0 * ones, 0.0)
        np.testing.assert_allclose(p[:n], (1.0 - rest) / n, rtol=1e-12)
