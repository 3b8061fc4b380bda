"""What every agent with an oracle does first: ask it, and check the round on the way."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import as_losses, as_numbers
from graphcb.compilation import compiled
from graphcb.graphs import FeedbackGraph, as_graph
from graphcb.graphs.families.inventory import Inventory
from graphcb.oracles import NewsvendorOGD, Oracle

Floats = NDArray[np.float64]


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


@compiled
def _first_fall(levels: Floats) -> int:
    """Index of the first level below the one before it, or -1."""
    for i in range(1, levels.size):
        if levels[i] < levels[i - 1]:
            return i
    return -1
