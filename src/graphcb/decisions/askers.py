"""Who asked for which decisions: one row for each run of decisions that one client asked for.

A row says from which event on. While the same client asks, nothing is written.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence

from graphcb.decisions.forgetting import hash_of
from graphcb.decisions.storage import Storage
from graphcb.decisions.tables import LogStart

_INSERT = (  # again where the decisions of a call were given up after it had begun a run
    "INSERT INTO graphcb_askers (position, who) VALUES (?, ?) "
    "ON CONFLICT (position) DO UPDATE SET who = excluded.who"
)
_RUNS = (
    "SELECT position, who FROM graphcb_askers WHERE position <= ? AND position >= "
    "(SELECT coalesce(max(position), 0) FROM graphcb_askers WHERE position <= ?) ORDER BY position"
)


def number_of(name: str, start: LogStart) -> int:
    """What a log keeps of a client's name: 28 bits of a hash; 0 for one without a name."""
    return int(hash_of(name, start)[:7], 16) + 1 if name else 0


def write_runs(storage: Storage, runs: Sequence[tuple[int, int]]) -> None:
    """Store from which events on who asked."""
    storage.execute_many(_INSERT, runs)


def askers_between(storage: Storage, first: int, last: int) -> Callable[[int], int]:
    """Who asked for which of these events, 0 where that is not known."""
    runs = storage.execute(_RUNS, (last, first))
    positions = [position for position, _ in runs]

    def asked_by(position: int) -> int:
        run = bisect_right(positions, position) - 1
        return int(runs[run][1]) if run >= 0 else 0

    return asked_by
