"""Drawing an action from probabilities: every draw in graphcb is made here."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphcb.checks import SUM_TOLERANCE, as_numbers, as_probabilities
from graphcb.compilation import compiled


def draw(probabilities: ArrayLike, rng: np.random.Generator) -> int:
    """Draw an action, an index, from a distribution such as `agent.act` returns.

    It takes one uniform number from `rng`. A distribution that is refused takes none.

    >>> draw([0.25, 0.0, 0.75], np.random.default_rng(0))
    2
    """
    if not isinstance(rng, np.random.Generator):
        raise TypeError(
            "`rng` must be a numpy.random.Generator, such as numpy.random.default_rng(0), "
            f"got {type(rng).__name__}"
        )
    p = as_numbers("probabilities", probabilities)
    if p.ndim != 1 or p.size == 0:
        raise ValueError(f"`probabilities` must be one number for each action, got shape {p.shape}")
    return invert(as_probabilities(p, p.size), rng.random())


def action_at(uniform: float, probabilities: NDArray[np.float64], n_actions: int) -> int:
    """The action in whose share of [0, 1) the number `uniform` falls; checks the distribution.

    >>> action_at(0.3, np.array([0.25, 0.0, 0.75]), 3)
    2
    """
    p = as_numbers("probabilities", probabilities)
    action = invert(p, uniform) if p.shape == (n_actions,) else -1
    if action < 0:
        as_probabilities(p, n_actions)  # raises the error that says what is wrong
    return action


@compiled
def invert(p: NDArray[np.float64], uniform: float) -> int:
    """The first action at which the cumulative probability passes `uniform`.

    -1 if `p` is not a distribution.
    """
    total = 0.0
    chosen = -1
    last = -1
    for i in range(p.size):
        if not p[i] >= 0.0:  # also true for NaN
            return -1
        if p[i] > 0.0:
            total += p[i]
            last = i
            if chosen < 0 and uniform < total:
                chosen = i
    if not abs(total - 1.0) <= SUM_TOLERANCE:
        return -1
    return chosen if chosen >= 0 else last  # rounding may leave the sum a hair below 1
