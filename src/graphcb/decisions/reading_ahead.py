"""Events of a log with the decisions that feedback is for, which are read many at a time."""

from collections.abc import Iterator

from graphcb.decisions import records
from graphcb.decisions.records import BYTES_AT_ONCE, Event
from graphcb.decisions.storage import Storage
from graphcb.decisions.tables import DecisionRow, FeedbackRow

AT_A_TIME = 500  # events


def read_with_decisions(
    storage: Storage, after: int, until: int
) -> Iterator[tuple[Event, DecisionRow | None]]:
    """Events in their order; with a feedback its decision, None if the log does not hold it.

    A question for each feedback would take most of the time where the database is a server.
    """
    for page in _pages(records.read_events(storage, after, until)):
        decisions = {row.position: row for row in page if isinstance(row, DecisionRow)}
        asked = {row.decision for row in page if isinstance(row, FeedbackRow)}
        n_bytes = 0
        for decision in records.read_decisions(storage, sorted(asked - decisions.keys())):
            n_bytes += len(decision.context)
            if n_bytes > BYTES_AT_ONCE:
                break
            decisions[decision.position] = decision
        for row in page:
            if not isinstance(row, FeedbackRow):
                yield row, None
            elif row.decision in decisions:
                yield row, decisions[row.decision]
            else:
                yield row, next(records.read_decisions(storage, [row.decision]), None)


def _pages(events: Iterator[Event]) -> Iterator[list[Event]]:
    """Events in groups that are small enough to be in memory together."""
    page: list[Event] = []
    n_bytes = 0
    for row in events:
        page.append(row)
        n_bytes += len(row.context) if isinstance(row, DecisionRow) else 0
        if len(page) >= AT_A_TIME or n_bytes > BYTES_AT_ONCE:
            yield page
            page, n_bytes = [], 0
    yield page
