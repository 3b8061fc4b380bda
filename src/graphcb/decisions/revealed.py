"""The losses that come back for a decision, checked against what its graph can reveal."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import listed
from graphcb.decisions.encoding import FLOAT, WHOLE
from graphcb.graphs import FeedbackGraph
from graphcb.problems import Problem
from graphcb.rounds.identifiers import Identifier, Identifiers


def read_losses(
    losses: Mapping[Any, float],
    identifiers: Identifiers,
    graph: FeedbackGraph,
    played: int,
    problem: Problem | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Indices of the revealed actions in increasing order, and their losses or rewards."""
    several, one = words_of(problem)
    if not isinstance(losses, Mapping):
        raise TypeError(
            f"`{several}` must be a mapping {{action: {one}, ...}}, got {type(losses).__name__}"
        )
    row, names = graph.row(played), identifiers.values
    known: dict[int, float] = {}
    for key, loss in losses.items():
        index = identifiers.index(key, name=f"action in {several}")
        value = _as_loss(loss, names[index], several)
        if not row[index] > 0.0:
            possible = listed(repr(names[i]) for i in np.flatnonzero(row))
            raise ValueError(
                f"`{several}` must be of actions that playing {names[played]!r} can reveal "
                f"({possible}), got action {names[index]!r}"
            )
        if index in known:
            raise ValueError(f"`{several}` must name each action once, got {names[index]!r} twice")
        known[index] = value
    if problem is not None:
        problem.check_values(list(known.values()), [names[index] for index in known])
    ordered = sorted(known)
    values = [known[index] for index in ordered]
    return np.array(ordered, dtype=WHOLE), np.array(values, dtype=FLOAT)


def words_of(problem: Problem | None) -> tuple[str, str]:
    """What feedback consists of, in the plural and in the singular."""
    return ("losses", "loss") if problem is None else (problem.feedback, problem.unit)


def _as_loss(loss: Any, action: Identifier, several: str) -> float:
    try:
        value = float(loss)
    except (TypeError, ValueError):
        raise TypeError(
            f"`{several}` must be numbers, got {loss!r} for action {action!r}"
        ) from None
    if not math.isfinite(value):
        raise ValueError(f"`{several}` must be finite, got {value} for action {action!r}")
    return value
