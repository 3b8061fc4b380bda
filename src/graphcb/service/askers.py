"""Which key asked for which decisions, for as long as this process knows it."""

from array import array
from bisect import bisect_left

MOST_RUNS = 1_000_000  # of 16 bytes


class Askers:
    """Names of keys by the numbers of events, in runs of events that one key asked for.

    >>> askers = Askers(10)
    >>> askers.note("shop", 12)
    >>> askers.note("app", 13)
    >>> [askers.of(position) for position in range(10, 15)]
    ['', 'shop', 'shop', 'app', '']
    """

    def __init__(self, position: int) -> None:
        self._before = position  # the last event of which nothing is known
        self._ends, self._who = array("q"), array("L")
        self._names: list[str] = []
        self._numbers: dict[str, int] = {}

    def note(self, name: str, until: int) -> None:
        """All events up to this one that nobody was noted for are by this key."""
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = len(self._names)
            self._names.append(name)
        if self._who and self._who[-1] == number:
            self._ends[-1] = until
        elif until > (self._ends[-1] if self._ends else self._before):
            self._ends.append(until)
            self._who.append(number)
        if len(self._ends) > MOST_RUNS:
            half = MOST_RUNS // 2
            self._before = self._ends[half - 1]
            del self._ends[:half], self._who[:half]

    def of(self, position: int) -> str:
        """Who asked for this event, "" if that is not known."""
        place = bisect_left(self._ends, position)
        if position <= self._before or place == len(self._ends):
            return ""
        return self._names[self._who[place]]
