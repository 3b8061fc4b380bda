"""One logistic regression per edge, linear in the context."""

from typing import Any

import numpy as np

from graphcb.checks import as_count
from graphcb.describing import describe
from graphcb.graph_oracles.newton import (
    LARGEST_WEIGHT,
    fresh_inverse,
    learn_edges,
    predict_edges,
    read_features,
    shape_of_inverse,
)
from graphcb.graph_oracles.protocol import (
    EdgeLoss,
    as_edge_loss,
    read_played_row,
    read_shown_graph,
)
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.matrices import DenseMatrix
from graphcb.loaded import MOST, Array, Learned
from graphcb.oracles.rows import Columns, Floats, SparseRow, as_columns, every_index


class LogisticEdges:
    """sigmoid(context @ weights) for each edge, by online Newton steps.

    Needs no learning rate, and adds a constant feature. Contexts are dense or sparse rows, as for
    `oracles.LogisticOGD`; one longer than 1e6 counts as if it had that length. Takes
    8 n_actions^2 n_features bytes, and up to 191 features 8 n_actions n_features^2 more; beyond,
    features are taken as uncorrelated.

    `loss="squared"` fits the same curve by squared error, for the comparison: it hardly tells an
    edge of 1 % from one of 0.1 %, which matters to exploration as 10 to 1.

    >>> oracle = LogisticEdges(2, 1)
    >>> oracle.predict([1.0]).matrix
    array([[0.5, 0.5],
           [0.5, 0.5]])
    >>> for _ in range(50):
    ...     oracle.update([1.0], 0, [0, 1])
    ...     oracle.update([-1.0], 0, [0])
    >>> oracle.predict([1.0]).matrix.round(2)
    array([[0.97, 0.97],
           [0.5 , 0.5 ]])
    >>> oracle.predict([-1.0]).matrix[0].round(2)
    array([0.97, 0.03])
    """

    learned = Learned(
        weights=Array(
            lambda self: (self.n_actions, self.n_features + 1, self.n_actions),
            least=-LARGEST_WEIGHT,
            most=LARGEST_WEIGHT,
        ),
        inverse=Array(
            lambda self: shape_of_inverse(self.n_actions, self.n_features + 1), least=-1.0, most=1.0
        ),
        curvature=Array("n_actions", "n_actions", least=0.0, most=MOST),
        looked=Array("n_actions", "n_actions", least=0.0, most=MOST),
        rounds=Array("n_actions", least=0.0, most=MOST),
    )

    def __init__(self, n_actions: int, n_features: int, *, loss: EdgeLoss = "log") -> None:
        self.n_actions = as_count("n_actions", n_actions)
        self.n_features = as_count("n_features", n_features)
        self.loss = as_edge_loss(loss)
        k, d = self.n_actions, self.n_features + 1
        self.weights = np.zeros((k, d, k))
        self.inverse = fresh_inverse(k, d)
        self.curvature = np.zeros((k, k))
        self.looked = np.zeros((k, k))
        self.rounds = np.zeros(k)

    def predict(self, context: Any, actions: Any = None) -> FeedbackGraph:
        """The edge probabilities among these actions."""
        return FeedbackGraph.from_structure(DenseMatrix(self.rates(context, actions)))

    def rates(self, context: Any, actions: Any = None) -> Floats:
        """The same as an array (n, n)."""
        row = self.read_row(context)
        columns = as_columns(actions, self.n_actions)
        return predict_edges(self.weights, *row, columns, self.looked)

    def update(self, context: Any, played: int, revealed: Any, actions: Any = None) -> None:
        """One step for each edge of the played row."""
        row, columns = self.read_row(context), as_columns(actions, self.n_actions)
        index, labels = read_played_row(played, revealed, columns.size)
        self.learn_row(row, columns, index, labels, np.ones(columns.size))

    def update_full(self, context: Any, graph: FeedbackGraph, actions: Any = None) -> None:
        """One step for every edge."""
        row, columns = self.read_row(context), as_columns(actions, self.n_actions)
        shown, certain = read_shown_graph(graph, columns.size), np.ones(columns.size)
        for index in range(columns.size):
            self.learn_row(row, columns, index, shown.structure.row(index), certain)

    def check_update(self, context: Any, played: int, revealed: Any, actions: Any = None) -> None:
        self.read_row(context)
        columns = as_columns(actions, self.n_actions)
        read_played_row(played, revealed, columns.size)

    def check_update_full(self, context: Any, graph: FeedbackGraph, actions: Any = None) -> None:
        self.read_row(context)
        read_shown_graph(graph, as_columns(actions, self.n_actions).size)

    def learn_row(
        self, row: SparseRow, columns: Columns, index: int, labels: Floats, promised: Floats
    ) -> None:
        """Learn a checked row; an edge was there with probability `promised` times its rate."""
        state = (self.weights, self.inverse, self.curvature, self.looked, self.rounds)
        played, squared = int(columns[index]), self.loss == "squared"
        learn_edges(*state, *row, columns, played, labels, promised, squared)

    def read_row(self, context: Any) -> SparseRow:
        """The context and a constant."""
        indices, values = read_features(context, self.n_features)
        n = self.n_features
        dense = indices is every_index(n)
        indices = every_index(n + 1) if dense else np.append(indices, n)
        return indices, np.append(values, 1.0)

    __repr__ = describe
