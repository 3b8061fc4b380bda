"""Decisions in flight: looks that are paid for, and whose answers are yet to come.

A round adds the looks that its action is expected to bring, a loss that comes takes one off, and
what never comes fades, by 1 / `FADES` per round. Looks in flight lower what another one would
tell, not what an action may be worth: with u = exp(gain) - 1, the precision that a look adds, m
looks at this context leave u / (1 + m u). Looks at other contexts tell less. How much less is seen
in the looks that came: n of them, of which all would have told as much as n u / (1 + u) parameters
need.
"""

import math
from typing import Any

import numpy as np

from graphcb.compilation import compiled
from graphcb.oracles import Forecast
from graphcb.oracles.rows import Columns, Floats

FADES = 2000.0  # rounds
KEEPS = 1.0 - 1.0 / FADES
NONE = np.zeros(0)
MOST = 50.0  # nats


def with_looks(forecast: Forecast, waiting: Floats, columns: Columns) -> Forecast:
    """The forecast of these columns as if what is in flight by column had been paid for.

    >>> one = np.ones(2)
    >>> before = Forecast(0.5 * one, 0.1 * one, np.log(2.0) * one, 3.0 * one, 1.0)
    >>> with_looks(before, np.array([0.0, 5.0]), np.arange(2)).gains.round(3)
    array([0.693, 0.251])
    """
    losses, deviations, gains, counts, *scale = forecast
    left, seen = _left(gains, counts, waiting, columns)
    return Forecast(losses, deviations, left, seen, *scale)


@compiled
def _left(
    gains: Floats, counts: Floats, waiting: Floats, columns: Columns
) -> tuple[Floats, Floats]:
    """What looks would tell beside those in flight, and how many there are with them."""
    left, seen = gains.copy(), counts.copy()
    before = adds = 0.0
    for c in range(columns.size):
        if columns[c] < waiting.size and waiting[columns[c]] > 0.0:
            looks = KEEPS * waiting[columns[c]]
            if gains[c] != before:  # actions that were never seen follow each other
                before, adds = gains[c], math.expm1(min(gains[c], MOST))
            parameters = max(1.0, (1.0 + counts[c]) * adds / (1.0 + adds))
            left[c] = math.log1p(adds / (1.0 + adds * looks / parameters))
            seen[c] += looks
    return left, seen


@compiled
def in_flight(waiting: Floats, size: int, columns: Columns, looks: Floats) -> tuple[Floats, Floats]:
    """What is in flight one round later, before and with the looks of that round."""
    before = faded(waiting, size)
    return before, added(before, columns, looks)


@compiled
def faded(waiting: Floats, size: int) -> Floats:
    """What is in flight one round later, for this many columns."""
    found = np.zeros(size)
    for b in range(min(size, waiting.size)):
        found[b] = KEEPS * waiting[b]
    return found


@compiled
def added(before: Floats, columns: Columns, looks: Floats) -> Floats:
    """What is in flight with the looks of a round among these columns."""
    waiting = before.copy()
    for c in range(columns.size):
        waiting[columns[c]] += looks[c]
    return waiting


@compiled
def answered(waiting: Floats, columns: Columns) -> Floats:
    """What is in flight once the losses of these columns have come."""
    left = waiting.copy()
    for c in range(columns.size):
        if columns[c] < left.size:
            left[columns[c]] = max(left[columns[c]] - 1.0, 0.0)
    return left


@compiled
def counted(sums: Floats, columns: Columns, looks: Floats) -> Floats:
    """The sums by column with these looks."""
    found = np.zeros(max(sums.size, columns.max() + 1))
    found[: sums.size] = sums
    for c in range(columns.size):
        found[columns[c]] += looks[c]
    return found


@compiled
def per_look(wanted: Floats, taken: Floats, columns: Columns) -> Floats:
    """How many looks were wanted for each that was taken, and one more, at these columns."""
    found = np.zeros(columns.size)
    for c in range(columns.size):
        if columns[c] < wanted.size:
            there_were = taken[columns[c]] if columns[c] < taken.size else 0.0
            found[c] = wanted[columns[c]] / (1.0 + there_were)
    return found


def check_looks(name: str, looks: Any) -> None:
    """Refuse what a file says is in flight, unless it may be."""
    if looks is None:
        return
    is_row = isinstance(looks, np.ndarray) and looks.dtype == np.float64 and looks.ndim == 1
    if not is_row or not ((looks >= 0.0) & (looks < np.inf)).all():
        raise ValueError(f"`{name}` must be numbers of looks, one per action, got {looks!r}")
