"""Random programs at every scale: what `extreme.py` draws from.

Three realms. Ordinary: gamma from 1e-3 to 1e8. Hard: edges from 1e-30, gamma from 1e-30 to 1e30,
and losses that differ by as much. Extreme: whatever fits into a floating-point number, edges and
losses that are subnormal included.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from programs import FAMILIES, LOSSES

from graphcb import FeedbackGraph

Floats = NDArray[np.float64]
Rng = np.random.Generator

REALMS = ("ordinary", "hard", "extreme")
EXPONENTS = {"ordinary": (-3.0, 8.0), "hard": (-30.0, 30.0), "extreme": (-300.0, 300.0)}  # gamma's
FAINT = {"ordinary": -3.0, "hard": -30.0, "extreme": -300.0}  # least exponent of an edge
SUBNORMAL = 5e-324


class ExtremeProgram(NamedTuple):
    """One program, and what it was drawn from."""

    realm: str
    family: str
    losses_kind: str
    losses: Floats
    graph: FeedbackGraph
    gamma: float


def _one_far_better(n: int, rng: Rng) -> Floats:
    """One action a million times better than the others."""
    losses = rng.random(n)
    losses[rng.integers(n)] = -1e6 if rng.random() < 0.5 else 1e-6 * rng.random()
    return losses


def _leaders(n: int, rng: Rng) -> Floats:
    return np.where(rng.random(n) < 0.5, 0.0, 10.0 ** rng.uniform(-6, 6, n))


def _wide(n: int, rng: Rng) -> Floats:
    return rng.choice(np.array([-1.0, 1.0]), n) * 10.0 ** rng.uniform(-300, 300, n)


def _huge(n: int, rng: Rng) -> Floats:
    sizes = np.array([1e300, 1e308, 1.7e308, 1e150, 0.0])
    huge: Floats = rng.choice(np.array([-1.0, 1.0]), n) * rng.choice(sizes, n)
    return huge


def _small(n: int, rng: Rng) -> Floats:
    return rng.choice(np.array([0.0, SUBNORMAL, 1e-310, 1e-300, 1e-200]), n)


HARD_LOSSES = {**LOSSES, "one far better": _one_far_better, "leaders": _leaders}
EXTREME_LOSSES = {**HARD_LOSSES, "wide": _wide, "huge": _huge, "small": _small}
LOSSES_OF = {"ordinary": LOSSES, "hard": HARD_LOSSES, "extreme": EXTREME_LOSSES}


def _faint(matrix: Floats, least: float, rng: Rng) -> Floats:
    """The same edges, revealed far less often: all, some, one, those of a row or of a column."""
    n = len(matrix)
    factors = np.ones((n, n))
    kind = rng.integers(6)
    if kind == 0:
        factors = 10.0 ** rng.uniform(least, 0.0, (n, n))
    elif kind == 1:
        factors = np.where(rng.random((n, n)) < 0.5, 1.0, 10.0**least)
    elif kind == 2:
        factors[:] = 10.0 ** rng.uniform(least, 0.0)
    elif kind == 3:
        factors[rng.integers(n), rng.integers(n)] = 10.0**least
    elif kind == 4:
        factors[rng.integers(n)] = 10.0 ** rng.uniform(least, 0.0)
    else:
        factors[:, rng.integers(n)] = 10.0 ** rng.uniform(least, 0.0)
    if least == FAINT["extreme"] and rng.random() < 0.1:
        factors[rng.random((n, n)) < 0.3] = SUBNORMAL
    return np.where(matrix > 0.0, np.maximum(matrix * factors, SUBNORMAL), 0.0)


def _graph(family: str, n: int, realm: str, rng: Rng) -> tuple[str, FeedbackGraph]:
    build: Callable[[int, Rng], FeedbackGraph] = FAMILIES[family][1]
    graph = build(n, rng)
    if rng.random() < (0.2 if realm == "ordinary" else 0.5):
        family += ", faint"
        graph = FeedbackGraph(_faint(graph.matrix, FAINT[realm], rng))
    if rng.random() < 0.1:
        graph = FeedbackGraph(scipy.sparse.csr_array(graph.matrix))
    return family, graph


def extreme_programs(n_programs: int, seed: int) -> Iterator[ExtremeProgram]:
    """Families in turn; one program in four is ordinary, one in four hard, the others extreme."""
    names = list(FAMILIES)
    for number in range(n_programs):
        rng = np.random.default_rng([seed, number])
        realm = ("ordinary", "hard", "extreme", "extreme")[number % 4]
        family = names[number // 4 % len(names)]
        largest = 100.0 if rng.random() < 0.02 else 13.0
        largest = 300.0 if rng.random() < 0.001 else largest
        n = int(np.exp(rng.uniform(0.0, np.log(largest))))
        n = max(FAMILIES[family][0], n)
        kinds = LOSSES_OF[realm]
        kind = list(kinds)[rng.integers(len(kinds))]
        losses = kinds[kind](n, rng)
        gamma = float(10.0 ** rng.uniform(*EXPONENTS[realm]))
        family, graph = _graph(family, n, realm, rng)
        yield ExtremeProgram(realm, family, kind, losses, graph, gamma)
