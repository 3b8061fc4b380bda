"""libsvm and Vowpal Wabbit text as examples, with dense contexts if features are few."""

import math
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import LARGEST, as_one_of, listed
from graphcb.compilation import compiled
from graphcb.contexts import Encoder
from graphcb.graphs.structure import Floats
from graphcb.hashing import place_of
from graphcb.streams.examples import BadRows, Examples
from graphcb.streams.lines import PARSERS, TextLine, name_of
from graphcb.streams.report import Report
from graphcb.streams.source import Source
from graphcb.streams.targets import Targets

Places = NDArray[np.int64]

HALF = np.sqrt(0.5)  # features and constant have the same size: together a norm of 1
MANY_FEATURES = 256  # more than these are read as sparse rows


class SparseExamples:
    """Reads lines as examples.

    With `features` (few, all numbers) an encoder makes the dense rows that a table of the same
    numbers would give; a feature that a line leaves out is 0, and one that is not in `features`
    is left out and counted in `report`. Without, rows are sparse: a value is divided by the
    largest one so far at its hashed place, and each row is scaled to norm 1, a constant included.
    """

    def __init__(
        self, format: str, targets: Targets, *, bits: int, features: Sequence[Any] = ()
    ) -> None:
        self.format = as_one_of("format", format, tuple(PARSERS))
        self.targets = targets
        self.n_places = 2**bits
        self.n_features = self.n_places + 1
        self.features = list(features)
        self.encoder: Encoder | None = None
        if features:
            self.encoder = Encoder({name_of(f): "number" for f in features}, bits=bits)
            self.n_features = len(features) + 1
        self.largest = np.zeros(0 if features else self.n_places)
        self.report = Report.of({} if self.encoder is None else self.encoder.kinds)

    def read(self, source: Source, bad_rows: BadRows) -> Iterator[Examples]:
        """The examples of the source, some rows at a time."""
        for rows, lines, losses in self._rows(source, bad_rows, with_losses=True):
            if self.encoder is None:
                contexts = self._sparse(rows)
            else:
                contexts = self.encoder.encode_columns(self._dense(rows), [])
            yield Examples(contexts, losses, lines)

    def contexts(
        self, source: Source, bad_rows: BadRows
    ) -> Iterator[tuple[list[Any], Sequence[int]]]:
        """Contexts of rows that need no labels, with their lines; nothing is learned of them."""
        for rows, lines, _ in self._rows(source, bad_rows, with_losses=False):
            if self.encoder is None:
                found = [self._as_if_counted(row) for row in rows]
            else:
                names, encode = list(self.encoder.kinds), self.encoder.encode
                dense = self._dense(rows).tolist()
                found = [encode(dict(zip(names, row, strict=True))) for row in dense]
            yield found, lines

    def _rows(
        self, source: Source, bad_rows: BadRows, *, with_losses: bool
    ) -> Iterator[tuple[list[TextLine], list[int], Floats]]:
        if source.format != self.format:
            raise ValueError(f"{source.name}: must be {self.format}, got {source.format}")
        self.report.name, self.report.place = source.name, source.place
        self.report.restart()
        parse = PARSERS[self.format]
        n_rows = max(16, min(4096, 2**21 // len(self.targets.actions)))
        numbered = source.numbered_lines()
        while piece := list(islice(numbered, n_rows)):
            found: dict[int, TextLine] = {}
            wrong: dict[int, str] = {}
            for number, line in piece:
                try:
                    row = parse(line)
                    if row is not None:
                        _check_values(row)
                        found[number] = row
                except ValueError as reason:
                    wrong[number] = str(reason)
            rows, lines, losses = list(found.values()), list(found), np.empty(0)
            if with_losses:
                losses, bad = self._losses(rows)
                kept = [i for i in range(len(rows)) if i not in bad]
                wrong |= {lines[i]: text for i, text in bad.items()}
                rows, lines = [rows[i] for i in kept], [lines[i] for i in kept]
                losses = losses[kept]
            bad_rows.report_all(wrong)
            self.report.n_rows += len(rows)
            yield rows, lines, losses

    def _losses(self, rows: list[TextLine]) -> tuple[Floats, dict[int, str]]:
        """Losses (n, K), and what is wrong with rows whose labels or costs do not fit."""
        actions = self.targets.actions
        losses, wrong = self.targets.of_labels([row.labels for row in rows])
        with_costs = []
        for i, row in enumerate(rows):
            if row.labels or self.format == "libsvm":
                continue
            if row.costs.keys() == self.targets.positions.keys():
                losses[i] = [row.costs[action] for action in actions]
                with_costs.append(i)
            else:
                wrong[i] = (
                    f"there must be a cost for each of {listed(actions)}; "
                    f"got costs for {listed(row.costs)}"
                )
        for place, text in self.targets.check_range(losses[with_costs]).items():
            wrong[with_costs[place]] = text
        return losses, wrong

    def _dense(self, rows: list[TextLine]) -> Floats:
        """Rows with a column for each feature, 0 where a line leaves it out."""
        columns = {feature: j for j, feature in enumerate(self.features)}
        width = len(columns)
        last = width  # where unknown features go
        numbers = np.zeros((len(rows), width + 1))
        counts = [len(row.features) for row in rows]
        found = [columns.get(feature, last) for row in rows for feature in row.features]
        values = [value for row in rows for value in row.values]
        at: Any = (np.repeat(np.arange(len(rows)), counts), np.array(found, dtype=np.int64))
        np.add.at(numbers, at, values)
        self.report.unknown += found.count(last)
        return np.ascontiguousarray(numbers[:, :last])

    def _as_if_counted(self, row: TextLine) -> Any:
        places = self._places([row])
        before = self.largest[places]
        (context,) = self._sparse([row])
        self.largest[places] = before
        return context

    def _places(self, rows: list[TextLine]) -> NDArray[np.int64]:
        found = (feature for row in rows for feature in row.features)
        if self.format == "libsvm":
            return np.array([index % self.n_places for index in found], dtype=np.int64)
        return np.array([place_of(name, self.n_places) for name in found], dtype=np.int64)

    def _sparse(self, rows: list[TextLine]) -> list[Any]:
        """Pairs of hashed places and scaled values."""
        starts = np.cumsum([0, *(len(row.features) for row in rows)])
        places = self._places(rows)
        values = np.array([value for row in rows for value in row.values], dtype=np.float64)
        shrink(starts, places, values, self.largest)
        places = np.insert(places, starts[1:], self.n_places)
        values = np.insert(HALF * values, starts[1:], HALF)
        starts += np.arange(starts.size)  # each row has one entry more, the constant
        return [(places[begin:end], values[begin:end]) for begin, end in pairwise(starts.tolist())]


def _check_values(row: TextLine) -> None:
    for value in row.values:
        if not -LARGEST <= value <= LARGEST:
            large = -np.inf < value < np.inf
            expected = f"at most {LARGEST:g} in size" if large else "a finite number"
            raise ValueError(f"each value must be {expected}, got {value}")


@compiled
def shrink(starts: Places, places: Places, values: Floats, largest: Floats) -> None:
    """Divide each value by the largest one seen at its place, then each row by its norm.

    Row i is values[starts[i] : starts[i + 1]]. Zeros stay zeros.
    """
    for i in range(starts.size - 1):
        total = 0.0
        for k in range(starts[i], starts[i + 1]):
            size = abs(values[k])
            if size > largest[places[k]]:
                largest[places[k]] = size
            if size > 0.0:
                values[k] /= largest[places[k]]
                total += values[k] * values[k]
        if total > 0.0:
            norm = math.sqrt(total)
            for k in range(starts[i], starts[i + 1]):
                values[k] /= norm
