"""How many feedbacks each decision has, known from the events and not from an index."""

import zlib

MOST = 255  # a count that stands for itself and for all that are larger


class PartCounts:
    """One byte per event of a log.

    A database finds the feedbacks of a decision by an index. If the index is damaged, a feedback
    would be missed and counted again: its result must have as many rows as there were events.

    >>> counts = PartCounts()
    >>> counts.add(7)
    >>> counts.of(7), counts.of(8), PartCounts.from_bytes(counts.to_bytes(), 9).of(7)
    (1, 0, 1)
    """

    def __init__(self, counts: bytes = b"") -> None:
        self._counts = bytearray(counts)

    def of(self, decision: int) -> int:
        """The number of feedbacks of the decision at this position, at most `MOST`."""
        return self._counts[decision] if decision < len(self._counts) else 0

    def add(self, decision: int) -> None:
        """Count one more."""
        missing = decision + 1 - len(self._counts)
        if missing > 0:
            self._counts.extend(bytes(missing))
        self._counts[decision] = min(self._counts[decision] + 1, MOST)

    def to_bytes(self) -> bytes:
        """Compressed, for a checkpoint."""
        return zlib.compress(self._counts, 1)

    @classmethod
    def from_bytes(cls, content: bytes, position: int) -> "PartCounts":
        """What `to_bytes` gave; none can be of a decision after event `position`."""
        counts = zlib.decompressobj().decompress(content, position + 2)
        if len(counts) > position + 1:
            raise ValueError(f"counts of decisions after event {position}")
        return cls(counts)
