"""What a round revealed, from the identifiers of its actions to the columns of a graph oracle."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from graphcb.checks import as_numbers, listed
from graphcb.graph_oracles.protocol import read_played_row
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.structure import Floats
from graphcb.rounds.identifiers import as_identifier


def columns_of(actions: Any) -> Any:
    """Actions as the graph oracle's columns: whole numbers are, any others stand for all."""
    if actions is None or isinstance(actions, Mapping):
        return None
    if isinstance(actions, FeedbackGraph):
        raise TypeError(
            "`actions` must be the actions of the round, got a FeedbackGraph; this agent predicts "
            "the graph: act(context, actions)"
        )
    if isinstance(actions, np.ndarray):
        return actions if actions.dtype.kind in "iu" and actions.ndim == 1 else None
    whole = all(isinstance(action, int | np.integer) for action in actions)
    return actions if whole else None


def places_of(played: Any, revealed: Any, actions: Any) -> tuple[Any, Any]:
    """Where the played and the revealed actions stand in the round."""
    if actions is None:
        return played, revealed
    places = {as_identifier(action): place for place, action in enumerate(actions)}

    index = places.get(as_identifier(played))
    if index is None:
        raise ValueError(
            f"`played` must be an action of the round ({listed(map(repr, places))}), got {played!r}"
        )
    seen = [places.get(as_identifier(identifier), -1) for identifier in revealed]
    if -1 in seen:
        wrong = seen.index(-1)
        raise ValueError(
            f"`revealed` must be actions of the round ({listed(map(repr, places))}), "
            f"got {list(revealed)[wrong]!r} at index {wrong}"
        )
    return index, np.array(seen, dtype=np.int64)


def chosen_of(kept: Any, revealed: Any, losses: Any) -> tuple[Any, Floats]:
    """Some of the revealed actions, and their losses."""
    numbers = as_numbers("losses", losses)
    if numbers.shape != (len(revealed),):
        raise ValueError(
            f"`losses` must have shape ({len(revealed)},), one for each revealed action, got "
            f"{numbers.shape}"
        )
    if isinstance(revealed, np.ndarray):
        return revealed[kept], numbers[kept]
    all_of_them = list(revealed)
    return [all_of_them[place] for place in kept], numbers[kept]


def check_shown(graph: FeedbackGraph, played: int, revealed: Any) -> None:
    """Refuse revealed actions that the graph of the round does not reveal."""
    index, _ = read_played_row(played, revealed, graph.n_actions)
    row = graph.row(index)
    for position, action in enumerate(revealed):
        if row[action] == 0.0:
            raise ValueError(
                f"`revealed` must be what `graph` reveals, but action {played} does not reveal "
                f"action {action} (index {position})"
            )
