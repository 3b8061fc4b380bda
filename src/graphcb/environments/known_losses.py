"""Rounds from a table in which every loss is known: labelled data, replayed as a bandit."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import as_count, as_numbers
from graphcb.environments.protocol import Observation, Round
from graphcb.graphs import FeedbackGraph, random_self_aware
from graphcb.graphs.structure import Floats


class KnownLosses:
    """One round per row of data: its context, and the loss of every action.

    `contexts` is a dense array (n, d) or a scipy sparse one, whose rows become pairs (indices,
    values); `losses` is (n, K). `graph` is the same for all rounds, or a function of a random
    stream that draws a new one each round. The order of the rows is drawn from the world's
    stream, unless `shuffle=False`; `n_rounds` keeps only the first rounds.

    >>> from graphcb import graphs
    >>> labels = np.array([0, 1, 1])
    >>> losses = 1.0 - np.eye(2)[labels]  # 0 for the right action, 1 for the others
    >>> environment = KnownLosses(np.eye(3), losses, graphs.bandit(2), shuffle=False)
    >>> rounds = list(environment.rounds(np.random.default_rng(0)))
    >>> [environment.loss(round, action=1) for round in rounds]
    [1.0, 0.0, 0.0]
    """

    def __init__(
        self,
        contexts: Any,
        losses: Any,
        graph: FeedbackGraph | Callable[[np.random.Generator], FeedbackGraph],
        *,
        shuffle: bool = True,
        n_rounds: int | None = None,
    ) -> None:
        self.losses = as_numbers("losses", losses)
        if self.losses.ndim != 2 or 0 in self.losses.shape:
            raise ValueError(
                "`losses` must have shape (n, K), one row per round and one column per action, "
                f"got {self.losses.shape}"
            )
        wrong = np.argwhere(~np.isfinite(self.losses))
        if wrong.size:
            row, action = wrong[0]
            raise ValueError(
                f"`losses` must be finite, got {self.losses[row, action]} at [{row}, {action}]"
            )
        self.contexts = as_table(contexts)
        if len(self.contexts) != len(self.losses):
            raise ValueError(
                "`contexts` and `losses` must have the same number of rows, "
                f"got {len(self.contexts)} and {len(self.losses)}"
            )
        if isinstance(graph, FeedbackGraph):
            self._check_size(graph)
        self.graph = graph
        self.shuffle = shuffle
        rows = len(self.losses)
        self.n_rounds = rows if n_rounds is None else min(rows, as_count("n_rounds", n_rounds))

    def rounds(self, rng: np.random.Generator) -> Iterator[Round]:
        """The rows, each with its graph; the losses are hidden."""
        for row in self.draw_order(rng).tolist():
            graph = self.graph
            if not isinstance(graph, FeedbackGraph):
                graph = graph(rng)
                self._check_size(graph)
            yield Round(self.contexts[row], graph, None, self.losses[row])

    def draw_order(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """The rows in the order of the rounds."""
        order = np.arange(len(self.losses))
        if self.shuffle:
            rng.shuffle(order)
        return order[: self.n_rounds]

    def reveal(self, round: Round, action: int, rng: np.random.Generator) -> Observation:
        revealed = round.graph.draw_revealed(action, rng)
        return Observation(revealed, round.hidden[revealed])

    def loss(self, round: Round, action: int) -> float:
        return float(round.hidden[action])

    def _check_size(self, graph: FeedbackGraph) -> None:
        if graph.n_actions != self.losses.shape[1]:
            raise ValueError(
                f"`graph` must have {self.losses.shape[1]} actions to match the columns of "
                f"losses, got {graph.n_actions}"
            )


class SparseTable:
    """Rows of a sparse table, read one by one without the cost of slicing a scipy array.

    Row i has its values at positions `starts[i]` to `starts[i + 1]`.
    """

    def __init__(self, rows: Any) -> None:
        self.starts = rows.indptr.astype(np.int64)
        self.indices = rows.indices.astype(np.int64)
        self.values = rows.data.astype(np.float64)
        self.n_features = rows.shape[1]
        ends = self.starts.tolist()
        self._rows = [
            (self.indices[begin:end], self.values[begin:end]) for begin, end in pairwise(ends)
        ]

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, row: int) -> tuple[NDArray[np.int64], Floats]:
        return self._rows[row]


def as_table(contexts: Any) -> Floats | SparseTable:
    """Contexts with one row per round, dense or sparse."""
    if isinstance(contexts, SparseTable):
        return contexts
    if hasattr(contexts, "tocsr"):
        return SparseTable(contexts.tocsr())
    return as_numbers("contexts", contexts)


@dataclass(frozen=True)
class RandomSelfAware:
    """A new `graphs.random_self_aware` in each round, for `KnownLosses(graph=...)`.

    >>> RandomSelfAware(4, 0.75)(np.random.default_rng(0)).n_actions
    4
    """

    n_actions: int
    density: float

    def __call__(self, rng: np.random.Generator) -> FeedbackGraph:
        """The graph of one round."""
        return random_self_aware(self.n_actions, self.density, rng)

    def draw_many(self, n: int, rng: np.random.Generator) -> NDArray[np.bool_]:
        """What the actions of the next `n` graphs reveal: (n, K, K), from the same stream."""
        reveals: NDArray[np.bool_] = rng.random((n, self.n_actions, self.n_actions)) < self.density
        reveals[:, np.arange(self.n_actions), np.arange(self.n_actions)] = True
        return reveals
