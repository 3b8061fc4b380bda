"""A batch of rows as an estimate needs them: what was played, how likely, and what it brought."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import SUM_TOLERANCE
from graphcb.compilation import compiled
from graphcb.estimates.terms import Flags, Floats
from graphcb.streams.tables import holds_lists
from graphcb.tables.columns import (
    CellPlace,
    Codes,
    Vocabulary,
    as_floats,
    check_likely,
    codes_of,
    names_of,
    numbers_of,
    probabilities_of,
)


class Sets(NamedTuple):
    """The actions of each row, one row after the other: those of row i from `ends[i]` on.

    `every` are the actions of one row, where all rows have the same.
    """

    ends: NDArray[np.int64]
    codes: Codes
    every: Codes | None = None

    @classmethod
    def same(cls, every: Codes, n: int) -> "Sets":
        """The same actions in n rows."""
        return cls(np.arange(n + 1, dtype=np.int64) * every.size, np.tile(every, n), every)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many actions each row has."""
        return np.diff(self.ends)

    def find(self, codes: Codes) -> NDArray[np.int64]:
        """Where the action of each row stands, -1 if it is none of its actions."""
        if self.every is None:
            return _find(self.ends, self.codes, codes)
        most = max(int(codes.max(initial=0)), int(self.every.max(initial=0)))
        place = np.full(most + 1, -1, dtype=np.int64)
        place[self.every] = np.arange(self.every.size)
        found = place[codes]
        return np.where(found < 0, -1, self.ends[:-1] + found)

    def totals(self, shares: Floats, unit: int) -> dict[int, int]:
        """Sums of shares by action, in whole units, so that they are the same in any order."""
        wholes = np.rint(shares * unit).astype(np.int64)
        if self.every is not None:
            sums = wholes.reshape(-1, self.every.size).sum(axis=0)
            return dict(zip(self.every.tolist(), sums.tolist(), strict=True))
        found = np.zeros(int(self.codes.max(initial=0)) + 1, dtype=np.int64)
        np.add.at(found, self.codes, wholes)
        return {int(code): int(found[code]) for code in np.flatnonzero(found)}


class ReadRows(NamedTuple):
    """Rows of a table.

    `codes` are the actions that were played. `probability` is that of what was played, None if
    it has to be estimated; `shares` are those of all actions in `sets`, where these are known.
    `values` has the losses or rewards, 0 where `seen` is false; `seen` is None if all are there.
    `revealed` (n, K) has those of all actions, NaN where not seen, in tables that show several.
    `memo` is for what targets have found out about these rows.
    """

    place: CellPlace
    batch: Any
    vocabulary: Vocabulary
    codes: Codes
    sets: Sets | None
    probability: Floats | None
    shares: Floats | None
    values: Floats
    seen: Flags | None
    revealed: Floats | None
    memo: dict[str, Any]

    @property
    def n(self) -> int:
        """How many there are."""
        return int(self.codes.size)


