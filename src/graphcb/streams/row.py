"""One line of a sparse format."""

from typing import NamedTuple


class Row(NamedTuple):
    """Its labels or its costs by action, and its features as places and values."""

    labels: list[str]
    costs: dict[str, float]
    places: list[int]
    values: list[float]
