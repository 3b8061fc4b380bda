"""libsvm and Vowpal Wabbit text as examples with sparse contexts."""

from collections.abc import Callable, Iterator
from itertools import islice, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import listed
from graphcb.contexts.scaling import shrink
from graphcb.hashing import place_of
from graphcb.streams.examples import BadRows, Examples
from graphcb.streams.source import Source
from graphcb.streams.targets import Targets

LIBSVM = "must be LABEL INDEX:VALUE INDEX:VALUE ..."
VW = "must be ACTION:COST ACTION:COST ... |NAMESPACE FEATURE[:VALUE] ..."
HALF = np.sqrt(0.5)  # features and constant have the same size: together a norm of 1


class SparseLine(NamedTuple):
    """One line: its labels, or its costs by action, and its features as places and values."""

    labels: list[str]
    costs: dict[str, float]
    places: list[int]
    values: list[float]


def parse_libsvm(line: str, n_places: int) -> SparseLine | None:
    """A line of libsvm text: a label, or several separated by commas, then index:value pairs.

    None for an empty line or a comment. Index i goes to place i modulo `n_places`.

    >>> parse_libsvm("3,7 1:0.5 4:2", 2**18)
    SparseLine(labels=['3', '7'], costs={}, places=[1, 4], values=[0.5, 2.0])
    """
    cells = line.partition("#")[0].split()
    if not cells:
        return None
    labels = _split_labels(cells[0])
    if labels:  # a row may have none
        cells.pop(0)
    places: list[int] = []
    values: list[float] = []
    for cell in cells:
        index, _, value = cell.partition(":")
        try:
            places.append(int(index) % n_places)
            values.append(float(value))
        except ValueError:
            raise ValueError(f"{LIBSVM}, got {cell!r}") from None
        if index.startswith("-"):
            raise ValueError(f"{LIBSVM} with indices from 0 or 1 on, got {cell!r}")
    return SparseLine(labels, {}, places, values)


def labels_of(line: str) -> list[str]:
    """The labels of a line of libsvm text."""
    first = line.partition("#")[0].split(maxsplit=1)
    return _split_labels(first[0]) if first else []


def _split_labels(cell: str) -> list[str]:
    return [] if ":" in cell else [label.removeprefix("+") for label in cell.split(",")]


def parse_vw(line: str, n_places: int) -> SparseLine | None:
    """A line of Vowpal Wabbit text with a cost for each action, as `1:0.5 2:1 |words free prize`.

    None for an empty line. The place of a feature is a hash of its namespace and name.

    >>> parse_vw("1:0 2:1 |w free size:3", 2**18)
    SparseLine(labels=[], costs={'1': 0.0, '2': 1.0}, places=[62372, 136710], values=[1.0, 3.0])
    """
    if not line.strip():
        return None
    costs_text, bar, features = line.partition("|")
    if not bar:
        raise ValueError(f"{VW}, got no |")
    places: list[int] = []
    values: list[float] = []
    for part in features.split("|"):
        name, weight, cells = _split_namespace(part)
        for cell in cells:
            feature, _, value = cell.partition(":")
            places.append(place_of(f"{name}^{feature}", n_places))
            values.append(weight * (_vw_number(value, cell) if value else 1.0))
    return SparseLine([], costs_of(costs_text), places, values)


def costs_of(text: str) -> dict[str, float]:
    """The costs by action in Vowpal Wabbit text; a tag ('name) may follow them."""
    costs: dict[str, float] = {}
    for cell in text.split():
        if cell.startswith("'"):
            continue
        action, colon, cost = cell.partition(":")
        if not colon or ":" in cost:
            raise ValueError(f"{VW}, got {cell!r}")
        if action in costs:
            raise ValueError(f"{VW} with each action once, got {action!r} again")
        costs[action] = _vw_number(cost, cell)
    return costs


def _split_namespace(part: str) -> tuple[str, float, list[str]]:
    """Name, weight and features; a name follows the bar without a blank."""
    cells = part.split()
    if not cells or part[0].isspace():
        return "", 1.0, cells
    name, _, weight = cells[0].partition(":")
    return name, _vw_number(weight, cells[0]) if weight else 1.0, cells[1:]


def _vw_number(text: str, cell: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{VW}, got {cell!r}") from None


PARSERS: dict[str, Callable[[str, int], SparseLine | None]] = {
    "libsvm": parse_libsvm,
    "vw": parse_vw,
}


class SparseExamples:
    """Reads lines as examples, and keeps the largest value seen at each place.

    A value is divided by the largest one so far at its place, and each row is scaled to norm 1,
    a constant included.
    """

    def __init__(self, format: str, targets: Targets, *, bits: int) -> None:
        self.format = format
        self.targets = targets
        self.n_places = 2**bits
        self.n_features = self.n_places + 1
        self.largest = np.zeros(self.n_places)

    def read(self, source: Source, bad_rows: BadRows) -> Iterator[Examples]:
        """The examples of the source, some rows at a time."""
        if source.format != self.format:
            raise ValueError(f"{source.name}: must be {self.format}, got {source.format}")
        parse = PARSERS[self.format]
        n_rows = max(16, min(4096, 2**21 // len(self.targets.actions)))
        numbered = enumerate(source.lines(), start=1)
        while piece := list(islice(numbered, n_rows)):
            rows: list[SparseLine] = []
            lines: list[int] = []
            for number, line in piece:
                try:
                    row = parse(line, self.n_places)
                    if row is not None:
                        self._check(row)
                        rows.append(row)
                        lines.append(number)
                except ValueError as reason:
                    bad_rows.report(number, str(reason))
            yield self._examples(rows, lines)

    def _check(self, row: SparseLine) -> None:
        """Refuse values that are not finite, and labels or actions that are not known."""
        for value in row.values:
            if not -np.inf < value < np.inf:
                raise ValueError(f"each value must be a finite number, got {value}")
        if self.format == "libsvm":
            _, unknown = self.targets.of_labels([row.labels])
            problem = unknown.get(0)
        elif row.costs.keys() != self.targets.positions.keys():
            problem = (
                f"there must be a cost for each of {listed(self.targets.actions)}; "
                f"got costs for {listed(row.costs)}"
            )
        else:
            problem = self.targets.check_range(self._costs([row])).get(0)
        if problem is not None:
            raise ValueError(problem)

    def _costs(self, rows: list[SparseLine]) -> NDArray[np.float64]:
        n_actions = len(self.targets.actions)
        costs = [[row.costs[action] for action in self.targets.actions] for row in rows]
        return np.array(costs, dtype=np.float64).reshape(len(rows), n_actions)

    def _examples(self, rows: list[SparseLine], lines: list[int]) -> Examples:
        starts = np.cumsum([0, *(len(row.places) for row in rows)])
        places = np.array([place for row in rows for place in row.places], dtype=np.int64)
        values = np.array([value for row in rows for value in row.values], dtype=np.float64)
        shrink(starts, places, values, self.largest)
        places = np.insert(places, starts[1:], self.n_places)
        values = np.insert(HALF * values, starts[1:], HALF)
        starts += np.arange(starts.size)  # each row has one entry more, the constant
        contexts = [
            (places[begin:end], values[begin:end]) for begin, end in pairwise(starts.tolist())
        ]
        if self.format == "libsvm":
            losses, _ = self.targets.of_labels([row.labels for row in rows])
        else:
            losses = self._costs(rows)
        return Examples(contexts, losses, lines)
