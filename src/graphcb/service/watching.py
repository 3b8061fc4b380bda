"""The log as it grows, read for those who watch it."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from graphcb.decisions import DecisionLog, LoggedDecision, Version, Versions
from graphcb.decisions.decision import name_of
from graphcb.decisions.encoding import FLOAT, WHOLE, numbers
from graphcb.decisions.identifiers import identifier_at
from graphcb.decisions.parts import read_decision
from graphcb.decisions.records import last_position, read_events
from graphcb.decisions.stored_graphs import StoredGraphs
from graphcb.decisions.tables import DecisionRow, FeedbackRow
from graphcb.service.tally import LiveTally

AT_A_TIME = 500  # events
LOOK_BACK = 200_000  # events before the first look
SECONDS = 0.2  # that a look may read
PAUSE = 0.5  # seconds from one look to the next


class Watch:
    """A tally of the log's last version, brought up to date when somebody looks, in bounded time.

    It reads what is in the log, so that it sees all events, whichever process wrote them and
    whenever. It takes nothing from the desk, and costs nothing while nobody looks. `first` is
    the number of events that it passed over, `position` that of the last event it has seen.
    """

    def __init__(
        self, location: str, versions: Versions, *, look_back: int = LOOK_BACK, pause: float = PAUSE
    ) -> None:
        self.tally = LiveTally(versions)
        self.first = self.position = 0
        self._location, self._look_back, self._pause = location, look_back, pause
        self._log: DecisionLog | None = None
        self._guard = threading.Lock()
        self._next = 0.0

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Read on for a while, unless that was just done; then the tally stands still."""
        with self._guard:
            if time.monotonic() >= self._next:
                try:
                    self._read_on(time.monotonic() + SECONDS)
                except BaseException:
                    self._close()  # the next look connects anew
                    raise
                self._next = time.monotonic() + self._pause
            yield

    def close(self) -> None:
        """Close the log; nothing is read any more."""
        with self._guard:
            self._close()
            self._next = float("inf")

    def _close(self) -> None:
        if self._log is not None:
            self._log.close()
        self._log = None

    def _read_on(self, end: float) -> None:
        if self._log is None:
            self._log = DecisionLog(self._location)
        log, storage = self._log, self._log.storage
        graphs, until = StoredGraphs(storage), last_position(storage)
        log.refresh()
        versions = log.versions
        if self.position == 0 or self.position < versions.last.position:
            self.tally = LiveTally(versions)
            self.first = max(versions.last.position, until - self._look_back)
        self.position = max(self.position, self.first, log.start.position or 0)
        while self.position < until:
            page_end = min(until, self.position + AT_A_TIME)
            page = list(read_events(storage, self.position, page_end))
            for row in page:
                if isinstance(row, DecisionRow):
                    self.tally.decided(_logged(row, log, graphs, versions.last))
                elif isinstance(row, FeedbackRow):
                    indices, losses = numbers(row.actions, WHOLE), numbers(row.losses, FLOAT)
                    self.tally.answered(row.decision, row.received_at, indices, losses)
            self.tally.settle()
            self.position = page_end
            if time.monotonic() > end:
                break


def _logged(
    row: DecisionRow, log: DecisionLog, graphs: StoredGraphs, version: Version
) -> LoggedDecision:
    graph = graphs.read(row.graph)
    context, actions = read_decision(row, graph, log.storage.location)
    return LoggedDecision(
        row.position,
        name_of(log.start.name, row),
        row.made_at,
        context,
        graph,
        actions,
        identifier_at(actions, row.action),
        row.action,
        numbers(row.probabilities, FLOAT),
        row.gamma,
        row.model_version,
        None,
        version.informed,
        version.number,
    )
