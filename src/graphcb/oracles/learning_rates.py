"""How large a gradient step is."""

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Decay = Literal["constant", "inverse_sqrt"]
DECAYS = ("constant", "inverse_sqrt")


def rate_at(learning_rate: float, decay: str, n_updates: int) -> float:
    """The step after `n_updates` earlier ones.

    >>> rate_at(1.0, "inverse_sqrt", 3)
    0.5
    """
    return learning_rate if decay == "constant" else learning_rate / math.sqrt(n_updates + 1)


def rates_from(
    learning_rate: float, decay: str, n_updates: int, n_steps: int
) -> NDArray[np.float64]:
    """`rate_at` for the next `n_steps` updates.

    >>> rates_from(1.0, "inverse_sqrt", 3, 1).tolist()
    [0.5]
    """
    if decay == "constant":
        return np.full(n_steps, float(learning_rate))
    return np.asarray(learning_rate / np.sqrt(np.arange(n_updates + 1, n_updates + 1 + n_steps)))
