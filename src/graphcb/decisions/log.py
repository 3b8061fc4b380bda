"""Reading a log: any number of readers, while the writer continues."""

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.decisions import records
from graphcb.decisions.decision import decision_id
from graphcb.decisions.encoding import FLOAT, WHOLE, decode, numbers
from graphcb.decisions.identifiers import Identifier, as_identifier, pick
from graphcb.decisions.storage import open_storage, without_password
from graphcb.decisions.stored_graphs import StoredGraphs
from graphcb.decisions.tables import DecisionRow, FeedbackRow
from graphcb.graphs import FeedbackGraph


class LoggedFeedback(NamedTuple):
    """The losses that came back for a decision.

    `actions` are identifiers, in the form that `agent.learn` takes; `action_indices` are where
    these actions stand in the graph.
    """

    position: int
    received_at: float
    actions: Any
    action_indices: NDArray[np.int64]
    losses: NDArray[np.float64]


class LoggedDecision(NamedTuple):
    """A decision with everything it was made from, and its feedback if there is one.

    `actions` are the identifiers that `decide` was given, None for 0, 1, ...; `action` is the
    identifier that was drawn, and `action_index` where it stands in the graph.
    """

    position: int
    decision_id: str
    made_at: float
    context: Any
    graph: FeedbackGraph
    actions: Any
    action: Identifier
    action_index: int
    probabilities: NDArray[np.float64]
    gamma: float | None
    model_version: int
    feedback: LoggedFeedback | None


class DecisionLog:
    """The decisions of a policy, read from a SQLite file or a PostgreSQL URL.

    Iterating gives each `LoggedDecision` in turn, as of the moment the iteration started. The
    policy may continue to write. `start` says how the log began: agent, seed, version of graphcb.
    A file on a network drive is not safe: SQLite needs its locks.

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
        self.storage = open_storage(self.location, writes=False)
        try:
            self.start = records.read_start(self.storage)
        except BaseException:
            self.storage.close()
            raise
        self._graphs = StoredGraphs(self.storage)

    def __repr__(self) -> str:
        return f"DecisionLog({without_password(self.location)!r})"

    @property
    def n_events(self) -> int:
        """The number of decisions and feedbacks."""
        return records.last_position(self.storage)

    @property
    def n_decisions(self) -> int:
        """The number of decisions."""
        return records.count(self.storage, DecisionRow, self.n_events)

    @property
    def n_feedbacks(self) -> int:
        """The number of decisions that have feedback."""
        return records.count(self.storage, FeedbackRow, self.n_events)

    def __iter__(self) -> Iterator[LoggedDecision]:
        for decision, feedback in records.read_pairs(self.storage, self.n_events):
            yield self._logged(decision, feedback)

    def _logged(self, row: DecisionRow, feedback: FeedbackRow | None) -> LoggedDecision:
        actions = decode(row.actions)
        return LoggedDecision(
            row.position,
            decision_id(self.start.name, row.position),
            row.made_at,
            decode(row.context),
            self._graphs.read(row.graph),
            actions,
            row.action if actions is None else as_identifier(actions[row.action]),
            row.action,
            numbers(row.probabilities, FLOAT),
            row.gamma,
            row.model_version,
            None if feedback is None else _logged_feedback(feedback, actions),
        )

    def close(self) -> None:
        """Close the file or the connection."""
        self.storage.close()

    def __enter__(self) -> "DecisionLog":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _logged_feedback(row: FeedbackRow, actions: Any) -> LoggedFeedback:
    indices = numbers(row.actions, WHOLE)
    losses = numbers(row.losses, FLOAT)
    return LoggedFeedback(row.position, row.received_at, pick(actions, indices), indices, losses)
