import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphcb import FeedbackGraph, graphs
from graphcb.exploration.information_directed import (
    WRITTEN_OUT,
    _choose,
    _plausible_gains,
    information_directed,
)


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
def test_it_is_always_a_distribution_over_at_most_two_actions(numbers, t):
    f, deviations, gains, counts, matrix = (np.array(part, dtype=float) for part in numbers)
    graph = FeedbackGraph(matrix.reshape(f.size, f.size))
    p = information_directed(f, deviations, gains, counts, 1.0, graph=graph, round_number=t)
    assert p.min() >= 0.0
    assert p.sum() == pytest.approx(1.0, abs=1e-12)
    assert np.count_nonzero(p) <= 2


def test_no_other_mixture_with_an_action_that_tells_more_has_a_smaller_ratio():
    rng = np.random.default_rng(0)
    for _ in range(200):
        n = int(rng.integers(2, 6))
        f, widths, information = rng.random(n), 0.5 * rng.random(n), rng.random(n)
        regrets = f + widths - (f - widths).min()

        def ratio(p, regrets=regrets, information=information):
            return (p @ regrets) ** 2 / (p @ information)

        least = ratio(_choose(f, widths, information))
        best = int(np.argmin(f))
        for a in np.flatnonzero(information >= information[best]):
            for q in np.linspace(0.0, 1.0, 51):
                p = np.zeros(n)
                p[best] += 1.0 - q
                p[a] += q
                assert least <= ratio(p) * (1.0 + 1e-9)


def test_what_is_certain_is_played_and_what_pays_is_looked_at():
    sure = forecast([0.1, 0.5], deviation=1e-3, count=1e6)
    assert information_directed(*sure, graph=graphs.bandit(2), round_number=100).tolist() == [1, 0]
    # Only the costly action shows anything: it is played now and then while the others may be best.
    unsure = forecast([0.30, 0.31, 0.9], deviation=0.2, count=200.0)
    p = information_directed(
        *unsure, graph=graphs.apple_tasting(3, revealing_action=2), round_number=2000
    )
    assert 0.0 < p[2] < 1.0
    assert p[0] + p[2] == pytest.approx(1.0)


def test_an_action_that_is_not_seen_becomes_plausible_again():
    f, deviations, gains = np.array([0.2, 0.6]), np.full(2, 0.05), np.full(2, 0.1)
    rarely = np.array([1e6, 5.0])
    plausible = [_plausible_gains(f, deviations, gains, rarely, 1.0, t)[2] for t in (10, 10**7)]
    assert plausible == [1, 2]


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
    p = information_directed(
        [0.2, 0.9], [0, 0], [0, 0], [99, 99], 1, graph=graphs.bandit(2), round_number=3
    )
    assert p.tolist() == [1.0, 0.0]
