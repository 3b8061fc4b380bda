"""What happened in the last hour, one value per minute."""

from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")
HOUR = 60  # minutes


class Minutes(Generic[Value]):
    """A value for each of the last 60 minutes in which anything happened.

    Times come in order, more or less: what is stamped a little earlier belongs to the minute that
    was reached, and if a clock was ahead by more than an hour, what it stamped is forgotten.

    >>> minutes = Minutes(list)
    >>> for time in (0.0, 50.0, 70.0, 65.0, 3600.0):
    ...     minutes.at(time).append(time)
    >>> minutes.last(3605.0)
    [[70.0, 65.0], [3600.0]]
    """

    def __init__(self, new: Callable[[], Value]) -> None:
        self._new = new
        self._values: dict[int, Value] = {}

    def at(self, time: float) -> Value:
        """The value of this minute, which may be changed."""
        minute = int(time // 60)
        newest = next(reversed(self._values), minute)
        if newest - minute > HOUR:
            self._values.clear()
        else:
            minute = max(minute, newest)
        if minute not in self._values:
            self._values[minute] = self._new()
            while next(iter(self._values)) <= minute - HOUR:
                del self._values[next(iter(self._values))]
        return self._values[minute]

    def last(self, now: float) -> list[Value]:
        """The values of the last hour, oldest first."""
        first = int(now // 60) - HOUR
        return [value for minute, value in self._values.items() if minute > first]
