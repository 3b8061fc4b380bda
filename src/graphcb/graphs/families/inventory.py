"""Ordered levels where playing one reveals all on one side: stock below, prices above."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from graphcb.checks import as_count
from graphcb.graphs.graph import FeedbackGraph
from graphcb.graphs.structure import Flags, Floats, Indices, Numbers


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


@dataclass(frozen=True, slots=True)
class Inventory:
    """Structure of the inventory graph."""

    n_actions: int
    family: ClassVar[str] = "inventory"

    def arguments(self) -> dict[str, Any]:
        """How to build it again."""
        return {"n_actions": self.n_actions}

    def dense(self) -> Floats:
        """The lower triangle."""
        return np.tri(self.n_actions)

    def row(self, action: int) -> Floats:
        """Ones up to `action`."""
        return (np.arange(self.n_actions) <= action).astype(np.float64)

    def reveal_probabilities(self, probabilities: Floats) -> Floats:
        """A level is seen when it or a higher one is played."""
        return np.cumsum(probabilities[::-1])[::-1]

    def self_loops(self) -> Flags:
        """All."""
        return np.ones(self.n_actions, dtype=np.bool_)

    def in_degrees(self) -> Indices:
        """The levels from its own up."""
        return np.arange(self.n_actions, 0, -1, dtype=np.intp)

    def is_deterministic(self) -> bool:
        """Yes."""
        return True

    def is_symmetric(self) -> bool:
        """Only a single action mirrors itself."""
        return self.n_actions == 1

    def subgraph(self, actions: Indices) -> "Inventory | PostedPrice | None":
        """Any levels in order are an inventory again; in falling order its mirror."""
        return _among_levels(actions, rising=Inventory, falling=PostedPrice)

    def numbers(self) -> Numbers:
        """Any two levels are connected."""
        return Numbers(1, 0, 1)


@dataclass(frozen=True, slots=True)
class PostedPrice:
    """Structure of the posted price graph."""

    n_actions: int
    family: ClassVar[str] = "posted_price"

    def arguments(self) -> dict[str, Any]:
        """How to build it again."""
        return {"n_actions": self.n_actions}

    def dense(self) -> Floats:
        """The upper triangle."""
        return np.tri(self.n_actions).T.copy()

    def row(self, action: int) -> Floats:
        """Ones from `action` on."""
        return (np.arange(self.n_actions) >= action).astype(np.float64)

    def reveal_probabilities(self, probabilities: Floats) -> Floats:
        """A price is seen when it or a lower one is played."""
        return np.cumsum(probabilities)

    def self_loops(self) -> Flags:
        """All."""
        return np.ones(self.n_actions, dtype=np.bool_)

    def in_degrees(self) -> Indices:
        """The prices up to its own."""
        return np.arange(1, self.n_actions + 1, dtype=np.intp)

    def is_deterministic(self) -> bool:
        """Yes."""
        return True

    def is_symmetric(self) -> bool:
        """Only a single action mirrors itself."""
        return self.n_actions == 1

    def subgraph(self, actions: Indices) -> "Inventory | PostedPrice | None":
        """Any prices in order are of the family again; in falling order its mirror."""
        return _among_levels(actions, rising=PostedPrice, falling=Inventory)

    def numbers(self) -> Numbers:
        """Any two prices are connected."""
        return Numbers(1, 0, 1)


def _among_levels(
    actions: Indices,
    *,
    rising: type[Inventory] | type[PostedPrice],
    falling: type[Inventory] | type[PostedPrice],
) -> Inventory | PostedPrice | None:
    steps = np.diff(actions)
    if (steps > 0).all():
        return rising(actions.size)
    if (steps < 0).all():
        return falling(actions.size)
    return None
