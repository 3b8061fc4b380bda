"""A sample of rows that does not depend on their order, nor on the files that they are in.

Each row has a hash of what it holds. The sample consists of the rows with the smallest hashes;
rows that hold the same count as one, with the number of times that they came.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.compilation import compiled
from graphcb.hashing import mixed
from graphcb.streams.tables import holds_lists
from graphcb.tables.columns import CellPlace, Vocabulary, as_floats, codes_of

Hashes = NDArray[np.uint64]
AT_MOST = 100_000
LARGEST_EXACT = 1 << 53  # whole numbers beyond are not all floats


class Sample:
    """The rows with the smallest hashes, how often each came, and its values as a pyarrow table."""

    def __init__(self, at_most: int = AT_MOST) -> None:
        self.at_most = at_most
        self.hashes: Hashes = np.empty(0, dtype=np.uint64)
        self.counts: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self.table: Any = None

    def add(self, hashes: Hashes, counts: NDArray[np.int64], table: Any) -> None:
        """Some more rows; most of them are too large to be looked at."""
        import pyarrow as pa

        if self.hashes.size >= self.at_most:
            small = hashes <= self.hashes[self.at_most - 1]
            hashes, counts, table = hashes[small], counts[small], table.filter(pa.array(small))
        if not hashes.size:
            return
        whole = pa.Table.from_batches([table]) if isinstance(table, pa.RecordBatch) else table
        if self.table is not None:
            whole = pa.concat_tables([self.table, _plain(whole)], promote_options="permissive")
        else:
            whole = _plain(whole)
        both = np.concatenate([self.hashes, hashes])
        kept, first, place = np.unique(both, return_index=True, return_inverse=True)
        times = np.zeros(kept.size, dtype=np.int64)
        np.add.at(times, place, np.concatenate([self.counts, counts]))
        self.hashes, self.counts = kept[: self.at_most], times[: self.at_most]
        self.table = whole.take(first[: self.at_most])

    def merge(self, other: "Sample") -> None:
        """Add the sample of other rows."""
        if other.table is not None:
            self.add(other.hashes, other.counts, other.table)

    @property
    def repeats(self) -> bool:
        """Whether rows hold the same as others so often that a hash cannot tell them apart."""
        return bool(self.counts.sum() > 1.1 * self.counts.size)


def _plain(table: Any) -> Any:
    """Without dictionaries, which differ from batch to batch."""
    import pyarrow as pa

    fields = [
        pa.field(one.name, one.type.value_type if pa.types.is_dictionary(one.type) else one.type)
        for one in table.schema
    ]
    return table.cast(pa.schema(fields))


def row_hashes(
    batch: Any, columns: Sequence[str], place: CellPlace, words: Sequence[str | None] = ()
) -> Hashes:
    """A hash of what each row holds in these columns; those in `words` hold names, not numbers.

    It does not depend on how a file stores numbers: 1 and 1.0 have the same hash.
    """
    hashes = np.full(batch.num_rows, 0x9E3779B97F4A7C15, dtype=np.uint64)
    for column in columns:
        _mix(hashes, _bits(batch.column(column), column, place, column in words))
    return hashes


def _bits(array: Any, column: str, place: CellPlace, has_words: bool) -> Hashes:
    import pyarrow as pa

    kind = array.type
    if holds_lists(kind) or pa.types.is_struct(kind) or pa.types.is_temporal(kind):
        return np.array([text_hash(str(value)) for value in array.to_pylist()], dtype=np.uint64)
    if has_words or not (_is_number(kind) or pa.types.is_null(kind)):
        words = Vocabulary()
        codes = codes_of(array, words)
        return np.array([*map(text_hash, words.names), 0], dtype=np.uint64)[codes]
    bits = np.ascontiguousarray(as_floats(array, column, place) + 0.0).view(np.uint64)
    if pa.types.is_integer(kind) and not array.null_count:
        whole = array.to_numpy(zero_copy_only=False).astype(np.int64)
        large = (whole > LARGEST_EXACT) | (whole < -LARGEST_EXACT)
        bits = np.where(large, whole.view(np.uint64), bits)
    return bits


def _is_number(kind: Any) -> bool:
    import pyarrow as pa

    return bool(
        pa.types.is_floating(kind)
        or pa.types.is_integer(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_decimal(kind)
    )


def text_hash(text: str) -> int:
    """The same on every machine."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


@compiled
def _mix(hashes: Hashes, bits: Hashes) -> None:
    """Mix more bits into each hash."""
    for i in range(hashes.size):
        hashes[i] = mixed(hashes[i] ^ bits[i])
