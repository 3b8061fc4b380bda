"""How many feedbacks each decision has, known from the events and not from an index."""

import zlib

MOST = 255  # a count that stands for itself and for all that are larger


class PartCounts:
    """One byte per event of a log, from its first decision on.

    A database finds the feedbacks of a decision by an index. If the index is damaged, a feedback
    would be missed and counted again: its result must have as many rows as there were events.

    >>> counts = PartCounts()
    >>> counts.add(7)
    >>> counts.of(7), counts.of(8), PartCounts.from_bytes(counts.to_bytes(), 9).of(7)
    (1, 0, 1)
    """

    def __init__(self, counts: bytes = b"", removed: int = 0) -> None:
        self._counts, self._removed = bytearray(counts), removed

    def of(self, decision: int) -> int:
        """The number of feedbacks of the decision at this position, at most `MOST`."""
        place = decision - self._removed
        return self._counts[place] if 0 <= place < len(self._counts) else 0

    def add(self, decision: int) -> None:
        """Count one more, unless the decision was dropped."""
        place = decision - self._removed
        if place < 0:
            return
        missing = place + 1 - len(self._counts)
        if missing > 0:
            self._counts.extend(bytes(missing))
        self._counts[place] = min(self._counts[place] + 1, MOST)

    def drop(self, until: int) -> None:
        """Forget the decisions up to this position, which were removed."""
        n = until - self._removed
        if n > 0:
            del self._counts[:n]
            self._removed = until

    def to_bytes(self) -> bytes:
        """Compressed, for a checkpoint."""
        return self._removed.to_bytes(8, "little") + zlib.compress(self._counts, 1)

    @classmethod
    def from_bytes(cls, content: bytes, position: int) -> "PartCounts":
        """What `to_bytes` gave; none can be of a decision after event `position`."""
        removed = int.from_bytes(content[:8], "little")
        counts = zlib.decompressobj().decompress(content[8:], position + 2)
        if removed + len(counts) > position + 1:
            raise ValueError(f"counts of decisions after event {position}")
        return cls(counts, removed)
