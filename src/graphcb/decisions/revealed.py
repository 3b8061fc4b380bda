"""The losses that come back for a decision, checked against what its graph can reveal."""

import math
from collections.abc import Callable, Mapping
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
    context: Callable[[], Any] = lambda: None,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Indices of the revealed actions in increasing order, and their losses or rewards.

    Those that the problem knows without feedback have to agree with that, and are left out.
    `context` reads the context of the decision, which may say what is known.
    """
    several, one = words_of(problem)
    if not isinstance(losses, Mapping):
        raise TypeError(
            f"`{several}` must be a mapping {{action: {one}, ...}}, got {type(losses).__name__}"
        )
    row, names = graph.row(played), identifiers.values
    given = None
    if problem is not None and problem.known is not None:
        given = problem.known_in(context(), [str(name) for name in names])
    known: dict[int, float] = {}
    for key, loss in losses.items():
        index = identifiers.index(key, name=f"action in {several}")
        value = _as_loss(loss, names[index], several)
        if not row[index] > 0.0 and (given is None or np.isnan(given[index])):
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
    indices = np.array(sorted(known), dtype=WHOLE)
    values = np.array([known[index] for index in indices.tolist()], dtype=FLOAT)
    if problem is None or given is None:
        return indices, values
    is_new = problem.check_agrees(values, given[indices], [str(names[i]) for i in indices])
    return indices[is_new], values[is_new]


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
