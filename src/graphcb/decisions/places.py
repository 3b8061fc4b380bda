"""Where a transaction writes its decisions and its feedback: here, the log itself."""

from collections.abc import Sequence
from typing import Literal, Protocol

from graphcb.decisions.storage import LogError
from graphcb.decisions.tables import DecisionRow, FeedbackRow, insert
from graphcb.decisions.transition import Drawn, uniform_at
from graphcb.decisions.writer import Pending

Call = Literal["decide", "feedback", "upkeep"]


class Place(Protocol):
    """Where a transaction writes: into the log, or where the trainer of the log finds it.

    `learns` says whether the agent learns feedback here and now.
    """

    learns: bool

    def check(self, call: Call) -> None:
        """Refuse a call for which this is not the place, or not the time."""
        ...

    def lock(self, names: Sequence[str]) -> None:
        """Keep others from answering these decisions until the commit."""
        ...

    def store(self, decisions: list[DecisionRow], feedbacks: list[FeedbackRow]) -> None:
        """Write rows; the commit follows."""
        ...


class DecidingPlace(Place, Protocol):
    """A place where decisions are written, too."""

    def uniform(self, token: str) -> float:
        """The number by which the decision with this token is drawn."""
        ...

    def decided(self, drawn: Drawn, row: DecisionRow) -> DecisionRow:
        """The row of a decision as it is written."""
        ...


class InLog:
    """The log, by its one writer: rows are its next events, and the agent goes on with each."""

    learns = True

    def __init__(self, pending: Pending) -> None:
        self._pending = pending

    def check(self, call: Call) -> None:
        """Refuse what only deciders may write, and calls after the block of the transaction."""
        if self._pending.is_over:
            raise LogError(
                f"{self._pending.storage.location}: this transaction is over; call the policy, or "
                "begin another with together()"
            )
        if self._pending.has_deciders and call != "upkeep":
            raise ValueError(
                f"{self._pending.storage.location}: this log has deciders, which decide and take "
                "feedback; ask one of them (graphcb serve --decide-only, or "
                "graphcb.decisions.Decider)"
            )

    def uniform(self, token: str) -> float:
        """By the number of the event."""
        return uniform_at(self._pending.start.seed, self._pending.state.position + 1)

    def decided(self, drawn: Drawn, row: DecisionRow) -> DecisionRow:
        """The next event."""
        pending = self._pending
        pending.state = drawn.after
        if pending.asker != pending.last_asker:
            pending.begin_run(row.position, pending.asker)
        return row

    def lock(self, names: Sequence[str]) -> None:
        """Nobody else writes."""

    def store(self, decisions: list[DecisionRow], feedbacks: list[FeedbackRow]) -> None:
        """Write rows; the commit follows."""
        for rows in (decisions, feedbacks, self._pending.runs):
            if rows:
                insert(self._pending.storage, rows)
        self._pending.runs.clear()