class TableColumns(NamedTuple):
    """Which columns of a table mean what; see `evaluate_table`."""

    action: str
    value: str | None
    probability: str | None = None
    probabilities: tuple[str, ...] = ()  # one per action, or a single column of lists
    actions: tuple[str, ...] = ()
    action_set: str | None = None
    reveals: tuple[str, ...] = ()  # one per action
    slot: str | None = None
    identifier: str | None = None

    @property
    def used(self) -> tuple[str, ...]:
        """All of them, each once."""
        single = (self.action, self.value, self.probability, self.action_set, self.slot,
                  self.identifier)  # fmt: skip
        named = (*(name for name in single if name is not None), *self.probabilities, *self.reveals)
        return tuple(dict.fromkeys(named))

    @property
    def numbers(self) -> tuple[str, ...]:
        """Those that hold numbers."""
        lists = len(self.probabilities) == 1
        parts = (self.value, self.probability, *(() if lists else self.probabilities))
        return (*(name for name in parts if name is not None), *self.reveals)

    def rows(self, batch: Any, place: CellPlace, vocabulary: Vocabulary) -> ReadRows:
        """The rows of a batch, checked."""
        codes = names_of(batch, self.action, vocabulary, place)
        sets = self._sets(batch, place, vocabulary, codes.size)
        where = None if sets is None else self._positions(place, vocabulary, codes, sets)
        shares = probability = None
        if sets is not None and self.probabilities:
            lists = len(self.probabilities) == 1
            shares = shares_of(batch, self.probabilities, sets, place, lists=lists)
        if self.probability is not None:
            probability = probabilities_of(batch, self.probability, place)
        elif shares is not None:
            probability = np.asarray(shares[where])
            if probability.size and probability.min() <= 0.0:
                row, column = int((probability <= 0.0).argmax()), self.probabilities[0]
                name = vocabulary.names[codes[row]]
                place.wrong(row, column, f"must be above 0 for {name!r}, which was played, got 0")
            check_likely(probability, self.probabilities[0], place)
        revealed = self._revealed(batch, place)
        values, seen = self._values(batch, place, codes, revealed)
        return ReadRows(place, batch, vocabulary, codes, sets, probability, shares, values, seen,
                    revealed, {})  # fmt: skip

    def _values(
        self, batch: Any, place: CellPlace, codes: Codes, revealed: Floats | None
    ) -> tuple[Floats, Flags | None]:
        """What the played action brought; also written into `revealed`, where that lacks it."""
        if self.value is None:
            own = (
                np.zeros(codes.size) if revealed is None else revealed[np.arange(codes.size), codes]
            )
            here = ~np.isnan(own)
            return np.where(here, own, 0.0), None if here.all() else here
        values, seen = numbers_of(batch, self.value, place)
        if revealed is not None:
            own = np.where(True if seen is None else seen, values, np.nan)
            rows = np.arange(codes.size)
            revealed[rows, codes] = np.where(np.isnan(revealed[rows, codes]), own,
                                             revealed[rows, codes])  # fmt: skip
        return values, seen

    def _sets(self, batch: Any, place: CellPlace, vocabulary: Vocabulary, n: int) -> Sets | None:
        if self.action_set is not None:
            column = _list_column(batch, self.action_set, place)
            ends = _ends(column)
            codes = codes_of(column.flatten(), vocabulary)
            sizes = np.diff(ends)
            if sizes.size and sizes.min() == 0:
                place.wrong(int(sizes.argmin()), self.action_set, "must list the actions, got none")
            return Sets(ends, codes)
        if self.actions:
            return Sets.same(np.arange(len(self.actions), dtype=np.int64), n)
        return None

    def _positions(
        self, place: CellPlace, vocabulary: Vocabulary, codes: Codes, sets: Sets
    ) -> NDArray[np.int64]:
        """Where the played action of each row stands in `sets`."""
        found = sets.find(codes)
        if found.size and found.min() < 0:
            row = int((found < 0).argmax())
            name = vocabulary.names[codes[row]]
            known = self.action_set or "`actions`"
            place.wrong(row, self.action, f"must be one of the actions in {known}, got {name!r}")
        return found

    def _revealed(self, batch: Any, place: CellPlace) -> Floats | None:
        if not self.reveals:
            return None
        parts = []
        for column in self.reveals:
            values, seen = numbers_of(batch, column, place)
            parts.append(values if seen is None else np.where(seen, values, np.nan))
        return np.ascontiguousarray(np.stack(parts, axis=1))


def shares_of(
    batch: Any, columns: Sequence[str], sets: Sets, place: CellPlace, *, lists: bool
) -> Floats:
    """Probabilities of all actions, as `sets` lists these: one column per action, or of lists."""
    if lists:
        found = _list_column(batch, columns[0], place)
        sizes = np.diff(_ends(found))
        if not np.array_equal(sizes, sets.sizes):
            row = int((sizes != sets.sizes).argmax())
            place.wrong(row, columns[0], f"must have {sets.sizes[row]} probabilities, one for "
                                         f"each action, got {sizes[row]}")  # fmt: skip
        shares = as_floats(found.flatten(), columns[0], place)
    else:
        parts = [as_floats(batch.column(one), one, place) for one in columns]
        shares = np.ascontiguousarray(np.stack(parts, axis=1)).reshape(-1)
    check_distributions(shares, sets.ends, columns[0], place)
    return shares


def check_distributions(
    shares: Floats, ends: NDArray[np.int64], column: str, place: CellPlace
) -> None:
    """Refuse probabilities that are negative, missing, or do not add up to 1 in a row."""
    row, total = _first_no_distribution(shares, ends)
    if row < 0:
        return
    if np.isnan(total):
        place.wrong(row, column, "must have a probability of 0 or more for each action, got "
                                 f"{shares[ends[row]:ends[row + 1]].tolist()}")  # fmt: skip
    place.wrong(row, column, f"must have probabilities that add up to 1, got {total:.9g}")


def _list_column(batch: Any, column: str, place: CellPlace) -> Any:
    import pyarrow as pa

    array = batch.column(column)
    if not holds_lists(array.type):
        place.wrong(0, column, f"must be a list, got a value of type {array.type}")
    if pa.types.is_fixed_size_list(array.type):
        array = array.cast(pa.list_(array.type.value_type))
    if array.null_count:
        place.wrong(
            int(np.asarray(array.is_null()).argmax()), column, "must be a list, got nothing"
        )
    return array


def _ends(lists: Any) -> NDArray[np.int64]:
    offsets = lists.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
    return np.asarray(offsets - offsets[0])


@compiled
def _find(ends: NDArray[np.int64], listed: Codes, codes: Codes) -> NDArray[np.int64]:
    found = np.full(codes.size, -1, dtype=np.int64)
    for i in range(codes.size):
        for j in range(ends[i], ends[i + 1]):
            if listed[j] == codes[i]:
                found[i] = j
                break
    return found


@compiled
def _first_no_distribution(shares: Floats, ends: NDArray[np.int64]) -> tuple[int, float]:
    for i in range(ends.size - 1):
        total = 0.0
        for j in range(ends[i], ends[i + 1]):
            if not shares[j] >= 0.0:
                return i, np.nan
            total += shares[j]
        if not abs(total - 1.0) <= SUM_TOLERANCE:
            return i, total
    return -1, 0.0
