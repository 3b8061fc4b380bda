"""Reading a log: any number of readers, while the writer continues."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.decisions import records
from graphcb.decisions.encoding import FLOAT, WHOLE, numbers
from graphcb.decisions.parts import merge, read_decision, read_part
from graphcb.decisions.storage import new_storage, without_password
from graphcb.decisions.stored_graphs import StoredGraphs
from graphcb.decisions.tables import DecisionRow, FeedbackRow, name_of
from graphcb.decisions.versions import Version, Versions
from graphcb.files import FileError
from graphcb.graphs import FeedbackGraph
from graphcb.problems import Problem
from graphcb.rounds.identifiers import Identifier, identifier_at, pick


class LoggedFeedback(NamedTuple):
    """The losses that came back for a decision, all parts together.

    They are rewards if the log's problem has these. `actions` are identifiers, in the form that
    `agent.learn` takes; `action_indices` are where these actions stand in the graph, in increasing
    order. `position` and `received_at` are those of the last part. `parts` are the feedbacks as
    they came, which have no parts of their own. `is_default` says that a loss is the default after
    waiting; one that was given later takes its place.
    """

    position: int
    received_at: float
    actions: Any
    action_indices: NDArray[np.int64]
    losses: NDArray[np.float64]
    parts: tuple["LoggedFeedback", ...] = ()
    is_default: bool = False


class LoggedDecision(NamedTuple):
    """A decision with everything it was made from, and its feedback if there is one.

    `actions` are the identifiers that `decide` was given, None for 0, 1, ..., a dict where they
    have features; in a log that was created with a problem they are names. `action` is the
    identifier that was drawn, and `action_index` where it stands in the graph. If `informed` is
    False, nobody knew what would be revealed: `graph` only has an edge wherever something could
    be, and says nothing of how likely it was. `version` is the number of the version that made
    it, which `DecisionLog.versions` knows. `snapshot` is the event after which the agent was as it
    was for this decision, if a decider made it. `waiting` is after how many seconds without
    feedback it gets a default, if its problem says so. `known` are losses or rewards that its
    problem knows without feedback, by index, None if there are none; `feedback` is without them.
    If `all_probabilities` is False, it was imported with the probability of its action alone: the
    others are made up.
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
    informed: bool = True
    version: int = 1
    snapshot: int | None = None
    waiting: float | None = None
    known: Mapping[int, float] | None = None
    all_probabilities: bool = True


