"""What a row says of the actions: their losses, by labels or costs, and what each reveals."""

from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np

from graphcb.checks import first_twice, listed
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.structure import Floats

MANY_ACTIONS = 10_000


class Targets:
    """The names of the actions, and the range of their losses.

    A label means loss 0 for the action of that name and 1 for the others; costs are taken from
    the file. With `rewards` the range and the values of the file are rewards, larger is better,
    and the loss of a reward is the largest reward minus it. The agent sees losses as shares of
    the range, so one learning rate fits all units.

    >>> targets = Targets(("ham", "spam"))
    >>> targets.of_label(["spam", "ham"])[0].tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    >>> targets = Targets(("low", "high"), (-5.0, 20.0), rewards=True)
    >>> targets.loss_range, targets.as_losses(np.array([[20.0, 0.0]])).tolist()
    ((0.0, 25.0), [[0.0, 20.0]])
    """

    def __init__(
        self,
        actions: Sequence[str],
        loss_range: tuple[float, float] = (0.0, 1.0),
        *,
        rewards: bool = False,
    ) -> None:
        twice = first_twice(actions)
        if twice is not None:
            raise ValueError(f"each action must be named once, got {twice!r} again")
        if len(actions) < 2:
            raise ValueError(f"there must be at least two actions, got {listed(actions)}")
        low, high = loss_range
        if not -np.inf < low < high < np.inf:
            raise ValueError(f"`--loss-range` must be LOW,HIGH with LOW < HIGH, got {low},{high}")
        self.actions = tuple(actions)
        self.rewards = rewards
        self.value_range = (float(low), float(high))
        self.loss_range = (0.0, float(high) - float(low)) if rewards else self.value_range
        self.positions = {name: i for i, name in enumerate(self.actions)}

    def as_losses(self, values: Floats) -> Floats:
        """Losses of what the file holds: the values, or the largest reward minus each."""
        return self.value_range[1] - values if self.rewards else values

    def of_label(self, labels: Sequence[str]) -> tuple[Floats, dict[int, str]]:
        """Losses (n, K) of rows with one label each, and what is wrong with bad rows."""
        known = np.fromiter((self.positions.get(x, -1) for x in labels), np.int64, len(labels))
        losses = np.ones((len(labels), len(self.actions)))
        losses[np.arange(len(labels)), known] = 0.0
        unknown = np.flatnonzero(known < 0).tolist()
        return losses, {row: self._unknown(labels[row]) for row in unknown}

    def of_labels(self, labels: Sequence[Sequence[str]]) -> tuple[Floats, dict[int, str]]:
        """The same for rows with several labels each, or none."""
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

    def check_range(self, values: Floats) -> dict[int, str]:
        """What is wrong with each row that has a loss or reward outside the range."""
        low, high = self.value_range if self.rewards else self.loss_range
        rows, columns = np.nonzero(~((values >= low) & (values <= high)))
        what = "reward" if self.rewards else "loss"
        return {
            row: f"the {what} of {self.actions[column]!r} must be between {low:g} and {high:g}, "
            f"got {values[row, column]}; give the whole range with --loss-range"
            for row, column in zip(rows.tolist(), columns.tolist(), strict=True)
        }

    def _unknown(self, name: str) -> str:
        if not name:
            return "the label is missing"
        return (
            f"the label must be one of {listed(self.actions)}; got {name!r}; "
            "name all labels with --classes"
        )


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Names in numerical order if all are numbers, else in alphabetical order.

    >>> in_order({"10", "9"}), in_order({"b", "10"})
    (('9', '10'), ('10', 'b'))
    """
    found = sorted(names)
    try:
        return tuple(sorted(found, key=float))
    except ValueError:
        return tuple(found)


def check_few(names: set[str], what: str) -> None:
    """Refuse values that are too many to be labels, such as an identifier of the row."""
    if len(names) > MANY_ACTIONS:
        raise ValueError(
            f"{what} has more than {MANY_ACTIONS:,} different values, too many for labels; "
            "is it the wrong column? If not, name all labels with --classes"
        )


@lru_cache(maxsize=1024)
def parse_edges(text: str, actions: tuple[str, ...]) -> FeedbackGraph:
    """A graph from edges such as "a>a a>b b>b:0.5": played, revealed, and with what probability.

    Actions go by their names. Rows with the same edges get the same object, so what is known of
    a graph is computed once.

    >>> parse_edges("no>no yes>no yes>yes:0.5", ("no", "yes")).matrix.tolist()
    [[1.0, 0.0], [1.0, 0.5]]
    """
    positions = {name: i for i, name in enumerate(actions)}
    edges = [_parse_edge(edge, positions) for edge in text.split()]
    graph = FeedbackGraph.from_edges(len(actions), edges)
    hidden = graph.unobservable_actions
    if hidden.size:
        raise ValueError(f"some action must reveal {actions[hidden[0]]!r}, got the edges {text!r}")
    return graph


def _parse_edge(edge: str, positions: dict[str, int]) -> tuple[int, int, float]:
    played, arrow, rest = edge.partition(">")
    revealed, _, chance = rest.partition(":")
    if not arrow or played not in positions or revealed not in positions:
        raise ValueError(
            "an edge must be played>revealed or played>revealed:probability with the names "
            f"{listed(positions)}; got {edge!r}"
        )
    try:
        probability = float(chance) if chance else 1.0
    except ValueError:
        probability = float("nan")
    return positions[played], positions[revealed], probability
