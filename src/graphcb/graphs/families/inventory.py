"""Ordered levels where playing one reveals all on one side: stock below, prices above."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from graphcb.checks import as_count
from graphcb.compilation import compiled
from graphcb.graphs.formulas import ClosedForm
from graphcb.graphs.graph import FeedbackGraph
from graphcb.graphs.registry import Family
from graphcb.graphs.runs import RunStructure, straight_runs
from graphcb.graphs.structure import Floats, Indices, Numbers, Structure


def inventory(n_actions: int) -> FeedbackGraph:
    """A stock level reveals itself and every lower one: playing i reveals all j <= i.

    With i units on the shelf you see what every smaller stock would have sold.

    >>> inventory(3).matrix
    array([[1., 0., 0.],
           [1., 1., 0.],
           [1., 1., 1.]])
    """
    return FeedbackGraph.from_structure(Inventory(as_count("n_actions", n_actions)))


def posted_price(n_actions: int) -> FeedbackGraph:
    """The mirror of `inventory`: playing i reveals itself and every higher level j >= i.

    >>> posted_price(3).matrix
    array([[1., 1., 1.],
           [0., 1., 1.],
           [0., 0., 1.]])
    """
    return FeedbackGraph.from_structure(PostedPrice(as_count("n_actions", n_actions)))


@dataclass(frozen=True)
class Inventory(RunStructure):
    """Structure of the inventory graph."""

    n_actions: int
    family: ClassVar[str] = "inventory"

    def runs(self) -> Indices:
        """From the lowest level up to its own."""
        return straight_runs(self.n_actions, 0, 0, 1, 1)

    def column_runs(self) -> Indices:
        """From its own level to the highest."""
        return PostedPrice(self.n_actions).runs()

    def in_degrees(self) -> Indices:
        """The levels from its own up."""
        return np.arange(self.n_actions, 0, -1, dtype=np.intp)

    def reveal_probabilities(self, probabilities: Floats) -> Floats:
        """A level is seen when it or a higher one is played."""
        return np.cumsum(probabilities[::-1])[::-1]

    def subgraph(self, actions: Indices) -> Structure | None:
        """Any levels in order are an inventory again; in falling order its mirror."""
        return _among_levels(actions, Inventory, PostedPrice)

    def numbers(self) -> Numbers:
        return Numbers(1, 0, 1)

    def closed_form(self) -> ClosedForm:
        because = "each level reveals all lower ones"
        return ClosedForm("cover_levels", because, cover_levels, within=3.0)


@dataclass(frozen=True)
class PostedPrice(RunStructure):
    """Structure of the posted price graph."""

    n_actions: int
    family: ClassVar[str] = "posted_price"

    def runs(self) -> Indices:
        """From its own price to the highest."""
        return straight_runs(self.n_actions, 0, 1, self.n_actions, 0)

    def column_runs(self) -> Indices:
        """From the lowest price to its own."""
        return Inventory(self.n_actions).runs()

    def in_degrees(self) -> Indices:
        """The prices up to its own."""
        return np.arange(1, self.n_actions + 1, dtype=np.intp)

    def reveal_probabilities(self, probabilities: Floats) -> Floats:
        """A price is seen when it or a lower one is played."""
        return np.cumsum(probabilities)

    def subgraph(self, actions: Indices) -> Structure | None:
        """Any prices in order are of the family again; in falling order its mirror."""
        return _among_levels(actions, PostedPrice, Inventory)

    def numbers(self) -> Numbers:
        return Numbers(1, 0, 1)

    def closed_form(self) -> ClosedForm:
        because = "each level reveals all higher ones"
        return ClosedForm("cover_prices", because, cover_prices, within=3.0)


def _among_levels(
    actions: Indices, rising: Callable[[int], Structure], falling: Callable[[int], Structure]
) -> Structure | None:
    """The structure of some levels: one family in rising order, its mirror in falling order."""
    steps = np.diff(actions)
    if (steps > 0).all():
        return rising(actions.size)
    return falling(actions.size) if (steps < 0).all() else None


@compiled
def cover_levels(f: Floats, gamma: float) -> Floats:
    """Inventory: each level is seen with probability at least 1 / (1 + gamma * gap).

    p_j = max(1 / (1 + gamma * gap_j) - sum_{i > j} p_i, 0): the steps of a running maximum
    taken from the top level down, so O(K).
    """
    best = f.min()
    p = np.empty(f.size)
    seen = 0.0
    for j in range(f.size - 1, -1, -1):
        wanted = max(seen, 1.0 / (1.0 + gamma * (f[j] - best)))
        p[j] = wanted - seen
        seen = wanted
    return p


@compiled
def cover_prices(f: Floats, gamma: float) -> Floats:
    """Posted price: `cover_levels` on the levels in reverse."""
    return cover_levels(f[::-1].copy(), gamma)[::-1].copy()


INVENTORY = Family(inventory, "K", lambda size: inventory(int(size)), Inventory)
POSTED_PRICE = Family(posted_price, "K", lambda size: posted_price(int(size)), PostedPrice)
