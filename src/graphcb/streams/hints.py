"""What may be wrong with a file or with the options, said before it costs an hour."""

from collections.abc import Sequence
from typing import Any

from graphcb.contexts.times import is_other_date
from graphcb.contexts.values import numeral, with_point
from graphcb.streams.cells import is_number
from graphcb.streams.source import Source
from graphcb.streams.targets import Targets

MANY_LABELS = 1000
_DELIMITERS = {";": "';'", "\t": "'\\t'", "|": "'|'"}


def file_hints(source: Source, names: Sequence[str]) -> list[str]:
    """Hints from the first line of a CSV file: another delimiter, or data instead of names.

    >>> file_hints(Source("-"), ["age;income;label"])
    ["the first line has ';' between its cells: --delimiter ';'"]
    >>> file_hints(Source("-"), ["5.1", "3.5", "setosa"])
    ['the first line looks like data, not like names of columns: --no-header']
    """
    if source.format != "csv":
        return []
    if len(names) == 1:
        return [
            f"the first line has {shown} between its cells: --delimiter {shown}"
            for delimiter, shown in _DELIMITERS.items()
            if delimiter in names[0] and delimiter != source.delimiter
        ][:1]
    if source.header and 2 * sum(map(is_number, names)) >= len(names):
        return ["the first line looks like data, not like names of columns: --no-header"]
    return []


def nameless_hints(names: Sequence[str]) -> list[str]:
    """A hint if columns have no name, as the index has that pandas writes.

    >>> nameless_hints(["", "age"])
    ['a column without a name is left out, such as the index that to_csv writes']
    """
    if all(names):
        return []
    return ["a column without a name is left out, such as the index that to_csv writes"]


def comma_hints(name: str, cells: Sequence[Any]) -> list[str]:
    """A hint if the words of a column are numbers with a decimal comma.

    >>> comma_hints("price", ["33,6", "1.204,5"])
    ["the column 'price' looks like numbers with a decimal comma: --decimal ,"]
    """
    texts = [cell for cell in cells if isinstance(cell, str) and "," in cell]
    if not texts or 2 * len(texts) < len(cells):
        return []
    if any(numeral(with_point(text)) is None for text in texts):
        return []
    return [f"the column {name!r} looks like numbers with a decimal comma: --decimal ,"]


def date_hints(name: str, cells: Sequence[Any]) -> list[str]:
    """A hint if the words of a column are dates that are not in ISO 8601.

    >>> date_hints("day", ["31.12.2024", "1.1.2025"])
    ["the column 'day' looks like dates, which are read as words; write them as 2024-05-01 18:30"]
    """
    dates = [cell for cell in cells if isinstance(cell, str) and is_other_date(cell)]
    if not dates or 2 * len(dates) < len(cells):
        return []
    return [
        f"the column {name!r} looks like dates, which are read as words; write them as "
        "2024-05-01 18:30"
    ]


def label_hints(targets: Targets, column: str | None = None) -> list[str]:
    """A hint if the actions are too many to be meant."""
    n_actions = len(targets.actions)
    if n_actions < MANY_LABELS:
        return []
    what = "the file" if column is None else f"the column {column!r}"
    return [
        f"{what} has {n_actions:,} different labels, and each is an action: is it the right column?"
    ]
