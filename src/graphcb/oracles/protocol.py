"""The role of an oracle."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class Oracle(Protocol):
    """An online regressor: predicts the loss of each action and learns from the revealed ones.

    `actions` are identifiers in the oracle's own terms: column numbers for a model with one
    output an action, stock levels for a model that knows what a level costs.
    """

    def predict(self, context: Any, actions: Any) -> NDArray[np.float64]:
        """Predicted losses, one an action; None stands for all actions."""
        ...

    def update(self, context: Any, actions: Any, losses: NDArray[np.float64]) -> None:
        """Learn the losses seen for these actions; there may be none."""
        ...
