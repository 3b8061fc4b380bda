"""The losses that come back for a decision, checked against what its graph could reveal."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import as_action
from graphcb.decisions.encoding import FLOAT, WHOLE
from graphcb.graphs import FeedbackGraph


def read_losses(
    losses: Mapping[int, float], graph: FeedbackGraph, played: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Actions in increasing order and their losses, each of which the graph could reveal."""
    if not isinstance(losses, Mapping):
        raise TypeError(
            f"`losses` must be a mapping {{action: loss, ...}}, got {type(losses).__name__}"
        )
    row = graph.row(played)
    known: dict[int, float] = {}
    for action, loss in losses.items():
        place = as_action(action, graph.n_actions, name="action in losses")
        value = _as_loss(loss, place)
        if not row[place] > 0.0:
            raise ValueError(
                f"`losses` must be of actions that playing {played} can reveal "
                f"({_some(np.flatnonzero(row).tolist())}), got action {place}"
            )
        known[place] = value
    ordered = sorted(known)
    values = [known[place] for place in ordered]
    return np.array(ordered, dtype=WHOLE), np.array(values, dtype=FLOAT)


def _as_loss(loss: Any, action: int) -> float:
    try:
        value = float(loss)
    except (TypeError, ValueError):
        raise TypeError(f"`losses` must be numbers, got {loss!r} for action {action}") from None
    if not math.isfinite(value):
        raise ValueError(f"`losses` must be finite, got {value} for action {action}")
    return value


def _some(actions: list[int]) -> str:
    if not actions:
        return "none"
    return ", ".join(map(str, actions[:8])) + (" ..." if len(actions) > 8 else "")
