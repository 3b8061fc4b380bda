"""The role of an oracle."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class Oracle(Protocol):
    """An online regressor: predicts the loss of each action and learns from the revealed ones.

    `actions` are identifiers in the oracle's own terms: column numbers for a model with one
    output per action, stock levels for a model that knows what a level costs.
    """

    def predict(self, context: Any, actions: Any) -> NDArray[np.float64]:
        """One predicted loss per action; None stands for all actions."""
        ...

    def update(self, context: Any, actions: Any, losses: NDArray[np.float64]) -> None:
        """Learn the losses seen for these actions; there may be none."""
        ...


def as_oracle(oracle: Any, *, name: str = "oracle") -> Oracle:
    """An object with `predict` and `update`; a class is not one yet."""
    if isinstance(oracle, type):
        raise TypeError(
            f"`{name}` must be an oracle, got the class {oracle.__name__}; "
            f"make one first: {oracle.__name__}(...)"
        )
    lacking = [role for role in ("predict", "update") if not callable(getattr(oracle, role, None))]
    if lacking:
        raise TypeError(
            f"`{name}` must have the methods predict and update, such as "
            f"oracles.LogisticOGD(n_actions, n_features), got {type(oracle).__name__} "
            f"without {' and '.join(lacking)}"
        )
    checked: Oracle = oracle
    return checked
