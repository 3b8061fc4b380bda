"""Lines of libsvm and Vowpal Wabbit text: labels or costs, and features with their values."""

from collections.abc import Callable
from typing import Any, NamedTuple

LIBSVM = "must be LABEL INDEX:VALUE INDEX:VALUE ..."
VW = "must be LABEL or ACTION:COST ACTION:COST ..., then |NAMESPACE FEATURE[:VALUE] ..."


class TextLine(NamedTuple):
    """One line: its labels, or its costs by action, and its features with their values.

    A feature of libsvm is its index, one of Vowpal Wabbit is called namespace^name. `has_words`
    says that some feature has no value, as words have none; it gets the value 1.
    """

    labels: list[str]
    costs: dict[str, float]
    features: list[Any]
    values: list[float]
    has_words: bool = False


def parse_libsvm(line: str) -> TextLine | None:
    """A line of libsvm text: a label, or several separated by commas, then index:value pairs.

    None for an empty line or a comment.

    >>> parse_libsvm("3,7 1:0.5 4:2")[:4]
    (['3', '7'], {}, [1, 4], [0.5, 2.0])
    """
    cells = line.partition("#")[0].split()
    if not cells:
        return None
    labels = _split_labels(cells[0])
    if labels:  # a row may have none
        cells.pop(0)
    features: list[int] = []
    values: list[float] = []
    for cell in cells:
        index, _, value = cell.partition(":")
        try:
            features.append(int(index))
            values.append(float(value))
        except ValueError:
            raise ValueError(f"{LIBSVM}, got {cell!r}") from None
        if features[-1] < 0:
            raise ValueError(f"{LIBSVM} with indices from 0 or 1 on, got {cell!r}")
    return TextLine(labels, {}, features, values)


def labels_of(line: str) -> list[str]:
    """The labels of a line of libsvm text."""
    first = line.partition("#")[0].split(maxsplit=1)
    return _split_labels(first[0]) if first else []


def _split_labels(cell: str) -> list[str]:
    return [] if ":" in cell else [label.removeprefix("+") for label in cell.split(",")]


def parse_vw(line: str) -> TextLine | None:
    """A line of Vowpal Wabbit text: a cost for each action, as `1:0.5 2:1 |words free prize`.

    Or a label, as `2 |words free prize`. None for an empty line.

    >>> parse_vw("1:0 2:1 |w free size:3")[1:]
    ({'1': 0.0, '2': 1.0}, ['w^free', 'w^size'], [1.0, 3.0], True)
    """
    if not line.strip():
        return None
    costs_text, bar, rest = line.partition("|")
    if not bar:
        raise ValueError(f"{VW}, got no |")
    features: list[str] = []
    values: list[float] = []
    has_words = False
    for part in rest.split("|"):
        name, weight, cells = _split_namespace(part)
        for cell in cells:
            feature, _, value = cell.partition(":")
            has_words = has_words or not value
            features.append(f"{name}^{feature}")
            values.append(weight * (_vw_number(value, cell) if value else 1.0))
    label = vw_label(costs_text)
    costs = costs_of(costs_text) if label is None else {}
    return TextLine([] if label is None else [label], costs, features, values, has_words)


def vw_label(text: str) -> str | None:
    """The label in Vowpal Wabbit text for several classes; a weight and a tag may follow it.

    >>> vw_label("3 1.0 'a7"), vw_label("1:0 2:1")
    ('3', None)
    """
    cells = [cell for cell in text.split() if not cell.startswith("'")]
    if not cells or any(":" in cell for cell in cells):
        return None
    if len(cells) > 2 or (len(cells) == 2 and _vw_number(cells[1], cells[1]) != 1.0):
        raise ValueError(f"{VW} with no weight but 1, got {text.strip()!r}")
    return cells[0]


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


PARSERS: dict[str, Callable[[str], TextLine | None]] = {
    "libsvm": parse_libsvm,
    "vw": parse_vw,
}


def name_of(feature: Any) -> str:
    """A feature as people call it: its index, or its name, without a namespace if it has none."""
    return str(feature).removeprefix("^")
