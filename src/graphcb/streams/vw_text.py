"""Vowpal Wabbit text with one cost an action: "1:0.5 2:1 |words free prize |other size:3"."""

import zlib

from graphcb.streams.row import Row

EXPECTED = "must be written ACTION:COST ACTION:COST ... |NAMESPACE FEATURE[:VALUE] ..."


def parse_vw(line: str, n_places: int) -> Row | None:
    """One line; None for an empty one. A feature's place is a hash of its namespace and name.

    >>> parse_vw("1:0 2:1 |w free size:3", 2**18)
    Row(labels=[], costs={'1': 0.0, '2': 1.0}, places=[62372, 136710], values=[1.0, 3.0])
    """
    if not line.strip():
        return None
    costs_text, bar, features = line.partition("|")
    if not bar:
        raise ValueError(f"{EXPECTED}, got no |")
    places: list[int] = []
    values: list[float] = []
    for part in features.split("|"):
        name, weight, cells = _split_namespace(part)
        for cell in cells:
            feature, _, value = cell.partition(":")
            places.append(zlib.crc32(f"{name}^{feature}".encode()) % n_places)
            values.append(weight * (_number(value, cell) if value else 1.0))
    return Row([], costs_of(costs_text), places, values)


def costs_of(text: str) -> dict[str, float]:
    """The costs by action; a tag ('name) may follow them."""
    costs: dict[str, float] = {}
    for cell in text.split():
        if cell.startswith("'"):
            continue
        action, colon, cost = cell.partition(":")
        if not colon or ":" in cost:
            raise ValueError(f"{EXPECTED}, got {cell!r}")
        if action in costs:
            raise ValueError(f"{EXPECTED} with each action once, got {action!r} again")
        costs[action] = _number(cost, cell)
    return costs


def _split_namespace(part: str) -> tuple[str, float, list[str]]:
    """Name, weight and features; the name touches the bar, or there is none."""
    cells = part.split()
    if not cells or part[0].isspace():
        return "", 1.0, cells
    name, _, weight = cells[0].partition(":")
    return name, _number(weight, cells[0]) if weight else 1.0, cells[1:]


def _number(text: str, cell: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{EXPECTED}, got {cell!r}") from None
