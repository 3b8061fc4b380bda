"""Feedback that comes in parts: what is known of a decision, and what a new part adds to it."""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import listed
from graphcb.decisions.encoding import FLOAT, WHOLE, decode, numbers
from graphcb.decisions.revealed import words_of
from graphcb.decisions.tables import DecisionRow, FeedbackRow
from graphcb.files import FileError
from graphcb.graphs import FeedbackGraph
from graphcb.problems import Problem
from graphcb.rounds.identifiers import Identifiers

Indices = NDArray[np.int64]
Losses = NDArray[np.float64]


class Known(NamedTuple):
    """A loss that is in the log, the event that brought it, and whether it is a default."""

    loss: float
    event: int
    is_default: bool = False


def event(position: int) -> str:
    """An event in words; 0 stands for one that has no number yet."""
    return f"event {position}" if position else "in the inbox"


def read_part(row: FeedbackRow, graph: FeedbackGraph, location: str) -> tuple[Indices, Losses]:
    """The indices and losses of a stored feedback, checked against the graph of its decision."""
    if len(row.actions) == len(row.losses) and len(row.actions) % 8 == 0:
        indices, losses = numbers(row.actions, WHOLE), numbers(row.losses, FLOAT)
        if indices.size == 1:  # as most have, which Python compares in half the time
            is_right = 0 <= int(indices[0]) < graph.n_actions and math.isfinite(losses[0])
        else:
            rising = bool((indices[1:] > indices[:-1]).all())
            inside = indices.size == 0 or (indices[0] >= 0 and indices[-1] < graph.n_actions)
            is_right = rising and inside and bool(np.isfinite(losses).all())
        if is_right:
            return indices, losses
    raise FileError(f"{location}: damaged: event {row.position} is no feedback on its graph")


def read_decision(row: DecisionRow, graph: FeedbackGraph, location: str) -> tuple[Any, Any]:
    """The context and the actions of a stored decision, which must fit its graph."""
    if not 0 <= row.action < graph.n_actions or len(row.probabilities) != 8 * graph.n_actions:
        raise FileError(f"{location}: damaged: event {row.position} is no decision on its graph")
    try:
        context, actions = decode(row.context), decode(row.actions)
    except (ValueError, TypeError) as problem:
        raise FileError(f"{location}: damaged: event {row.position}: {problem}") from None
    if actions is not None and not (
        isinstance(actions, np.ndarray | list | dict) and len(actions) == graph.n_actions
    ):
        raise FileError(f"{location}: damaged: event {row.position} is no decision on its graph")
    return context, actions


def merge(rows: Iterable[FeedbackRow], graph: FeedbackGraph, location: str) -> dict[int, Known]:
    """All losses that are known of a decision, by index; none may have come twice.

    A loss that was given replaces the default that came before it.
    """
    known: dict[int, Known] = {}
    for row in rows:
        indices, losses = read_part(row, graph, location)
        for index, loss in zip(indices.tolist(), losses.tolist(), strict=True):
            if index in known and not (known[index].is_default and row.source is None):
                raise FileError(
                    f"{location}: damaged: events {known[index].event} and {row.position} are "
                    f"feedback for the same action of decision {row.decision}"
                )
            known[index] = Known(loss, row.position, row.source is not None)
    return known


def final(known: dict[int, Known]) -> dict[int, float] | None:
    """The losses that nothing can replace any more, by index; None if there are only defaults."""
    losses = {index: one.loss for index, one in known.items() if not one.is_default}
    return losses if losses or not known else None


def what_is_new(
    indices: Indices,
    losses: Losses,
    known: dict[int, Known],
    identifiers: Identifiers,
    text: str,
    problem: Problem | None = None,
) -> tuple[Indices, Losses]:
    """The part of a feedback that is not known yet; refuses what contradicts the log.

    A default contradicts nothing.
    """
    new = np.ones(indices.size, dtype=bool)
    several, one = words_of(problem)
    for place, (index, loss) in enumerate(zip(indices.tolist(), losses.tolist(), strict=True)):
        if index in known and not known[index].is_default:
            if loss != known[index].loss:
                raise ValueError(
                    f"`{several}` must agree with what is known of decision {text}: action "
                    f"{identifiers.values[index]!r} has {one} {known[index].loss} "
                    f"({event(known[index].event)}), got {loss}"
                )
            new[place] = False
    return indices[new], losses[new]


def check_whole(
    indices: Indices,
    known: dict[int, Known],
    identifiers: Identifiers,
    text: str,
    position: int,
    problem: Problem | None = None,
) -> None:
    """Refuse another part where what is missing in a feedback counts as not revealed."""
    if set(indices.tolist()) == set(known):
        return
    names = identifiers.values
    seen = listed(repr(names[index]) for index in sorted(known)) if known else "nothing"
    got = listed(repr(names[index]) for index in indices) if indices.size else "nothing"
    raise ValueError(
        f"`{words_of(problem)[0]}` must come in one part where the graph is not known beforehand: "
        f"decision {text} already has its feedback ({event(position)}), which said that {seen} was "
        f"revealed, and no other action; got {got}"
    )
