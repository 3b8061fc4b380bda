"""A pass over a file for what must be known of all its rows: the labels, the range of losses."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from graphcb.streams.cells import as_labels, as_numbers
from graphcb.streams.lines import costs_of, labels_of, vw_label
from graphcb.streams.source import Source
from graphcb.streams.tables import read_batches
from graphcb.streams.targets import check_few, in_order

BATCH = 4096


def labels_in(source: Source, column: str | None = None) -> set[str]:
    """All labels of a column of a table, or of libsvm or VW text."""
    found: set[str] = set()
    if column is None:
        for line in source.lines(first_look=True):
            found.update(labels_of(line) if source.format == "libsvm" else _vw_labels(line))
            check_few(found, source.name)
        return found
    for batch in read_batches(source, (column,), BATCH, first_look=True):
        found.update(as_labels(batch.columns[0]))
        check_few(found, f"`--label {column}`")
    return found - {""}


def is_multiclass(source: Source) -> bool:
    """Whether the first line of VW text that says anything has a label, not costs."""
    for line in source.lines(first_look=True):
        if line.partition("|")[0].strip():
            return bool(_vw_labels(line))
    return False


def _vw_labels(line: str) -> list[str]:
    try:
        label = vw_label(line.partition("|")[0])
    except ValueError:
        label = None  # reported with its line when the row is read
    return [] if label is None else [label]


def values_in(source: Source, columns: Sequence[str]) -> tuple[float, float]:
    """The smallest and largest number in these columns of a table."""
    low, high = np.inf, -np.inf
    batches = read_batches(source, columns, BATCH, numbers=set(columns), first_look=True)
    for batch in batches:
        for cells in batch.columns:
            low, high = _widen(low, high, as_numbers(cells)[0])
    return _range(source, low, high)


def costs_in(
    source: Source, actions: tuple[str, ...], loss_range: tuple[float, float] | None
) -> tuple[tuple[str, ...], tuple[float, float]]:
    """The actions of the first line of VW text that can be read, and the range of all costs."""
    low, high = np.inf, -np.inf
    for line in source.lines(first_look=True):
        try:
            costs = costs_of(line.partition("|")[0])
        except ValueError:
            continue  # reported with its line when the row is read
        actions = actions or in_order(costs)
        if actions and loss_range is not None:
            return actions, loss_range
        low, high = _widen(low, high, np.array(list(costs.values())))
    return actions, loss_range or _range(source, low, high)


def _widen(low: float, high: float, losses: NDArray[np.float64]) -> tuple[float, float]:
    finite = losses[np.isfinite(losses)]
    if not finite.size:
        return low, high
    return min(low, float(finite.min())), max(high, float(finite.max()))


def _range(source: Source, low: float, high: float) -> tuple[float, float]:
    if low > high:
        raise ValueError(f"{source.name}: must have losses that are numbers, got none")
    return (low, high) if low < high else (low, low + 1.0)
