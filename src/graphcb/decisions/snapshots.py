"""States of the past that deciders decided with, kept on the way through a log."""

from graphcb.agents import Agent
from graphcb.decisions.storage import Storage
from graphcb.decisions.tables import DecisionRow
from graphcb.decisions.transition import PolicyState
from graphcb.saving import from_bytes, to_bytes

_USED = (
    "SELECT snapshot, max(position) FROM graphcb_decisions WHERE position > ? AND position <= ? "
    "AND snapshot IS NOT NULL GROUP BY snapshot"
)


class Snapshots:
    """The states that decisions of some events were made with, for as long as they are needed."""

    def __init__(
        self, storage: Storage, first: PolicyState, until: int, classes: tuple[type, ...]
    ) -> None:
        self._classes, self._location = classes, storage.location
        used = storage.execute(_USED, (first.position, until))
        self._last_use = {int(snapshot): int(last) for snapshot, last in used}
        self._kept: dict[int, PolicyState] = {}
        self.pass_by(first)

    def pass_by(self, state: PolicyState) -> None:
        """Keep a state if a decision needs it; drop those that are not needed any more."""
        if not self._last_use:
            return
        if state.position in self._last_use:
            where = f"{self._location}, snapshot {state.position}"
            agent: Agent = from_bytes(to_bytes(state.agent), where=where, classes=self._classes)
            kept = PolicyState(agent, state.position, state.n_feedbacks, state.version)
            self._kept[state.position] = kept
        if len(self._kept) > 1:
            over = [one for one in self._kept if self._last_use[one] <= state.position]
            for one in over:
                del self._kept[one]

    def of(self, row: DecisionRow) -> PolicyState | None:
        """The state that a decider decided with; None if it is from before the first event."""
        return self._kept.get(row.snapshot or 0)
