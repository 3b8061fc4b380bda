"""Ordered levels with a hidden price between them: on which side of it one plays decides."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from graphcb.checks import as_numbers
from graphcb.graphs.families.threshold_cover import cover_above
from graphcb.graphs.formulas import ClosedForm
from graphcb.graphs.graph import FeedbackGraph
from graphcb.graphs.registry import Family
from graphcb.graphs.structure import Flags, Floats, Indices, Numbers, Structure


def threshold(left: ArrayLike, right: ArrayLike) -> FeedbackGraph:
    """Playing i reveals itself, all lower levels with chance left[i], all higher with right[i].

    First-price bids: `left` is the chance to lose, which shows the winning price and so what
    every bid would have earned; `right` is 1, as a bid that wins shows what a higher one costs.
    Stock: `left` is 1 and `right` the chance that some is left over. Posted prices: `left` is the
    chance that the customer buys and `right` the chance that they do not. Everything is answered
    in O(n_actions); no matrix is built.

    >>> threshold([1.0, 0.5, 0.25], [1.0, 1.0, 1.0]).matrix
    array([[1.  , 1.  , 1.  ],
           [0.5 , 1.  , 1.  ],
           [0.25, 0.25, 1.  ]])
    """
    sides = as_numbers("left", left).copy(), as_numbers("right", right).copy()
    if sides[0].ndim != 1 or sides[0].size == 0 or sides[1].shape != sides[0].shape:
        raise ValueError(
            "`left` and `right` must be lists with one probability per level, "
            f"got shapes {sides[0].shape} and {sides[1].shape}"
        )
    for name, side in zip(("left", "right"), sides, strict=True):
        wrong = np.flatnonzero(~((side >= 0.0) & (side <= 1.0)))
        if wrong.size:
            raise ValueError(
                f"`{name}` must be probabilities in [0, 1], got {side[wrong[0]]} at index "
                f"{wrong[0]}"
            )
    return FeedbackGraph.from_structure(Threshold(*sides))


@dataclass(frozen=True, eq=False)
class Threshold(Structure):
    """Structure of the threshold graph; `left[0]` and `right[-1]` have no edge to stand for."""

    left: Floats
    right: Floats
    family: ClassVar[str] = "threshold"

    def __post_init__(self) -> None:
        self.left.setflags(write=False)
        self.right.setflags(write=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return Threshold, (self.left, self.right)  # through the constructor, which freezes them

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Threshold):
            return NotImplemented
        same_left = np.array_equal(self.left[1:], other.left[1:])
        return same_left and np.array_equal(self.right[:-1], other.right[:-1])

    def __hash__(self) -> int:
        return hash((self.left[1:].tobytes(), self.right[:-1].tobytes()))

    @property
    def n_actions(self) -> int:  # type: ignore[override]
        return self.left.size

    def arguments(self) -> dict[str, Any]:
        return {"left": self.left.tolist(), "right": self.right.tolist()}

    def dense(self) -> Floats:
        matrix = np.where(np.tri(self.n_actions, dtype=bool), self.left[:, None], 0.0)
        matrix += np.where(~np.tri(self.n_actions, dtype=bool), self.right[:, None], 0.0)
        np.fill_diagonal(matrix, 1.0)
        return matrix

    def row(self, action: int) -> Floats:
        row = np.full(self.n_actions, self.left[action])
        row[action] = 1.0
        row[action + 1 :] = self.right[action]
        return row

    def reveal_probabilities(self, probabilities: Floats) -> Floats:
        """What is played, plus what is played higher and shows the left, and lower the right."""
        from_above: Floats = _after(self.left * probabilities)
        from_below: Floats = _before(self.right * probabilities)
        return from_above + probabilities + from_below

    def sums_revealed(self, values: Floats) -> Floats:
        """Running sums from both ends."""
        before: Floats = _before(values)
        after: Floats = _after(values)
        return self.left * before + values + self.right * after

    def self_loops(self) -> Flags:
        return np.ones(self.n_actions, dtype=np.bool_)

    def in_degrees(self) -> Indices:
        above, below = _after((self.left > 0.0) * 1), _before((self.right > 0.0) * 1)
        degrees: Indices = (above + 1 + below).astype(np.intp)
        return degrees

    def is_deterministic(self) -> bool:
        edges = np.concatenate((self.left[1:], self.right[:-1]))
        return bool(((edges == 0.0) | (edges == 1.0)).all())

    def is_symmetric(self) -> bool:
        """right[i] = left[j] for all i < j makes them all one number."""
        edges = np.concatenate((self.left[1:], self.right[:-1]))
        return bool((edges == edges[0]).all()) if edges.size else True

    def subgraph(self, actions: Indices) -> "Threshold | None":
        """Any levels in order are of the family again; in falling order the sides change."""
        steps = np.diff(actions)
        if (steps > 0).all():
            return Threshold(self.left[actions], self.right[actions])
        if (steps < 0).all():
            return Threshold(self.right[actions], self.left[actions])
        return None

    def closed_form(self) -> ClosedForm | None:
        """Where one side is certain, as for bids and stock, and the other goes one way."""
        left, right = self.left[1:], self.right[:-1]
        if (right == 1.0).all() and (np.diff(left) <= 0.0).all():
            formula = partial(cover_above, left=np.append(1.0, left))
            because = "each level reveals all higher ones, and by chance the lower ones"
            return ClosedForm("cover_above", because, formula, within=5.0)
        if (left == 1.0).all() and (np.diff(right) >= 0.0).all():
            formula = partial(_cover_below, right=np.append(right, 1.0))
            because = "each level reveals all lower ones, and by chance the higher ones"
            return ClosedForm("cover_below", because, formula, within=5.0)
        return None

    def numbers(self) -> Numbers:
        """The independent sets: no level but the first has a left, none but the last a right.

        Levels without either, then, and before them one that has only a left, after them one that
        has only a right.
        """
        left, right = self.left > 0.0, self.right > 0.0
        left[0] = right[-1] = False
        free = np.concatenate(([0], np.cumsum(~left & ~right)))
        firsts, lasts = np.flatnonzero(left & ~right), np.flatnonzero(right & ~left)
        starts = [(0, 0), *((int(first), 1) for first in firsts[:1])]
        stops = [(self.n_actions, 0), *((int(last), 1) for last in lasts[-1:])]
        sizes = [
            int(free[stop] - free[start]) + before + after
            for start, before in starts
            for stop, after in stops
            if start < stop
        ]
        independence = max(1, *sizes)
        return Numbers(independence, 0, independence)


def _before(values: Any) -> Any:
    """The sum of all earlier values, for each."""
    return np.concatenate(([0], np.cumsum(values[:-1])))


def _after(values: Any) -> Any:
    """The sum of all later values, for each."""
    return np.concatenate((np.cumsum(values[:0:-1])[::-1], [0]))


def _cover_below(f: Floats, gamma: float, right: Floats) -> Floats:
    """`cover_above` on the levels in reverse."""
    return cover_above(f[::-1].copy(), gamma, right[::-1].copy())[::-1].copy()


def _from_text(*levels: str) -> FeedbackGraph:
    pairs: list[Sequence[str]] = [level.split("/") for level in levels]
    if not pairs or any(len(pair) != 2 for pair in pairs):
        raise ValueError("each level must be given as two probabilities, such as 0.5/1")
    return threshold([float(pair[0]) for pair in pairs], [float(pair[1]) for pair in pairs])


THRESHOLD = Family(threshold, "LEFT/RIGHT,...", _from_text, Threshold)
