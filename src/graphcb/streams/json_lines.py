"""JSON lines: one object per line, read as the columns of a table.

An object inside an object becomes columns called "outer.inner". If an object has a key "context"
or "features" with an object, the features are what is in there, under their own names.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from graphcb.contexts.values import flat, is_missing
from graphcb.streams.source import FIRST_LOOK, Source

INSIDE = ("context", "features")
_NUMBERS = frozenset((float, int, bool, type(None)))


def parse_json(line: str) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The values of a line by name, and those that are features if the line says so.

    >>> parse_json('{"label": "a", "context": {"age": 3, "home": {"city": "Rome"}}}')[1]
    {'age': 3, 'home.city': 'Rome'}
    """
    try:
        row = json.loads(line)
    except ValueError as reason:
        raise ValueError(f"must be a JSON object: {reason}") from None
    if not isinstance(row, dict):
        raise ValueError(f"must be a JSON object, got {line.strip()[:40]!r}")
    inside = next((key for key in INSIDE if isinstance(row.get(key), dict)), None)
    if inside is None:
        return dict(flat(row)), None
    features = dict(flat(row.pop(inside)))
    return {**flat(row), **features}, features


def names_in(source: Source) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """All names in the first rows, and those of features if the rows say so."""
    names: dict[str, None] = {}
    features: dict[str, None] = {}
    for line in islice(source.lines(first_look=True), FIRST_LOOK):
        try:
            values, inside = parse_json(line) if line.strip() else ({}, None)
        except ValueError:
            continue  # reported with its line when the row is read
        names |= dict.fromkeys(values)
        features |= dict.fromkeys(inside or ())
    if not names:
        raise ValueError(f"{source.name}: must start with JSON objects, one per line, got none")
    return tuple(names), tuple(features) or None


def read_rows(
    source: Source, n_rows: int, *, first_look: bool
) -> Iterator[tuple[list[dict[str, Any]], list[int], dict[int, str]]]:
    """Some rows at a time: their values by name, their lines, and the lines that hold no row."""
    numbered = enumerate(source.lines(first_look=first_look), start=1)
    while piece := list(islice(numbered, n_rows)):
        rows: list[dict[str, Any]] = []
        lines: list[int] = []
        broken: dict[int, str] = {}
        for number, line in piece:
            if not line.strip():
                continue
            try:
                rows.append(parse_json(line)[0])
                lines.append(number)
            except ValueError as reason:
                broken[number] = str(reason)
        yield rows, lines, broken


def as_cells(rows: Sequence[dict[str, Any]], name: str) -> Any:
    """A column: numbers with NaN where there is none, or else the values with "" for missing."""
    values = [row.get(name) for row in rows]
    if _NUMBERS.issuperset(map(type, values)):
        try:
            return np.array(values, dtype=np.float64)
        except OverflowError:
            pass
    return ["" if is_missing(value) else value for value in values]
