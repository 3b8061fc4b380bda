"""Feedback that a known graph promises and that does not always come."""

from typing import Any

import numpy as np

from graphcb.checks import as_count
from graphcb.describing import describe
from graphcb.graph_oracles.edge_counts import EdgeCounts
from graphcb.graph_oracles.logistic_edges import LogisticEdges
from graphcb.graph_oracles.protocol import (
    EdgeLoss,
    as_edge_loss,
    read_played_row,
    read_shown_graph,
)
from graphcb.graphs import FeedbackGraph, as_graph, require_observable
from graphcb.graphs.matrices import DenseMatrix
from graphcb.loaded import Instance, Learned, Made
from graphcb.oracles.rows import Columns, Floats, as_columns


class Answers:
    """How often the feedback of a known graph really comes, per edge: graph times answer rate.

    For customers who do not always answer, sensors that drop out, reviews that get lost. `graph`
    says what each action can reveal; what it rules out is never predicted, and never accepted as
    seen. With `n_features=0` an edge has one rate, by counting; otherwise its rate depends on the
    context as in `LogisticEdges`. `rates` shows what was learned.

    >>> from graphcb import graphs
    >>> oracle = Answers(graphs.inventory(2))
    >>> for t in range(100):
    ...     oracle.update(None, 1, [0, 1] if t % 4 == 0 else [1])
    >>> oracle.predict(None).matrix.round(2)
    array([[0.5 , 0.  ],
           [0.25, 1.  ]])
    """

    learned = Learned(graph=Instance(FeedbackGraph), edges=Made())

    def __init__(
        self, graph: FeedbackGraph, *, n_features: int = 0, loss: EdgeLoss = "log"
    ) -> None:
        require_observable(as_graph(graph), "to learn how often its feedback comes")
        self.graph = graph
        self.n_features = as_count("n_features", n_features, at_least=0)
        self.loss = as_edge_loss(loss)
        n = graph.n_actions
        self.edges: EdgeCounts | LogisticEdges = EdgeCounts(n)
        if self.n_features:
            self.edges = LogisticEdges(n, self.n_features, loss=self.loss)

    @property
    def n_actions(self) -> int:
        """Number of actions of the known graph."""
        return self.graph.n_actions

    def predict(self, context: Any, actions: Any = None) -> FeedbackGraph:
        """The known graph, each edge times its rate."""
        known = self._known(as_columns(actions, self.n_actions), actions)
        rates = self.edges.rates(context, actions)
        return FeedbackGraph.from_structure(DenseMatrix(known.matrix * rates))

    def rates(self, context: Any, actions: Any = None) -> Floats:
        """How often feedback comes where the known graph promises it; NaN where it does not."""
        known = self._known(as_columns(actions, self.n_actions), actions)
        return np.where(known.matrix > 0.0, self.edges.rates(context, actions), np.nan)

    def update(self, context: Any, played: int, revealed: Any, actions: Any = None) -> None:
        """Learn which of the promised edges of the played row were there."""
        columns, index, labels, promised = self._read(context, played, revealed, actions)
        row = self.edges.read_row(context)
        self.edges.learn_row(row, columns, index, labels, promised)

    def update_full(self, context: Any, graph: FeedbackGraph, actions: Any = None) -> None:
        """Learn which of all promised edges were there."""
        columns, known, shown = self._read_full(context, graph, actions)
        row = self.edges.read_row(context)
        for index in range(columns.size):
            self.edges.learn_row(row, columns, index, shown.row(index), known.row(index))

    def check_update(self, context: Any, played: int, revealed: Any, actions: Any = None) -> None:
        self._read(context, played, revealed, actions)

    def check_update_full(self, context: Any, graph: FeedbackGraph, actions: Any = None) -> None:
        self._read_full(context, graph, actions)

    def explain(self, context: Any, actions: Any = None) -> str:
        """The learned rates in a sentence."""
        rates = self.rates(context, actions)
        played, revealed = np.unravel_index(np.nanargmin(rates), rates.shape)
        return (
            f"promised feedback comes {np.nanmean(rates):.0%} of the time, least often "
            f"({np.nanmin(rates):.0%}) from {played} about {revealed}"
        )

    def check_loaded(self) -> None:
        """Refuse edges of other actions, before any are made."""
        if getattr(self.edges, "n_actions", 0) != self.graph.n_actions:
            raise ValueError("`edges` must have the actions of the graph")

    __repr__ = describe

    def _known(self, columns: Columns, actions: Any) -> FeedbackGraph:
        return self.graph if actions is None else self.graph.subgraph(columns)

    def _read(
        self, context: Any, played: Any, revealed: Any, actions: Any
    ) -> tuple[Columns, int, Floats, Floats]:
        columns = as_columns(actions, self.n_actions)
        self.edges.read_row(context)
        index, labels = read_played_row(played, revealed, columns.size)
        promised = self._known(columns, actions).row(index)
        wrong = np.flatnonzero((labels > 0.0) & (promised == 0.0))
        if wrong.size:
            raise ValueError(
                f"`revealed` must be what the known graph can reveal, but action {index} never "
                f"reveals action {wrong[0]}"
            )
        return columns, index, labels, promised

    def _read_full(
        self, context: Any, graph: Any, actions: Any
    ) -> tuple[Columns, FeedbackGraph, FeedbackGraph]:
        columns = as_columns(actions, self.n_actions)
        self.edges.read_row(context)
        known, shown = self._known(columns, actions), read_shown_graph(graph, columns.size)
        wrong = np.argwhere((shown.matrix > 0.0) & (known.matrix == 0.0))
        if wrong.size:
            played, revealed = wrong[0]
            raise ValueError(
                f"`graph` must be within the known graph, but there action {played} never reveals "
                f"action {revealed}"
            )
        return columns, known, shown
