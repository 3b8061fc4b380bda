"""What limits, budgets and baselines call the actions of a round."""

from collections.abc import Collection, Hashable, Sequence
from typing import Any

import numpy as np

Names = Sequence[Hashable]


def names_of(n_actions: int, actions: Any = None, names: Any = None) -> Names:
    """What limits call the actions of a round: names, identifiers that can be hashed, or indices.

    >>> names_of(2, actions=np.array([4, 7])), names_of(2, actions=np.eye(2))
    ((4, 7), range(0, 2))
    """
    if actions is None and names is None:
        return range(n_actions)
    argument, values = ("actions", actions) if names is None else ("names", names)
    if isinstance(values, np.ndarray):
        called = tuple(values.tolist()) if values.ndim == 1 else None
    else:
        called = tuple(values) if isinstance(values, Sequence) else None
    try:
        hash(called)
    except TypeError:  # rows of features
        called = None
    if called is None:
        if names is not None:
            raise TypeError("`names` must be a sequence of names, one for each action of the round")
        return range(n_actions)
    if len(called) != n_actions:
        raise ValueError(
            f"`{argument}` must have one name for each of the {n_actions} actions of the graph, "
            f"got {len(called)}"
        )
    return called


def speaks_of(named: Collection[Hashable], called: Names) -> bool:
    """Whether rules on actions `named` so may mean any that are `called` so in a round.

    Texts may mean texts, and anything else anything else. Actions that have no names but their
    indices need a rule on some index.

    >>> speaks_of(["review"], ["approve"]), speaks_of(["review"], range(2))
    (True, False)
    """
    if isinstance(called, range):
        return any(isinstance(name, int | np.integer) for name in named)
    return any(isinstance(one, str) == isinstance(name, str) for one in called for name in named)
