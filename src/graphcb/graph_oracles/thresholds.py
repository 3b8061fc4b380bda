"""Bids, prices and stock: one falling curve says which levels are revealed."""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from graphcb.checks import as_count, as_numbers
from graphcb.describing import describe
from graphcb.graph_oracles.newton import (
    LARGEST_WEIGHT,
    fresh_inverse,
    learn_edges,
    read_features,
    shape_of_inverse,
)
from graphcb.graph_oracles.protocol import (
    EdgeLoss,
    as_edge_loss,
    read_played_row,
    read_shown_graph,
)
from graphcb.graph_oracles.sides import Kind, as_kind, graph_of, side_of_row, sides_of_graph
from graphcb.graphs import FeedbackGraph
from graphcb.loaded import MOST, Array, Count, Learned
from graphcb.oracles.rows import Floats, SparseRow, as_columns

RAMPS = 8  # pieces of the curve
DROP = 4.0  # by how much the score falls over all levels, before anything was learned
ROWS_AT_ONCE = 16  # levels learned from a graph that was shown in full


class Thresholds:
    """The chance that a hidden price is above each level: sigmoid(context @ w + b - ramps @ c).

    `kind` is "bids" (first price: a lost auction shows every bid, a won one only the higher
    ones), "prices" (a sale shows all lower prices, no sale all higher ones) or "stock" (stock left
    over shows every level, a sold-out shelf only the lower ones). Every edge follows from that
    chance, which falls as the level rises: c is not negative. The ramps are up to 8 pieces
    between the lowest and the highest level, so that there are n_features + 9 parameters for any
    number of levels, and a round costs O(levels).

    `levels` are rising numbers; all levels share the margin. With `n_features=0` the context is
    ignored. `actions` of a round are indices of levels.

    >>> oracle = Thresholds([1.0, 2.0, 3.0], kind="bids")
    >>> for _ in range(200):
    ...     oracle.update(None, 1, [0, 1, 2])  # a bid of 2 loses
    ...     oracle.update(None, 2, [2])  # a bid of 3 wins
    >>> oracle.predict(None).matrix.round(2)
    array([[1.  , 1.  , 1.  ],
           [0.97, 1.  , 1.  ],
           [0.02, 0.02, 1.  ]])
    """

    learned = Learned(
        n_updates=Count(),
        levels=Array(None),
        weights=Array(
            lambda self: (1, self._size(), 1), least=-LARGEST_WEIGHT, most=LARGEST_WEIGHT
        ),
        inverse=Array(lambda self: shape_of_inverse(1, self._size()), least=-1.0, most=1.0),
        curvature=Array(1, 1, least=0.0, most=MOST),
        rounds=Array(1, least=0.0, most=MOST),
    )

    def __init__(
        self, levels: ArrayLike, *, kind: Kind = "bids", n_features: int = 0, loss: EdgeLoss = "log"
    ) -> None:
        self.levels = _as_levels(levels)
        self.kind = as_kind(kind)
        self.n_features = as_count("n_features", n_features, at_least=0)
        self.loss = as_edge_loss(loss)
        n_free, size = self.n_features + 1, self._size()
        n_ramps = size - n_free
        self.weights = np.zeros((1, size, 1))
        self.weights[0, n_free:, 0] = DROP / max(n_ramps, 1)
        self.weights[0, self.n_features, 0] = 0.5 * DROP
        self.inverse = fresh_inverse(1, size)
        self.curvature, self.rounds = np.zeros((1, 1)), np.zeros(1)
        self.n_updates = 0

    @property
    def n_actions(self) -> int:
        """Number of levels."""
        return self.levels.size

    def predict(self, context: Any, actions: Any = None) -> FeedbackGraph:
        """The threshold graph among these levels; no matrix is built if they are in order."""
        graph = graph_of(self.kind, self.above(context))
        return graph if actions is None else graph.subgraph(as_columns(actions, self.n_actions))

    def above(self, context: Any) -> Floats:
        """The chance that the hidden price is above each level, within the margin."""
        indices, values = self._read_row(context)
        weights = self.weights[0, :, 0]
        score = values @ weights[indices] + weights[self.n_features]
        scores = score - self._ramps().T @ weights[self.n_features + 1 :]
        margin = 0.5 / (self.n_updates + 1.0)
        with np.errstate(over="ignore"):
            above: Floats = np.clip(1.0 / (1.0 + np.exp(-scores)), margin, 1.0 - margin)
        return above

    def update(self, context: Any, played: int, revealed: Any, actions: Any = None) -> None:
        """Learn on which side of the hidden price the played level was."""
        row, level, side = self._read(context, played, revealed, actions)
        if side is not None:
            self._learn(row, [level], [side])

    def update_full(self, context: Any, graph: FeedbackGraph, actions: Any = None) -> None:
        """Learn where the hidden price was, from levels spread over all of them."""
        row, levels, sides = self._read_full(context, graph, actions)
        if levels.size:
            stride = -(-levels.size // ROWS_AT_ONCE)
            chosen = slice(self.n_updates % stride, None, stride)
            self._learn(row, levels[chosen].tolist(), sides[chosen].tolist())

    def check_update(self, context: Any, played: int, revealed: Any, actions: Any = None) -> None:
        self._read(context, played, revealed, actions)

    def check_update_full(self, context: Any, graph: FeedbackGraph, actions: Any = None) -> None:
        self._read_full(context, graph, actions)

    def check_loaded(self) -> None:
        """Refuse weights with which the curve would rise."""
        if (self.weights[0, self.n_features + 1 :] < 0.0).any():
            raise ValueError("`weights` of the ramps must not be negative")

    def __repr__(self) -> str:
        return describe(self, levels=self.levels.tolist())

    def _size(self) -> int:
        """How many weights there are."""
        return self.n_features + 1 + min(RAMPS, self.levels.size - 1)

    def _ramps(self) -> Floats:
        """(ramps, levels): each rises from 0 to 1 over its piece of the levels."""
        return _ramps_of(self.levels.tobytes())

    def _learn(self, row: SparseRow, levels: list[int], sides: list[float]) -> None:
        """A step for each level, none of which makes the curve rise."""
        free, ramps = self.n_features + 1, self._ramps()
        places = np.concatenate((row[0], np.arange(self.n_features, self.weights.shape[1])))
        none, certain, only = np.zeros((1, 1)), np.ones(1), np.zeros(1, dtype=np.int64)
        state = (self.weights, self.inverse, self.curvature, none, self.rounds)
        for level, side in zip(levels, sides, strict=True):
            values = np.concatenate((row[1], certain, -ramps[:, level]))
            label = np.array([side])
            learn_edges(*state, places, values, only, 0, label, certain, self.loss == "squared")
            np.maximum(self.weights[0, free:], 0.0, out=self.weights[0, free:])
        self.n_updates += 1

    def _read(
        self, context: Any, played: Any, revealed: Any, actions: Any
    ) -> tuple[SparseRow, int, float | None]:
        row, columns = self._read_row(context), as_columns(actions, self.n_actions)
        index, shown = read_played_row(played, revealed, columns.size)
        return row, int(columns[index]), side_of_row(self.kind, columns, index, shown)

    def _read_full(self, context: Any, graph: Any, actions: Any) -> tuple[SparseRow, Any, Floats]:
        row, columns = self._read_row(context), as_columns(actions, self.n_actions)
        shown = read_shown_graph(graph, columns.size)
        order = np.argsort(columns)
        if actions is not None:
            shown = shown.subgraph(order)
        sides = sides_of_graph(self.kind, shown)
        known = np.flatnonzero(~np.isnan(sides))
        return row, columns[order][known], sides[known]

    def _read_row(self, context: Any) -> SparseRow:
        if self.n_features == 0:
            return np.empty(0, dtype=np.int64), np.empty(0)
        return read_features(context, self.n_features)


@lru_cache(maxsize=16)
def _ramps_of(levels: bytes) -> Floats:
    numbers = np.frombuffer(levels)
    n_ramps = min(RAMPS, numbers.size - 1)
    places = np.linspace(0, numbers.size - 1, n_ramps + 1).round().astype(int)
    knots = numbers[places][:, None]
    ramps: Floats = np.clip((numbers - knots[:-1]) / np.diff(knots, axis=0), 0.0, 1.0)
    ramps.setflags(write=False)
    return ramps


def _as_levels(levels: Any) -> Floats:
    """Finite numbers, each above the one before it."""
    numbers = as_numbers("levels", levels).copy()
    if numbers.ndim != 1 or numbers.size == 0:
        raise ValueError(f"`levels` must be a list of rising numbers, got shape {numbers.shape}")
    wrong = np.flatnonzero(~(np.abs(numbers) <= 1e50))
    if wrong.size:
        raise ValueError(f"`levels` must be finite, got {numbers[wrong[0]]} at index {wrong[0]}")
    falls = np.flatnonzero(~(np.diff(numbers) > 0.0))
    if falls.size:
        first = int(falls[0])
        raise ValueError(
            f"`levels` must rise, got {numbers[first + 1]:g} after {numbers[first]:g} at index "
            f"{first + 1}; sort them, and give each once"
        )
    return numbers
