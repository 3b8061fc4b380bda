"""First-price auctions: what a bid reveals depends on a price that nobody knows beforehand."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import as_count, as_numbers, as_one_of
from graphcb.environments import Observation, Round
from graphcb.graphs import FeedbackGraph, threshold
from studies.unknown_graphs import SHOWN

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

LOST_SHOWS = ("all", "higher")


@dataclass(frozen=True, eq=False)
class FirstPriceAuctions:
    """Bids on a grid against recorded prices; the highest bid wins and is paid.

    `values` (n,) is what winning is worth, `prices` (n,) the highest bid of the others, both in
    [0, 1] as shares of the highest bid; there are `n_bids` bids from 0 to 1. A bid that is at
    least the price wins and earns value - bid; the loss is (1 - earned) / 2, from 0 to 1. The
    context is the value, as shares of the two nearest of `n_knots` points from 0 to 1, so that
    a linear oracle can represent how the losses bend with it.

    The graph of a round is not known beforehand. An auction that is won reveals the bid and all
    higher ones, which would have won too. One that is lost shows the price, and so the loss of
    every bid. `shown` is "row" if only that is seen, or "full" if the graph is shown after each
    round.

    A bid is revealed by a higher one only where both lose, so what is seen of it from there is
    its loss where it loses: feedback and losses depend on each other given the context, which
    the theory excludes. With `lost_shows="higher"` an auction that is lost reveals no lower bids
    either. Then the graph is always the same, and what is revealed is a fair sample.

    >>> auctions = FirstPriceAuctions([0.8, 0.8], [0.3, 0.6], n_bids=3)  # bids 0, 1/2 and 1
    >>> first, second = auctions.rounds(np.random.default_rng(0))
    >>> [round(auctions.loss(first, bid), 2) for bid in range(3)]
    [0.5, 0.35, 0.6]
    >>> auctions.reveal(first, 1, np.random.default_rng(0)).actions  # it wins
    array([1, 2])
    >>> auctions.reveal(second, 1, np.random.default_rng(0)).actions  # it does not
    array([0, 1, 2])
    """

    values: Floats
    prices: Floats
    n_bids: int = 16
    n_knots: int = 8
    shown: str = "row"
    lost_shows: str = "all"

    def __post_init__(self) -> None:
        as_count("n_bids", self.n_bids, at_least=2)
        as_count("n_knots", self.n_knots, at_least=2)
        as_one_of("shown", self.shown, SHOWN)
        as_one_of("lost_shows", self.lost_shows, LOST_SHOWS)
        values, prices = as_numbers("values", self.values), as_numbers("prices", self.prices)
        if values.ndim != 1 or values.shape != prices.shape or not values.size:
            raise ValueError(
                "`values` and `prices` must both have shape (n,), with at least one auction, "
                f"got {values.shape} and {prices.shape}"
            )
        for name, shares in (("values", values), ("prices", prices)):
            wrong = np.flatnonzero(~((shares >= 0.0) & (shares <= 1.0)))
            if wrong.size:
                raise ValueError(
                    f"`{name}` must be in [0, 1], got {shares[wrong[0]]} at index {wrong[0]}; "
                    "divide them by the highest bid"
                )
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "prices", prices)

    @property
    def n_rounds(self) -> int:
        """One round per auction."""
        return int(self.values.size)

    @property
    def n_features(self) -> int:
        """Width of the contexts."""
        return self.n_knots

    @cached_property
    def bids(self) -> Floats:
        """The bids (n_bids,), from 0 to 1."""
        return np.linspace(0.0, 1.0, self.n_bids)

    @cached_property
    def graphs(self) -> tuple[FeedbackGraph, ...]:
        """The graph of a round by the lowest bid that wins; the last one if none does."""
        certain = np.ones(self.n_bids)
        if self.lost_shows == "higher":
            return (threshold(np.zeros(self.n_bids), certain),) * (self.n_bids + 1)
        lost = np.tri(self.n_bids + 1, self.n_bids, k=-1)
        return tuple(threshold(left, certain) for left in lost)

    @cached_property
    def contexts(self) -> Floats:
        """The values as contexts (n_rounds, n_knots); each row adds up to 1."""
        knots = np.linspace(0.0, 1.0, self.n_knots)
        return np.maximum(0.0, 1.0 - np.abs(self.values[:, None] - knots) * (self.n_knots - 1))

    @cached_property
    def losses(self) -> Floats:
        """The loss of each bid in each round: (n_rounds, n_bids)."""
        earned = np.where(self.bids >= self.prices[:, None], self.values[:, None] - self.bids, 0.0)
        return (1.0 - earned) / 2.0

    def rounds(self, rng: np.random.Generator) -> Iterator[Round]:
        """The auctions in their order; nothing is drawn. The graph is what informed agents see."""
        lowest: Places = np.searchsorted(self.bids, self.prices)
        for context, losses, place in zip(self.contexts, self.losses, lowest.tolist(), strict=True):
            yield Round(context, self.graphs[place], None, losses)

    def reveal(self, round: Round, action: int, rng: np.random.Generator) -> Observation:
        """The losses of the bid and of all higher ones; of every bid if it lost."""
        revealed = round.graph.row(action).nonzero()[0]
        graph = round.graph if self.shown == "full" else None
        return Observation(revealed, round.hidden[revealed], graph)

    def loss(self, round: Round, action: int) -> float:
        return float(round.hidden[action])