class DecisionLog:
    """The decisions of a policy, read from a SQLite file or a PostgreSQL URL.

    Iterating gives each `LoggedDecision` in turn, as of the moment the iteration started. The
    policy may continue to write. A row that is damaged, or an event that is missing, is a
    `FileError`, at the end of the iteration at the latest. `start` says how the log began: agent,
    seed, version of graphcb. A file on a network drive is not safe: SQLite needs its locks.

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
        self.storage = new_storage(self.location, writes=False)
        try:
            self.storage.open()
            self.start = records.read_start(self.storage)
        except BaseException:
            self.storage.close()
            raise
        self._graphs = StoredGraphs(self.storage)

    def __repr__(self) -> str:
        return f"DecisionLog({without_password(self.location)!r})"

    @property
    def problem(self) -> Problem | None:
        """The problem that is decided now, if there is one: that of the last version."""
        return self.versions.last.problem

    @property
    def versions(self) -> Versions:
        """The versions of the log in order; one unless the problem or the agent was changed."""
        return Versions.read(self.storage, self.start)

    @property
    def informed(self) -> bool:
        """Whether it was known what would be revealed, rather than learned by some version."""
        return all(version.informed for version in self.versions)

    @property
    def is_imported(self) -> bool:
        """Whether another program made all decisions, and no policy has continued the log."""
        return self.versions.last.recorded is not None

    @property
    def n_imported(self) -> int:
        """The number of decisions that another program made: those of a first such version."""
        first, *later = self.versions
        if first.recorded is None:
            return 0
        end = later[0].position if later else self.n_events
        return records.count(self.storage, DecisionRow, end, self.start.cut)

    @property
    def n_events(self) -> int:
        """The number of decisions, feedbacks and changes, also of those that were removed."""
        return records.last_position(self.storage)

    @property
    def n_decisions(self) -> int:
        """The number of decisions that were not removed."""
        return records.count(self.storage, DecisionRow, self.n_events, self.start.cut)

    @property
    def n_removed(self) -> int:
        """The number of old decisions that were removed, which nothing here counts any more."""
        start, n_changes = self.start, self.versions.at(self.start.position).number - 1
        kept = records.count(self.storage, DecisionRow, start.position, start.cut)
        return start.position - start.n_feedbacks - n_changes - kept

    @property
    def n_feedbacks(self) -> int:
        """The number of feedbacks, each part of one counted."""
        return records.count(self.storage, FeedbackRow, self.n_events)

    @property
    def receipts(self) -> list[records.Forgotten]:
        """Who was forgotten, when and how much that was, by hashes."""
        return records.read_receipts(self.storage)

    def __iter__(self) -> Iterator[LoggedDecision]:
        self.refresh()
        return self.between(0, records.read_end(self.storage))

    def between(self, after: int, until: int) -> Iterator[LoggedDecision]:
        """The decisions between two events, with their feedback up to the second."""
        versions, removed = self.versions, self.start.position
        after = max(after, self.start.cut)
        for decision, parts in records.read_pairs(self.storage, until, removed, after):
            yield self.read_row(decision, parts, versions.of(decision))

    def at(self, positions: Sequence[int], until: int) -> Iterator[LoggedDecision]:
        """The decisions at some positions that are there, with their feedback up to an event."""
        versions = self.versions
        parts = records.read_parts(self.storage, positions)
        for decision in records.read_decisions(self.storage, positions):
            seen = [part for part in parts.get(decision.position, ()) if part.position <= until]
            yield self.read_row(decision, seen, versions.of(decision))

    def refresh(self) -> None:
        """Look again how the log began: a policy may have removed old decisions."""
        self.start = records.read_start(self.storage)

    def read_row(
        self, row: DecisionRow, parts: list[FeedbackRow], version: Version
    ) -> LoggedDecision:
        """A decision from its row and those of its feedback."""
        location = self.storage.location
        graph = self._graphs.read(row.graph)
        context, actions = read_decision(row, graph, location)
        return LoggedDecision(
            row.position,
            name_of(self.start.name, row),
            row.made_at,
            context,
            graph,
            actions,
            identifier_at(actions, row.action),
            row.action,
            numbers(row.probabilities, FLOAT),
            row.gamma,
            row.model_version,
            _logged_feedback(parts, actions, graph, location) if parts else None,
            version.informed,
            version.number,
            row.snapshot,
            _waiting(version.problem),
            _known(version.problem, context, actions, f"{location}: event {row.position}"),
            version.recorded is None or version.recorded.all_probabilities,
        )

    def close(self) -> None:
        """Close the file or the connection."""
        self.storage.close()

    def __enter__(self) -> "DecisionLog":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _waiting(problem: Problem | None) -> float | None:
    return None if problem is None or problem.defaults is None else problem.defaults.waiting


def _known(
    problem: Problem | None, context: Any, actions: Any, where: str
) -> Mapping[int, float] | None:
    """What the problem of a decision knows without feedback, by index."""
    if problem is None or problem.known is None:
        return None
    try:
        values = problem.known_in(context, problem.names_of(actions))
    except (ValueError, TypeError) as reason:
        raise FileError(f"{where}: {reason}") from None
    if values is None:
        return None
    return {place: value for place, value in enumerate(values.tolist()) if value == value}


def _logged_feedback(
    rows: list[FeedbackRow], actions: Any, graph: FeedbackGraph, location: str
) -> LoggedFeedback:
    parts = []
    for row in rows:
        indices, losses = read_part(row, graph, location)
        revealed, is_default = pick(actions, indices), row.source is not None
        part = LoggedFeedback(
            row.position, row.received_at, revealed, indices, losses, (), is_default
        )
        parts.append(part)
    if len(parts) == 1:
        return LoggedFeedback(*parts[0][:5], (parts[0],), parts[0].is_default)
    known = merge(rows, graph, location)
    ordered = sorted(known)
    indices = np.array(ordered, dtype=WHOLE)
    losses = np.array([known[index].loss for index in ordered], dtype=FLOAT)
    return LoggedFeedback(
        position=rows[-1].position,
        received_at=rows[-1].received_at,
        actions=pick(actions, indices),
        action_indices=indices,
        losses=losses,
        parts=tuple(parts),
        is_default=any(one.is_default for one in known.values()),
    )
