"""Target policies of a table: what each would have played in its rows."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from graphcb.compilation import compiled
from graphcb.estimates.terms import Floats
from graphcb.tables.columns import Codes, names_of
from graphcb.tables.rows import ReadRows, Sets, shares_of

ONE = 1 << 40  # shares are added as whole numbers of 1 / ONE, in any order


class Target(Protocol):
    """A policy that is judged: probabilities of what was played, and of all actions of a row."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it looks at."""

    def chosen(self, rows: ReadRows) -> Floats:
        """The probability with which it plays what was played, (n,)."""

    def whole(self, rows: ReadRows, sets: Sets) -> Floats | None:
        """Its probabilities of all actions, as `sets` lists these; None if nobody knows."""

    def plays(self, rows: ReadRows) -> dict[str, int]:
        """How often it plays each action, in units of 1 / ONE."""


@dataclass(frozen=True)
class ConstantTarget:
    """Always the same action."""

    action: str
    columns: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"constant:{self.action}"

    def chosen(self, rows: ReadRows) -> Floats:
        return np.asarray(rows.codes == rows.vocabulary.code(self.action), dtype=np.float64)

    def whole(self, rows: ReadRows, sets: Sets) -> Floats | None:
        codes = np.full(rows.n, rows.vocabulary.code(self.action), dtype=np.int64)
        return _one_hot(codes, self.action, rows, sets)

    def plays(self, rows: ReadRows) -> dict[str, int]:
        return {self.action: rows.n * ONE}


@dataclass(frozen=True)
class ActionColumn:
    """The action that a column of the table names."""

    name: str

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.name,)

    def chosen(self, rows: ReadRows) -> Floats:
        return np.asarray(self._codes(rows) == rows.codes, dtype=np.float64)

    def whole(self, rows: ReadRows, sets: Sets) -> Floats | None:
        return _one_hot(self._codes(rows), self.name, rows, sets)

    def plays(self, rows: ReadRows) -> dict[str, int]:
        counts = np.bincount(self._codes(rows))
        return {rows.vocabulary.names[k]: int(counts[k]) * ONE for k in np.flatnonzero(counts)}

    def _codes(self, rows: ReadRows) -> Codes:
        if self.name not in rows.memo:
            found = names_of(rows.batch, self.name, rows.vocabulary, rows.place)
            rows.memo[self.name] = found
        return np.asarray(rows.memo[self.name])


@dataclass(frozen=True)
class UniformTarget:
    """Every action of a row equally often."""

    name: str = "uniform"
    columns: tuple[str, ...] = ()

    def chosen(self, rows: ReadRows) -> Floats:
        return 1.0 / listed_actions(rows).sizes

    def whole(self, rows: ReadRows, sets: Sets) -> Floats | None:
        return np.repeat(1.0 / sets.sizes, sets.sizes)

    def plays(self, rows: ReadRows) -> dict[str, int]:
        sets = listed_actions(rows)
        return masses(rows, sets, np.repeat(1.0 / sets.sizes, sets.sizes))


@dataclass(frozen=True)
class Logged:
    """The policy that the table is of."""

    name: str = "logged"
    columns: tuple[str, ...] = ()

    def chosen(self, rows: ReadRows) -> Floats:
        if rows.probability is None:
            raise TypeError("`rows` must have their probabilities by now")
        return rows.probability

    def whole(self, rows: ReadRows, sets: Sets) -> Floats | None:
        """Those of the table, if it has them."""
        return rows.shares

    def plays(self, rows: ReadRows) -> dict[str, int]:
        """What was played could be played."""
        return {}


@dataclass(frozen=True)
class Probabilities:
    """Probabilities from the table: a column for each action, or one column of lists."""

    name: str
    columns: tuple[str, ...]
    actions: tuple[str, ...] = ()  # of the columns; those of lists are as in the rows

    def chosen(self, rows: ReadRows) -> Floats:
        sets = self._sets(rows)
        where = sets.find(rows.codes)
        shares = np.append(self._shares(rows, sets), 0.0)
        return np.asarray(shares[where])  # the last, 0, where it never plays that

    def whole(self, rows: ReadRows, sets: Sets) -> Floats | None:
        mine = self._sets(rows)
        shares = self._shares(rows, mine)
        return shares if mine is sets else moved(mine, shares, rows, sets, self.name)

    def plays(self, rows: ReadRows) -> dict[str, int]:
        sets = self._sets(rows)
        return masses(rows, sets, self._shares(rows, sets))

    def _sets(self, rows: ReadRows) -> Sets:
        if not self.actions:
            return listed_actions(rows)
        codes = np.array([rows.vocabulary.code(name) for name in self.actions], dtype=np.int64)
        return Sets.same(codes, rows.n)

    def _shares(self, rows: ReadRows, sets: Sets) -> Floats:
        return shares_of(rows.batch, self.columns, sets, rows.place, lists=not self.actions)


def listed_actions(rows: ReadRows) -> Sets:
    """The actions of each row, which must be known."""
    if rows.sets is None:
        raise ValueError("`actions` must be given: the names of all actions, in the order of lists")
    return rows.sets


def _one_hot(codes: Any, column: str, rows: ReadRows, sets: Sets) -> Floats:
    where = sets.find(codes)
    if where.size and where.min() < 0:
        row = int((where < 0).argmax())
        name = rows.vocabulary.names[codes[row]]
        rows.place.wrong(row, column, f"must be one of the actions of this row, got {name!r}")
    shares = np.zeros(sets.codes.size)
    shares[where] = 1.0
    return shares


def moved(mine: Sets, shares: Floats, rows: ReadRows, sets: Sets, column: str) -> Floats:
    """Probabilities as other sets list their actions."""
    moved, wrong = _move(mine.ends, mine.codes, shares, sets.ends, sets.codes)
    if wrong >= 0:
        row = int(np.searchsorted(mine.ends, wrong, side="right")) - 1
        name = rows.vocabulary.names[mine.codes[wrong]]
        rows.place.wrong(row, column, f"must play actions of this row only, got {name!r}")
    return moved


@compiled
def _move(
    ends: Codes, codes: Codes, shares: Floats, new_ends: Codes, new_codes: Codes
) -> tuple[Floats, int]:
    moved = np.zeros(new_codes.size)
    for i in range(ends.size - 1):
        for j in range(ends[i], ends[i + 1]):
            where = -1
            for k in range(new_ends[i], new_ends[i + 1]):
                if new_codes[k] == codes[j]:
                    where = k
                    break
            if where >= 0:
                moved[where] += shares[j]
            elif shares[j] > 0.0:
                return moved, j
    return moved, -1


def masses(rows: ReadRows, sets: Sets, shares: Floats) -> dict[str, int]:
    """Sums of shares by name."""
    names = rows.vocabulary.names
    return {names[code]: total for code, total in sets.totals(shares, ONE).items() if total}
