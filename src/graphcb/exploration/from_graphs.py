"""A gamma for graphs that change, from the numbers of the graphs met so far."""

import math
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from graphcb.checks import as_positive
from graphcb.exploration.schedules import Need
from graphcb.graphs import FeedbackGraph, require_observable
from graphcb.loaded import Learned, Number


class Hardness(NamedTuple):
    """What a graph adds to the sums: `alpha` and the root of its weak domination number."""

    alpha: float
    root_of_d: float


@dataclass
class FromGraphs:
    """gamma = c * max(sqrt(sum of alpha_t), (sum of sqrt(d_t))^(2/3)), over the graphs so far.

    For graphs that change: the paper's refined bounds have these sums in place of the largest
    numbers. A strongly observable graph adds its independence number. A weakly observable one
    adds that of its self-looped part to the first sum, and the root of its weak domination number
    to the second. For graphs with the same numbers it is `SquareRoot(c, alpha)` or
    `TwoThirds(c, d)`.

    Families know their numbers. For other graphs, where they are NP-hard, the greedy upper bound
    is taken, so gamma is never below what the exact numbers would give.

    >>> from graphcb import graphs
    >>> schedule = FromGraphs(c=2.0)
    >>> for size in (4, 5):
    ...     schedule.meet(graphs.bandit(size))
    >>> schedule.gamma_on(graphs.bandit(7))  # 2 sqrt(4 + 5 + 7)
    8.0
    """

    c: float
    alphas: float = field(default=0.0, repr=False)
    roots_of_d: float = field(default=0.0, repr=False)
    epoch: ClassVar[int] = 0
    needs: ClassVar[Need] = "graph"
    learned = Learned(alphas=Number(0.0, math.inf), roots_of_d=Number(0.0, math.inf))

    def __post_init__(self) -> None:
        as_positive("c", self.c)

    def gamma_on(self, graph: FeedbackGraph) -> float:
        """Gamma of the next round, if it is played on this graph."""
        more = hardness(graph)
        return self._gamma(self.alphas + more.alpha, self.roots_of_d + more.root_of_d)

    def meet(self, graph: FeedbackGraph) -> None:
        """Add the graph of the round that was just played."""
        more = hardness(graph)
        self.alphas += more.alpha
        self.roots_of_d += more.root_of_d

    def gamma(self, round_number: int, n_actions: int) -> float:
        """Gamma by the graphs so far, for a round whose graph is not known."""
        return self._gamma(max(1.0, self.alphas), self.roots_of_d)

    def observe(self, value: float) -> None:
        """Nothing to learn from the DEC."""

    def _gamma(self, alphas: float, roots_of_d: float) -> float:
        return self.c * max(math.sqrt(alphas), math.pow(roots_of_d, 2 / 3))


def hardness(graph: FeedbackGraph) -> Hardness:
    """The upper bounds on the numbers of an observable graph, remembered with it.

    >>> from graphcb import graphs
    >>> hardness(graphs.cops_and_robbers(5)), hardness(graphs.apple_tasting(5))
    (Hardness(alpha=1, root_of_d=0.0), Hardness(alpha=1, root_of_d=1.0))
    """
    return graph.remember("hardness", _find_hardness)


def _find_hardness(graph: FeedbackGraph) -> Hardness:
    require_observable(graph, "to learn from it")
    if graph.observability == "strong":
        return Hardness(graph.independence_bounds().upper, 0.0)
    looped = graph.self_looped_independence_bounds().upper
    return Hardness(looped, math.sqrt(graph.weak_domination_bounds().upper))
