"""JSON lines in which each row brings its own actions, with their features and outcomes."""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import listed
from graphcb.graphs import FeedbackGraph
from graphcb.streams.examples import BadRows, Examples
from graphcb.streams.report import Report
from graphcb.streams.source import Source

OUTCOMES = ("losses", "rewards", "label")
MOST_ROWS = 256  # of a piece
FORM = (
    'must be {"context": {...}, "actions": {NAME: {...}, ...}, "losses": {NAME: NUMBER, ...}}, '
    'or with "rewards", or with "label": NAME'
)


class RoundRow(NamedTuple):
    """A row: its place in the file, its context, its actions with their features, their values."""

    line: int
    context: Any
    actions: dict[str, Any]
    values: NDArray[np.float64]


def brings_actions(source: Source) -> bool:
    """Whether the first row of the source has actions of its own."""
    if source.format != "jsonl":
        return False
    for line in source.lines(first_look=True):
        if line.strip():
            try:
                row = json.loads(line)
            except ValueError:
                return False
            return isinstance(row, dict) and isinstance(row.get("actions"), dict | list)
    return False


def outcome_of(source: Source) -> str:
    """What the first row that says it gives of the actions: losses, rewards or the right one."""
    for line in source.lines(first_look=True):
        row = json.loads(line) if line.strip() else {}
        for outcome in OUTCOMES:
            if isinstance(row, dict) and outcome in row:
                return outcome
    raise ValueError(f"{source.name}: each row {FORM}; got none of {listed(OUTCOMES)}")


class RoundExamples:
    """Reads rows that bring their own actions; `graph_of` gives the graph of a round by names."""

    encoder = None  # the learner encodes each row

    def __init__(self, outcome: str, graph_of: Callable[[tuple[str, ...]], FeedbackGraph]) -> None:
        self.outcome = outcome
        self.graph_of = graph_of
        self.report = Report("")

    def read(self, source: Source, bad_rows: BadRows) -> Iterator[Examples]:
        """The examples of the source, some rows at a time: few at first, to be heard of soon."""
        rows, size = _rows(source.numbered_lines(), self.outcome, bad_rows), 1
        while piece := list(islice(rows, size)):
            lines, contexts, actions, values = map(list, zip(*piece, strict=True))
            graphs = [self.graph_of(tuple(names)) for names in actions]
            yield Examples(contexts, values, lines, graphs, actions)
            size = min(2 * size, MOST_ROWS)


def range_of(source: Source, outcome: str) -> tuple[float, float]:
    """The smallest and the largest value in a first look."""
    if outcome == "label":
        return 0.0, 1.0
    numbered = enumerate(source.lines(first_look=True), start=1)
    rows = list(_rows(numbered, outcome, BadRows(source.name, skip=True)))
    if not rows:
        raise ValueError(f"{source.name}: must have at least one row that can be used, got none")
    low = min(float(row.values.min()) for row in rows)
    high = max(float(row.values.max()) for row in rows)
    return (low, high) if low < high else (low, low + 1.0)


def _rows(
    numbered: Iterable[tuple[int, str]], outcome: str, bad_rows: BadRows
) -> Iterator[RoundRow]:
    """The rows that can be used, each with a value for all of its actions."""
    for number, line in numbered:
        if line.strip():
            try:
                yield parse_round(line, number, outcome)
            except (ValueError, TypeError) as reason:
                bad_rows.report(number, str(reason))


def parse_round(line: str, number: int, outcome: str) -> RoundRow:
    """One row.

    >>> text = '{"context": {"age": 3}, "actions": {"a": {"price": 1}, "b": null}, "label": "b"}'
    >>> parse_round(text, 7, "label")[2:]
    ({'a': {'price': 1}, 'b': None}, array([1., 0.]))
    """
    row = json.loads(line)
    if not isinstance(row, dict) or not isinstance(row.get("actions"), dict | list):
        raise ValueError(FORM)
    actions = row["actions"]
    if isinstance(actions, list):
        if not all(isinstance(name, str) for name in actions) or len({*actions}) < len(actions):
            raise ValueError(f"a list of actions must hold distinct names, got {actions!r:.60}")
        actions = dict.fromkeys(actions)
    if len(actions) < 2:
        raise ValueError(f"there must be at least two actions, got {listed(actions)}")
    return RoundRow(number, row.get("context"), actions, _values(row, actions, outcome))


def _values(row: Mapping[str, Any], actions: dict[str, Any], outcome: str) -> Any:
    cell = row.get(outcome)
    if outcome == "label":
        if cell not in actions:
            raise ValueError(f"`label` must be one of {listed(actions)}; got {cell!r}")
        return np.array([float(name != cell) for name in actions])
    if isinstance(cell, list) and len(cell) == len(actions):
        cell = dict(zip(actions, cell, strict=True))
    if not isinstance(cell, dict) or cell.keys() != actions.keys():
        raise ValueError(f"`{outcome}` must have a number for each of {listed(actions)}")
    for name in actions:
        value = cell[name]
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not math.isfinite(value)
        ):
            raise ValueError(f"`{outcome}` of {name!r} must be a finite number, got {value!r}")
    return np.array([cell[name] for name in actions], dtype=np.float64)
