"""Whether the clock that stamped the decisions of a log went back."""

import math

from graphcb.decisions import LoggedDecision

PUT_RIGHT = 300.0  # seconds by which a clock may go back without being worth a word


class ClockReadings:
    """Where decisions are stamped earlier than the one before, by more than clocks are put right.

    Several deciders may differ by seconds, and a log is in the order of its events.
    """

    def __init__(self) -> None:
        self.last = -math.inf
        self.n_back, self.position, self.most = 0, 0, 0.0

    def add(self, row: LoggedDecision) -> None:
        """One decision."""
        if self.last - row.made_at > PUT_RIGHT:
            self.n_back += 1
            if self.last - row.made_at > self.most:
                self.position, self.most = row.position, self.last - row.made_at
        self.last = row.made_at

    def in_words(self) -> list[str]:
        """What to say of it, if anything."""
        if self.n_back == 0:
            return []
        times = "once" if self.n_back == 1 else f"{self.n_back} times, the furthest"
        return [
            f"the clock went back {times} by {self.most:,.0f} seconds, before event "
            f"{self.position}: it was ahead until then, or is behind since; waiting, retention and "
            "budgets by the clock go by what most decisions say"
        ]
