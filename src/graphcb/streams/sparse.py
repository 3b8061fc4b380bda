"""From lines of libsvm or Vowpal Wabbit text to examples with sparse contexts."""

from collections.abc import Callable, Iterator
from itertools import islice, pairwise

import numpy as np
from numpy.typing import NDArray

from graphcb.streams.examples import Examples
from graphcb.streams.libsvm import parse_libsvm
from graphcb.streams.problems import Problems
from graphcb.streams.row import Row
from graphcb.streams.scaling import shrink
from graphcb.streams.source import Source
from graphcb.streams.targets import Targets
from graphcb.streams.vw_text import parse_vw

PARSERS: dict[str, Callable[[str, int], Row | None]] = {"libsvm": parse_libsvm, "vw": parse_vw}
HALF = np.sqrt(0.5)  # features and constant have the same size: together a norm of 1


class SparseExamples:
    """Reads lines as examples, and keeps the largest value met at each place.

    A value is divided by the largest so far at its place, and a row brought to norm 1 with a
    constant in it.
    """

    def __init__(self, format: str, targets: Targets, *, bits: int) -> None:
        self.format = format
        self.targets = targets
        self.n_places = 2**bits
        self.n_features = self.n_places + 1
        self.largest = np.zeros(self.n_places)

    def read(self, source: Source, problems: Problems) -> Iterator[Examples]:
        """The examples of the source, some rows at a time."""
        if source.format != self.format:
            raise ValueError(f"{source.name}: must be {self.format}, got {source.format}")
        parse = PARSERS[self.format]
        n_rows = max(16, min(4096, 2**21 // len(self.targets.actions)))
        lines = enumerate(source.lines(), start=1)
        while piece := list(islice(lines, n_rows)):
            rows: list[Row] = []
            numbers: list[int] = []
            for number, line in piece:
                try:
                    row = parse(line, self.n_places)
                    if row is not None:
                        self._check(row)
                        rows.append(row)
                        numbers.append(number)
                except ValueError as reason:
                    problems.report(number, str(reason))
            yield self._examples(rows, numbers)

    def _check(self, row: Row) -> None:
        """Refuse a value that is no number, or other labels or actions than the known ones."""
        for value in row.values:
            if not -np.inf < value < np.inf:
                raise ValueError(f"each value must be a finite number, got {value}")
        if self.format == "libsvm":
            _, unknown = self.targets.of_labels([row.labels])
            problem = unknown.get(0)
        elif row.costs.keys() != self.targets.positions.keys():
            problem = (
                f"there must be one cost for each of {', '.join(self.targets.actions)}; "
                f"got costs for {', '.join(row.costs) or 'none'}"
            )
        else:
            problem = self.targets.check_range(self._costs([row])).get(0)
        if problem is not None:
            raise ValueError(problem)

    def _costs(self, rows: list[Row]) -> NDArray[np.float64]:
        n_actions = len(self.targets.actions)
        costs = [[row.costs[action] for action in self.targets.actions] for row in rows]
        return np.array(costs, dtype=np.float64).reshape(len(rows), n_actions)

    def _examples(self, rows: list[Row], lines: list[int]) -> Examples:
        starts = np.cumsum([0, *(len(row.places) for row in rows)])
        places = np.array([place for row in rows for place in row.places], dtype=np.int64)
        values = np.array([value for row in rows for value in row.values], dtype=np.float64)
        shrink(starts, places, values, self.largest)
        places = np.insert(places, starts[1:], self.n_places)
        values = np.insert(HALF * values, starts[1:], HALF)
        starts += np.arange(starts.size)  # each row has a constant more
        contexts = [
            (places[begin:end], values[begin:end]) for begin, end in pairwise(starts.tolist())
        ]
        if self.format == "libsvm":
            losses, _ = self.targets.of_labels([row.labels for row in rows])
        else:
            losses = self._costs(rows)
        return Examples(contexts, losses, lines)
