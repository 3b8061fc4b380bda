"""The role of a graph oracle, and the checks that every one makes of a round."""

from typing import Any, Literal, Protocol

import numpy as np

from graphcb.checks import as_action, as_one_of
from graphcb.graphs import FeedbackGraph, as_graph
from graphcb.oracles.rows import Floats

EdgeLoss = Literal["log", "squared"]


class GraphOracle(Protocol):
    """An online regressor of edges: predicts what each action would reveal, learns what was seen.

    `actions` are column numbers into the oracle's own actions, None for all of them. `played` and
    `revealed` are indices into the actions of the round.

    A probability that is learned stays within [m, 1 - m], where m = 1 / (2 (n + 1)) after n
    observations of the edge. That is the margin of the Krichevsky-Trofimov estimate. It costs
    at most log(n) / 2 of log loss in n rounds, the order of what learning a single probability
    costs anyway, and it makes every edge that is possible positive, so that each predicted graph
    can be explored. An edge that a family knows to be certain or impossible stays 1 or 0.
    """

    def predict(self, context: Any, actions: Any = None) -> FeedbackGraph:
        """A graph of edge probabilities among these actions; it is always observable."""
        ...

    def update(self, context: Any, played: int, revealed: Any, actions: Any = None) -> None:
        """Learn the row of the played action: `revealed` was seen, the others were not."""
        ...

    def update_full(self, context: Any, graph: FeedbackGraph, actions: Any = None) -> None:
        """Learn from the graph of the round, shown in full."""
        ...

    def check_update(self, context: Any, played: int, revealed: Any, actions: Any = None) -> None:
        """Raise what `update` would raise; nothing changes."""
        ...

    def check_update_full(self, context: Any, graph: FeedbackGraph, actions: Any = None) -> None:
        """Raise what `update_full` would raise; nothing changes."""
        ...


def as_graph_oracle(oracle: Any, *, name: str = "graph_oracle") -> GraphOracle:
    """An object with the methods of the role; a class is not one yet."""
    if isinstance(oracle, type):
        raise TypeError(
            f"`{name}` must be a graph oracle, got the class {oracle.__name__}; "
            f"make one first: {oracle.__name__}(...)"
        )
    roles = ("predict", "update", "update_full", "check_update", "check_update_full")
    lacking = [role for role in roles if not callable(getattr(oracle, role, None))]
    if lacking:
        raise TypeError(
            f"`{name}` must have the methods of a graph oracle, such as "
            f"graph_oracles.LogisticEdges(n_actions, n_features), got {type(oracle).__name__} "
            f"without {' and '.join(lacking)}"
        )
    checked: GraphOracle = oracle
    return checked


def as_edge_loss(loss: Any) -> EdgeLoss:
    """One of the two losses by which edges are learned."""
    return as_one_of("loss", loss, ("log", "squared"))  # type: ignore[return-value]


def read_played_row(played: Any, revealed: Any, n_actions: int) -> tuple[int, Floats]:
    """The played index, and 1 for each revealed action of the round, else 0: (n_actions,)."""
    index = as_action(played, n_actions, name="played", of="round")
    indices = np.asarray(revealed)
    if indices.ndim != 1:
        raise ValueError(f"`revealed` must be a list of indices, got shape {indices.shape}")
    if indices.dtype.kind not in "iu" and indices.size:
        raise TypeError(f"`revealed` must be whole numbers, got {indices.dtype}")
    row = np.zeros(n_actions)
    for position, action in enumerate(indices.tolist()):
        if not 0 <= action < n_actions:
            raise IndexError(
                f"`revealed` must be between 0 and {n_actions - 1} (the round has {n_actions} "
                f"actions), got {action} at index {position}"
            )
        if row[action]:
            raise ValueError(
                f"`revealed` must be distinct, got {action} again at index {position}; "
                "give each revealed action once"
            )
        row[action] = 1.0
    return index, row


def read_shown_graph(graph: Any, n_actions: int) -> FeedbackGraph:
    """The graph of a round, with as many actions as the round."""
    if as_graph(graph).n_actions != n_actions:
        raise ValueError(
            f"`graph` must have {n_actions} actions, as the round has, got {graph.n_actions}"
        )
    checked: FeedbackGraph = graph
    return checked
