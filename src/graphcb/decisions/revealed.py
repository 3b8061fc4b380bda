"""The losses that come back for a decision, checked against what its graph can reveal."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import listed
from graphcb.decisions.encoding import FLOAT, WHOLE
from graphcb.decisions.identifiers import Identifier, Identifiers
from graphcb.graphs import FeedbackGraph


def read_losses(
    losses: Mapping[Any, float], identifiers: Identifiers, graph: FeedbackGraph, played: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Indices of the revealed actions in increasing order, and their losses."""
    if not isinstance(losses, Mapping):
        raise TypeError(
            f"`losses` must be a mapping {{action: loss, ...}}, got {type(losses).__name__}"
        )
    row, names = graph.row(played), identifiers.values
    known: dict[int, float] = {}
    for key, loss in losses.items():
        index = identifiers.index(key, name="action in losses")
        value = _as_loss(loss, names[index])
        if not row[index] > 0.0:
            possible = listed(repr(names[i]) for i in np.flatnonzero(row))
            raise ValueError(
                f"`losses` must be of actions that playing {names[played]!r} can reveal "
                f"({possible}), got action {names[index]!r}"
            )
        if index in known:
            raise ValueError(f"`losses` must name each action once, got {names[index]!r} twice")
        known[index] = value
    ordered = sorted(known)
    values = [known[index] for index in ordered]
    return np.array(ordered, dtype=WHOLE), np.array(values, dtype=FLOAT)


def _as_loss(loss: Any, action: Identifier) -> float:
    try:
        value = float(loss)
    except (TypeError, ValueError):
        raise TypeError(f"`losses` must be numbers, got {loss!r} for action {action!r}") from None
    if not math.isfinite(value):
        raise ValueError(f"`losses` must be finite, got {value} for action {action!r}")
    return value
