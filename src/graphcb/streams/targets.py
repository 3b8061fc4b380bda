"""What the truth of a row is: labels or costs, as a loss for every action."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MANY_ACTIONS = 10_000


class Targets:
    """The actions by name, and the range of their losses.

    A label costs 0 for the action of that name and 1 for the others; costs are as in the file.
    Losses go to the agent as shares of the range, so that one learning rate fits all units.

    >>> targets = Targets(("ham", "spam"))
    >>> targets.of_label(["spam", "ham"])[0].tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    def __init__(self, actions: Sequence[str], loss_range: tuple[float, float] = (0.0, 1.0)):
        twice = [name for i, name in enumerate(actions) if name in actions[:i]]
        if twice:
            raise ValueError(f"each action must be named once, got {twice[0]!r} again")
        if len(actions) < 2:
            raise ValueError(f"there must be at least two actions, got {', '.join(actions) or 0}")
        low, high = loss_range
        if not -np.inf < low < high < np.inf:
            raise ValueError(f"`--loss-range` must be LOW,HIGH with LOW < HIGH, got {low},{high}")
        self.actions = tuple(actions)
        self.loss_range = (float(low), float(high))
        self.positions = {name: i for i, name in enumerate(self.actions)}

    def of_label(self, labels: Sequence[str]) -> tuple[Floats, dict[int, str]]:
        """Losses (n, K) of rows with one label each, and what is wrong with a row."""
        known = np.fromiter((self.positions.get(x, -1) for x in labels), np.int64, len(labels))
        losses = np.ones((len(labels), len(self.actions)))
        losses[np.arange(len(labels)), known] = 0.0
        unknown = np.flatnonzero(known < 0).tolist()
        return losses, {row: self._unknown(labels[row]) for row in unknown}

    def of_labels(self, labels: Sequence[Sequence[str]]) -> tuple[Floats, dict[int, str]]:
        """The same where a row has several labels, or none."""
        losses = np.ones((len(labels), len(self.actions)))
        wrong = {}
        for row, names in enumerate(labels):
            for name in names:
                position = self.positions.get(name)
                if position is None:
                    wrong[row] = self._unknown(name)
                else:
                    losses[row, position] = 0.0
        return losses, wrong

    def check_range(self, losses: Floats) -> dict[int, str]:
        """What is wrong with each row that has a loss outside the range."""
        low, high = self.loss_range
        rows, columns = np.nonzero(~((losses >= low) & (losses <= high)))
        return {
            row: f"the loss of {self.actions[column]!r} must be between {low:g} and {high:g}, "
            f"got {losses[row, column]}; give the whole range with --loss-range"
            for row, column in zip(rows.tolist(), columns.tolist(), strict=True)
        }

    def _unknown(self, name: str) -> str:
        if not name:
            return "the label is missing"
        known = ", ".join(self.actions[:10]) + (", ..." if len(self.actions) > 10 else "")
        return (
            f"the label {name!r} was never seen before; it must be one of {known}; "
            "name all labels with --classes"
        )


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Numbers by size, otherwise by the alphabet: the order of the actions unless it is given.

    >>> in_order({"10", "9"}), in_order({"b", "10"})
    (('9', '10'), ('10', 'b'))
    """
    found = sorted(names)
    try:
        return tuple(sorted(found, key=float))
    except ValueError:
        return tuple(found)


def check_few(names: set[str], what: str) -> None:
    """Refuse labels that are rather a number or a name of the row."""
    if len(names) > MANY_ACTIONS:
        raise ValueError(
            f"{what} has more than {MANY_ACTIONS:,} different values, too many to be labels; "
            "is it another column? If not, name them all with --classes"
        )
