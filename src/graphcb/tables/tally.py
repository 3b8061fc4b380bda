"""What a pass over a table adds up: sums in any order and any parts give the same bits."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.estimates.moments import Moments
from graphcb.estimates.terms import Floats
from graphcb.tables.rows import ReadRows
from graphcb.tables.weighing import Weighed

TOGETHER = ""  # the slot of tables without slots


class TableTally:
    """Counts and sums over rows, by slot where there are slots.

    `counts` has, for each action, how often it was played and how often its value came; `plays`,
    for each target, how often it plays each action and `unseen` what could not have been seen,
    in units of 1 / ONE; `expected` is as in `Weighed`. `seen` (K, K) counts, by what was played,
    which values a row shows.
    """

    def __init__(self, n_targets: int, n_revealed: int = 0) -> None:
        self.n_targets, self.n = n_targets, 0
        self.moments: dict[str, Moments] = {}
        self.robust: dict[str, Moments] = {}
        self.counts: dict[str, list[int]] = {}
        self.plays: list[dict[str, int]] = [{} for _ in range(n_targets)]
        self.unseen, self.expected = [0] * n_targets, [0] * n_targets
        self.seen: NDArray[np.int64] = np.zeros((n_revealed, n_revealed), dtype=np.int64)
        self.low, self.high, self.is_binary = np.inf, -np.inf, True

    def count(self, rows: ReadRows) -> None:
        """Count what was played, what came, and the range of values."""
        self.n += rows.n
        names = rows.vocabulary.names
        played = np.bincount(rows.codes, minlength=len(names))
        with_value = played
        if rows.seen is not None:
            with_value = np.bincount(rows.codes[rows.seen], minlength=len(names))
        for code in np.flatnonzero(played):
            entry = self.counts.setdefault(names[code], [0, 0])
            entry[0] += int(played[code])
            entry[1] += int(with_value[code])
        values = rows.values if rows.seen is None else rows.values[rows.seen]
        if rows.revealed is not None:
            here = ~np.isnan(rows.revealed)
            values = rows.revealed[here]
            np.add.at(self.seen, rows.codes, here.astype(np.int64))
        self._span(values)

    def add(self, weighed: Weighed, slots: Mapping[str, Any]) -> None:
        """Add weighed rows; `slots` has a mask of rows for each slot, None for all of them."""
        for slot, mask in slots.items():
            self._add(self.moments, slot, weighed.weights, weighed.terms, mask)
            if weighed.robust is not None:
                ones = np.ones(weighed.robust.shape)
                self._add(self.robust, slot, ones, weighed.robust, mask)
        self.unseen = _sums(self.unseen, weighed.unseen)
        self.expected = _sums(self.expected, weighed.expected)

    def merge(self, other: "TableTally") -> None:
        """Add what another pass over other rows has found."""
        self.n += other.n
        for mine, theirs in ((self.moments, other.moments), (self.robust, other.robust)):
            for slot, sums in theirs.items():
                mine.setdefault(slot, Moments(self.n_targets)).merge(sums)
        for name, (played, with_value) in other.counts.items():
            entry = self.counts.setdefault(name, [0, 0])
            entry[0] += played
            entry[1] += with_value
        for one, two in zip(self.plays, other.plays, strict=True):
            for name, share in two.items():
                one[name] = one.get(name, 0) + share
        self.unseen = _sums(self.unseen, other.unseen)
        self.expected = _sums(self.expected, other.expected)
        self.seen = self.seen + other.seen
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        self.is_binary = self.is_binary and other.is_binary

    def together(self, *, robust: bool = False) -> Moments:
        """The sums over all slots."""
        total = Moments(self.n_targets)
        for sums in (self.robust if robust else self.moments).values():
            total.merge(sums)
        return total

    def _add(
        self, sums: dict[str, Moments], slot: str, weights: Floats, terms: Floats, mask: Any
    ) -> None:
        moments = sums.setdefault(slot, Moments(self.n_targets))
        if mask is None:
            moments.add(weights, terms)
        else:
            moments.add(weights[:, mask], terms[:, mask])

    def _span(self, values: Floats) -> None:
        if values.size:
            self.low = min(self.low, float(values.min()))
            self.high = max(self.high, float(values.max()))
            if self.is_binary:
                self.is_binary = bool(((values == 0.0) | (values == 1.0)).all())


def _sums(one: Sequence[int], two: Sequence[int]) -> list[int]:
    return [first + second for first, second in zip(one, two, strict=True)]
