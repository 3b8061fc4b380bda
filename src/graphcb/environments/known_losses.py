"""Rounds from a table in which every loss is known: labelled data, replayed as a bandit."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import as_count, as_numbers
from graphcb.environments.protocol import Observation, Round
from graphcb.graphs import FeedbackGraph

Floats = NDArray[np.float64]


class KnownLosses:
    """One round a row of data: its context, and a loss for every action that the graph may reveal.

    `contexts` is a dense array (n, d) or a scipy sparse one, whose rows become pairs (indices,
    values); `losses` is (n, K). `graph` is the same for all rounds, or a function of a random
    stream that draws a fresh one each round. Rows come in an order drawn from the world's
    stream, or as they are with `shuffle=False`; `n_rounds` takes the first so many of them.

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
                "`losses` must have shape (n, K), one row a round and one column an action, "
                f"got {self.losses.shape}"
            )
        wrong = np.argwhere(~np.isfinite(self.losses))
        if wrong.size:
            row, action = wrong[0]
            raise ValueError(
                f"`losses` must be finite, got {self.losses[row, action]} at [{row}, {action}]"
            )
        self.contexts = _split_rows(contexts)
        if len(self.contexts) != len(self.losses):
            raise ValueError(
                "`contexts` and `losses` must have as many rows, "
                f"got {len(self.contexts)} and {len(self.losses)}"
            )
        if isinstance(graph, FeedbackGraph):
            self._check_size(graph)
        self.graph = graph
        self.shuffle = shuffle
        rows = len(self.losses)
        self.n_rounds = rows if n_rounds is None else min(rows, as_count("n_rounds", n_rounds))

    def rounds(self, rng: np.random.Generator) -> Iterator[Round]:
        """The rows, each with its graph; the losses travel hidden."""
        order = np.arange(len(self.losses))
        if self.shuffle:
            rng.shuffle(order)
        for row in order[: self.n_rounds].tolist():
            graph = self.graph
            if not isinstance(graph, FeedbackGraph):
                graph = graph(rng)
                self._check_size(graph)
            yield Round(self.contexts[row], graph, None, self.losses[row])

    def reveal(self, round: Round, action: int, rng: np.random.Generator) -> Observation:
        """The losses that the graph shows."""
        revealed = round.graph.draw_revealed(action, rng)
        return Observation(revealed, round.hidden[revealed])

    def loss(self, round: Round, action: int) -> float:
        """The loss of the action played."""
        return float(round.hidden[action])

    def _check_size(self, graph: FeedbackGraph) -> None:
        if graph.n_actions != self.losses.shape[1]:
            raise ValueError(
                f"`graph` must have {self.losses.shape[1]} actions to match the columns of "
                f"losses, got {graph.n_actions}"
            )


def _split_rows(contexts: Any) -> Any:
    """Rows that can be picked one by one without the cost of slicing a sparse array."""
    if not hasattr(contexts, "tocsr"):
        return as_numbers("contexts", contexts)
    rows = contexts.tocsr()
    indices, values = rows.indices.astype(np.int64), rows.data.astype(np.float64)
    ends = rows.indptr.tolist()
    return [(indices[begin:end], values[begin:end]) for begin, end in pairwise(ends)]
