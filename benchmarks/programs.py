"""Random programs from every family: what the fuzz run and the solver's tests draw from."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb import FeedbackGraph, graphs

Rng = np.random.Generator


class RandomProgram(NamedTuple):
    """One program, and what it was drawn from."""

    family: str
    losses_kind: str
    losses: NDArray[np.float64]
    graph: FeedbackGraph
    gamma: float


def _self_aware(density: float) -> Callable[[int, Rng], FeedbackGraph]:
    return lambda n, rng: graphs.random_self_aware(n, density, rng)


def three_edges_per_row(n: int, rng: Rng) -> FeedbackGraph:
    matrix = np.eye(n)
    for i in range(n):
        matrix[i, rng.choice(n, size=min(n, 3), replace=False)] = 1.0
    return FeedbackGraph(matrix)


def _stochastic(n: int, rng: Rng) -> FeedbackGraph:
    return FeedbackGraph(np.clip(rng.random((n, n)), 1e-3, None))


def _tiny(n: int, rng: Rng) -> FeedbackGraph:
    matrix = 10.0 ** rng.uniform(-6, 0, (n, n)) * (rng.random((n, n)) < rng.random())
    np.fill_diagonal(matrix, 10.0 ** rng.uniform(-6, 0, n))
    return FeedbackGraph(matrix)


def _weak(n: int, rng: Rng) -> FeedbackGraph:
    """A few revealing actions; the others reveal nothing, or only themselves now and then."""
    matrix = np.zeros((n, n))
    revealing = rng.choice(n, size=min(n, int(rng.integers(1, 4))), replace=False)
    matrix[revealing] = rng.random((revealing.size, n)) < 0.6
    matrix[revealing[0]] = 1.0
    if rng.random() < 0.5:
        matrix += np.diag(rng.random(n) < 0.3) * (matrix == 0.0)
    if rng.random() < 0.3:
        matrix *= 10.0 ** rng.uniform(-4, 0, (n, n))
    return FeedbackGraph(matrix)


def _bipartite(n: int, rng: Rng) -> FeedbackGraph:
    side = rng.permutation(n) < max(1, n // 2)
    matrix = (side[:, None] != side) * (rng.random((n, n)) < 0.5) * 1.0
    for j in range(n):
        others = np.flatnonzero(side != side[j])
        matrix[rng.choice(others), j] = 1.0
    return FeedbackGraph(matrix)


def _cycle(n: int, rng: Rng) -> FeedbackGraph:
    return FeedbackGraph(np.roll(np.eye(n), 1, axis=1)[rng.permutation(n)])


def _cliques(n: int, rng: Rng) -> FeedbackGraph:
    cuts = np.sort(rng.choice(n, size=int(rng.integers(0, n)), replace=False))
    sizes = np.diff(np.concatenate([[0], cuts[cuts > 0], [n]]))
    return graphs.disjoint_cliques([int(size) for size in sizes])


def _apple(n: int, rng: Rng) -> FeedbackGraph:
    return graphs.apple_tasting(n, revealing_action=int(rng.integers(n)))


FAMILIES: dict[str, tuple[int, Callable[[int, Rng], FeedbackGraph]]] = {
    "self-aware 3/4": (1, _self_aware(0.75)),
    "self-aware 1/4": (1, _self_aware(0.25)),
    "self-aware 1/20": (1, _self_aware(0.05)),
    "three edges per row": (1, three_edges_per_row),
    "stochastic": (1, _stochastic),
    "stochastic tiny": (1, _tiny),
    "weakly observable": (1, _weak),
    "bipartite": (2, _bipartite),
    "cycle": (1, _cycle),
    "disjoint cliques": (1, _cliques),
    "apple tasting": (1, _apple),
    "cops and robbers": (2, lambda n, _: graphs.cops_and_robbers(n)),
    "cops as a matrix": (2, lambda n, _: FeedbackGraph(1.0 - np.eye(n))),
    "bandit": (1, lambda n, _: graphs.bandit(n)),
    "bandit as a matrix": (1, lambda n, _: FeedbackGraph(np.eye(n))),
    "full information": (1, lambda n, _: graphs.full_information(n)),
    "full as a matrix": (1, lambda n, _: FeedbackGraph(np.ones((n, n)))),
    "inventory": (1, lambda n, _: graphs.inventory(n)),
    "posted price": (1, lambda n, _: graphs.posted_price(n)),
}

LOSSES: dict[str, Callable[[int, Rng], NDArray[np.float64]]] = {
    "uniform": lambda n, rng: rng.random(n),
    "ties": lambda n, rng: rng.integers(0, 3, n) / 2.0,
    "equal": lambda n, _: np.full(n, 0.3),
    "near ties": lambda n, rng: rng.integers(0, 3, n) / 2.0 + 1e-12 * rng.integers(0, 9, n),
    "powers of two": lambda n, rng: 2.0 ** -rng.permutation(n).astype(float),
    "mixed scales": lambda n, rng: 10.0 ** rng.uniform(-12, 0, n),
    "negative": lambda n, rng: -3.0 * rng.random(n),
}


def random_programs(
    n_programs: int, seed: int, gammas: tuple[float, float] = (1e-3, 1e8)
) -> Iterator[RandomProgram]:
    """Families in turn; sizes mostly to 60, one in a hundred 200; gamma log-uniform."""
    names = list(FAMILIES)
    for number in range(n_programs):
        rng = np.random.default_rng([seed, number])
        family = names[number % len(names)]
        smallest, build = FAMILIES[family]
        n = 200 if rng.random() < 0.01 else int(np.exp(rng.uniform(0.0, np.log(61.0))))
        n = max(smallest, n)
        kind = list(LOSSES)[rng.integers(len(LOSSES))]
        gamma = float(10.0 ** rng.uniform(*np.log10(gammas)))
        yield RandomProgram(family, kind, LOSSES[kind](n, rng), build(n, rng), gamma)
