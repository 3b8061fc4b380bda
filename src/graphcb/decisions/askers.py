"""Who asked for which decisions, in runs: a row says from which event on a client asked.

While the same client asks, nothing is written. A log has a number for each client, which is a hash.
"""

from bisect import bisect_right
from collections.abc import Callable

from graphcb.decisions.forgetting import hash_of
from graphcb.decisions.storage import Storage
from graphcb.decisions.tables import AskerRow, LogStart, select

_BETWEEN = (
    "WHERE position <= ? AND position >= "
    "(SELECT coalesce(max(position), 0) FROM graphcb_askers WHERE position <= ?) ORDER BY position"
)


def number_of(name: str, start: LogStart) -> int:
    """A log's number for a client: 28 bits of a hash that is another one in each log.

    0 stands for clients without a name.
    """
    return int(hash_of(name, start)[:7], 16) + 1 if name else 0


def askers_between(storage: Storage, first: int, last: int) -> Callable[[int], int]:
    """Who asked for which of these events, 0 where that is not known."""
    runs: list[AskerRow] = select(storage, AskerRow, _BETWEEN, last, first)
    positions = [run.position for run in runs]

    def asked_by(position: int) -> int:
        place = bisect_right(positions, position) - 1
        return runs[place].who if place >= 0 else 0

    return asked_by
