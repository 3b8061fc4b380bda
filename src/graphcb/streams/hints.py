"""What may be wrong with a file or with the options, said before it costs an hour."""

from collections.abc import Sequence

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


def label_hints(targets: Targets, column: str | None = None) -> list[str]:
    """A hint if the actions are too many to be meant."""
    n_actions = len(targets.actions)
    if n_actions < MANY_LABELS:
        return []
    what = "the file" if column is None else f"the column {column!r}"
    return [
        f"{what} has {n_actions:,} different labels, and each is an action: is it the right column?"
    ]
