"""Decisions in flight: looks that are paid for, and whose answers are yet to come.

A round adds the looks that its action is expected to bring, a loss that comes takes one off, and
what never comes fades, by 1 / `FADES` per round. Looks in flight lower what another one would
tell, not what an action may be worth: with u = exp(gain) - 1, the precision that a look adds, m
looks at this context leave u / (1 + m u). Looks at other contexts tell less. How much less is seen
in the looks that came: n of them, of which all would have told as much as n u / (1 + u) parameters
need.
"""

from typing import Any

import numpy as np

from graphcb.compilation import compiled, summed
from graphcb.exploration.logarithms import expm1, log_of
from graphcb.graphs.structure import Floats, Indices

FADES = 2000.0  # rounds
KEEPS = 1.0 - 1.0 / FADES
NONE = np.zeros(0)
MOST = 50.0  # nats

# Looks in flight, wanted and taken, by column of the oracle; and the columns of a round.
InFlight = tuple[Floats, Floats, Floats, Indices]


@compiled
def as_answered(
    gains: Floats, counts: Floats, looks: InFlight
) -> tuple[Floats, Floats, Floats, Floats]:
    """What further looks at these columns would tell, and how many there are, as if those in flight
    had been paid for; the parameters that looks are shared among if in all contexts they tell as
    much; and the looks that were wanted for each that was taken, and one more.

    >>> one, none = np.ones(2), np.zeros(0)
    >>> looks = np.array([0.0, 5.0]), none, none, np.arange(2)
    >>> as_answered(np.log(2.0) * one, 3.0 * one, looks)[0].round(3)
    array([0.693, 0.251])
    """
    waiting, wanted, taken, columns = looks
    more, owed = np.zeros(gains.size), np.zeros(gains.size)
    for c in range(min(columns.size, gains.size)):
        b = columns[c]
        if b < wanted.size:
            owed[c] = wanted[b] / (1.0 + (taken[b] if b < taken.size else 0.0))
        if b < waiting.size:
            more[c] = KEEPS * waiting[b]
    left, seen, each = np.empty(gains.size), np.empty(gains.size), np.empty(gains.size)
    _fill_answered(gains, counts, more, left, seen, each)
    return left, seen, each, owed


@summed
def _fill_answered(
    gains: Floats, counts: Floats, more: Floats, left: Floats, seen: Floats, each: Floats
) -> None:
    """Fill in what `as_answered` says of actions with so many `more` looks."""
    for c in range(gains.size):
        adds = expm1(gains[c] if gains[c] < MOST else MOST)
        parameters = (1.0 + counts[c]) * adds / (1.0 + adds)
        adds /= 1.0 + adds * more[c] / (parameters if parameters > 1.0 else 1.0)
        left[c] = log_of(1.0 + adds, adds) if more[c] > 0.0 else gains[c]
        seen[c] = counts[c] + more[c]
        parameters = (1.0 + seen[c]) * adds / (1.0 + adds)
        each[c] = parameters if parameters > 1.0 else 1.0


@compiled
def in_flight(
    waiting: Floats, taken: Floats, size: int, columns: Indices, looks: Floats
) -> tuple[Floats, Floats, Floats]:
    """What is in flight one round later, before and with the looks of that round; looks taken."""
    before = faded(waiting, size)
    return before, counted(before, columns, looks), counted(taken, columns, looks)


@compiled
def faded(waiting: Floats, size: int) -> Floats:
    """What is in flight one round later, for this many columns."""
    found = np.zeros(size)
    for b in range(min(size, waiting.size)):
        found[b] = KEEPS * waiting[b]
    return found


@compiled
def answered(waiting: Floats, columns: Indices) -> Floats:
    """What is in flight once the losses of these columns have come."""
    left = waiting.copy()
    for c in range(columns.size):
        if columns[c] < left.size:
            left[columns[c]] = max(left[columns[c]] - 1.0, 0.0)
    return left


@compiled
def counted(sums: Floats, columns: Indices, looks: Floats) -> Floats:
    """The sums by column with these looks."""
    found = np.zeros(max(sums.size, columns.max() + 1))
    found[: sums.size] = sums
    for c in range(min(columns.size, looks.size)):
        found[columns[c]] += looks[c]
    return found


def check_looks(name: str, looks: Any) -> None:
    """Refuse what a file says is in flight, unless it may be."""
    if looks is None:
        return
    is_row = isinstance(looks, np.ndarray) and looks.dtype == np.float64 and looks.ndim == 1
    if not is_row or not ((looks >= 0.0) & (looks < np.inf)).all():
        raise ValueError(f"`{name}` must be numbers of looks, one per action, got {looks!r}")
