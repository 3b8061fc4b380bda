"""How large a gradient step is."""

import math
from typing import Literal

from graphcb.checks import as_positive

Decay = Literal["constant", "inverse_sqrt"]


def check_learning_rate(learning_rate: float, decay: str) -> None:
    """Refuse a rate or a decay that is none."""
    as_positive("learning_rate", learning_rate)
    if decay not in ("constant", "inverse_sqrt"):
        raise ValueError(f'`decay` must be "constant" or "inverse_sqrt", got {decay!r}')


def rate_at(learning_rate: float, decay: str, n_updates: int) -> float:
    """The step after `n_updates` earlier ones.

    >>> rate_at(1.0, "inverse_sqrt", 3)
    0.5
    """
    return learning_rate if decay == "constant" else learning_rate / math.sqrt(n_updates + 1)
