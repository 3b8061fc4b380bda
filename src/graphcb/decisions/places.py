"""What a transaction needs of where it writes: the log, or a place for the trainer to find."""

from collections.abc import Sequence
from typing import Literal, Protocol

from graphcb.decisions.tables import DecisionRow, FeedbackRow
from graphcb.decisions.transition import Drawn

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
