"""How often each edge was seen: for graphs that do not depend on the context."""

from typing import Any

import numpy as np

from graphcb.checks import as_count
from graphcb.describing import describe
from graphcb.graph_oracles.protocol import read_played_row, read_shown_graph
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.matrices import DenseMatrix
from graphcb.loaded import MOST, Array, Learned
from graphcb.oracles.rows import Columns, Floats, as_columns


class EdgeCounts:
    """(times seen + 1/2) / (times looked + 1) for each edge; the context is ignored.

    Needs no settings. A row is looked at when its action is played, all rows when the graph is
    shown in full. Learns a graph that stays the same, or whose edges come and go at random, and
    is the baseline for one that depends on the context.

    >>> oracle = EdgeCounts(3)
    >>> for _ in range(9):
    ...     oracle.update(None, 0, [0, 2])
    >>> oracle.predict(None).matrix
    array([[0.95, 0.05, 0.95],
           [0.5 , 0.5 , 0.5 ],
           [0.5 , 0.5 , 0.5 ]])
    """

    learned = Learned(
        looked=Array("n_actions", "n_actions", least=0.0, most=MOST),
        seen=Array("n_actions", "n_actions", least=0.0, most=MOST),
    )

    def __init__(self, n_actions: int) -> None:
        self.n_actions = as_count("n_actions", n_actions)
        self.seen = np.zeros((self.n_actions, self.n_actions))
        self.looked = np.zeros((self.n_actions, self.n_actions))

    def predict(self, context: Any, actions: Any = None) -> FeedbackGraph:
        """The estimates among these actions."""
        return FeedbackGraph.from_structure(DenseMatrix(self.rates(context, actions)))

    def rates(self, context: Any, actions: Any = None) -> Floats:
        """The same as an array (n, n)."""
        places = self._places(actions)
        looked = self.looked[places] + 1.0
        rates: Floats = np.minimum(self.seen[places] + 0.5, looked - 0.5) / looked
        return rates

    def update(self, context: Any, played: int, revealed: Any, actions: Any = None) -> None:
        """Count the row of the played action."""
        columns, index, labels = self._read(played, revealed, actions)
        self.learn_row(None, columns, index, labels, np.ones(columns.size))

    def update_full(self, context: Any, graph: FeedbackGraph, actions: Any = None) -> None:
        """Count every edge."""
        columns = as_columns(actions, self.n_actions)
        shown = read_shown_graph(graph, columns.size)
        places = np.ix_(columns, columns)
        self.seen[places] += shown.matrix
        self.looked[places] += 1.0

    def check_update(self, context: Any, played: int, revealed: Any, actions: Any = None) -> None:
        self._read(played, revealed, actions)

    def check_update_full(self, context: Any, graph: FeedbackGraph, actions: Any = None) -> None:
        read_shown_graph(graph, as_columns(actions, self.n_actions).size)

    def learn_row(
        self, row: Any, columns: Columns, index: int, labels: Floats, promised: Floats
    ) -> None:
        """Count a checked row; an edge counts as looked at as far as it was promised."""
        self.seen[columns[index], columns] += labels
        self.looked[columns[index], columns] += promised

    def read_row(self, context: Any) -> Any:
        """Nothing is read of a context."""

    __repr__ = describe

    def _places(self, actions: Any) -> Any:
        if actions is None:
            return slice(None)
        columns = as_columns(actions, self.n_actions)
        return np.ix_(columns, columns)

    def _read(self, played: Any, revealed: Any, actions: Any) -> tuple[Columns, int, Floats]:
        columns = as_columns(actions, self.n_actions)
        return columns, *read_played_row(played, revealed, columns.size)
