"""Problems of settings files whose graph nobody knows beforehand, and what agents know of it."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from graphcb import datasets
from graphcb.checks import as_positive
from graphcb.exploration import Schedule, SquareRoot, TwoThirds
from graphcb.graph_oracles import GraphOracle, LogisticEdges, Thresholds
from graphcb.graph_oracles.protocol import EdgeLoss
from graphcb.graphs import FeedbackGraph, threshold
from studies.unknown_graphs.auctions import FirstPriceAuctions
from studies.unknown_graphs.hidden_graphs import HiddenGraphs

HIGHEST_BID = 300.0  # in the unit of the prices
N_GENERATED = 6_000  # auctions, where there is no data


class Uninformed(NamedTuple):
    """What agents need where the graph is hidden.

    A graph oracle for each loss, the best guess of the graph that does not look at the context,
    and the schedule that the observability of the graph asks for, with `c` and `alpha`.
    """

    graph_oracle: Callable[[EdgeLoss], GraphOracle]
    guess: FeedbackGraph
    schedule: Callable[[float, float], Schedule]


class Guess:
    """A graph oracle that always predicts the same graph and learns nothing.

    >>> from graphcb import graphs
    >>> Guess(graphs.bandit(2)).predict([1.0])
    bandit(n_actions=2)
    """

    def __init__(self, graph: FeedbackGraph) -> None:
        self.graph = graph

    def predict(self, context: Any, actions: Any = None) -> FeedbackGraph:
        """The guess."""
        return self.graph

    def update(self, context: Any, played: int, revealed: Any, actions: Any = None) -> None:
        """Nothing to learn."""

    def update_full(self, context: Any, graph: FeedbackGraph, actions: Any = None) -> None:
        """Nothing to learn."""

    def check_update(self, context: Any, played: int, revealed: Any, actions: Any = None) -> None:
        """Nothing to check."""

    def check_update_full(self, context: Any, graph: FeedbackGraph, actions: Any = None) -> None:
        """Nothing to check."""


def hidden_graphs(n_rounds: int | None, **options: Any) -> tuple[HiddenGraphs, Uninformed]:
    """Synthetic graphs; the guess has each edge as often as it is there over all contexts."""
    environment = HiddenGraphs(n_rounds=n_rounds or 5_000, **options)
    n_actions, n_features = environment.n_actions, environment.n_features
    rates = environment.draw(np.random.default_rng(0)).edge_probabilities.mean(axis=0)
    strong = environment.n_scouts == 0
    return environment, Uninformed(
        lambda loss: LogisticEdges(n_actions, n_features, loss=loss),
        FeedbackGraph(rates),
        SquareRoot if strong else TwoThirds,
    )


def auctions(
    source: str, n_rounds: int | None, *, value_of_click: float, **options: Any
) -> tuple[FirstPriceAuctions, Uninformed]:
    """Bids up to 300; a click is worth `value_of_click`, and nothing more than the highest bid.

    The guess has prices between 0 and the highest bid, all equally likely.
    """
    as_positive("value_of_click", value_of_click)
    if source == "recorded":
        table = datasets.load_auctions()
    else:
        table = datasets.generate_auctions(N_GENERATED, np.random.default_rng(0))
    values = table.predicted_click_rate[:n_rounds] * value_of_click
    environment = FirstPriceAuctions(
        np.minimum(values / HIGHEST_BID, 1.0),
        np.minimum(table.market_price[:n_rounds] / HIGHEST_BID, 1.0),
        **options,
    )
    bids, n_features = environment.bids, environment.n_features
    return environment, Uninformed(
        lambda loss: Thresholds(bids, kind="bids", n_features=n_features, loss=loss),
        threshold(1.0 - bids, np.ones(bids.size)),
        SquareRoot,
    )
