"""Rows of a table as decisions: what each cell says, or what is wrong with it."""

import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from graphcb.checks import listed
from graphcb.contexts.values import is_missing
from graphcb.imports.record import ForeignDecision, OddLineError
from graphcb.streams.cells import as_labels, as_numbers, as_words, not_finite
from graphcb.streams.tables import Cells

if TYPE_CHECKING:
    from graphcb.imports.table import DecisionTable


class TableRows:
    """Some rows of a table."""

    def __init__(
        self, table: "DecisionTable", cells: Mapping[str, Cells], lines: Sequence[int]
    ) -> None:
        columns = table.columns
        self.table, self.cells, self.lines = table, cells, lines
        self.actions = dict.fromkeys(table.actions)
        self.places = {name: place for place, name in enumerate(table.actions)}
        self.played = as_labels(cells[columns.action])
        self.outcomes, self.odd_outcomes = as_numbers(cells[columns.outcome])
        self.probabilities = {name: _as_probabilities(cells[name]) for name in table.probabilities}
        self.times = [] if columns.time is None else as_words(cells[columns.time])
        asked = columns.identifier
        self.identifiers = [] if asked is None else as_labels(cells[asked])
        self.features = [self._column(name) for name in table.features]
        table.report.n_rows += len(self.played)

    def decision(self, place: int) -> ForeignDecision:
        """One row; what is wrong with it is an odd line."""
        columns = self.table.columns
        name = self.played[place]
        chosen = self.places.get(name)
        if chosen is None:
            got = f"must be one of {listed(self.places)}, got {name!r}" if name else "is missing"
            raise OddLineError(f"the action in {columns.action!r} {got}")
        probability, probabilities = self._probability(place, chosen)
        value = self._outcome(place)
        if value is not None and columns.reward is not None:
            value = -value
        made_at = self._time(place)
        if self.identifiers and not self.identifiers[place]:
            raise OddLineError(f"the identifier in {columns.identifier!r} is missing")
        return ForeignDecision(
            self.lines[place],
            dict(zip(self.table.features, (cells[place] for cells in self.features), strict=True)),
            self.actions,
            chosen,
            value,
            probability,
            probabilities,
            made_at,
            self.identifiers[place] if self.identifiers else "",
        )

    def _column(self, name: str) -> list[Any]:
        """The cells of a feature: numbers, or words; None where there is none."""
        column = self.table.report.columns[name]
        if column.kind != "number":
            words = [None if is_missing(word) else word for word in as_words(self.cells[name])]
            column.missing += sum(word is None for word in words)
            return words
        numbers, odd = as_numbers(self.cells[name])
        for place, text in odd.items():
            column.add_odd(text, self.lines[place])
        column.missing += int(np.isnan(numbers).sum())
        return [None if number != number else number for number in numbers.tolist()]

    def _outcome(self, place: int) -> float | None:
        column, value = self.table.columns.outcome, float(self.outcomes[place])
        unit = "loss" if self.table.columns.reward is None else "reward"
        if place in self.odd_outcomes or math.isinf(value):
            text = not_finite(self.cells[column][place])
            raise OddLineError(f"the {unit} in {column!r} {text}")
        return None if math.isnan(value) else value

    def _probability(self, place: int, chosen: int) -> tuple[float, list[float] | None]:
        cells = {name: cells[place] for name, cells in self.probabilities.items()}
        column, own = next(iter(cells.items()))
        if len(cells) == 1 and not isinstance(own, list):
            return _checked(column, own, self.cells[column][place]), None
        if len(cells) == 1:
            probabilities = self._listed(column, own)
        else:
            by_name = {self.table.probabilities[name]: name for name in cells}
            column = by_name.get(self.table.actions[chosen], column)
            named = {action: cells[name] for action, name in by_name.items()}
            odd = [n for n in cells if not 0.0 <= cells[n] <= 1.0 + 1e-6]
            if odd:
                got = self.cells[odd[0]][place]
                raise OddLineError(_wrong(odd[0], got, least="between 0 and 1"))
            probabilities = [named.get(action, 0.0) for action in self.table.actions]
        total = math.fsum(probabilities)
        if not 0.99 <= total <= 1.01:
            many = listed(repr(name) for name in cells)
            raise OddLineError(f"the probabilities in {many} must sum to 1, got {total:g}")
        _checked(column, probabilities[chosen], probabilities[chosen])
        scaled = [one / total for one in probabilities]
        return scaled[chosen], scaled

    def _listed(self, column: str, cell: list[Any]) -> list[float]:
        if not self.table.columns.actions:
            raise OddLineError(
                f"the probabilities in {column!r} are lists: name the actions in their order with "
                "--actions a,b,..."
            )
        numbers, odd = as_numbers(cell)
        n = len(self.table.actions)
        if len(cell) != n or odd or not ((numbers >= 0.0) & (numbers <= 1.0 + 1e-6)).all():
            raise OddLineError(
                f"the probabilities in {column!r} must be {n} numbers between 0 and 1, got "
                f"{str(cell)[:60]}"
            )
        return [float(number) for number in numbers]

    def _time(self, place: int) -> float | None:
        if not self.times:
            return None
        text = self.times[place]
        try:
            seconds = float(text)
        except ValueError:
            try:
                moment = datetime.fromisoformat(text)
            except ValueError:
                seconds = math.nan
            else:
                aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
                seconds = aware.timestamp()
        if not math.isfinite(seconds):
            got = f"must be seconds since 1970 or ISO 8601, got {text!r}" if text else "is missing"
            raise OddLineError(f"the time in {self.table.columns.time!r} {got}")
        return seconds


def _as_probabilities(cells: Cells) -> list[Any]:
    """Cells as numbers, NaN for anything else, or as lists, which CSV holds as JSON."""
    if isinstance(cells, np.ndarray) or not any(str(cell).lstrip()[:1] == "[" for cell in cells):
        return as_numbers(cells)[0].tolist()  # type: ignore[no-any-return]
    return [_as_list(cell) for cell in cells]


def _as_list(cell: Any) -> list[Any]:
    if isinstance(cell, str):
        try:
            cell = json.loads(cell)
        except ValueError:
            return [cell]
    return cell if isinstance(cell, list) else [cell]


def _checked(column: str, probability: float, cell: Any) -> float:
    if 0.0 < probability <= 1.0 + 1e-6:
        return min(probability, 1.0)
    raise OddLineError(_wrong(column, cell, least="above 0 and at most 1"))


def _wrong(column: str, cell: Any, *, least: str) -> str:
    if is_missing(cell):
        return f"the probability in {column!r} is missing"
    return f"the probability in {column!r} must be {least}, got {str(cell)!r}"
