"""What a kernel records of each round."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.compilation import compiled
from graphcb.graphs.structure import Floats

Counts = NDArray[np.int64]

ORACLE, EXPLORATION, REST = range(3)


class Ledger(NamedTuple):
    """One entry per round; `spent` is nanoseconds in the oracle, the exploration and the rest."""

    actions: Counts
    probabilities: Floats
    losses: Floats
    n_revealed: Counts
    spent: Counts


def room_for(n_rounds: int) -> Ledger:
    """Room for a whole run."""
    return Ledger(
        np.empty(n_rounds, dtype=np.int64),
        np.empty(n_rounds),
        np.empty(n_rounds),
        np.empty(n_rounds, dtype=np.int64),
        np.zeros(3, dtype=np.int64),
    )


@compiled
def write_down(
    ledger: Ledger, t: int, action: int, probability: float, loss: float, n_revealed: int
) -> None:
    """Fill in round t."""
    ledger.actions[t] = action
    ledger.probabilities[t] = probability
    ledger.losses[t] = loss
    ledger.n_revealed[t] = n_revealed
