"""Graph numbers against brute force over all subsets, known graphs, and their invariances."""

import itertools
from collections.abc import Callable, Iterable, Iterator
from random import Random
from types import SimpleNamespace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from graphcb.graphs import numbers
from graphcb.graphs.numbers import (
    Bounds,
    greedy_independence,
    greedy_weak_domination,
    solve_independence,
    solve_weak_domination,
)

Edges = npt.NDArray[np.bool_]


def brute_independence(edges: Edges) -> int:
    n = len(edges)
    pairs = [
        1 << i | 1 << j
        for i, j in itertools.combinations(range(n), 2)
        if edges[i, j] or edges[j, i]
    ]
    free = (s for s in range(2**n) if not any(s & pair == pair for pair in pairs))
    return max(s.bit_count() for s in free)


def brute_weak_domination(edges: Edges) -> int:
    n = len(edges)
    revealers = [sum(1 << i for i in range(n) if edges[i, j]) for j in range(n) if not edges[j, j]]
    dominating = (s for s in range(2**n) if all(s & revealer for revealer in revealers))
    return min(s.bit_count() for s in dominating)


def is_observable(edges: Edges) -> bool:
    return bool(edges.any(axis=0).all())


def random_edges(n_actions: int, density: float, seed: int, *, loops: float = 0.5) -> Edges:
    rng = np.random.default_rng(seed)
    edges = rng.random((n_actions, n_actions)) < density
    np.fill_diagonal(edges, rng.random(n_actions) < loops)
    for j in np.flatnonzero(~edges.any(axis=0)):
        edges[j - 1, j] = True  # for one action, index -1 is its own self-loop
    return edges


def undirected(n_actions: int, pairs: Iterable[tuple[int, int]]) -> Edges:
    """One direction an edge: the numbers must not care which."""
    edges = np.zeros((n_actions, n_actions), dtype=bool)
    for i, j in pairs:
        edges[i, j] = True
    return edges


def all_graphs_on_three() -> Iterator[Edges]:
    for n in (1, 2, 3):
        for bits in itertools.product([False, True], repeat=n * n):
            yield np.array(bits, dtype=bool).reshape(n, n)


def all_loopless_graphs_on_four() -> Iterator[Edges]:
    off_diagonal = ~np.eye(4, dtype=bool)
    for bits in itertools.product([False, True], repeat=12):
        edges = np.zeros((4, 4), dtype=bool)
        edges[off_diagonal] = bits
        yield edges


def assert_brackets(bounds: Bounds, number: int) -> None:
    assert type(bounds) is Bounds
    assert type(bounds.lower) is int
    assert type(bounds.upper) is int
    assert bounds.lower <= number <= bounds.upper


