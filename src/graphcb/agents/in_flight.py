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
from numpy.typing import NDArray

from graphcb.oracles import Forecast
from graphcb.oracles.rows import read_columns

Floats = NDArray[np.float64]

FADES = 2000.0  # rounds
KEEPS = 1.0 - 1.0 / FADES
MOST = 50.0  # nats


def with_looks(forecast: Forecast, looks: Floats) -> Forecast:
    """The forecast of a round as if these looks, one number per action, had been paid for.

    >>> one = np.ones(2)
    >>> before = Forecast(0.5 * one, 0.1 * one, np.log(2.0) * one, 3.0 * one, 1.0)
    >>> with_looks(before, np.array([0.0, 5.0])).gains.round(3)
    array([0.693, 0.251])
    """
    if not looks.any():
        return forecast
    adds = np.expm1(np.minimum(forecast.gains, MOST))
    parameters = np.maximum(1.0, (1.0 + forecast.counts) * adds / (1.0 + adds))
    gains = np.log1p(adds / (1.0 + adds * looks / parameters))
    return forecast._replace(gains=gains, counts=forecast.counts + looks)


def faded(waiting: Floats | None, size: int) -> Floats:
    """What is in flight one round later, for this many columns."""
    if waiting is not None and waiting.size == size:
        return KEEPS * waiting
    found = np.zeros(size)
    if waiting is not None:
        found[: waiting.size] = KEEPS * waiting[:size]
    return found


def added(before: Floats, actions: Any, looks: Floats) -> Floats:
    """What is in flight with the looks of a round among these actions, columns or None for all."""
    if actions is None and looks.size == before.size:
        return before + looks
    waiting = before.copy()
    waiting[read_columns(actions, looks.size)] += looks
    return waiting


def answered(waiting: Floats, actions: Any) -> Floats:
    """What is in flight once the losses of these actions have come."""
    came = read_columns(actions, waiting.size)
    left = waiting.copy()
    if came.size == 1:  # as most feedback is
        place = int(came[0])
        if place < left.size:
            left[place] = max(left[place] - 1.0, 0.0)
        return left
    came = came[came < left.size]
    left[came] = np.maximum(left[came] - 1.0, 0.0)
    return left


def check_looks(name: str, looks: Any) -> None:
    """Refuse what a file says is in flight, unless it may be."""
    if looks is None:
        return
    is_row = isinstance(looks, np.ndarray) and looks.dtype == np.float64 and looks.ndim == 1
    if not is_row or not ((looks >= 0.0) & (looks < np.inf)).all():
        raise ValueError(f"`{name}` must be numbers of looks, one per action, got {looks!r}")
