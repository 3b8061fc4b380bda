"""A curve of unknown length in bounded memory: when it is full, it keeps half as many values."""

from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")


def _later(earlier: Value, later: Value) -> Value:
    return later


class Thinned(Generic[Value]):
    """Values at the counts `every`, 2 `every`, 3 `every`, ...: at most `most`, an even number.

    Once it is full, neighbours are joined and `every` doubles. By default the later of two
    neighbours stays, as for the points of a curve; windows of a history add theirs up.

    >>> curve = Thinned(4)
    >>> [curve.add(n, n**2) for n in range(1, 7)]
    [True, True, True, True, False, True]
    >>> curve.counts, curve.values
    ([2, 4, 6], [4, 16, 36])
    """

    def __init__(
        self, most: int, *, every: int = 1, join: Callable[[Value, Value], Value] = _later
    ) -> None:
        if most < 2 or most % 2:
            raise ValueError(f"`most` must be an even number above 0, got {most}")
        self.most, self.every = most, every
        self.values: list[Value] = []
        self._join = join

    @property
    def counts(self) -> list[int]:
        """The count of each value."""
        return [self.every * (place + 1) for place in range(len(self.values))]

    def add(self, count: int, value: Value) -> bool:
        """Keep the value at a count if it is one of those that are kept; say whether it is.

        Counts come in order, and none of those that are kept may be left out.
        """
        if count % self.every == 0 and len(self.values) == self.most:
            pairs = zip(self.values[::2], self.values[1::2], strict=True)
            self.values = [self._join(earlier, later) for earlier, later in pairs]
            self.every *= 2
        if count % self.every:
            return False
        self.values.append(value)
        return True
