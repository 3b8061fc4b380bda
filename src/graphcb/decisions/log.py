"""Reading a log: any number of readers, while the writer goes on."""

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.decisions import records
from graphcb.decisions.encoding import FLOAT, WHOLE, decode, numbers
from graphcb.decisions.storage import Storage, open_storage
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.registry import FAMILIES

KEPT_GRAPHS = 1024


class LoggedFeedback(NamedTuple):
    """The losses that came back for a decision; `actions` are places in the graph."""

    position: int
    received_at: float
    actions: NDArray[np.int64]
    losses: NDArray[np.float64]


class LoggedDecision(NamedTuple):
    """A decision with all that it was made from, and its feedback where there is one."""

    position: int
    decision_id: str
    made_at: float
    context: Any
    graph: FeedbackGraph
    actions: Any
    action: int
    probabilities: NDArray[np.float64]
    gamma: float | None
    model_version: int
    feedback: LoggedFeedback | None


class DecisionLog:
    """The decisions of a policy, read from a SQLite file or a PostgreSQL URL.

    Iterating gives each `LoggedDecision` in turn, as of the moment the iteration began. The
    policy may go on writing. A file on a network drive is not safe: SQLite needs its locks.

    >>> import tempfile, pathlib, graphcb
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "decisions.db"
    >>> with graphcb.Policy(file, graphcb.Uniform(), seed=0) as policy:
    ...     decision = policy.decide([1.0], graphcb.graphs.bandit(2))
    >>> with DecisionLog(file) as log:
    ...     [(row.action, row.feedback) for row in log] == [(decision.action, None)]
    True
    """

    def __init__(self, location: str | os.PathLike[str]) -> None:
        self.location = os.fspath(location)
        self._storage = open_storage(self.location, writes=False)
        try:
            self._start = records.read_start(self._storage)
        except BaseException:
            self._storage.close()
            raise
        self._graphs = Graphs(self._storage)

    @property
    def storage(self) -> Storage:
        """The connection, for other rooms that read rows as they are stored."""
        return self._storage

    @property
    def start(self) -> records.Start:
        """How the log began: agent, seed, version of graphcb."""
        return self._start

    @property
    def n_events(self) -> int:
        """Decisions and feedbacks so far."""
        return records.last_position(self._storage)

    @property
    def n_decisions(self) -> int:
        """Decisions so far."""
        return records.count(self._storage, records.DecisionRow, self.n_events)

    @property
    def n_feedbacks(self) -> int:
        """Decisions that have their feedback."""
        return records.count(self._storage, records.FeedbackRow, self.n_events)

    def __iter__(self) -> Iterator[LoggedDecision]:
        for decision, feedback in records.read_pairs(self._storage, self.n_events):
            yield self._logged(decision, feedback)

    def _logged(
        self, row: records.DecisionRow, feedback: records.FeedbackRow | None
    ) -> LoggedDecision:
        return LoggedDecision(
            row.position,
            decision_id(self._start.name, row.position),
            row.made_at,
            decode(row.context),
            self._graphs.read(row.graph),
            decode(row.actions),
            row.action,
            numbers(row.probabilities, FLOAT),
            row.gamma,
            row.model_version,
            None if feedback is None else read_feedback(feedback),
        )

    def close(self) -> None:
        """Let go of the file or the connection."""
        self._storage.close()

    def __enter__(self) -> "DecisionLog":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class Graphs:
    """The graphs of a log by number, each in the form that reading gives, the last ones kept."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._by_number: dict[int, FeedbackGraph] = {}
        self._number_of: dict[FeedbackGraph, int] = {}

    def read(self, number: int) -> FeedbackGraph:
        """The graph with this number."""
        if number not in self._by_number:
            graph = FeedbackGraph.from_json(records.read_graph(self._storage, number))
            self._keep(number, graph, graph)
        return self._by_number[number]

    def as_read(self, graph: FeedbackGraph) -> FeedbackGraph:
        """A graph in the form it will have when it is read: storage decides the last bits."""
        number = self._number_of.get(graph)
        if number is not None:
            return self._by_number[number]
        return FeedbackGraph.from_json(describe(graph))

    def write(self, graph: FeedbackGraph) -> int:
        """The number of a graph, which is written unless it is there; inside a transaction."""
        if graph not in self._number_of:
            text = describe(graph)
            number = records.find_graph(self._storage, text)
            if number is None:
                number = records.add_graph(self._storage, text)
            self._keep(number, graph, FeedbackGraph.from_json(text))
        return self._number_of[graph]

    def forget(self) -> None:
        """What was written may have been undone."""
        self._by_number.clear()
        self._number_of.clear()

    def _keep(self, number: int, given: FeedbackGraph, read: FeedbackGraph) -> None:
        if len(self._by_number) >= KEPT_GRAPHS:
            self.forget()
        self._by_number[number] = read
        self._number_of[given] = number


def describe(graph: FeedbackGraph) -> str:
    """A graph in JSON; one that follows a rule of somebody's own by its edges."""
    if graph.family != "edges" and graph.family not in FAMILIES:
        return FeedbackGraph(graph.matrix).to_json()
    return graph.to_json()


def decision_id(name: str, position: int) -> str:
    """The identifier of a decision: the log's name and the event's number."""
    return f"{name}-{position}"


def read_feedback(row: records.FeedbackRow) -> LoggedFeedback:
    """A stored feedback with its numbers as arrays."""
    return LoggedFeedback(
        row.position, row.received_at, numbers(row.actions, WHOLE), numbers(row.losses, FLOAT)
    )
