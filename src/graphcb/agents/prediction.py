"""What every agent with an oracle does first: ask it, and check the round on the way."""

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import as_losses, as_numbers
from graphcb.compilation import compiled
from graphcb.graphs import FeedbackGraph, as_graph
from graphcb.graphs.families.inventory import Inventory
from graphcb.oracles import DefaultOracle, NewsvendorOGD, Oracle
from graphcb.oracles.columns import read_columns
from graphcb.oracles.rows import every_index

Floats = NDArray[np.float64]

MOST_ACTIONS = 2**24  # that an oracle of the agent's own making has room for


def predicted_losses(oracle: Oracle, context: Any, graph: FeedbackGraph, actions: Any) -> Floats:
    """The oracle's prediction for each action of the graph: (n_actions,), all finite."""
    if isinstance(oracle, NewsvendorOGD) and isinstance(as_graph(graph).structure, Inventory):
        _check_rising(actions)
    return as_losses(oracle.predict(context, actions), as_graph(graph).n_actions)


def _check_rising(actions: Any) -> None:
    """Refuse stock levels in an order that the inventory graph does not mean."""
    levels = as_numbers("actions", actions)
    wrong = _first_fall(levels) if levels.ndim == 1 else -1
    if wrong >= 0:
        raise ValueError(
            "`actions` must be rising stock levels, as in the inventory graph each level reveals "
            f"those before it; got {levels[wrong]:g} after {levels[wrong - 1]:g} at index {wrong}; "
            "sort them, or use graphs.posted_price for falling levels"
        )


def with_room(oracle: Oracle | None, n_actions: int, actions: Any) -> tuple[Oracle, Any]:
    """An oracle of the agent's own making, with room for these actions, and their columns.

    An oracle that has to grow is copied: the round may yet be refused, and a copy of the
    agent may share it.
    """
    columns, largest = every_index(n_actions), n_actions
    if actions is not None:
        columns = read_columns(actions, n_actions)
        largest = int(columns.max(initial=0)) + 1
        if largest > MOST_ACTIONS:
            raise ValueError(
                f"`actions` must be below {MOST_ACTIONS:,}, as there is room for each number "
                f"up to the largest, got {largest - 1}; number them from 0 on"
            )
    oracle = DefaultOracle(largest) if oracle is None else oracle
    if isinstance(oracle, DefaultOracle) and oracle.n_actions < largest:
        oracle = copy.deepcopy(oracle)
        oracle.grow(largest)
    return oracle, columns


@compiled
def _first_fall(levels: Floats) -> int:
    """Index of the first level below the one before it, or -1."""
    for i in range(1, levels.size):
        if levels[i] < levels[i - 1]:
            return i
    return -1
