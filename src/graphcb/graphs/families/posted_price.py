"""Ordered levels where playing one reveals itself and all higher ones: prices, bids."""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from graphcb.checks import as_count
from graphcb.compilation import compiled
from graphcb.graphs.families.inventory import Inventory, among_levels, cover_levels
from graphcb.graphs.formulas import ClosedForm
from graphcb.graphs.graph import FeedbackGraph
from graphcb.graphs.registry import Family
from graphcb.graphs.runs import RunStructure
from graphcb.graphs.structure import Floats, Indices, Numbers, Runs, Structure


def posted_price(n_actions: int) -> FeedbackGraph:
    """The mirror of `inventory`: playing i reveals itself and every higher level j >= i.

    >>> posted_price(3).matrix
    array([[1., 1., 1.],
           [0., 1., 1.],
           [0., 0., 1.]])
    """
    return FeedbackGraph.from_structure(PostedPrice(as_count("n_actions", n_actions)))


@dataclass(frozen=True)
class PostedPrice(RunStructure):
    """Structure of the posted price graph."""

    n_actions: int
    family: ClassVar[str] = "posted_price"

    def runs(self) -> Runs:
        """From its own price to the highest."""
        return Runs(np.arange(self.n_actions), np.full(self.n_actions, self.n_actions))

    @classmethod
    def candidate(cls, runs: Runs) -> Self:
        """Any number of prices."""
        return cls(len(runs.low))

    def reveal_probabilities(self, probabilities: Floats) -> Floats:
        """A price is seen when it or a lower one is played."""
        return np.cumsum(probabilities)

    def subgraph(self, actions: Indices) -> Structure | None:
        """Any prices in order are of the family again; in falling order its mirror."""
        return among_levels(actions, PostedPrice, Inventory)

    def numbers(self) -> Numbers:
        """Any two prices are connected."""
        return Numbers(1, 0, 1)

    def closed_form(self) -> ClosedForm:
        """The mirror of that for inventory."""
        because = "each level reveals all higher ones"
        return ClosedForm("cover_prices", because, cover_prices, within=3.0)


@compiled
def cover_prices(f: Floats, gamma: float) -> Floats:
    """Posted price: `cover_levels` on the levels in reverse."""
    return cover_levels(f[::-1].copy(), gamma)[::-1].copy()


FAMILY = Family(posted_price, "K", lambda size: posted_price(int(size)), PostedPrice)
