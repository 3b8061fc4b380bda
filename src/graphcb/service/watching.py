"""The log as it grows, read for the page."""

import time

from graphcb.decisions import DecisionLog, Versions
from graphcb.decisions.encoding import FLOAT, WHOLE, numbers
from graphcb.decisions.records import Event, first_decision, last_position, read_events
from graphcb.decisions.tables import DecisionRow, FeedbackRow
from graphcb.files import FileError
from graphcb.service.tally import LiveTally, VersionResult

AT_A_TIME = 500  # events
LOOK_BACK = 200_000  # events that the first look reads at most
SECONDS = 0.5  # for reading, per look
MOST_FINISHED = 20  # versions whose results are remembered


class Watch:
    """A tally of the log's last version, updated in bounded time whenever the page asks.

    It reads the log rather than the desk, so it sees all events, whichever process wrote them,
    and costs nothing while no page is open. `first` is the number of events that it passed over,
    `position` that of the last event it has read. `tally` is that of the version it has come to,
    `finished` has the results of earlier versions.
    """

    def __init__(self, location: str, versions: Versions, *, look_back: int = LOOK_BACK) -> None:
        self.versions, self.tally = versions, LiveTally(versions)
        self.finished: dict[int, VersionResult] = {}
        self.first = self.position = 0
        self._location, self._look_back = location, look_back
        self._log: DecisionLog | None = None

    def look(self) -> None:
        """Read new events for a while."""
        try:
            self._read_on(time.monotonic() + SECONDS)
        except BaseException:
            self.close()  # the next look connects again
            raise

    def close(self) -> None:
        """Close the log."""
        if self._log is not None:
            self._log.close()
        self._log = None

    def _read_on(self, end: float) -> None:
        if self._log is None:
            self._log = DecisionLog(self._location)
        log, storage = self._log, self._log.storage
        until = last_position(storage)
        log.refresh()
        self.versions, removed = log.versions, log.start.position
        kept = self._kept_from(log, removed)
        if self.position == 0 or self.position < kept:
            self._begin(max(kept, until - self._look_back))
        while self.position < until:
            page_end = min(until, self.position + AT_A_TIME)
            try:
                page = list(read_events(storage, self.position, page_end, removed))
            except FileError:
                log.refresh()
                if log.start.position == removed:
                    raise
                return  # events were removed just now; the next look reads those that are left
            for row in page:
                self._count(row, log)
                self.position = row.position
            self.tally.settle()
            self.position = page_end
            if time.monotonic() > end:
                break

    def _kept_from(self, log: DecisionLog, removed: int) -> int:
        """The number of events before the first decision that was not removed."""
        if removed <= self.position:
            return 0
        oldest = first_decision(log.storage, log.start)
        return removed if oldest is None else min(removed, oldest - 1)

    def _begin(self, first: int) -> None:
        """Start counting here, and forget what was counted before."""
        version = self.versions.at(first + 1)
        whole = first <= version.position
        self.tally = LiveTally(_up_to(self.versions, version.number), is_whole=whole)
        self.first = self.position = first

    def _count(self, row: Event, log: DecisionLog) -> None:
        version = self.versions.at(row.position)
        if version.number != self.tally.version.number:
            self.tally.settle()
            self.finished[self.tally.version.number] = self.tally.result()
            if len(self.finished) > MOST_FINISHED:
                del self.finished[min(self.finished)]
            self.tally = LiveTally(_up_to(self.versions, version.number), before=self.tally)
        if isinstance(row, DecisionRow):
            # a decider that does not know of the change yet still decides by an earlier version
            if self.versions.of(row).number == version.number:
                self.tally.decided(log.read_row(row, [], version))
        elif isinstance(row, FeedbackRow):
            indices, losses = numbers(row.actions, WHOLE), numbers(row.losses, FLOAT)
            is_default = row.source is not None
            self.tally.answered(
                row.decision, row.received_at, indices, losses, is_default=is_default
            )


def _up_to(versions: Versions, number: int) -> Versions:
    return Versions([version for version in versions if version.number <= number])