@pytest.fixture
def no_greedy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trivial greedy bounds, so that every answer has to come from the integer program."""
    monkeypatch.setattr(numbers, "greedy_independence", lambda edges: Bounds(0, len(edges) + 1))
    monkeypatch.setattr(numbers, "_greedy_cover", lambda coverage: Bounds(0, len(coverage) + 1))


def test_every_graph_on_up_to_three_actions() -> None:
    for edges in all_graphs_on_three():
        number = brute_independence(edges)
        assert_brackets(greedy_independence(edges), number)
        assert solve_independence(edges) == (number, number)
        if is_observable(edges):
            number = brute_weak_domination(edges)
            assert_brackets(greedy_weak_domination(edges), number)
            assert solve_weak_domination(edges) == (number, number)


def test_greedy_brackets_on_every_graph_on_four_actions() -> None:
    loops = np.diag([True, False, False, True])
    for edges in all_loopless_graphs_on_four():
        assert_brackets(greedy_independence(edges), brute_independence(edges))
        for graph in filter(is_observable, (edges, edges | loops)):
            assert_brackets(greedy_weak_domination(graph), brute_weak_domination(graph))


@pytest.mark.usefixtures("no_greedy")
def test_integer_program_alone_on_small_graphs() -> None:
    rng = np.random.default_rng(0)
    sample = rng.choice(2**12, size=400, replace=False)
    graphs = [edges for i, edges in enumerate(all_loopless_graphs_on_four()) if i in sample]
    for edges in itertools.chain(all_graphs_on_three(), graphs):
        number = brute_independence(edges)
        assert solve_independence(edges) == (number, number)
        if is_observable(edges):
            number = brute_weak_domination(edges)
            assert solve_weak_domination(edges) == (number, number)


@pytest.mark.parametrize("density", [0.05, 0.15, 0.3, 0.6, 0.9])
@pytest.mark.parametrize("n_actions", [1, 5, 7, 8, 9, 10])
def test_random_graphs_against_brute_force(n_actions: int, density: float) -> None:
    for seed, loops in itertools.product(range(3), (0.0, 0.3)):
        edges = random_edges(n_actions, density, seed, loops=loops)
        number = brute_independence(edges)
        assert_brackets(greedy_independence(edges), number)
        assert solve_independence(edges) == (number, number)
        number = brute_weak_domination(edges)
        assert_brackets(greedy_weak_domination(edges), number)
        assert solve_weak_domination(edges) == (number, number)


PETERSEN = [
    *((i, (i + 1) % 5) for i in range(5)),
    *((5 + i, 5 + (i + 2) % 5) for i in range(5)),
    *((i, i + 5) for i in range(5)),
]


@pytest.mark.parametrize(
    ("edges", "number"),
    [
        pytest.param(undirected(5, [(i, (i + 1) % 5) for i in range(5)]), 2, id="5-cycle"),
        pytest.param(undirected(10, PETERSEN), 4, id="petersen"),
        pytest.param(np.zeros((6, 6), dtype=bool), 6, id="empty"),
        pytest.param(np.eye(6, dtype=bool), 6, id="bandit"),
        pytest.param(np.ones((6, 6), dtype=bool), 1, id="complete"),
        pytest.param(np.triu(np.ones((6, 6), dtype=bool)), 1, id="inventory"),
        pytest.param(~np.eye(6, dtype=bool), 1, id="cops-and-robbers"),
        pytest.param(undirected(7, [(0, j) for j in range(1, 7)]), 6, id="star"),
        pytest.param(np.eye(7, k=1, dtype=bool), 4, id="path-of-7"),
        pytest.param(np.eye(8, k=-1, dtype=bool), 4, id="path-of-8"),
        pytest.param(np.kron(np.eye(4), np.ones((3, 3))) > 0, 4, id="four-cliques"),
        pytest.param(np.zeros((1, 1), dtype=bool), 1, id="one-action"),
    ],
)
def test_independence_of_known_graphs(edges: Edges, number: int) -> None:
    assert solve_independence(edges) == (number, number)
    assert_brackets(greedy_independence(edges), number)


def both_ways(edges: Edges) -> Edges:
    result: Edges = edges | edges.T
    return result


@pytest.mark.parametrize(
    ("edges", "number"),
    [
        pytest.param(~np.eye(6, dtype=bool), 2, id="cops-and-robbers"),
        pytest.param(np.eye(6, dtype=bool), 0, id="bandit"),
        pytest.param(np.ones((1, 1), dtype=bool), 0, id="one-action"),
        pytest.param(np.array([[True, True], [False, False]]), 1, id="apple-tasting"),
        pytest.param(undirected(7, [(0, j) for j in range(7)]), 1, id="one-revealing-action"),
        pytest.param(both_ways(undirected(7, [(0, j) for j in range(1, 7)])), 2, id="star"),
        pytest.param(both_ways(np.eye(6, k=1, dtype=bool)), 4, id="path-of-6"),
        pytest.param(both_ways(undirected(10, PETERSEN)), 4, id="petersen"),
        pytest.param(np.roll(np.eye(5, dtype=bool), 1, axis=1), 5, id="directed-5-cycle"),
    ],
)
def test_weak_domination_of_known_graphs(edges: Edges, number: int) -> None:
    assert solve_weak_domination(edges) == (number, number)
    assert_brackets(greedy_weak_domination(edges), number)


def test_separate_parts_add_up() -> None:
    blocks = [random_edges(8, 0.25, seed, loops=0.2) for seed in range(4)]
    edges = np.zeros((32, 32), dtype=bool)
    for k, block in enumerate(blocks):
        edges[8 * k : 8 * k + 8, 8 * k : 8 * k + 8] = block
    independence = sum(brute_independence(block) for block in blocks)
    domination = sum(brute_weak_domination(block) for block in blocks)
    assert solve_independence(edges) == (independence, independence)
    assert solve_weak_domination(edges) == (domination, domination)


square_edges = st.integers(1, 9).flatmap(lambda n: arrays(np.bool_, (n, n)))
observable_edges = square_edges.map(lambda edges: edges | np.diag(~edges.any(axis=0)))


@given(observable_edges)
def test_greedy_brackets_the_exact_number(edges: Edges) -> None:
    exact = solve_independence(edges)
    assert exact.lower == exact.upper
    assert_brackets(greedy_independence(edges), exact.lower)
    exact = solve_weak_domination(edges)
    assert exact.lower == exact.upper
    assert_brackets(greedy_weak_domination(edges), exact.lower)


@given(observable_edges, st.randoms(use_true_random=False))
def test_names_of_actions_do_not_matter(edges: Edges, random: Random) -> None:
    order = random.sample(range(len(edges)), len(edges))
    renamed = edges[np.ix_(order, order)]
    assert solve_independence(renamed) == solve_independence(edges)
    assert solve_weak_domination(renamed) == solve_weak_domination(edges)


@given(observable_edges, st.data())
def test_an_added_edge_never_raises_a_number(edges: Edges, data: st.DataObject) -> None:
    action = st.integers(0, len(edges) - 1)
    richer = edges.copy()
    richer[data.draw(action), data.draw(action)] = True
    assert solve_independence(richer).upper <= solve_independence(edges).lower
    assert solve_weak_domination(richer).upper <= solve_weak_domination(edges).lower


@given(observable_edges)
def test_direction_and_self_loops_do_not_change_independence(edges: Edges) -> None:
    number = solve_independence(edges)
    assert solve_independence(edges.T) == number
    assert solve_independence(edges | np.eye(len(edges), dtype=bool)) == number


def test_edges_are_not_mutated() -> None:
    edges = random_edges(9, 0.3, seed=1)
    edges.setflags(write=False)
    for function in (
        greedy_independence,
        greedy_weak_domination,
        solve_independence,
        solve_weak_domination,
    ):
        function(edges)


@pytest.mark.parametrize("time_limit", [1e-9, 0.05, 0.3])
def test_out_of_time_the_bounds_are_still_honest(time_limit: float) -> None:
    edges = random_edges(120, 0.1, seed=0, loops=0.0)
    for greedy, solve in (
        (greedy_independence, solve_independence),
        (greedy_weak_domination, solve_weak_domination),
    ):
        cheap, bounds = greedy(edges), solve(edges, time_limit=time_limit)
        assert type(bounds.lower) is int
        assert type(bounds.upper) is int
        assert cheap.lower <= bounds.lower <= bounds.upper <= cheap.upper


def test_out_of_time_the_bounds_hold_the_number() -> None:
    # Hard parts whose numbers are known one by one, joined into a graph too hard for the limit.
    blocks = [random_edges(12, 0.15, seed, loops=0.0) for seed in range(30)]
    edges = np.zeros((360, 360), dtype=bool)
    for k, block in enumerate(blocks):
        edges[12 * k : 12 * k + 12, 12 * k : 12 * k + 12] = block
    independence = sum(solve_independence(block).lower for block in blocks)
    domination = sum(solve_weak_domination(block).lower for block in blocks)
    assert_brackets(solve_independence(edges, time_limit=0.02), independence)
    assert_brackets(solve_weak_domination(edges, time_limit=0.02), domination)


def test_enough_time_gives_the_exact_number() -> None:
    edges = undirected(10, PETERSEN)
    assert solve_independence(edges, time_limit=600.0) == (4, 4)
    assert solve_independence(edges, time_limit=np.inf) == (4, 4)
    assert solve_weak_domination(both_ways(edges), time_limit=600.0) == (4, 4)


# Greedy brackets 2..3 and 3..4 around 2 and 4, so that both ask the integer program.
LOOSE_INDEPENDENCE = undirected(5, [(i, (i + 1) % 5) for i in range(5)])
LOOSE_DOMINATION = random_edges(8, 0.3, seed=20, loops=0.0)


def answer_with(
    monkeypatch: pytest.MonkeyPatch, chosen: list[int] | None, bound: float | None, n_actions: int
) -> None:
    """Let the integer program answer with these actions, and this bound for its minimisation."""
    x = None if chosen is None else np.isin(np.arange(n_actions), chosen).astype(float)
    answer = SimpleNamespace(x=x, mip_dual_bound=bound)
    monkeypatch.setattr("scipy.optimize.milp", lambda *_, **__: answer)


@pytest.mark.parametrize("chosen", [None, [], [0, 1, 3]])
@pytest.mark.parametrize("bound", [None, -np.inf, -3.0, -3.0 + 1e-9])
def test_an_unverified_independent_set_does_not_count(
    monkeypatch: pytest.MonkeyPatch, chosen: list[int] | None, bound: float | None
) -> None:
    answer_with(monkeypatch, chosen, bound, 5)
    assert solve_independence(LOOSE_INDEPENDENCE) == (2, 3)


@pytest.mark.parametrize("chosen", [None, [], [0, 1, 3]])
@pytest.mark.parametrize("bound", [None, -np.inf, 0.0, 3.0 + 1e-9])
def test_an_unverified_dominating_set_does_not_count(
    monkeypatch: pytest.MonkeyPatch, chosen: list[int] | None, bound: float | None
) -> None:
    answer_with(monkeypatch, chosen, bound, 8)
    assert solve_weak_domination(LOOSE_DOMINATION) == (3, 4)


def test_a_fractional_bound_is_rounded_to_the_next_number(monkeypatch: pytest.MonkeyPatch) -> None:
    answer_with(monkeypatch, None, -2.9, 5)
    assert solve_independence(LOOSE_INDEPENDENCE) == (2, 2)
    answer_with(monkeypatch, None, 3.1, 8)
    assert solve_weak_domination(LOOSE_DOMINATION) == (4, 4)


def test_a_verified_set_outweighs_a_bound_that_contradicts_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer_with(monkeypatch, [0, 2], -1.0, 5)
    assert solve_independence(LOOSE_INDEPENDENCE) == (2, 2)
    answer_with(monkeypatch, None, 5.0, 8)
    assert solve_weak_domination(LOOSE_DOMINATION) == (4, 4)


@pytest.mark.parametrize("solve", [solve_independence, solve_weak_domination])
@pytest.mark.parametrize("time_limit", [0, -1.5, float("nan")])
def test_time_limit_must_be_positive(solve: Callable[..., Bounds], time_limit: float) -> None:
    message = f"^`time_limit` must be positive seconds or None, got {time_limit}$"
    with pytest.raises(ValueError, match=message):
        solve(np.eye(3, dtype=bool), time_limit=time_limit)


@pytest.mark.parametrize("function", [greedy_weak_domination, solve_weak_domination])
def test_weak_domination_needs_an_observable_graph(function: Callable[[Edges], Bounds]) -> None:
    edges = np.ones((4, 4), dtype=bool)
    edges[:, 2] = False
    with pytest.raises(
        ValueError, match=r"^`edges` must reveal every action, got nothing that reveals action 2$"
    ):
        function(edges)
