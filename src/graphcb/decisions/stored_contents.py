"""What many decisions of a log share: names of actions and keys of contexts, stored once."""

from collections.abc import Iterable

from graphcb.decisions.packing import (
    compress,
    decompress,
    fill_shape,
    keys_of,
    pack_numbers,
    read_whole,
    shape_of,
    whole,
)
from graphcb.decisions.storage import Storage
from graphcb.decisions.tables import ContentRow, insert, select
from graphcb.files import FileError

SHORTEST = 24  # bytes of what is worth it
MOST, MOST_BYTES = 2000, 16_000_000  # of a log; what comes later is stored with each decision
REMEMBERED = 500  # contents that were seen once
ERASED = b"-"  # and its number, in place of a content
WORTH = 0.7  # the share of a text to which it must shrink


class Contents:
    """Contents by number. The one writer adds them, in the transaction that refers to them.

    Identifiers of actions are stored once if they are seen twice. Of JSON objects of numbers, what
    an earlier one had between its numbers is stored once; other texts are compressed with the keys
    of an earlier one at hand. No value of a context is ever among them.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self.forget()

    def forget(self) -> None:
        """Drop what is in memory: what was added may have been rolled back."""
        self._read: dict[int, bytes] = {}
        self._number_of: dict[bytes, int] | None = None
        self._seen: set[bytes] = set()
        self._keys: dict[str, tuple[int, bytes]] = {}  # of the texts in each column
        self._shapes: dict[str, tuple[bytes, bytes]] = {}
        self._usual = b"", b""  # the actions that were packed last, and how
        self._n_poor = self._n_unfit = 0

    def pack_actions(self, content: bytes) -> bytes:
        """Encoded identifiers as they are stored."""
        if len(content) < SHORTEST:
            return content
        if content == self._usual[0]:  # the same object, mostly
            return self._usual[1]
        number = self._numbers().get(content)
        if number is None and content in self._seen:
            number = self._add(content)
        if number is not None:
            self._usual = content, b"r" + whole(number)
            return self._usual[1]
        if len(self._seen) >= REMEMBERED:
            self._seen.clear()
        self._seen.add(content)
        return self.pack_text(content, "actions")

    def pack_text(self, content: bytes, column: str) -> bytes:
        """An encoded JSON object as it is stored; anything else as it is."""
        if len(content) < SHORTEST or content[:2] != b"j{":
            return content
        if column in self._shapes:
            head, shape = self._shapes[column]
            digits = pack_numbers(content[1:], shape)
            if digits is not None:
                return head + digits
        self._n_unfit += 1
        if self._n_unfit & (self._n_unfit - 1) == 0 and self._take_shape(content, column):
            return self.pack_text(content, column)
        number, keys = self._keys.get(column, (0, b""))
        packed = compress(content[1:], keys) if keys else content
        if len(packed) > WORTH * len(content):
            self._n_poor += 1
            if self._n_poor & (self._n_poor - 1) == 0:  # ever more seldom
                other = keys_of(content[1:])
                known = self._numbers().get(other) or (self._add(other) if other else None)
                if known is not None:
                    self._keys[column] = number, keys = known, other
                    packed = compress(content[1:], keys)
        stored = b"z" + whole(number) + packed
        return stored if keys and len(stored) < len(content) else content

    def _take_shape(self, content: bytes, column: str) -> bool:
        """Whether this text is an object of numbers, whose shape the next ones may have."""
        shape = shape_of(content[1:])
        number = (self._numbers().get(shape) or self._add(shape)) if shape else None
        if number is None:
            return False
        self._shapes[column] = b"k" + whole(number), shape
        return True

    def unpack(self, stored: bytes) -> bytes:
        """What `pack_actions` or `pack_text` was given; a ValueError if it is damaged."""
        form = stored[:1]
        if form == b"r":
            return self.read(read_whole(stored, 1)[0])
        if form == b"k":
            number, begin = read_whole(stored, 1)
            return b"j" + fill_shape(self.read(number), stored[begin:])
        if form == b"z":
            number, begin = read_whole(stored, 1)
            return b"j" + decompress(stored[begin:], self.read(number))
        return stored

    def read(self, number: int) -> bytes:
        """The content with this number."""
        found = self._read.get(number)
        if found is None:
            rows = select(self._storage, ContentRow, "WHERE number = ?", number)
            if not rows:
                raise FileError(f"{self._storage.location}: damaged: content {number} is missing")
            found = self._read[number] = rows[0].content
        return found

    def erase(self, actions: Iterable[bytes]) -> None:
        """Forget identifiers that no decision has any more, given as they were stored.

        Their number is not given to others, as a reader may have it in memory.
        """
        for stored in actions:
            of_these = "SELECT 1 FROM graphcb_decisions WHERE actions = ? LIMIT 1"
            if stored[:1] == b"r" and not self._storage.execute(of_these, (stored,)):
                number = read_whole(stored, 1)[0]
                sql = "DELETE FROM graphcb_contents WHERE number = ?"
                self._storage.execute(sql, (number,))
                insert(self._storage, [ContentRow(number, ERASED + whole(number))])
                self.forget()

    def _numbers(self) -> dict[bytes, int]:
        if self._number_of is None:
            rows = select(self._storage, ContentRow)
            self._number_of = {row.content: row.number for row in rows}
        return self._number_of

    def _add(self, content: bytes) -> int | None:
        """Store one more, None if there are too many; call it inside a transaction."""
        known = self._numbers()
        if len(known) >= MOST or sum(map(len, known)) + len(content) > MOST_BYTES:
            return None
        number = known[content] = max(known.values(), default=0) + 1
        insert(self._storage, [ContentRow(number, content)])
        return number
